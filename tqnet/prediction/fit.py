"""Fit the heads of a model to a bank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from tqnet.evaluation.metrics import IntArray
from tqnet.evaluation.probe import draw_by_group
from tqnet.prediction.difficulty import DifficultyHead, RatedQuestions, fit_difficulty_head
from tqnet.prediction.features import Vectors
from tqnet.prediction.knowledge import KnowledgeHead, LabelledQuestions, fit_count, fit_knowledge_head
from tqnet.prediction.tree import maximal
from tqnet.questions import QuestionBank
from tqnet.questions.splits import question_units

#: Share of the training questions that replaces a missing ``valid``.
VALID_SHARE = 0.2


@dataclass(frozen=True)
class HeadSplits:
    """Questions to fit heads to and to calibrate on; ``valid`` may be ``drawn`` from the training questions."""

    train: IntArray
    valid: IntArray
    drawn: bool


def head_splits(bank: QuestionBank, seed: int = 0) -> HeadSplits:
    """Return ``train`` (all questions if none has a split) and ``valid``, which is drawn by group if it is missing.

    Only labelled questions are drawn, and only labelled ones remain in ``train`` then.

    Raises:
        ValueError: There is no question to train on.
    """
    given = np.array([split or "" for split in bank.column("split")])
    train = np.flatnonzero(given == ("train" if given.any() else ""))
    valid = np.flatnonzero(given == "valid")
    if not len(train):
        raise ValueError(f"{bank.path or bank.name}: no question of split 'train'")
    if len(valid):
        return HeadSplits(train, valid, False)
    paths, rated = bank.column("knowledge"), bank.column("difficulty")
    labelled = train[[bool(paths[i]) or rated[i] is not None for i in train]]
    if not len(labelled):
        return HeadSplits(train, valid, False)
    units = question_units(bank)
    parts = draw_by_group(units, labelled, {"valid": VALID_SHARE}, seed)
    if not len(parts["train"]):
        count = len({units[i] for i in labelled})
        raise ValueError(
            f"{bank.path or bank.name}: the bank has no split 'valid', and none can be drawn by group: the "
            f"{len(labelled)} labelled questions of train are of {count} {'group' if count == 1 else 'groups'}, all "
            "of which would be drawn; give the bank a split 'valid'"
        )
    return HeadSplits(parts["train"], parts["valid"], True)


@dataclass(frozen=True)
class HeadData:
    """Rows of ``train`` and ``valid`` with labels of each task, or the reason why there are none."""

    bank: QuestionBank
    knowledge: tuple[IntArray, IntArray] | None
    difficulty: tuple[IntArray, IntArray] | None
    why_no_knowledge: str
    why_no_difficulty: str
    splits: HeadSplits

    @classmethod
    def of(cls, bank: QuestionBank, seed: int = 0) -> HeadData:
        """Select the labelled questions of a bank, before anything is encoded.

        Raises:
            ValueError: There is nothing to learn.
        """
        splits = head_splits(bank, seed)
        paths, rated = bank.column("knowledge"), bank.column("difficulty")

        def having(has_label: Callable[[int], bool]) -> tuple[IntArray, IntArray]:
            train, valid = (rows[[has_label(i) for i in rows]] for rows in (splits.train, splits.valid))
            return train, valid

        labelled, known = having(lambda i: bool(paths[i])), having(lambda i: rated[i] is not None)
        kinds = len({tuple(maximal(paths[i])) for i in labelled[0]}), len({rated[i] for i in known[0]})
        no_knowledge = _why_not(kinds[0], len(labelled[1]), "knowledge point")
        no_difficulty = _why_not(kinds[1], len(known[1]), "difficulty")
        if no_knowledge and no_difficulty:
            raise ValueError(f"{bank.path or bank.name}: nothing to learn: {no_knowledge}; {no_difficulty}")
        return cls(
            bank,
            None if no_knowledge else labelled,
            None if no_difficulty else known,
            no_knowledge,
            no_difficulty,
            splits,
        )

    def labelled(self, vectors: Vectors) -> tuple[LabelledQuestions, LabelledQuestions]:
        """Return training and validation questions with a knowledge point; vectors ``[bank, width]``."""
        assert self.knowledge is not None
        texts, paths = _texts(self.bank), self.bank.column("knowledge")
        train, valid = (
            LabelledQuestions(vectors[rows], [texts[i] for i in rows], [paths[i] for i in rows])
            for rows in self.knowledge
        )
        return train, valid

    def rated(self, vectors: Vectors) -> tuple[RatedQuestions, RatedQuestions]:
        """Return training and validation questions with a difficulty."""
        assert self.difficulty is not None
        texts, units = _texts(self.bank), question_units(self.bank)
        rated = np.array(self.bank.column("difficulty"), dtype=float)
        train, valid = (
            RatedQuestions(vectors[rows], [texts[i] for i in rows], [units[i] for i in rows], rated[rows])
            for rows in self.difficulty
        )
        return train, valid

    def facts(self) -> dict[str, Any]:
        """Return facts on the training for JSON."""
        counts = {
            name: {"train": len(rows[0]), "valid": len(rows[1])}
            for name, rows in (("knowledge", self.knowledge), ("difficulty", self.difficulty))
            if rows is not None
        }
        return {
            "bank": self.bank.name,
            "bank_fingerprint": self.bank.fingerprint,
            "questions": counts,
            "valid_drawn_from_train": self.splits.drawn,
        }


def fit_heads(
    data: HeadData, vectors: Vectors, *, show_progress: bool = False, **sources: bool
) -> tuple[KnowledgeHead | None, DifficultyHead | None]:
    """Fit a head for each task that the bank has labels of.

    Args:
        vectors: ``[questions of the bank, width]``.
        sources: ``use_vectors``, ``use_words`` and ``neighbours``, for ablations.

    Raises:
        ValueError: The vectors are not finite, or not as many as the questions.
    """
    if len(vectors) != len(data.bank):
        raise ValueError(f"{len(vectors)} vectors for {len(data.bank)} questions")
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors hold NaN or infinity")
    knowledge = difficulty = None
    if data.knowledge is not None:
        train, valid = data.labelled(vectors)
        total = fit_count(train.knowledge)
        with tqdm(total=total, desc="fit knowledge", unit=" fits", disable=not show_progress) as bar:
            knowledge = fit_knowledge_head(train, valid, step=bar.update, **sources)
    if data.difficulty is not None:
        rated, held_out = data.rated(vectors)
        inputs = {name: value for name, value in sources.items() if name != "neighbours"}
        difficulty = fit_difficulty_head(rated, held_out, **inputs)
    return knowledge, difficulty


def _texts(bank: QuestionBank) -> list[str]:
    return [question.content for question in bank]


def _why_not(kinds: int, validation: int, label: str) -> str:
    if kinds < 2:
        return f"all questions of train have the same {label}" if kinds else f"no question of train has a {label}"
    return "" if validation else f"no question of valid has a {label}"
