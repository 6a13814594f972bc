"""Random masked words and clipped windows (TQ-Net, "Mixed Unsupervised Contrastive Learning")."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tqnet.questions import Question
from tqnet.text.formulas import join_units, units


def mask_words(question: Question, share: float, rng: np.random.Generator, mask_token: str = "[MASK]") -> Question:
    """Each word of prose and each token of a formula becomes ``mask_token`` with probability ``share``.

    Braces and other signs of grouping stay, so that a formula keeps its shape. At least one unit is left.
    """

    def mask(text: str) -> str:
        parts = units(text)
        chosen = rng.random(len(parts)) < share
        if not chosen.any() or chosen.all():
            return text
        return join_units(
            [
                dataclasses.replace(unit, text=mask_token) if hit and unit.text not in "{}^_&()" else unit
                for unit, hit in zip(parts, chosen, strict=True)
            ]
        )

    return _rewrite(question, mask)


def clip_window(question: Question, least: float, rng: np.random.Generator) -> Question:
    """One stretch of the stem, at least ``least`` of its units and at least one; options are left whole."""
    parts = units(question.stem)
    if len(parts) < 2 or least >= 1:
        return question
    kept = math.ceil(len(parts) * rng.uniform(least, 1))
    start = int(rng.integers(len(parts) - kept + 1))
    if kept == len(parts):
        return question
    return dataclasses.replace(question, stem=join_units(parts[start : start + kept]))


def _rewrite(question: Question, change: Callable[[str], str]) -> Question:
    return dataclasses.replace(
        question,
        stem=change(question.stem),
        options=tuple(map(change, question.options)),
    )
