"""``tqnet serve``: an index over HTTP, with a page to search it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.cli.groups import INDEX
from tqnet.cli.options import Command, argument, count, option, switch
from tqnet.cli.search import PairsModelOptions, RankOptions, SearcherOptions

if TYPE_CHECKING:
    from tqnet.search.index import Index
    from tqnet.search.searcher import OpenSearcher, Searcher

#: Environment variable with the key, used if no file is given.
_KEY = "TQNET_API_KEY"

#: Seconds that running requests have to finish when the server stops.
_GRACE = 25


@dataclass(frozen=True, kw_only=True)
class Serve(Command, SearcherOptions, RankOptions, PairsModelOptions, name="serve"):
    """Serve an index over HTTP, with a search page.

    The page is at /, the API is described at /docs. Listens on this machine only, unless --host says otherwise. When
    another version of the index becomes the current one (tqnet index BANK --replace, tqnet index use), the server
    follows within seconds, without downtime; both models are in memory for a moment.
    """

    index: str = argument(INDEX, metavar="INDEX")
    host: str = option("address to listen on", default="127.0.0.1")
    port: int = count("port to listen on; 0: any free one", default=8000, minimum=0)
    api_key_file: str | None = option(f"file with the key in one line; by default ${_KEY}, if set", metavar="FILE")
    write_key_file: str | None = option(
        "file with the key for writing in one line; the key also allows reading", metavar="FILE"
    )
    pairs: str | None = option("file for users' judgements of (query, result) pairs, FILE.jsonl", metavar="FILE")
    writable: bool = switch("allow holders of the key for writing to add, replace and delete questions")
    cors: Sequence[str] = option(
        "other sites whose pages may use the API from a browser, such as https://school.example",
        default=(),
        nargs="+",
        metavar="ORIGIN",
    )
    without_key: bool = switch("let everyone who can reach --host search")
    queue: int = count("maximum number of searches waiting or running", default=64)
    per_client: int = count("maximum number of concurrent requests per address; 0 for no limit", default=32, minimum=0)
    proxy: Sequence[str] = option(
        "addresses of trusted proxies, whose X-Forwarded-For names the client", default=(), nargs="+", metavar="ADDRESS"
    )
    log_queries: bool = switch("also log queries")
    no_log: bool = switch("do not log requests, by default one line of JSON each on standard error")
    max_upload_mb: int = count("maximum size of a request in MiB", default=10)
    max_pixels: int = count("maximum size of a figure in pixels", default=20_000_000)

    def run(self) -> None:
        import python_multipart  # noqa: F401 - without it, the first form with figures would fail
        import uvicorn

        from tqnet.serving.app import create_app
        from tqnet.serving.middleware import LOG
        from tqnet.serving.requests import Settings

        key = _key_of(self.api_key_file, "--api-key-file") if self.api_key_file else _key_of_environment()
        write_key = _key_of(self.write_key_file, "--write-key-file") if self.write_key_file else None
        local = self.host in ("localhost", "127.0.0.1", "::1")
        if not local and key is None and not self.without_key:
            raise ValueError(
                f"--host {self.host}: others could search the index; set --api-key-file FILE or ${_KEY}, or pass "
                "--without-key"
            )
        settings = Settings(
            api_key=key,
            write_key=write_key,
            pairs=Path(self.pairs) if self.pairs else None,
            floor=self.chosen_floor,
            writable=self.writable,
            origins=tuple(self.cors),
            # With a key, DNS rebinding gains nothing, and a proxy may send its own host name.
            hosts=("localhost", "127.0.0.1", "[::1]", self.host) if local and key is None else ("*",),
            batch_size=self.batch_size,
            queue=self.queue,
            per_client=self.per_client,
            log_queries=self.log_queries,
            max_upload=self.max_upload_mb * 2**20,
            max_pixels=self.max_pixels,
            classify=self.classifier(),
            curriculum=self.load_curriculum(),
        )
        if not self.no_log:
            LOG.addHandler(logging.StreamHandler())
            LOG.setLevel(logging.INFO)
            LOG.propagate = False
        with _listen(self.host, self.port) as listening:
            app = create_app(Path(self.index), self.open_searcher(), settings)
            shown = f"[{self.host}]" if ":" in self.host else self.host
            print(f"{self.index}: http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C ends)", flush=True)
            config = uvicorn.Config(
                app,
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
                proxy_headers=bool(self.proxy),
                forwarded_allow_ips=list(self.proxy),
            )
            uvicorn.Server(config).run(sockets=[listening])

    def open_searcher(self) -> OpenSearcher:
        """Return a function that opens the searcher of an index; ``--model`` applies to the version at the start."""
        from tqnet.search.versions import Versions

        started = Versions.load(Path(self.index)).current

        def open_searcher(index: Index) -> Searcher:
            options = self if index.version == started else replace(self, model=None)
            return options.searcher(index, options.rank(index))

        return open_searcher


def _key_of_environment() -> str | None:
    key = os.environ.get(_KEY)
    return _checked(key, f"${_KEY}") if key else None


def _key_of(file: str, option: str) -> str:
    if key := Path(file).read_text(encoding="utf-8").strip():
        return _checked(key, f"{option} {file}")
    raise ValueError(f"{option} {file}: empty")


def _checked(key: str, place: str) -> str:
    if not key.isascii():  # browsers do not agree on other characters in headers
        raise ValueError(f"{place}: a key may have only ASCII letters, digits and punctuation")
    return key


def _listen(host: str, port: int) -> socket.socket:
    """Open the socket early, so that a port in use fails before the model is loaded, and port 0 is resolved."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(f"--host {host} --port {port}: {error.strerror}") from None
