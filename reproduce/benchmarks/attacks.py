"""What was attacked, how often, and what fell.

    python -m reproduce.benchmarks.attacks [--minutes N] [--seed N]

For N minutes in all: texts, records, sources and filters that Hypothesis makes for the properties in `tests/fuzz`, and
kinds of texts whose length is doubled for each function that reads one (`tests/fuzz/doubling.py`). Then the tests with
hostile banks, archives, figures and requests. The exit code is 1 if something fell; stderr says what.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from reproduce.benchmarks.harness import make_parser
from tests.fuzz.doubling import ENTRIES, Kind, mixed_kinds, plain_kinds, super_linear

ROOT = Path(__file__).parents[2]
_BATCH = 200
#: Memory limit in bytes: only the test that exceeds it falls.
_MEMORY = 8 << 30

#: What a stranger may bring -> the tests that attack with it: files, and words of their names.
CORPORA = {
    "banks": (["tests/questions/test_check.py"], "test_faults"),
    "archives and XML": (
        ["tests/importers"],
        "outside or bomb or entities or opener or damaged or attachment or unpack",
    ),
    "figures": (["tests/serving", "tests/questions/test_bank.py"], "figure or image"),
    "requests": ([f"tests/serving/test_{name}.py" for name in ("security", "limits", "judgements")], ""),
}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="shared by all properties and functions")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with contextlib.redirect_stdout(sys.stderr):
        made = dict(properties())
        seconds = 60 * args.minutes / (len(made) + len(ENTRIES))
        counts = {name: fuzzed(test, seconds, args.seed) for name, test in made.items()}
        doubled = [doublings(name, seconds, args.seed) for name in ENTRIES]
        counts[f"doubled texts, {len(ENTRIES)} functions"] = {
            "inputs": sum(count["inputs"] for count in doubled),
            "fell": sum(count["fell"] for count in doubled),
        }
        counts |= {f"tests with hostile {name}": tested(*corpus) for name, corpus in CORPORA.items()}
    print(json.dumps(counts, indent=1))
    sys.exit(any(count["fell"] for count in counts.values()))


def properties() -> Iterator[tuple[str, Any]]:
    """Yield the properties in `tests/fuzz` by what they are about and say."""
    for file in sorted((ROOT / "tests/fuzz").glob("test_*.py")):
        module = importlib.import_module(f"tests.fuzz.{file.stem}")
        for name, test in list(vars(module).items()):
            if hasattr(test, "hypothesis"):
                yield f"{file.stem}: {name}".replace("test_", "").replace("_", " "), test


def fuzzed(test: Any, seconds: float, seed: int) -> dict[str, int]:
    """Try a property with new inputs until the time is over or one fails, which Hypothesis shows at its smallest."""
    inner, count = test.hypothesis.inner_test, 0

    def counted(*args: Any, **kwargs: Any) -> None:
        nonlocal count
        count += 1
        inner(*args, **kwargs)

    test.hypothesis.inner_test = counted
    every = list(hypothesis.HealthCheck)
    hypothesis.settings(max_examples=_BATCH, deadline=None, database=None, suppress_health_check=every)(test)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            hypothesis.seed(seed)(test)()
            seed += 1
    except Exception as error:
        print(f"fell: {test.__name__}: {error!r:.500}", *getattr(error, "__notes__", ()), sep="\n")
        return {"inputs": count, "fell": 1}
    finally:
        test.hypothesis.inner_test = inner
    return {"inputs": count, "fell": 0}


def doublings(name: str, seconds: float, seed: int) -> dict[str, int]:
    """Double texts of new kinds until the time is over."""
    chance = random.Random(seed)
    plain = list(plain_kinds())
    chance.shuffle(plain)
    end, count = time.monotonic() + seconds, 0

    def kinds() -> Iterator[Kind]:
        nonlocal count
        for kind in chain(plain, mixed_kinds(chance)):
            if time.monotonic() > end:
                return
            count += 1
            yield kind

    fell = list(super_linear(name, kinds()))
    for kind in fell:
        print(f"fell: {name} takes more than linear time: {kind}")
    return {"inputs": count, "fell": len(fell)}


class _Outcomes:
    """Counts tests for pytest."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed


def tested(files: list[str], words: str) -> dict[str, int]:
    """Run tests and count them."""
    outcomes = _Outcomes()
    pytest.main([*(str(ROOT / file) for file in files), "-k", words, "-p", "no:cacheprovider"], plugins=[outcomes])
    return {"inputs": outcomes.passed + outcomes.failed, "fell": outcomes.failed}


if __name__ == "__main__":
    main()
