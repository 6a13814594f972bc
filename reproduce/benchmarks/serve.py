"""Whether a server answers many clients at a time, and how fast.

    python -m reproduce.benchmarks.serve --index INDEX --clients 20 --seconds 60

Starts ``tqnet serve INDEX`` on this machine. Every client asks for one question after the other: the texts of the
index's questions, each with a number of its own so that no answer comes from the cache, one in ten with a filter, one
in ten by the id of a question. Prints what it has measured as JSON.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from tqdm import tqdm

from reproduce.benchmarks.harness import make_parser
from tests.serving.process import serving
from tqnet.libraries import machine
from tqnet.search.index import Index
from tqnet.search.records import record_question

#: Maximum number of questions of the index to ask for.
_KNOWN = 20_000


@dataclass(frozen=True)
class Asked:
    """One request: its status, 0 if there was no answer, and the seconds until it was there."""

    status: int
    seconds: float


def known(index: Path) -> list[dict[str, Any]]:
    """Ids and texts of some of its questions."""
    rows = (row for table in Index(index).engine.scan(["id", "question"]) for row in table.to_pylist())
    return list(itertools.islice(rows, _KNOWN))


def searches(rows: Sequence[dict[str, Any]], seed: int = 0) -> Iterator[dict[str, Any]]:
    """Bodies of searches for ``rows`` without end, no two the same."""
    order = np.random.default_rng(seed).permutation(len(rows))
    for number, at in enumerate(itertools.cycle(order)):
        if number % 10 == 0:
            yield {"id": rows[at]["id"], "filters": [f"difficulty<{1000 + number}"]}
            continue
        text = record_question(rows[at] | {"images": ()}).stem[:4000]
        yield {"text": f"{text} ({number})", "filters": ["difficulty<=3"] if number % 10 == 1 else []}


def ask(address: str, bodies: Iterator[dict[str, Any]], until: float) -> list[Asked]:
    """Return the answers to one client, until the time ``until``."""
    collected = []
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        while (started := time.perf_counter()) < until:
            try:
                status = client.post("/search", json=next(bodies)).status_code
            except httpx.HTTPError:
                status = 0
            collected.append(Asked(status, time.perf_counter() - started))
    return collected


def measure(address: str, index: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Errors, requests a second and milliseconds of ``clients`` at a time."""
    rows = known(index)
    bodies = [searches(rows, seed) for seed in range(clients)]
    ask(address, searches(rows, clients), time.perf_counter() + 2)  # what is loaded on first use
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(ask, address, requests, started + seconds) for requests in bodies]
        for _ in tqdm(range(round(seconds)), desc=f"{clients} clients", unit=" s"):
            time.sleep(1)
        answers = [reply for client in running for reply in client.result()]
    took = time.perf_counter() - started
    milliseconds = [reply.seconds * 1000 for reply in answers if reply.status == 200]
    errors = Counter(str(reply.status or "no answer") for reply in answers if reply.status != 200)
    return {
        "machine": machine(),
        "questions": Index(index).engine.count(),
        "clients": clients,
        "seconds": round(took, 1),
        "requests": len(answers),
        "errors": dict(errors),
        "requests per second": round(len(milliseconds) / took, 1),
        "p50 ms": round(float(np.percentile(milliseconds, 50)), 1) if milliseconds else None,
        "p95 ms": round(float(np.percentile(milliseconds, 95)), 1) if milliseconds else None,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    with serving(args.index) as address:
        print(json.dumps(measure(address, args.index, args.clients, args.seconds), indent=2))


if __name__ == "__main__":
    main()
