"""Pairs of questions as a recipe sees them, drawn anew or labelled, and how well they are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tqnet.augment.pairs import PairMaker
from tqnet.evaluation.pairs import PairScores
from tqnet.modeling.pairs import PairClassifier
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import QuestionBank
from tqnet.questions.pairs import RELATIONS, LabelledPair
from tqnet.questions.traits import compare, traits
from tqnet.training.data import Batch, Item, QuestionViews

#: Pairs by which states are told apart, where a split has few questions.
FEWEST = 400


class PairViews(QuestionViews):
    """Pairs, the first questions as view 0 and the second ones as view 1; `Batch.extras` has ``features`` and
    ``relation``.

    Args:
        bank: Whose questions are the first of made pairs.
        labelled: Pairs that are given, of which `Batch.index` is the number, in place of made ones.
        pack_first: Whether the first questions are packed; those of a bank may be known as vectors.
    """

    def __init__(
        self,
        bank: QuestionBank,
        processor: TQNetProcessor,
        seed: int,
        labelled: Sequence[LabelledPair],
        workers: int,
        read_images: bool,
        pack_first: bool,
    ):
        super().__init__(bank, processor, seed, workers=workers, read_images=read_images)
        self.labelled, self.pack_first = labelled, pack_first
        self.maker = None if labelled else PairMaker(bank)

    def __len__(self) -> int:
        return len(self.labelled) or len(self.bank)

    def __getitem__(self, item: Item) -> tuple[Item, LabelledPair, np.ndarray]:  # type: ignore[override]
        epoch, index, _ = item
        if self.maker is None:
            pair = self.labelled[index]
        else:
            pair = self.maker.draw(index, np.random.default_rng([self.seed, epoch, index]))
        return item, pair, compare(traits(pair.a), traits(pair.b))

    def collate(self, rows: list[tuple[Item, LabelledPair, np.ndarray]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`."""
        items, pairs, features = zip(*rows, strict=True)
        first = [pair.a for pair in pairs] if self.pack_first else []
        packed = [
            dict(self.processor.pack_questions(questions, self.read_images)) if questions else {}
            for questions in (first, [pair.b for pair in pairs])
        ]
        extras = {
            "features": torch.from_numpy(np.stack(features)),
            "relation": torch.tensor([RELATIONS.index(pair.relation) for pair in pairs]),
        }
        return Batch(torch.tensor([index for _, index, _ in items]), packed, extras)

    def ids(self, index: Tensor) -> list[str]:
        """Ids of the questions of a batch, both ends of labelled pairs."""
        if not self.labelled:
            return super().ids(index)
        return [end.id for i in index for end in (self.labelled[int(i)].a, self.labelled[int(i)].b)]


def made_pairs(bank: QuestionBank) -> list[LabelledPair]:
    """A pair of each question, and more of a small bank; the same every time."""
    maker, rounds = PairMaker(bank), max(1, FEWEST // len(bank))
    return [
        maker.draw(row, np.random.default_rng([0, number, row])) for number in range(rounds) for row in range(len(bank))
    ]


class ValidationPairs:
    """How well a classifier tells the relations apart: by the macro F1 of the first pairs the best state is chosen.

    Args:
        pairs: By the name that they have in the log.
    """

    def __init__(self, classifier: PairClassifier, pairs: dict[str, Sequence[LabelledPair]], precision: str):
        self.classifier, self.pairs, self.precision = classifier, pairs, precision
        self._vectors: dict[str, np.ndarray] = {}  # of a frozen encoder, which are the same every time

    def __call__(self) -> dict[str, float]:
        logged = {}
        for name, pairs in self.pairs.items():
            if name not in self._vectors or not self.classifier.frozen:
                self._vectors[name] = pair_vectors(self.classifier, pairs, precision=self.precision)
            scores = score_pairs(self.classifier, pairs, self._vectors[name])
            logged[f"{name}/macro_f1"] = scores.macro_f1
            logged |= {f"{name}/f1_{relation}": f1 for relation, f1 in zip(RELATIONS, scores.f1, strict=True)}
        return logged


def pair_vectors(classifier: PairClassifier, pairs: Sequence[LabelledPair], **options: Any) -> np.ndarray:
    """Vectors [2 p, h] of both ends of every pair; options as of `tqnet.modeling.encode.encode`."""
    questions = [question for pair in pairs for question in (pair.a, pair.b)]
    return classifier.encoder.encode(questions, **{"device": classifier.encoder.device} | options)


def score_pairs(classifier: PairClassifier, pairs: Sequence[LabelledPair], vectors: np.ndarray) -> PairScores:
    """What a classifier makes of labelled pairs, whose `pair_vectors` are known."""
    questions = [question for pair in pairs for question in (pair.a, pair.b)]
    ends = np.arange(len(questions)).reshape(-1, 2).T
    return PairScores.from_pairs(pairs, classifier.classify_pairs(questions, vectors, ends))
