"""Knowledge-point prediction by a linear probe on frozen vectors, one per level of the hierarchy (TQ-Net, Table 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.linear_probe import LinearProbe, fit_probe, indicators
from tqnet.evaluation.metrics import (
    BoolArray,
    IntArray,
    Interval,
    check_vectors,
    exact_match,
    f1_terms,
    macro_f1,
    micro_f1,
    percentiles,
    resampled_ratio,
)
from tqnet.questions.splits import has_splits, question_units

if TYPE_CHECKING:
    from tqnet.questions import KnowledgeHierarchy, QuestionBank

Splits = Mapping[str, IntArray]

#: Share of ``valid`` and of ``test`` where the bank has none.
_SHARE = 0.1


@dataclass(frozen=True)
class ProbeScores:
    """Scores on ``test``, see ``metrics``; ``interval`` is that of micro F1, 95 %, resampled by group."""

    micro_f1: float
    interval: Interval
    macro_f1: float
    accuracy: float

    @classmethod
    def measure(cls, truth: BoolArray, predicted: BoolArray, groups: IntArray) -> ProbeScores:
        """Score two indicator matrices ``[questions, classes]``; ``groups [questions]``."""
        interval = percentiles(resampled_ratio(*f1_terms(truth, predicted), groups))
        return cls(micro_f1(truth, predicted), interval, macro_f1(truth, predicted), exact_match(truth, predicted))


@dataclass(frozen=True)
class LevelResult:
    """One level of the hierarchy.

    Attributes:
        level: 1 is the coarsest.
        multi_label: Whether some question has several concepts at this level.
        scores, majority: Scores of the probe, and of always predicting the most frequent concept in ``train``.
        classes: Concepts in ``train``: those that can be predicted.
        unseen: Concepts that occur in ``test`` but not in ``train``; they cannot be predicted and count as missed.
        train, valid, test: Questions with a concept at this level.
        f1_terms: F1 terms of the probe's predictions, ``[2, test]``, for comparing models question by question.
        groups: Group of each question of ``test``, ``[test]``.
    """

    level: int
    multi_label: bool
    scores: ProbeScores
    majority: ProbeScores
    classes: int
    unseen: int
    train: int
    valid: int
    test: int
    probe: LinearProbe
    f1_terms: IntArray
    groups: IntArray

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON, with the chosen penalty and threshold."""
        plain = {name: value for name, value in vars(self).items() if name not in ("probe", "f1_terms", "groups")}
        for name, scores in (("scores", self.scores), ("majority", self.majority)):
            plain[name] = asdict(scores) | {"interval": scores.interval.to_json()}
        return plain | {"l2": self.probe.l2, "threshold": self.probe.threshold}


@dataclass(frozen=True)
class ProbeResult:
    """Outcome of ``evaluate_probe``: one ``LevelResult`` per level, coarsest first.

    Attributes:
        drawn: The seed with which the splits were drawn by group, ``None`` if they are the bank's own.
    """

    levels: tuple[LevelResult, ...]
    drawn: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {"levels": [level.to_dict() for level in self.levels], "splits_drawn_with_seed": self.drawn}


def evaluate_probe(
    vectors: npt.NDArray[np.floating], bank: QuestionBank, hierarchy: KnowledgeHierarchy, seed: int = 0
) -> ProbeResult:
    """Fit a probe per level on ``train``, choose on ``valid``, score on ``test`` (see ``probe_splits``).

    A level where every labelled question has exactly one concept is fitted with a softmax, any other with one
    logistic output per concept, of which at least the most probable is predicted. Questions without a concept
    at a level take no part in it; a level that lacks questions in ``train`` or ``test``, or has a single class,
    is skipped.

    Args:
        vectors: ``[questions, width]``, frozen.

    Raises:
        ValueError: Not one finite vector per question.
    """
    check_vectors(vectors, len(bank))
    splits, groups = probe_splits(bank, seed), np.unique(question_units(bank), return_inverse=True)[1]
    results = (_evaluate_level(vectors, hierarchy, level, splits, groups) for level in range(1, hierarchy.depth + 1))
    return ProbeResult(tuple(result for result in results if result is not None), None if has_splits(bank) else seed)


