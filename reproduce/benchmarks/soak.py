"""Whether a server holds out: errors, latencies and memory under many clients for minutes, and how it ends.

    python -m reproduce.benchmarks.soak INDEX --minutes 10 --clients 50

Starts ``tqnet serve INDEX`` on this machine. Every client asks for one thing after the other: typed texts, most with a
number of their own so that few answers come from the cache, ids, figures, filters, later pages, checks of a question,
questions, and requests that must be refused. At the end the server gets SIGTERM while requests are in flight. Prints
what it has measured as JSON; any status but the expected one is an error, 429 (the queue is full) is counted by itself.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import psutil
from PIL import Image, ImageDraw
from tqdm import tqdm

from reproduce.benchmarks.harness import make_parser
from tests.serving.process import serving
from tqnet.libraries import machine
from tqnet.questions import Question, QuestionBank
from tqnet.questions.images import open_figure
from tqnet.search.evaluation import index_bank
from tqnet.search.index import Index

#: Kind of request -> its share.
SHARES = {
    "text": 0.3,
    "text again": 0.1,
    "filters": 0.15,
    "page": 0.05,
    "id": 0.15,
    "figure": 0.12,
    "check": 0.03,
    "question": 0.03,
    "invalid": 0.07,
}

#: Kinds whose answers are timed.
_SEARCHES = ("text", "text again", "filters", "page", "id", "figure")

#: Questions whose texts are searched again and again, different figures, and characters of a text, at most.
_AGAIN, _FIGURES, _TEXT = 20, 100, 4000

#: Status without an answer.
_NONE = 0

#: Seconds that the server may take to end.
_END = 60


@dataclass(frozen=True)
class Request:
    """A request of a kind, and the status that it must have; ``options`` are those of `httpx.Client.request`."""

    kind: str
    method: str
    path: str
    options: dict[str, Any]
    status: int = 200


@dataclass(frozen=True)
class Reply:
    """The answer to a request, and its times."""

    request: Request
    status: int
    started: float
    ended: float


def figure_files(bank: QuestionBank, seed: int = 0) -> list[bytes]:
    """Return files of figures: some of the bank's, scaled, or lines if it has too few."""
    rng = np.random.default_rng(seed)
    paths = [path for question in bank for path in question.images if Path(path).is_file()]
    pictures = [Image.fromarray(open_figure(path)) for path in rng.permutation(paths)[:_FIGURES].tolist()]
    while len(pictures) < _FIGURES:
        side = int(rng.integers(100, 1600))
        pictures.append(Image.new("RGB", (side, side), "white"))
        ImageDraw.Draw(pictures[-1]).line(rng.integers(0, side, 24).tolist(), "black", 3)
    return [_file(picture, factor) for picture, factor in zip(pictures, rng.uniform(0.5, 2, _FIGURES), strict=True)]


def _file(picture: Image.Image, factor: float) -> bytes:
    stream = io.BytesIO()
    picture.resize([max(1, round(factor * side)) for side in picture.size]).save(stream, "PNG")
    return stream.getvalue()


def requests(bank: QuestionBank, figures: Sequence[bytes], seed: int) -> Iterator[Request]:
    """Yield requests without end, mixed by `SHARES`."""
    rng = np.random.default_rng(seed)
    kinds, shares = list(SHARES), list(SHARES.values())
    for number in itertools.count():
        kind = kinds[rng.choice(len(kinds), p=shares)]
        question = bank[int(rng.integers(len(bank)))]
        text = f"{question.stem[:_TEXT]} ({seed}.{number})"
        if kind == "text again":
            text = bank[int(rng.integers(min(_AGAIN, len(bank))))].stem[:_TEXT]
        match kind:
            case "text" | "text again":
                yield _search(kind, {"text": text, "k": int(rng.choice([5, 10, 50]))})
            case "filters":
                chosen = rng.permutation(_filters(question))[: rng.integers(1, 3)].tolist()
                yield _search(kind, {"text": text, "filters": chosen})
            case "page":
                yield _search(kind, {"text": text, "offset": int(rng.choice([5, 50, 500]))})
            case "id":
                yield _search(kind, {"id": question.id, "filters": [f"difficulty<{1000 + number}"] * (number % 2)})
            case "figure":
                file = figures[rng.integers(len(figures))]
                fields = [{}, {"text": text}, {"text": text, "filters": _filters(question)[0]}][number % 3]
                yield Request(kind, "POST", "/search", {"data": fields, "files": {"figures": ("figure.png", file)}})
            case "check":
                yield Request(kind, "POST", "/check", {"json": {"text": text, "options": question.options}})
            case "question":
                yield Request(kind, "GET", f"/questions/{quote(question.id, safe='/')}", {})
            case "invalid":
                yield INVALID[number % len(INVALID)]


def _search(kind: str, body: dict[str, Any]) -> Request:
    return Request(kind, "POST", "/search", {"json": body})


def _filters(question: Question) -> list[str]:
    """Return filters that the question meets; values with the sign of alternatives are left out."""
    about = [f"concept={'/'.join(path)}" for path in question.knowledge]
    rare = [f"{name}={value}" for name in ("type", "language", "source") if (value := getattr(question, name))]
    known = [condition for condition in (*about, *rare) if "|" not in condition and len(condition) < 2000]
    return [*known, f"difficulty<={question.difficulty or 3:g}", f"figures>={min(1, len(question.images))}"]


