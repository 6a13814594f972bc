"""``tqnet serve``: an index over HTTP, with a page to search it."""

from __future__ import annotations

import argparse
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_backend_argument, add_model_arguments
from tqnet.commands.index import open_index
from tqnet.commands.options import whole_number
from tqnet.commands.ranking import add_pairs_model, add_rank_arguments, classify_of, rank_of
from tqnet.commands.search import add_merging_argument, open_searcher

if TYPE_CHECKING:
    from tqnet.cli import Subparsers

#: Where the key is looked for if no file is named.
_KEY = "TQNET_API_KEY"

#: Seconds that requests have to end once the server is told to.
_GRACE = 10


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "serve",
        help="serve an index over HTTP, with a search page",
        description="The page is at /, the API is described at /docs. Answers to this machine alone unless told "
        "otherwise by --host.",
    )
    parser.add_argument("index", metavar="INDEX", help="that tqnet index has made")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=whole_number(0), default=8000, help="0: any that is free (8000)")
    parser.add_argument("--api-key-file", metavar="FILE", help=f"whose one line is the key; else ${_KEY} is, if set")
    parser.add_argument("--without-key", action="store_true", help="let everyone ask who can reach --host")
    parser.add_argument("--batch-wait-ms", type=whole_number(0), default=5, help="wait for others to encode with (5)")
    parser.add_argument("--queue", type=whole_number(1), default=64, help="searches that wait or run at a time (64)")
    parser.add_argument("--cache", type=whole_number(0), default=1000, help="answers that are kept (1000)")
    parser.add_argument("--max-upload-mb", type=whole_number(1), default=10, help="of a request (10)")
    parser.add_argument("--max-pixels", type=whole_number(1), default=20_000_000, help="of a figure (20,000,000)")
    parser.add_argument("--model", metavar="DIR", help="where the index's model lies now, if it has moved")
    add_model_arguments(parser)
    add_backend_argument(parser)
    add_merging_argument(parser)
    add_rank_arguments(parser)
    add_pairs_model(parser)
    parser.add_argument("--curriculum", metavar="FILE", help="YAML: semesters, each with its concepts, all in order")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import python_multipart  # noqa: F401 - without it, a form with figures would fail when it comes
    import uvicorn

    from tqnet.libraries import quiet
    from tqnet.search.rerank import Curriculum
    from tqnet.serving.app import create_app
    from tqnet.serving.requests import Settings

    quiet()
    key = _key(args.api_key_file)
    local = _is_loopback(args.host)
    if not local and key is None and not args.without_key:
        raise ValueError(
            f"--host {args.host}: others could search the index; give --api-key-file FILE or ${_KEY}, or say "
            "--without-key"
        )
    settings = Settings(
        api_key=key,
        # With a key, a page elsewhere gains nothing by a name that points here, and a proxy may send its own.
        hosts=("localhost", "127.0.0.1", "[::1]", args.host) if local and key is None else ("*",),
        batch_size=args.batch_size,
        batch_wait=args.batch_wait_ms / 1000,
        queue=args.queue,
        cache=args.cache,
        max_upload=args.max_upload_mb * 2**20,
        max_pixels=args.max_pixels,
        classify=classify_of(args),
        curriculum=Curriculum.load(Path(args.curriculum)) if args.curriculum else None,
    )
    with _listen(args.host, args.port) as listening:
        index = open_index(args.index)
        searcher = open_searcher(index, args, rank_of(args, index))
        shown = f"[{args.host}]" if ":" in args.host else args.host
        print(f"{args.index}: http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C ends)", flush=True)
        config = uvicorn.Config(
            create_app(searcher, settings),
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _key(file: str | None) -> str | None:
    if file is None:
        key, place = os.environ.get(_KEY) or None, f"${_KEY}"
    else:
        key, place = Path(file).read_text(encoding="utf-8").strip(), f"--api-key-file {file}"
        if not key:
            raise ValueError(f"{place}: is empty")
    if key is not None and not key.isascii():  # a header has no other letters in every browser
        raise ValueError(f"{place}: a key is made of ASCII letters, digits and signs")
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """A socket, so that a port in use is said before the model is read, and one that was chosen is known.

    Raises:
        OSError: It cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it would let two listen on one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # who comes before the server runs waits, and is not refused
    except OSError as error:
        listening.close()
        raise OSError(f"--host {host} --port {port}: {error.strerror}") from None
    return listening
