"""Which kind of question goes to train, valid and test: whole groups, every concept on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .draw import Draw
from .registry import Kind

#: Shares of train, valid and test.
SHARES = {"train": 0.60, "valid": 0.15, "test": 0.25}
TRIALS = 3000


def split_kinds(kinds: Sequence[Kind], seed: int) -> dict[str, str]:
    """The best of many random splits: exact shares, as many concepts as possible in train and in test."""
    r = Draw(f"{seed}/split")
    pools = [
        [k for k in kinds if k.figure_only],
        [k for k in kinds if k.grouped and not k.figure_only],
        [k for k in kinds if not k.grouped],
    ]
    best: dict[str, str] = {}
    best_score = (-1, -1, -1)
    for _ in range(TRIALS):
        split = {kind.name: name for pool in pools for kind, name in _deal(r.shuffled(pool))}
        score = _coverage(kinds, split)
        if score > best_score:
            best, best_score = split, score
    return best


def _deal(pool: list[Kind]) -> Iterable[tuple[Kind, str]]:
    valid = round(SHARES["valid"] * len(pool))
    test = max(round(SHARES["test"] * len(pool)), min(4, len(pool)))
    for k, kind in enumerate(pool):
        yield kind, "valid" if k < valid else "test" if k < valid + test else "train"


def _coverage(kinds: Sequence[Kind], split: dict[str, str]) -> tuple[int, int, int]:
    """How many concepts of each level occur in train and in test, coarse levels first."""
    counts = []
    for depth in (1, 2, 3):
        sides: dict[str, set[tuple[str, ...]]] = {"train": set(), "valid": set(), "test": set()}
        for kind in kinds:
            sides[split[kind.name]] |= {path[:depth] for path in kind.knowledge}
        counts.append(len(sides["train"] & sides["test"]))
    return counts[0], counts[1], counts[2]
