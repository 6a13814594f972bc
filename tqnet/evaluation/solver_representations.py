"""What a solver's encoder makes of problems: do those of one prototype lie together? (mwp-cl, Sections 3 and 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tqnet.evaluation.baselines import TfidfRanker
from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray
from tqnet.modeling.pooling import masked_mean

if TYPE_CHECKING:
    from tqnet.evaluation.solver import ToldProblem
    from tqnet.modeling.solver import WordProblemSolver

#: A prototype with fewer problems has no centre worth the name.
LEAST_MEMBERS = 5
#: Pairs of each kind whose similarity is followed through the layers; the paper has 20, chosen by hand.
PAIRS = 100
#: Ends of the intervals of the cosine to the centre, as in Figures 4 and 8.
EDGES = np.round(np.arange(0.0, 1.01, 0.1), 1)


@dataclass(frozen=True, eq=False)
class Representations:
    """Of n problems.

    Attributes:
        goals: [n, h], the first goal of the decoder: the state of [CLS].
        layers: [l, n, h], mean of all words behind each layer, embeddings first; none where an encoder has no layers
            to look into.
    """

    goals: FloatArray
    layers: FloatArray | None


@torch.inference_mode()
def representations(solver: WordProblemSolver, texts: Sequence[str], batch_size: int = 64) -> Representations:
    """Of texts, in their order, in the precision of the weights."""
    processor, device = solver.encoder.processor, solver.number_ids.device
    text: Any = solver.encoder.text
    ids = processor.tokenize(list(texts))
    processor.forget_cuts()
    order = np.argsort([-len(of) for of in ids], kind="stable")
    goals, layers = [], []
    for start in range(0, len(order), batch_size):
        batch = processor.pack_text([ids[row] for row in order[start : start + batch_size]])
        inputs, mask = batch["input_ids"].to(device), batch["attention_mask"].to(device)
        states = text(input_ids=inputs, attention_mask=mask.bool(), output_hidden_states=True)
        goals.append(states.last_hidden_state[:, 0].float().cpu().numpy())
        if states.hidden_states is not None:
            means = [masked_mean(state, mask.bool()) for state in states.hidden_states]
            layers.append(torch.stack(means).float().cpu().numpy())
    back = np.argsort(order)
    return Representations(np.concatenate(goals)[back], np.concatenate(layers, 1)[:, back] if layers else None)


def common_prototypes(told: Sequence[ToldProblem]) -> BoolArray:
    """bool [n], problems whose prototype has at least `LEAST_MEMBERS`."""
    counts = Counter(one.prototype for one in told)
    return np.array([counts[one.prototype] >= LEAST_MEMBERS for one in told], dtype=bool)


def calinski_harabasz(vectors: FloatArray, prototypes: Sequence[str]) -> float | None:
    """How far the centres of prototypes lie apart, by how far their problems lie around them (Calinski and Harabasz
    1974); None with fewer than two prototypes.

    Shape:
        - vectors: ``[n, width]``, of problems of `common_prototypes`
    """
    from sklearn.metrics import calinski_harabasz_score

    if len(set(prototypes)) < 2:
        return None
    return float(calinski_harabasz_score(vectors, np.unique(prototypes, return_inverse=True)[1]))


def cosines_to_centres(vectors: FloatArray, prototypes: Sequence[str]) -> FloatArray:
    """[n], cosine of each representation and the mean of those of its prototype (Section 3.4, "cosine distance")."""
    groups = np.unique(prototypes, return_inverse=True)[1]
    centres = np.stack([vectors[groups == group].mean(0) for group in range(groups.max() + 1)])
    return _cosines(vectors, centres[groups])


@dataclass(frozen=True)
class DistanceBin:
    """Problems whose cosine to their prototype's centre is in [low, high)."""

    low: float
    high: float
    problems: int
    right: float | None
    """Share of them whose equation is right; None without a problem."""


