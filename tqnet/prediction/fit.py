"""Fitting the heads of a model to a bank."""

from __future__ import annotations

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

#: Share of the training questions that stands in for a ``valid`` that the bank does not have.
VALID_SHARE = 0.2


@dataclass(frozen=True)
class HeadSplits:
    """Questions of a bank that heads are fitted to, and calibrated on.

    Attributes:
        drawn: Whether ``valid`` was drawn from the training questions, by group.
    """

    train: IntArray
    valid: IntArray
    drawn: bool


def head_splits(bank: QuestionBank, seed: int = 0) -> HeadSplits:
    """``train``, or all questions where none has a split, and ``valid``; never ``test``.

    Where ``valid`` is drawn, it is among the questions with a label, and ``train`` is what is left of those.

    Raises:
        ValueError: No question to train on.
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
    """What the heads of a bank are fitted to, for each task that it has labels for.

    Attributes:
        why_no_knowledge, why_no_difficulty: Where there is none.
    """

    bank: QuestionBank
    knowledge: tuple[IntArray, IntArray] | None
    difficulty: tuple[IntArray, IntArray] | None
    why_no_knowledge: str
    why_no_difficulty: str
    splits: HeadSplits

    @classmethod
    def of(cls, bank: QuestionBank, seed: int = 0) -> HeadData:
        """Of a bank; found out before anything is encoded.

        Raises:
            ValueError: There is nothing to learn, and why.
        """
        splits = head_splits(bank, seed)
        paths, rated = bank.column("knowledge"), bank.column("difficulty")
        labelled = [splits.train[[bool(paths[i]) for i in splits.train]]]
        labelled += [splits.valid[[bool(paths[i]) for i in splits.valid]]]
        known = [splits.train[[rated[i] is not None for i in splits.train]]]
        known += [splits.valid[[rated[i] is not None for i in splits.valid]]]
        no_knowledge = _why_not(
            [len({tuple(maximal(paths[i])) for i in labelled[0]}), len(labelled[1])], "knowledge point"
        )
        no_difficulty = _why_not([len({rated[i] for i in known[0]}), len(known[1])], "difficulty")
        if no_knowledge and no_difficulty:
            raise ValueError(f"{bank.path or bank.name}: nothing to learn: {no_knowledge}; {no_difficulty}")
        return cls(
            bank,
            None if no_knowledge else (labelled[0], labelled[1]),
            None if no_difficulty else (known[0], known[1]),
            no_knowledge,
            no_difficulty,
            splits,
        )

    def labelled(self, vectors: Vectors) -> tuple[LabelledQuestions, LabelledQuestions]:
        """Training and validation questions with a knowledge point, of vectors ``[questions of the bank, width]``."""
        assert self.knowledge is not None
        texts, paths = _texts(self.bank), self.bank.column("knowledge")
        of = [
            LabelledQuestions(vectors[own], [texts[i] for i in own], [paths[i] for i in own]) for own in self.knowledge
        ]
        return of[0], of[1]

    def rated(self, vectors: Vectors) -> tuple[RatedQuestions, RatedQuestions]:
        """Training and validation questions with a difficulty."""
        assert self.difficulty is not None
        texts, rated, units = _texts(self.bank), self.bank.column("difficulty"), question_units(self.bank)
        of = [
            RatedQuestions(
                vectors[own], [texts[i] for i in own], [units[i] for i in own], np.array([rated[i] for i in own], float)
            )
            for own in self.difficulty
        ]
        return of[0], of[1]

    def facts(self) -> dict[str, Any]:
        """What the heads were fitted to."""
        counts = {
            name: {"train": len(own[0]), "valid": len(own[1])}
            for name, own in (("knowledge", self.knowledge), ("difficulty", self.difficulty))
            if own is not None
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
    """A head for each task that the bank has labels for.

    Args:
        vectors: ``[questions of the bank, width]``.
        sources: ``use_vectors``, ``use_words`` (and ``neighbours``), to leave something out.

    Raises:
        ValueError: Not one finite vector per question.
    """
    if len(vectors) != len(data.bank):
        raise ValueError(f"{len(vectors)} vectors for {len(data.bank)} questions")
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors hold NaN or infinity")
    knowledge = difficulty = None
    if data.knowledge is not None:
        train, valid = data.labelled(vectors)
        with _progress(fit_count(train.knowledge), "fit knowledge", show_progress) as bar:
            knowledge = fit_knowledge_head(train, valid, step=bar.update, **sources)
    if data.difficulty is not None:
        rated, held_out = data.rated(vectors)
        read = {name: value for name, value in sources.items() if name != "neighbours"}
        difficulty = fit_difficulty_head(rated, held_out, **read)
    return knowledge, difficulty


def _texts(bank: QuestionBank) -> list[str]:
    return [question.content for question in bank]


def _progress(total: int, title: str, shown: bool) -> Any:
    return tqdm(total=total, desc=title, unit=" fits", disable=not shown)


def _why_not(counts: list[int], what: str) -> str:
    """Of the different labels in train and the questions in valid; empty where there are enough."""
    if not counts[0]:
        return f"no question of train has a {what}"
    if counts[0] == 1:
        return f"all questions of train have the same {what}"
    return "" if counts[1] else f"no question of valid has a {what}"
