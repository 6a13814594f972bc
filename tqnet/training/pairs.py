"""Data sets of made or labelled pairs of questions, and their scores."""

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

#: Pairs to make of a small validation split.
FEWEST = 400


class PairViews(QuestionViews):
    """Pairs: first questions as view 0, second ones as view 1; ``features`` and ``relation`` in `Batch.extras`.

    Args:
        bank: First questions of made pairs.
        labelled: Given pairs, numbered by `Batch.index`; replace made pairs.
        packed: Whether to pack the first and the second questions; those whose vectors are known need not be.
    """

    def __init__(
        self,
        bank: QuestionBank,
        processor: TQNetProcessor,
        seed: int,
        labelled: Sequence[LabelledPair],
        workers: int,
        read_images: bool,
        packed: tuple[bool, bool] = (True, True),
    ):
        super().__init__(bank, processor, seed, workers=workers, read_images=read_images)
        self.labelled, self.packed = labelled, packed
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
        """Pack rows of :meth:`__getitem__` into a :class:`Batch`."""
        items, pairs, features = zip(*rows, strict=True)
        ends = [pair.a for pair in pairs], [pair.b for pair in pairs]
        packed = [
            dict(self.processor.pack_questions(questions, self.read_images)) if wanted else {}
            for questions, wanted in zip(ends, self.packed, strict=True)
        ]
        extras = {
            "features": torch.from_numpy(np.stack(features)),
            "relation": torch.tensor([RELATIONS.index(pair.relation) for pair in pairs]),
        }
        return Batch(torch.tensor([index for _, index, _ in items]), packed, extras)

    def ids(self, index: Tensor) -> list[str]:
        """Return the question ids of a batch, both of each labelled pair."""
        if not self.labelled:
            return super().ids(index)
        return [end.id for i in index for end in (self.labelled[int(i)].a, self.labelled[int(i)].b)]


def made_pairs(bank: QuestionBank) -> list[LabelledPair]:
    """Make one pair per question, more for a small bank; deterministic."""
    maker, rounds = PairMaker(bank), max(1, FEWEST // len(bank))
    return [
        maker.draw(row, np.random.default_rng([0, number, row])) for number in range(rounds) for row in range(len(bank))
    ]


class ValidationPairs:
    """Validation F1 of the relations; the macro F1 on the first set of pairs chooses the best state.

    Args:
        pairs: Name in the log -> pairs.
    """

    def __init__(self, classifier: PairClassifier, pairs: dict[str, Sequence[LabelledPair]], precision: str):
        self.classifier, self.pairs, self.precision = classifier, pairs, precision
        self._vectors: dict[str, np.ndarray] = {}  # reused if the encoder is frozen

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
    """Encode both questions of every pair: [2 p, h]; options as in `tqnet.modeling.encode.encode`."""
    questions = [question for pair in pairs for question in (pair.a, pair.b)]
    return classifier.encoder.encode(questions, **{"device": classifier.encoder.device} | options)


def score_pairs(classifier: PairClassifier, pairs: Sequence[LabelledPair], vectors: np.ndarray) -> PairScores:
    """Score a classifier on labelled pairs, given their `pair_vectors`."""
    questions = [question for pair in pairs for question in (pair.a, pair.b)]
    ends = np.arange(len(questions)).reshape(-1, 2).T
    return PairScores.from_pairs(pairs, classifier.classify_pairs(questions, vectors, ends))
