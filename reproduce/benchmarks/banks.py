"""Time and memory of ``tqnet import`` and ``tqnet check``, from a generated CSV of so many questions to a bank.

    python -m reproduce.benchmarks.banks --questions 100000 1000000

A tenth of the questions shows a figure, one in fifty repeats another with new numbers, a tenth each are in ``valid``
and ``test``. Each command is a process of its own; memory is sampled twenty times a second.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from PIL import Image

from reproduce.benchmarks.harness import make_parser

_VOCABULARY = (
    "find the value of area triangle train speed apples sum product angle circle radius how many days work together if "
    "then price chord length a box holds red blue balls probability function graph passes through point line slope"
)
_WORDS = _VOCABULARY.split()
_HEADER = ("id", "question", "A", "B", "C", "D", "answer", "explanation", "topic", "difficulty", "split", "image")


def rows(count: int, seed: int = 0) -> Iterator[list[Any]]:
    """Yield questions of random words and formulas."""
    rng = random.Random(seed)
    stems: list[str] = []
    for number in range(count):
        stem = " ".join(rng.choices(_WORDS, k=25))
        if number % 50 == 0 and stems:
            stem = rng.choice(stems)
        elif len(stems) < 10_000:
            stems.append(stem)
        formula = rf"$x^{rng.randint(2, 9)}+{rng.randint(1, 999)}=\frac{{{rng.randint(1, 99)}}}{{2}}$"
        split = rng.choices(("train", "valid", "test"), (8, 1, 1))[0]
        figure = f"images/{rng.randrange(1000)}.png" if rng.random() < 0.1 else ""
        options = rng.sample(range(100), 4)
        answer, analysis = rng.choice("ABCD"), " ".join(rng.choices(_WORDS, k=15))
        topic = f"Algebra > {rng.choice(_WORDS)}"
        yield [number, f"{stem} {formula}?", *options, answer, analysis, topic, rng.randint(1, 5), split, figure]


def write(folder: Path, count: int) -> Path:
    """Write the table and its thousand figures, and return its path."""
    (folder / "images").mkdir()
    for number in range(1000):
        colour = (number % 256, number * 7 % 256, number * 31 % 256)
        Image.new("RGB", (64, 48), colour).save(folder / "images" / f"{number}.png")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(_HEADER)
        writer.writerows(rows(count))
    return folder / "table.csv"


def run(*command: str | Path) -> dict[str, float]:
    """Return the seconds of a ``tqnet`` command, and the peak memory in MiB, also without shared and mapped pages.

    The memory is that of the command and its workers.
    """
    started = time.perf_counter()
    process = psutil.Popen([sys.executable, "-m", "tqnet.cli", *map(str, command)], stdout=subprocess.DEVNULL)
    resident = private = 0
    while process.poll() is None:
        with suppress(psutil.Error):
            memory = [part.memory_info() for part in (process, *process.children(recursive=True))]
            resident = max(resident, sum(part.rss for part in memory))
            private = max(private, sum(part.rss - part.shared for part in memory))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"tqnet {command[0]} failed")
    seconds = time.perf_counter() - started
    return {"seconds": round(seconds, 1), "MiB": resident >> 20, "MiB without shared pages": private >> 20}


def measure(count: int) -> dict[str, dict[str, float]]:
    """Import and check ``count`` questions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = write(folder, count)
        bank = folder / "bank"
        return {"import": run("import", table, "--out", bank), "check": run("check", bank)}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--questions", type=int, nargs="+", default=[100_000], help="sizes of the bank")
    args = parser.parse_args()
    print(json.dumps({f"{count:,} questions": measure(count) for count in args.questions}, indent=1))


if __name__ == "__main__":
    main()
