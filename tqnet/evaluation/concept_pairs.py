"""How far the questions of two concepts lie from each other, of near concepts and of far ones (FSE, Figure 6)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, bootstrap_interval
from tqnet.evaluation.table import Table
from tqnet.questions import QuestionBank
from tqnet.questions.question import KnowledgePath

#: A concept needs so many questions to be drawn, and gives at most so many.
LEAST, MOST = 5, 60

#: Concepts that pairs are drawn of: as many as a list of all their pairs has room for.
_MOST_CONCEPTS = 1000

#: Near concepts are of one parent; far ones have nothing in common.
NEAR, FAR = "near", "far"


@dataclass(frozen=True)
class ConceptPair:
    """Two concepts with as many questions of each, none of both.

    Attributes:
        kind: ``near`` or ``far``.
        concepts: Their paths.
        questions: Places in the bank, ``[2, n]``.
    """

    kind: str
    concepts: tuple[KnowledgePath, KnowledgePath]
    questions: IntArray


@dataclass(frozen=True)
class PairScores:
    """What vectors make of pairs of concepts, ``[pairs]`` each.

    Attributes:
        within, between: Mean cosine of questions of the same concept, and of one with the other.
        mixed: Share of the questions whose nearest neighbour is of the other concept; 0.5 if the two are one cloud.
    """

    within: FloatArray
    between: FloatArray
    mixed: FloatArray


def draw_concept_pairs(
    bank: QuestionBank, split: str | None = "test", *, level: int | None = None, pairs: int = 100, seed: int = 0
) -> list[ConceptPair]:
    """At most ``pairs`` near pairs of concepts, at random, then as many far ones.

    Args:
        split: Whose questions are taken; None: of every split.
        level: Of the concepts, 2 and more, since near ones have a parent in common; by default the deepest.

    Raises:
        ValueError: The hierarchy has no such level, or there are no two concepts with enough questions of a kind.
    """
    paths = bank.column("knowledge")
    depth = max((len(path) for own in paths for path in own), default=0)
    level = depth if level is None else level
    if not 2 <= level <= depth:
        raise ValueError(f"level {level}: the hierarchy has levels 1 to {depth}, and near concepts have a parent")
    members: dict[KnowledgePath, set[int]] = defaultdict(set)
    for at, (own, of) in enumerate(zip(paths, bank.column("split"), strict=True)):
        if split in (None, of):
            for path in own:
                if len(path) >= level:
                    members[path[:level]].add(at)
    rng = np.random.default_rng(seed)
    large = sorted(concept for concept, own in members.items() if len(own) >= LEAST)
    every = list(itertools.combinations((large[at] for at in rng.permutation(len(large))[:_MOST_CONCEPTS]), 2))
    near = [(one, other) for one, other in every if one[: level - 1] == other[: level - 1]]
    far = [(one, other) for one, other in every if one[0] != other[0]]
    found = []
    for kind, of_kind in ((NEAR, near), (FAR, far)):
        drawn = [_pair(kind, of_kind[at], members, rng) for at in rng.permutation(len(of_kind))[: 3 * pairs]]
        enough = [pair for pair in drawn if pair.questions.shape[1] >= LEAST][:pairs]
        if not enough:
            where = "the bank" if split is None else f"split {split!r}"
            raise ValueError(f"{where} has no two {kind} concepts of level {level} with {LEAST} questions each")
        found += enough
    return found


def _pair(
    kind: str,
    concepts: tuple[KnowledgePath, KnowledgePath],
    members: Mapping[KnowledgePath, set[int]],
    rng: np.random.Generator,
) -> ConceptPair:
    one, other = (members[concept] for concept in concepts)
    own = [np.array(sorted(questions), dtype=np.int64) for questions in (one - other, other - one)]
    count = min(MOST, *map(len, own))
    return ConceptPair(kind, concepts, np.stack([rng.permutation(questions)[:count] for questions in own]))


def measure_concept_pairs(vectors: npt.NDArray[np.floating], pairs: Sequence[ConceptPair]) -> PairScores:
    """Cosines and nearest neighbours among the questions of each pair.

    Shape:
        - vectors: ``[questions of the bank, width]``
    """
    rows = []
    for pair in pairs:
        own = vectors[pair.questions.ravel()].astype(np.float64)
        unit = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
        cosine = unit @ unit.T
        second = np.repeat([False, True], pair.questions.shape[1])
        same = second[:, None] == second
        others = ~np.eye(len(own), dtype=bool)
        nearest = np.where(others, cosine, -np.inf).argmax(1)
        rows.append((cosine[same & others].mean(), cosine[~same].mean(), (second[nearest] != second).mean()))
    return PairScores(*np.array(rows).T)


def concept_table(results: Mapping[str, PairScores], pairs: Sequence[ConceptPair]) -> Table:
    """A row for each stage and kind."""
    rows = []
    for name, scores in results.items():
        for kind in (NEAR, FAR):
            chosen = np.array([pair.kind == kind for pair in pairs])
            low, high = bootstrap_interval(scores.mixed[chosen], np.arange(chosen.sum()))
            cosines = (f"{values[chosen].mean():.3f}" for values in (scores.within, scores.between))
            mixed = f"{scores.mixed[chosen].mean():.3f}", f"{low:.3f}–{high:.3f}"
            rows.append((f"{name}, {kind}", f"{chosen.sum():,}", *cosines, *mixed))
    header = ("stage and concepts", "pairs", "cosine within", "between", "mixed", "95 % interval")
    note = (
        "Mean cosine of questions of one concept, and of the one with the other; mixed is the share of questions whose "
        "nearest neighbour among both is of the other concept. Near concepts have the same parent, far ones nothing in "
        "common. Intervals are over pairs."
    )
    return Table("Near and far concepts", header, tuple(rows), (note,))


def to_numbers(results: Mapping[str, PairScores], pairs: Sequence[ConceptPair]) -> dict[str, Any]:
    """Plain numbers for JSON: the means by stage and kind."""
    kinds = np.array([pair.kind for pair in pairs])
    return {
        name: {kind: {of: float(values[kinds == kind].mean()) for of, values in vars(scores).items()}
               for kind in (NEAR, FAR)}
        for name, scores in results.items()
    }  # fmt: skip