def accuracy_by_distance(cosines: FloatArray, right: BoolArray) -> list[DistanceBin]:
    """Share of right equations in each interval of the cosine (Figures 4 and 8); negative cosines are in the first."""
    places = np.clip(np.searchsorted(EDGES, cosines, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for place, (low, high) in enumerate(zip(EDGES[:-1].tolist(), EDGES[1:].tolist(), strict=True)):
        own = right[places == place]
        bins.append(DistanceBin(low, high, len(own), float(own.mean()) if len(own) else None))
    return bins


@dataclass(frozen=True, eq=False)
class LayerPairs:
    """Pairs of problems, by place: int [p, 2] of each kind.

    Attributes:
        words: Alike in words, of different prototypes.
        prototype: Of one prototype, unlike in words.
    """

    words: IntArray
    prototype: IntArray


def draw_layer_pairs(told: Sequence[ToldProblem], pairs: int = PAIRS) -> LayerPairs | None:
    """For each problem the one of another prototype whose words are most like its own, by TF-IDF, and the one of the
    same prototype whose words are least so; of these pairs the most and the least alike ones, each pair once.

    NOTE: the paper has pairs that people chose. None where there is no pair of a kind.
    """
    texts = [one.question.content for one in told]
    everyone = np.arange(len(told))
    alike = TfidfRanker(texts, [one.question.id for one in told]).scores(everyone, everyone).astype(np.float64)
    groups = np.unique([one.prototype for one in told], return_inverse=True)[1]
    same = groups[:, None] == groups
    words = _best(np.where(same, -np.inf, alike), pairs)
    np.fill_diagonal(same, False)
    prototype = _best(np.where(same, -alike, -np.inf), pairs)
    return LayerPairs(words, prototype) if len(words) and len(prototype) else None


def _best(scores: FloatArray, pairs: int) -> IntArray:
    """int [p, 2], of each row its best column, the best rows first."""
    columns = scores.argmax(1)
    found = scores[np.arange(len(scores)), columns]
    rows = [row for row in np.argsort(-found, kind="stable").tolist() if np.isfinite(found[row])]
    unordered = dict.fromkeys((min(row, int(columns[row])), max(row, int(columns[row]))) for row in rows)
    return np.array(list(unordered)[:pairs], dtype=np.int64).reshape(-1, 2)


def similarity_by_layer(layers: FloatArray, pairs: LayerPairs) -> tuple[FloatArray, FloatArray]:
    """Mean cosine [l] of pairs alike in words, and of pairs of one prototype (Figure 3)."""

    def mean(of: IntArray) -> FloatArray:
        return np.array([_cosines(layer[of[:, 0]], layer[of[:, 1]]).mean() for layer in layers])

    return mean(pairs.words), mean(pairs.prototype)


def _cosines(first: FloatArray, second: FloatArray) -> FloatArray:
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    found: FloatArray = np.einsum("nh,nh->n", first, second) / np.maximum(norms, 1e-12)
    return found


@dataclass(frozen=True, eq=False)
class Analysis:
    """All that was found of one solver's representations.

    Attributes:
        index: Calinski-Harabasz, of goals.
        cosines: [n], to the centres.
        by_layer: Similarity of both kinds of pairs.
    """

    index: float | None
    cosines: FloatArray
    distances: list[DistanceBin] = field(default_factory=list)
    by_layer: tuple[FloatArray, FloatArray] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            "calinski_harabasz": self.index,
            "by_cosine_to_centre": [vars(one) for one in self.distances],
            "by_layer": None
            if self.by_layer is None
            else dict(zip(("alike_in_words", "of_one_prototype"), (of.tolist() for of in self.by_layer), strict=True)),
        }


def analysed(
    found: Representations, told: Sequence[ToldProblem], right: BoolArray, pairs: LayerPairs | None
) -> Analysis:
    """The analyses of one solver; ``right`` [n] says whose equations are right."""
    common = common_prototypes(told)
    prototypes = [one.prototype for one, of in zip(told, common, strict=True) if of]
    if not prototypes:
        return Analysis(None, np.zeros(0))
    goals = found.goals[common]
    cosines = cosines_to_centres(goals, prototypes)
    layers = similarity_by_layer(found.layers, pairs) if pairs is not None and found.layers is not None else None
    return Analysis(calinski_harabasz(goals, prototypes), cosines, accuracy_by_distance(cosines, right[common]), layers)
