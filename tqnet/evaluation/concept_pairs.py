"""How far apart the questions of two concepts lie, for near and for far concepts (FSE, Figure 6)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, bootstrap_interval
from tqnet.evaluation.similar import in_split
from tqnet.evaluation.table import Table
from tqnet.questions import QuestionBank
from tqnet.questions.question import KnowledgePath

#: Minimum number of questions of a concept, and maximum number to draw from it.
LEAST, MOST = 5, 60
#: Maximum number of concepts to draw pairs of: a list of all their pairs must fit in memory.
_MOST_CONCEPTS = 1000

#: Near concepts have the same parent; far ones have nothing in common.
NEAR, FAR = "near", "far"


@dataclass(frozen=True)
class ConceptPair:
    """Two concepts, ``near`` or ``far``, with row numbers of n questions of each, none of both: ``[2, n]``."""

    kind: str
    concepts: tuple[KnowledgePath, KnowledgePath]
    questions: IntArray


@dataclass(frozen=True)
class ConceptPairScores:
    """Similarities under one model, ``[pairs]`` each.

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
    """Draw at most ``pairs`` near pairs of concepts, then as many far ones.

    Args:
        split: Split whose questions are taken; None takes all.
        level: Level of the concepts, at least 2, since near ones have a parent in common; by default the deepest.

    Raises:
        ValueError: The hierarchy has no such level, or there are no two concepts with enough questions of a kind.
    """
    knowledge = bank.column("knowledge")
    depth = max((len(path) for paths in knowledge for path in paths), default=0)
    level = depth if level is None else level
    if not 2 <= level <= depth:
        raise ValueError(f"level {level}: the hierarchy has levels 1 to {depth}, and near concepts have a parent")
    members: dict[KnowledgePath, set[int]] = defaultdict(set)
    for place in np.flatnonzero(in_split(bank, split)).tolist():
        for path in knowledge[place]:
            if len(path) >= level:
                members[path[:level]].add(place)
    rng = np.random.default_rng(seed)
    large = sorted(concept for concept, questions in members.items() if len(questions) >= LEAST)
    every = list(itertools.combinations((large[at] for at in rng.permutation(len(large))[:_MOST_CONCEPTS]), 2))
    near = [(a, b) for a, b in every if a[: level - 1] == b[: level - 1]]
    far = [(a, b) for a, b in every if a[0] != b[0]]
    result = []
    for kind, candidates in ((NEAR, near), (FAR, far)):
        order = rng.permutation(len(candidates))[: 3 * pairs]
        drawn = [ConceptPair(kind, candidates[at], _exclusive(candidates[at], members, rng)) for at in order]
        enough = [pair for pair in drawn if pair.questions.shape[1] >= LEAST][:pairs]
        if not enough:
            where = "the bank" if split is None else f"split {split!r}"
            raise ValueError(f"{where} has no two {kind} concepts of level {level} with {LEAST} questions each")
        result += enough
    return result


def _exclusive(
    concepts: tuple[KnowledgePath, KnowledgePath], members: Mapping[KnowledgePath, set[int]], rng: np.random.Generator
) -> IntArray:
    first, second = (members[concept] for concept in concepts)
    exclusive = [np.array(sorted(questions), dtype=np.int64) for questions in (first - second, second - first)]
    count = min(MOST, *map(len, exclusive))
    return np.stack([rng.permutation(questions)[:count] for questions in exclusive])


def measure_concept_pairs(vectors: npt.NDArray[np.floating], pairs: Sequence[ConceptPair]) -> ConceptPairScores:
    """Compute cosines and nearest neighbours among the questions of each pair; ``vectors [questions, width]``."""
    rows = []
    for pair in pairs:
        chosen = vectors[pair.questions.ravel()].astype(np.float64)
        unit = chosen / np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), 1e-12)
        cosine = unit @ unit.T
        second = np.repeat([False, True], pair.questions.shape[1])
        same = second[:, None] == second
        others = ~np.eye(len(chosen), dtype=bool)
        nearest = np.where(others, cosine, -np.inf).argmax(1)
        rows.append((cosine[same & others].mean(), cosine[~same].mean(), (second[nearest] != second).mean()))
    return ConceptPairScores(*np.array(rows).T)


def concept_table(results: Mapping[str, ConceptPairScores], pairs: Sequence[ConceptPair]) -> Table:
    """Make a table with a row for each stage and kind."""
    rows = []
    for name, kinds in to_numbers(results, pairs).items():
        for kind, means in kinds.items():
            mixed = results[name].mixed[[pair.kind == kind for pair in pairs]]
            interval = bootstrap_interval(mixed, np.arange(len(mixed)))
            cells = (f"{mean:.3f}" for mean in means.values())
            rows.append((f"{name}, {kind}", f"{len(mixed):,}", *cells, str(interval)))
    header = ("stage and concepts", "pairs", "cosine within", "between", "mixed", "95 % interval")
    note = (
        "Mean cosine of questions of one concept, and of the one with the other; mixed is the share of questions whose "
        "nearest neighbour among both is of the other concept. Near concepts have the same parent, far ones nothing in "
        "common. Intervals are over pairs."
    )
    return Table("Near and far concepts", header, tuple(rows), (note,))


def to_numbers(
    results: Mapping[str, ConceptPairScores], pairs: Sequence[ConceptPair]
) -> dict[str, dict[str, dict[str, float]]]:
    """Plain numbers for JSON: the means by stage, kind and measure."""
    kinds = {kind: np.array([pair.kind == kind for pair in pairs]) for kind in (NEAR, FAR)}
    return {
        name: {
            kind: {measure: float(values[chosen].mean()) for measure, values in vars(scores).items()}
            for kind, chosen in kinds.items()
        }
        for name, scores in results.items()
    }
