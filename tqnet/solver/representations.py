"""What a solver's encoder makes of problems: do those of one prototype lie together? (mwp-cl, Sections 3 and 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray
from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas
from tqnet.evaluation.ranking import TfidfRanker
from tqnet.evaluation.table import NOTHING, Table
from tqnet.modeling.fusion import masked_mean
from tqnet.text.equations import infix

if TYPE_CHECKING:
    from tqnet.solver.evaluation import SolverScores, ToldProblem
    from tqnet.solver.model import Solution, WordProblemSolver


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


# Pictures of a solver's representations (mwp-cl, Figures 3, 4 and 8).


#: Below, a curve through the intervals says nothing.
_LEAST_POINTS = 4


def accuracy_by_centre(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Share of right equations by the cosine to the prototype's centre, larger points for more problems.

    Dotted is a parabola by least squares, each interval weighted by its problems.
    """
    with canvas(7.2, 3.8, theme, fmt) as (figure, buffer):
        axes = figure.add_subplot()
        for (name, found), color in zip(results.items(), PALETTE * len(results), strict=False):
            shown = [one for one in found.distances if one.right is not None]
            x = np.array([(one.low + one.high) / 2 for one in shown])
            y = np.array([one.right for one in shown], dtype=np.float64)
            problems = np.array([one.problems for one in shown], dtype=np.float64)
            axes.plot(x, y, color=color, linewidth=1.6, label=name)
            axes.scatter(x, y, s=12 + 3 * np.sqrt(problems), color=color, linewidths=0)
            if len(x) >= _LEAST_POINTS:
                fitted = np.polynomial.Polynomial.fit(x, y, 2, w=np.sqrt(problems))
                curve = np.linspace(x.min(), x.max(), 60)
                axes.plot(curve, fitted(curve), color=color, linewidth=1.1, linestyle=":")
        axes.set_ylim(0, 1)
        axes.set_xlabel("cosine to the centre of the prototype", fontsize=9)
        axes.set_ylabel("equations right", fontsize=9)
        axes.grid(axis="y", color=theme.faint, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=10, labelcolor=theme.ink)
    return buffer.getvalue()


def plot_similarity_by_layer(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Mean cosine of two kinds of pairs behind each layer, a picture for each solver that has layers.

    Raises:
        ValueError: None has.
    """
    shown = {name: found.by_layer for name, found in results.items() if found.by_layer is not None}
    if not shown:
        raise ValueError("there is no similarity by layer to draw")
    kinds = (("alike in words, other prototype", PALETTE[0]), ("of one prototype, unlike in words", PALETTE[5]))
    with canvas(max(3.6 * len(shown), 5.0), 3.6, theme, fmt) as (figure, buffer):
        for place, (name, by_layer) in enumerate(shown.items(), start=1):
            axes = figure.add_subplot(1, len(shown), place)
            for (label, color), means in zip(kinds, by_layer, strict=True):
                axes.plot(range(len(means)), means, color=color, linewidth=1.8, marker="o", markersize=4, label=label)
            axes.set_title(name, fontsize=12, loc="left", color=theme.ink)
            axes.set_xticks(range(len(by_layer[0])))
            axes.set_xlabel("layer, 0 the embeddings", fontsize=9)
            axes.set_ylabel("mean cosine", fontsize=9)
            axes.grid(axis="y", color=theme.faint, linewidth=0.8)
            axes.set_axisbelow(True)
        handles, texts = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=2, frameon=False, fontsize=10, labelcolor=theme.ink
        )
    return buffer.getvalue()


# What the representations of solvers are like, and problems that one solves and another does not, as tables.


_EXAMPLES, _LONGEST = 5, 200


def prototype_table(analyses: Mapping[str, Analysis], told: Sequence[ToldProblem]) -> Table:
    """Calinski-Harabasz index, mean cosine to the centre, and the ends of the similarity by layer."""
    common = common_prototypes(told)
    count = len({one.prototype for one, of in zip(told, common, strict=True) if of})
    rows = []
    for name, found in analyses.items():
        index = NOTHING if found.index is None else f"{found.index:.1f}"
        centre = f"{found.cosines.mean():.3f}" if len(found.cosines) else NOTHING
        layers = [NOTHING] * 2
        if found.by_layer is not None:
            layers = [f"{means[0]:.3f} → {means[-1]:.3f}" for means in found.by_layer]
        rows.append((name, index, centre, *layers))
    note = (
        f"Of the {common.sum():,} problems whose prototype has at least {LEAST_MEMBERS}, {count:,} prototypes; the "
        "representation is the state of [CLS], the decoder's first goal. By layer, the mean cosine of means over "
        f"words, of embeddings and of the last layer, of at most {PAIRS} pairs: of other prototypes and most alike in "
        "words, and of one prototype and least alike (TF-IDF)."
    )
    header = ("solver", "Calinski-Harabasz", "cosine to centre", "pairs alike in words", "pairs of one prototype")
    return Table("Representations by prototype", header, tuple(rows), (note,))


def distance_table(analyses: Mapping[str, Analysis]) -> Table:
    """Share of right equations by the cosine to the prototype's centre; intervals without a problem are left out."""
    first = next(iter(analyses.values())).distances
    rows = []
    for place, interval in enumerate(first):
        own = [found.distances[place] for found in analyses.values()]
        if any(one.problems for one in own):
            cells = (
                cell
                for one in own
                for cell in (f"{one.problems:,}", NOTHING if one.right is None else f"{one.right:.3f}")
            )
            rows.append((f"{interval.low:.1f}–{interval.high:.1f}", *cells))
    columns = (column for name in analyses for column in (f"{name}: problems", "equations right"))
    return Table("Right equations by the cosine to the prototype's centre", ("cosine", *columns), tuple(rows))


def example_table(
    told: Sequence[ToldProblem],
    solutions: Mapping[str, Sequence[Solution]],
    scores: Mapping[str, SolverScores],
    shows_text: bool,
) -> Table:
    """The first problems that the last solver solves and the first does not, or the other way round (Table 7).

    Args:
        shows_text: Else problems are named by their ids: a bank's texts may not be ours to pass on.
    """
    first, last = (list(scores)[at] for at in (0, -1))
    title = f"Problems that {last} solves and {first} does not, and the other way round"
    header = ("problem", "true", first, last)
    if first == last:
        return Table(title, header, ())
    rows = []
    for more, fewer in ((last, first), (first, last)):
        apart = np.flatnonzero(scores[more].answers & ~scores[fewer].answers)
        rows += [(row, f"{more} alone: {len(apart):,}") for row in apart[:_EXAMPLES].tolist()]
    cells = tuple(
        (
            _shortened(told[row].question.content) if shows_text else told[row].question.id,
            infix(told[row].problem.equation),
            *(_equation(solutions[name][row]) for name in (first, last)),
        )
        for row, _ in rows
    )
    return Table(title, header, cells, tuple(f"{note}." for note in dict.fromkeys(note for _, note in rows)))


def _equation(solution: Solution) -> str:
    return infix(solution.equation) if solution.equation else NOTHING


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
