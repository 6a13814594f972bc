"""Predictions of questions: the likeliest concepts of every level, and difficulty with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tqnet.prediction.features import Vectors
from tqnet.prediction.heads import Heads
from tqnet.prediction.knowledge import KnowledgeHead
from tqnet.prediction.tree import FloatMatrix


def check_levels(heads: Heads, levels: Sequence[int]) -> list[int]:
    """The levels that are asked for, all where none is.

    Raises:
        ValueError: One that the head does not have.
    """
    depth = heads.knowledge.tree.depth if heads.knowledge else 0
    for level in levels:
        if level > depth:
            known = f"levels 1 to {depth}" if depth else "no knowledge points"
            raise ValueError(f"--levels: there is no level {level}; the heads have {known}")
    return sorted(set(levels)) or list(range(1, depth + 1))


def predict(
    heads: Heads, vectors: Vectors, texts: Sequence[str], *, k: int, levels: Sequence[int], coverage: float
) -> list[dict[str, Any]]:
    """Of each question a plain object for JSON.

    Args:
        vectors: ``[questions, width]``, by the model of the heads.
        texts: ``question.content`` of each.
        k: Concepts of each level, the likeliest first.
        levels: Which, 1 the coarsest.
        coverage: Share of questions for which the interval of difficulty is to hold; null, and no ends, in a record
            where ``valid`` has too few groups for it.
    """
    records: list[dict[str, Any]] = [{} for _ in texts]
    if heads.knowledge is not None:
        chance = heads.knowledge.predict(vectors, texts)
        for record, own in zip(records, chance, strict=True):
            record["knowledge"] = [
                {"level": level, "concepts": likeliest(heads.knowledge, own, level, k)} for level in levels
            ]
    if heads.difficulty is not None:
        for record, value, low, high in zip(records, *heads.difficulty.predict(vectors, texts, coverage), strict=True):
            ends = [round(float(end), 4) if np.isfinite(end) else None for end in (low, high)]
            holds = None if None in ends else coverage
            record["difficulty"] = {
                "value": round(float(value), 4),
                "low": ends[0],
                "high": ends[1],
                "coverage": holds,
            }
    return records


def likeliest(head: KnowledgeHead, chance: FloatMatrix, level: int, k: int) -> list[dict[str, Any]]:
    """The ``k`` likeliest concepts of a level, equals by name; ``chance [nodes]`` of one question."""
    own = head.tree.concepts(level)
    order = own[np.argsort(-chance[own], kind="stable")[:k]]
    return [{"path": list(head.tree.nodes[i]), "probability": round(float(chance[i]), 6)} for i in order]
