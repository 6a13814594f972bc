"""The splits of a bank: whether there are any, by other names, or drawn anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tqnet.questions.bank import QuestionBank


def has_splits(bank: QuestionBank) -> bool:
    """Whether the bank has ``train`` and ``test``, so that a probe need not draw them."""
    return {"train", "test"} <= set(bank.column("split"))


def question_units(bank: QuestionBank) -> list[str]:
    """What may be drawn independently: groups, and questions without one."""
    return [f"group {group}" if group else f"question {i}" for i, group in enumerate(bank.column("group"))]


def rename_splits(bank: QuestionBank, names: Mapping[str, str]) -> QuestionBank:
    """Splits by other names, all at once; one that is not named stays as it is."""
    return QuestionBank.from_questions(
        replace(question, split=names.get(question.split or "", question.split)) for question in bank
    )


def draw_fold(bank: QuestionBank, fold: int, folds: int, seed: int = 0) -> QuestionBank:
    """Every question in ``train``, or in ``test`` if it is in this fold of ``folds``, the first being 1.

    Folds are drawn by group; with one seed, every question is in the ``test`` of one of them.

    Raises:
        ValueError: There is no such fold, or there are fewer groups than folds.
    """
    if not 1 <= fold <= folds:
        raise ValueError(f"fold {fold} of {folds}: there is no such fold")
    units, count = _numbered_units(bank)
    if count < folds:
        raise ValueError(f"{count} groups are too few for {folds} folds")
    of = np.random.default_rng(seed).permutation(count) % folds
    tests = of[units] == fold - 1
    return QuestionBank.from_questions(
        replace(question, split="test" if test else "train") for question, test in zip(bank, tests, strict=True)
    )


def draw_share(bank: QuestionBank, share: float, seed: int = 0) -> np.ndarray:
    """Rows of a ``share`` of the groups and questions without one, at least one of them, in order.

    A larger share has those of a smaller one.
    """
    units, count = _numbered_units(bank)
    drawn = np.random.default_rng(seed).permutation(count)[: max(1, round(share * count))]
    return np.flatnonzero(np.isin(units, drawn))


def _numbered_units(bank: QuestionBank) -> tuple[np.ndarray, int]:
    names, units = np.unique(question_units(bank), return_inverse=True)
    return units, len(names)
