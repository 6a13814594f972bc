"""Banks made of banks: splits renamed or drawn, banks merged, and questions without text or figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import Question


def has_splits(bank: QuestionBank) -> bool:
    """Return True if the bank has ``train`` and ``test``, so that a probe need not draw them."""
    return {"train", "test"} <= set(bank.column("split"))


def question_units(bank: QuestionBank) -> list[str]:
    """Name the unit of each question that may be drawn independently: its group, or itself."""
    return [f"group {group}" if group else f"question {i}" for i, group in enumerate(bank.column("group"))]


def rename_splits(bank: QuestionBank, names: Mapping[str, str]) -> QuestionBank:
    """Rename splits, all at once; others keep their names."""
    return QuestionBank.from_questions(
        replace(question, split=names.get(question.split or "", question.split)) for question in bank
    )


def draw_fold(bank: QuestionBank, fold: int, folds: int, seed: int = 0) -> QuestionBank:
    """Put every question in ``train``, or in ``test`` if it is in this fold of ``folds``, the first being 1.

    Folds are drawn by group; with one seed, every question is in the ``test`` of one of them.

    Raises:
        ValueError: There is no such fold, or there are fewer groups than folds.
    """
    if not 1 <= fold <= folds:
        raise ValueError(f"fold {fold} of {folds}: there is no such fold")
    units, count = _numbered_units(bank)
    if count < folds:
        raise ValueError(f"{count} groups are too few for {folds} folds")
    fold_of_unit = np.random.default_rng(seed).permutation(count) % folds
    tests = fold_of_unit[units] == fold - 1
    return QuestionBank.from_questions(
        replace(question, split="test" if test else "train") for question, test in zip(bank, tests, strict=True)
    )


def draw_share(bank: QuestionBank, share: float, seed: int = 0) -> np.ndarray:
    """Return the rows of a ``share`` of the groups and single questions, at least one of them, in order.

    A larger share includes the smaller ones.
    """
    units, count = _numbered_units(bank)
    drawn = np.random.default_rng(seed).permutation(count)[: max(1, round(share * count))]
    return np.flatnonzero(np.isin(units, drawn))


def _numbered_units(bank: QuestionBank) -> tuple[np.ndarray, int]:
    names, units = np.unique(question_units(bank), return_inverse=True)
    return units, len(names)


def merge(
    banks: Sequence[QuestionBank], keep: Callable[[Question], bool] = lambda _: True, *, keep_ids: bool = False
) -> QuestionBank:
    """Merge the questions of all banks in order, without those that are not kept.

    Questions of several banks are called BANK/ID, and their groups likewise: ``1`` of one bank is not ``1`` of another;
    unless ``keep_ids``.

    Raises:
        ValueError: Two banks have the same name, or no question is left.
        BankError: Two questions have the same id.
    """
    names = [bank.name for bank in banks]
    if len(set(names)) < len(names):
        raise ValueError(f"two of the banks have the same name: {', '.join(sorted(names))}")
    merged = [
        _named(question, bank.name if len(banks) > 1 and not keep_ids else "")
        for bank in banks
        for question in bank
        if keep(question)
    ]
    if not merged:
        raise ValueError(f"no question of {', '.join(names)} is left")
    return QuestionBank.from_questions(merged)


def kept(splits: Iterable[str] = (), languages: Iterable[str] = ()) -> Callable[[Question], bool]:
    """Return a filter of questions by split and language; none named means any."""
    splits, languages = set(splits), set(languages)
    return lambda question: (
        (not splits or question.split in splits) and (not languages or question.language in languages)
    )


def _named(question: Question, bank: str) -> Question:
    if not bank:
        return question
    return replace(question, id=f"{bank}/{question.id}", group=f"{bank}/{question.group}" if question.group else None)


#: Parts of questions that a model is shown, to measure a modality. ``shuffled``: figures of another question of the
#: same split, so that only the match of text and figure is lost.
Shown = Literal["all", "text", "figures", "shuffled"]
SHOWN: tuple[str, ...] = get_args(Shown)


def show(bank: QuestionBank, what: str, seed: int = 0) -> QuestionBank:
    """Return the bank without its text or figures, or with its figures shuffled; in memory unless ``all``."""
    if what not in SHOWN:
        raise ValueError(f"{what!r} is not one of {', '.join(SHOWN)}")
    if what == "all":
        return bank
    if what == "figures":
        return QuestionBank.from_questions(replace(question, stem="", options=()) for question in bank)
    images = bank.column("images")
    source = exchanged_figures(bank, seed) if what == "shuffled" else range(len(bank))
    return QuestionBank.from_questions(
        replace(question, images=() if what == "text" else images[other])
        for question, other in zip(bank, source, strict=True)
    )


def exchanged_figures(bank: QuestionBank, seed: int) -> np.ndarray:
    """Return [n], the question whose figures each one gets: another with figures of its split if there is one."""
    rng = np.random.default_rng(seed)
    source = np.arange(len(bank))
    splits = np.asarray([split or "" for split in bank.column("split")])
    has_figure = np.array([bool(images) for images in bank.column("images")])
    for split in np.unique(splits):
        ring = rng.permutation(np.flatnonzero(has_figure & (splits == split)))
        source[ring] = np.roll(ring, 1)  # in a ring nobody keeps its own
    return source
