"""Which kind of question goes to train, valid and test: whole groups, every concept on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from .draw import Draw
from .registry import Kind

#: Shares of valid and test; the rest is train.
VALID, TEST = 0.15, 0.25
SWAPS = 6000


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
    score = _coverage(kinds, split)
    for _ in range(SWAPS):
        a, b = r.some(r.pick(*[pool for pool in pools if len(pool) > 1]), 2)
        split[a], split[b] = split[b], split[a]
        swapped = _coverage(kinds, split)
        if swapped >= score:
            score = swapped
        else:
            split[a], split[b] = split[b], split[a]
    return split


def _deal(pool: list[str]) -> list[tuple[str, str]]:
    valid, test = round(VALID * len(pool)), round(TEST * len(pool))
    return [(name, "valid" if k < valid else "test" if k < valid + test else "train") for k, name in enumerate(pool)]


def _coverage(kinds: Sequence[Kind], split: dict[str, str]) -> tuple[int, int, int]:
    """How many concepts of each level occur in train and in test, coarse levels first."""
    both = []
    for depth in (1, 2, 3):
        train = {path[:depth] for kind in kinds if split[kind.name] == "train" for path in kind.knowledge}
        test = {path[:depth] for kind in kinds if split[kind.name] == "test" for path in kind.knowledge}
        both.append(len(train & test))
    return both[0], both[1], both[2]