#: Requests that must be refused.
INVALID = [
    Request("invalid", "POST", "/search", options, status)
    for status, options in (
        (400, {"json": {}}),
        (400, {"json": {"text": "Find $x$", "id": "both"}}),
        (400, {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        (404, {"json": {"id": "no such question"}}),
        (413, {"json": {"text": "x" * 9000}}),
        (415, {"content": b"Find x"}),
        (415, {"files": {"figures": ("figure.png", b"no picture")}}),
        (422, {"json": {"text": "Find $x$", "k": 0}}),
        (422, {"json": {"text": "Find $x$", "filters": ["difficulty"]}}),
    )
]


def ask(address: str, asked: Iterator[Request], ending: Event) -> list[Reply]:
    """Return the answers to one client until the server ends."""
    replies = []
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        for request in asked:
            started, wait = time.perf_counter(), 0.0
            try:
                response = client.request(request.method, request.path, **request.options)
                status, wait = response.status_code, float(response.headers.get("retry-after", 0))
            except httpx.HTTPError:
                status = _NONE
            replies.append(Reply(request, status, started, time.perf_counter()))
            if status == _NONE and ending.wait(1):
                break
            time.sleep(wait)
    return replies


def latencies(replies: Sequence[Reply]) -> dict[str, Any]:
    """Return counts, errors, and milliseconds of the searches that were answered."""
    errors = Counter(
        f"{reply.request.kind}: {reply.status or 'no answer'}"
        for reply in replies
        if reply.status not in (reply.request.status, 429)
    )
    seconds = {
        kind: [reply.ended - reply.started for reply in replies if reply.request.kind == kind and reply.status == 200]
        for kind in _SEARCHES
    }
    return {
        "requests": len(replies),
        "errors": dict(errors),
        "refused by the queue (429)": sum(reply.status == 429 for reply in replies),
        **_milliseconds([second for kind in seconds.values() for second in kind]),
        "of each kind": {kind: _milliseconds(taken) for kind, taken in seconds.items()},
    }


def _milliseconds(seconds: Sequence[float]) -> dict[str, float | None]:
    quantiles = np.percentile(seconds, (50, 95)) * 1000 if seconds else (math.nan, math.nan)
    p50, p95 = (None if math.isnan(value) else round(float(value), 1) for value in quantiles)
    return {"searches": len(seconds), "p50 ms": p50, "p95 ms": p95}


def end_of(replies: Sequence[Reply], ended: float) -> dict[str, int]:
    """Return what became of the requests in flight when SIGTERM was sent, and of those after it."""
    flying = [reply for reply in replies if reply.started < ended < reply.ended]
    after = [reply for reply in replies if reply.started >= ended]
    answered = sum(reply.status == reply.request.status for reply in flying)
    refused = sum(reply.status in (429, 503) for reply in flying)
    unanswered = sum(reply.status == _NONE for reply in flying)
    return {
        "in flight": len(flying),
        "of these answered": answered,
        "of these refused (429, 503)": refused,
        "of these without an answer": unanswered,
        "of these with another error": len(flying) - answered - refused - unanswered,
        "begun later": len(after),
        "begun later and answered": sum(reply.status != _NONE for reply in after),
    }


def measure(address: str, server: psutil.Process, bank: QuestionBank, minutes: float, clients: int) -> dict[str, Any]:
    """Load a server, end it, and report how it fared."""
    figures, ending = figure_files(bank), Event()
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        for request in itertools.islice(requests(bank, figures, clients), 5):  # what is loaded on first use
            client.request(request.method, request.path, **request.options)
    memory = [server.memory_info().rss >> 20]
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(ask, address, requests(bank, figures, seed), ending) for seed in range(clients)]
        for _ in tqdm(range(round(60 * minutes)), desc=f"{clients} clients", unit=" s"):
            time.sleep(1)
            memory.append(server.memory_info().rss >> 20)
        ended = time.perf_counter()
        server.terminate()
        ending.set()
        try:
            code = server.wait(_END)
        except psutil.TimeoutExpired:
            server.kill()
            code = server.wait()
        took = time.perf_counter() - ended
        replies = [reply for client in running for reply in client.result()]
    before = [reply for reply in replies if reply.ended <= ended]
    return {
        "machine": machine(),
        "questions": len(bank),
        "clients": clients,
        "seconds": round(ended - started, 1),
        "requests per second": round(len(before) / (ended - started), 1),
        **latencies(before),
        "MiB of memory": {
            "before": memory[0],
            "after a minute": memory[min(60, len(memory) - 1)],
            "at half": memory[len(memory) // 2],
            "at the end": memory[-1],
            "most": max(memory),
        },
        "SIGTERM": {**end_of(replies, ended), "seconds": round(took, 1), "exit code": code},
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", type=Path, help="folder of tqnet index")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=50)
    args = parser.parse_args()
    bank = index_bank(Index(args.index).engine)
    with serving(args.index, "--per-client", "0") as address:
        (server,) = psutil.Process().children()
        report = measure(address, server, bank, args.minutes, args.clients)
    print(json.dumps(report | {"errors": report["errors"] or "none"}, indent=2))


if __name__ == "__main__":
    main()
