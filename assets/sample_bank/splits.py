"""Which kind of question goes to train, valid and test: whole groups, every concept on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from .draw import Draw
from .registry import Kind

#: Shares of valid and test; the rest is train.
VALID, TEST = 0.15, 0.25
SWAPS = 8000


def split_kinds(kinds: Sequence[Kind], seed: int) -> dict[str, str]:
    """Deal the kinds to the splits, then swap pairs as long as more concepts occur in train and in test.

    Kinds known by their figure, other groups and single questions are dealt out apart, each in the same shares.
    """
    r = Draw(f"{seed}/split")
    pools = [
        [k.name for k in kinds if k.figure_only],
        [k.name for k in kinds if k.grouped and not k.figure_only],
        [k.name for k in kinds if not k.grouped],
    ]
    split = {name: side for pool in pools for name, side in _deal(r.shuffled(pool))}
    concepts = {k.name: {path[:depth] for path in k.knowledge for depth in (1, 2, 3)} for k in kinds}
    score = _coverage(concepts, split)
    everything = set().union(*concepts.values())
    for _ in range(SWAPS):
        if score[1] == len(everything):
            break
        a, b = r.some(r.pick(*[pool for pool in pools if len(pool) > 1]), 2)
        split[a], split[b] = split[b], split[a]
        swapped = _coverage(concepts, split)
        if swapped < score:
            split[a], split[b] = split[b], split[a]
        score = max(score, swapped)
    return split


def _deal(pool: list[str]) -> list[tuple[str, str]]:
    valid, test = round(VALID * len(pool)), round(TEST * len(pool))
    return [(name, "valid" if k < valid else "test" if k < valid + test else "train") for k, name in enumerate(pool)]


def _coverage(concepts: dict[str, set[tuple[str, ...]]], split: dict[str, str]) -> tuple[int, int]:
    """How many concepts occur in train and in test: those of the two coarse levels first, then all."""
    train: set[tuple[str, ...]] = set()
    test: set[tuple[str, ...]] = set()
    for name, paths in concepts.items():
        if split[name] == "train":
            train |= paths
        elif split[name] == "test":
            test |= paths
    both = train & test
    return sum(len(path) < 3 for path in both), len(both)