def fittable_levels(hierarchy: KnowledgeHierarchy, splits: Splits) -> list[int]:
    """List the levels with several concepts in ``train`` and a question in ``test``; the others are skipped."""
    levels = []
    for level in range(1, hierarchy.depth + 1):
        _, labels = hierarchy.labels(level)
        concepts = {concept for i in splits["train"] for concept in labels[i]}
        if len(concepts) > 1 and any(labels[i] for i in splits["test"]):
            levels.append(level)
    return levels


def probe_splits(bank: QuestionBank, seed: int = 0) -> dict[str, IntArray]:
    """Return the bank's own splits where it has ``train`` and ``test``, else a seeded split by group.

    Groups never straddle; a question without a group is one of its own. If only ``valid`` is missing, it is
    taken from ``train``; questions without a split then take no part.
    """
    given = np.array([split or "" for split in bank.column("split")])
    parts = {name: np.flatnonzero(given == name) for name in ("train", "valid", "test")}
    units = question_units(bank)
    if not has_splits(bank):
        return draw_by_group(units, np.arange(len(bank)), {"valid": _SHARE, "test": _SHARE}, seed)
    return parts if len(parts["valid"]) else parts | draw_by_group(units, parts["train"], {"valid": _SHARE}, seed)


def labelled_rows(splits: Splits, labelled: BoolArray) -> dict[str, IntArray]:
    """Return the labelled questions of each split, sorted."""
    return {name: rows[labelled[rows]] for name in ("train", "valid", "test") for rows in [np.sort(splits[name])]}


def draw_by_group(
    units: Sequence[str], indices: IntArray, shares: Mapping[str, float], seed: int
) -> dict[str, IntArray]:
    """Deal whole units out to the named parts until each holds its share; what is left is ``train``."""
    names, codes = np.unique([units[i] for i in indices], return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    sizes = np.bincount(codes, minlength=len(names))[order]
    before = np.empty(len(names))  # share of the questions that lie before each unit in the drawn order
    before[order] = (np.cumsum(sizes) - sizes) / max(1, len(indices))
    parts, low = {}, 0.0
    for name, share in shares.items():
        parts[name] = indices[((before >= low) & (before < low + share))[codes]]
        low += share
    return parts | {"train": indices[(before >= low)[codes]]}


def _evaluate_level(
    vectors: npt.NDArray[np.floating], hierarchy: KnowledgeHierarchy, level: int, splits: Splits, groups: IntArray
) -> LevelResult | None:
    names, labels = hierarchy.labels(level)
    rows = labelled_rows(splits, np.array([len(concepts) > 0 for concepts in labels], dtype=bool))
    truth = {name: indicators([labels[i] for i in part], len(names)) for name, part in rows.items()}
    seen = np.flatnonzero(truth["train"].any(axis=0))
    if len(seen) < 2 or not len(rows["test"]):
        return None

    multi_label = any(len(set(concepts)) > 1 for concepts in labels)
    train, valid = ((vectors[rows[name]], truth[name][:, seen]) for name in ("train", "valid"))
    probe = fit_probe(train, valid, [names[i] for i in seen], multi_label=multi_label)
    predicted, majority = np.zeros_like(truth["test"]), np.zeros_like(truth["test"])
    predicted[:, seen] = probe.predict(vectors[rows["test"]])
    majority[:, truth["train"].sum(axis=0).argmax()] = True
    return LevelResult(
        level=level,
        multi_label=multi_label,
        scores=ProbeScores.measure(truth["test"], predicted, groups[rows["test"]]),
        majority=ProbeScores.measure(truth["test"], majority, groups[rows["test"]]),
        classes=len(seen),
        unseen=int((truth["test"].any(axis=0) & ~truth["train"].any(axis=0)).sum()),
        train=len(rows["train"]),
        valid=len(rows["valid"]),
        test=len(rows["test"]),
        probe=probe,
        f1_terms=np.stack(f1_terms(truth["test"], predicted)),
        groups=groups[rows["test"]],
    )
