"""Measure whether a solver represents problems of one prototype close together (mwp-cl, Sections 3, 5.4).

Numbers, tables and plots on the decoder's goals and the encoder's layers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tqnet.evaluation.agreement import cosines
from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray
from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas, style_axes
from tqnet.evaluation.ranking import TfidfRanker
from tqnet.evaluation.table import NOTHING, Table
from tqnet.modeling.fusion import masked_mean
from tqnet.text.equations import infix

if TYPE_CHECKING:
    from tqnet.solver.evaluation import GoldProblem, SolverScores
    from tqnet.solver.model import Solution, WordProblemSolver

#: Minimum number of problems for a prototype's centre.
LEAST_MEMBERS = 5
#: Pairs of each kind for similarity by layer; the paper has 20, chosen by hand.
PAIRS = 100
#: Bin edges of the cosine to the centre, as in Figures 4 and 8.
EDGES = np.round(np.arange(0.0, 1.01, 0.1), 1)
#: Minimum number of bins for a fitted curve.
_LEAST_POINTS = 4
#: Maximum number of problems per solver, and of characters of each, in a table of examples.
_EXAMPLES, _LONGEST = 5, 200


@dataclass(frozen=True, eq=False)
class Representations:
    """Vectors of n problems.

    Attributes:
        goals: [n, h], the decoder's first goal: the state of [CLS].
        layers: [l, n, h], mean over words after each layer, embeddings first; None for an encoder without layers.
    """

    goals: FloatArray
    layers: FloatArray | None


@torch.inference_mode()
def representations(solver: WordProblemSolver, texts: Sequence[str], batch_size: int = 64) -> Representations:
    """Encode texts in the weights' precision."""
    processor, device = solver.encoder.processor, solver.number_ids.device
    text: Any = solver.encoder.text
    ids = processor.tokenize(list(texts))
    processor.forget_cuts()
    order = np.argsort([-len(tokens) for tokens in ids], kind="stable")
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


def common_prototypes(problems: Sequence[GoldProblem]) -> BoolArray:
    """Mark the problems whose prototype has at least `LEAST_MEMBERS`: bool [n]."""
    counts = Counter(problem.prototype for problem in problems)
    return np.array([counts[problem.prototype] >= LEAST_MEMBERS for problem in problems], dtype=bool)


def calinski_harabasz(vectors: FloatArray, prototypes: Sequence[str]) -> float | None:
    """Return the ratio of dispersion between and within prototypes (Calinski and Harabasz 1974).

    None with fewer than two prototypes.

    Shape:
        - vectors: ``[n, width]``, of problems of `common_prototypes`
    """
    from sklearn.metrics import calinski_harabasz_score

    if len(set(prototypes)) < 2:
        return None
    return float(calinski_harabasz_score(vectors, np.unique(prototypes, return_inverse=True)[1]))


def cosines_to_centres(vectors: FloatArray, prototypes: Sequence[str]) -> FloatArray:
    """Return the cosine [n] of each vector to its prototype's mean (Section 3.4, "cosine distance")."""
    groups = np.unique(prototypes, return_inverse=True)[1]
    centres = np.stack([vectors[groups == group].mean(0) for group in range(groups.max() + 1)])
    return cosines(vectors, centres[groups])


@dataclass(frozen=True)
class DistanceBin:
    """Problems whose cosine to their prototype's centre is in [low, high).

    Attributes:
        right: Share with a correct equation; None without problems.
    """

    low: float
    high: float
    problems: int
    right: float | None


def accuracy_by_distance(to_centres: FloatArray, right: BoolArray) -> list[DistanceBin]:
    """Return the share of correct equations per bin of the cosine (Figures 4 and 8), the first with negative ones."""
    places = np.clip(np.searchsorted(EDGES, to_centres, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for place, (low, high) in enumerate(zip(EDGES[:-1].tolist(), EDGES[1:].tolist(), strict=True)):
        inside = right[places == place]
        bins.append(DistanceBin(low, high, len(inside), float(inside.mean()) if len(inside) else None))
    return bins


#: Row numbers of pairs, int [p, 2]: similar words, different prototypes; same prototype, dissimilar words.
LayerPairs = tuple[IntArray, IntArray]


def draw_layer_pairs(problems: Sequence[GoldProblem]) -> LayerPairs | None:
    """Pair each problem with the nearest of another prototype and the farthest of its own, by TF-IDF.

    Keep the most similar and most dissimilar pairs, each once; None if either kind has none.

    NOTE: the paper's pairs are chosen by hand.
    """
    texts = [problem.question.content for problem in problems]
    everyone = np.arange(len(problems))
    ranker = TfidfRanker(texts, [problem.question.id for problem in problems])
    alike = ranker.scores(everyone, everyone).astype(np.float64)
    groups = np.unique([problem.prototype for problem in problems], return_inverse=True)[1]
    same = groups[:, None] == groups
    words = _best_pairs(np.where(same, -np.inf, alike))
    np.fill_diagonal(same, False)
    prototype = _best_pairs(np.where(same, -alike, -np.inf))
    return (words, prototype) if len(words) and len(prototype) else None


def _best_pairs(scores: FloatArray) -> IntArray:
    """Pair each row with its best column, best rows first: int [p, 2]."""
    columns = scores.argmax(1)
    best = scores[np.arange(len(scores)), columns]
    rows = [row for row in np.argsort(-best, kind="stable").tolist() if np.isfinite(best[row])]
    unordered = dict.fromkeys((min(row, int(columns[row])), max(row, int(columns[row]))) for row in rows)
    return np.array(list(unordered)[:PAIRS], dtype=np.int64).reshape(-1, 2)


def similarity_by_layer(layers: FloatArray, pairs: LayerPairs) -> tuple[FloatArray, FloatArray]:
    """Return the mean cosine [l] of pairs with similar words, and of pairs of one prototype (Figure 3)."""
    words, prototype = (
        np.array([cosines(layer[kind[:, 0]], layer[kind[:, 1]]).mean() for layer in layers]) for kind in pairs
    )
    return words, prototype


@dataclass(frozen=True, eq=False)
class Analysis:
    """Measures of one solver's representations.

    Attributes:
        index: Calinski-Harabasz index of the goals.
        cosines: [n], cosines to the centres.
        by_layer: Similarity of both kinds of pairs.
    """

    index: float | None
    cosines: FloatArray
    distances: list[DistanceBin] = field(default_factory=list)
    by_layer: tuple[FloatArray, FloatArray] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return numbers for JSON."""
        layers = None
        if self.by_layer is not None:
            words, prototype = self.by_layer
            layers = {"alike_in_words": words.tolist(), "of_one_prototype": prototype.tolist()}
        bins = [vars(interval) for interval in self.distances]
        return {"calinski_harabasz": self.index, "by_cosine_to_centre": bins, "by_layer": layers}


def analyse(
    vectors: Representations, problems: Sequence[GoldProblem], right: BoolArray, pairs: LayerPairs | None
) -> Analysis:
    """Measure the representations of one solver; ``right`` [n] marks problems with a correct equation."""
    common = common_prototypes(problems)
    prototypes = [problems[row].prototype for row in np.flatnonzero(common).tolist()]
    if not prototypes:
        return Analysis(None, np.zeros(0))
    goals = vectors.goals[common]
    to_centres = cosines_to_centres(goals, prototypes)
    layers = similarity_by_layer(vectors.layers, pairs) if pairs and vectors.layers is not None else None
    bins = accuracy_by_distance(to_centres, right[common])
    return Analysis(calinski_harabasz(goals, prototypes), to_centres, bins, layers)


def plot_accuracy_by_distance(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Plot the share of correct equations by cosine to the prototype's centre, with larger points for more problems.

    The dotted parabola is fitted by least squares, bins weighted by their problems.
    """
    with canvas(7.2, 3.8, theme, fmt) as (figure, buffer):
        axes = figure.add_subplot()
        for (name, analysis), color in zip(results.items(), cycle(PALETTE), strict=False):
            bins = [interval for interval in analysis.distances if interval.right is not None]
            x = np.array([(interval.low + interval.high) / 2 for interval in bins])
            y = np.array([interval.right for interval in bins], dtype=np.float64)
            problems = np.array([interval.problems for interval in bins], dtype=np.float64)
            axes.plot(x, y, color=color, linewidth=1.6, label=name)
            axes.scatter(x, y, s=12 + 3 * np.sqrt(problems), color=color, linewidths=0)
            if len(x) >= _LEAST_POINTS:
                fitted = np.polynomial.Polynomial.fit(x, y, 2, w=np.sqrt(problems))
                curve = np.linspace(x.min(), x.max(), 60)
                axes.plot(curve, fitted(curve), color=color, linewidth=1.1, linestyle=":")
        axes.set_ylim(0, 1)
        style_axes(axes, theme, x="cosine to the centre of the prototype", y="equations right")
        axes.legend(frameon=False, fontsize=10, labelcolor=theme.ink)
    return buffer.getvalue()


def plot_similarity_by_layer(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Plot the mean cosine of both kinds of pairs after each layer, one panel per solver with layers.

    Raises:
        ValueError: No solver has layers.
    """
    shown = {name: analysis.by_layer for name, analysis in results.items() if analysis.by_layer is not None}
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
            style_axes(axes, theme, x="layer, 0 the embeddings", y="mean cosine")
        handles, texts = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=2, frameon=False, fontsize=10, labelcolor=theme.ink
        )
    return buffer.getvalue()


def prototype_table(analyses: Mapping[str, Analysis], problems: Sequence[GoldProblem]) -> Table:
    """Tabulate the Calinski-Harabasz index, mean cosine to the centre, and first and last similarity by layer."""
    common = np.flatnonzero(common_prototypes(problems)).tolist()
    count = len({problems[row].prototype for row in common})
    rows = []
    for name, analysis in analyses.items():
        index = NOTHING if analysis.index is None else f"{analysis.index:.1f}"
        centre = f"{analysis.cosines.mean():.3f}" if len(analysis.cosines) else NOTHING
        layers = [NOTHING] * 2
        if analysis.by_layer is not None:
            layers = [f"{means[0]:.3f} → {means[-1]:.3f}" for means in analysis.by_layer]
        rows.append((name, index, centre, *layers))
    note = (
        f"Of the {len(common):,} problems whose prototype has at least {LEAST_MEMBERS}, {count:,} prototypes; the "
        "representation is the state of [CLS], the decoder's first goal. By layer, the mean cosine of means over "
        f"words, of embeddings and of the last layer, of at most {PAIRS} pairs: of other prototypes and most alike in "
        "words, and of one prototype and least alike (TF-IDF)."
    )
    header = ("solver", "Calinski-Harabasz", "cosine to centre", "pairs alike in words", "pairs of one prototype")
    return Table("Representations by prototype", header, tuple(rows), (note,))


def distance_table(analyses: Mapping[str, Analysis]) -> Table:
    """Tabulate the share of correct equations by cosine to the prototype's centre, without empty bins."""
    rows = []
    for intervals in zip(*(analysis.distances for analysis in analyses.values()), strict=True):
        if any(interval.problems for interval in intervals):
            cells = []
            for interval in intervals:
                cells += [f"{interval.problems:,}", NOTHING if interval.right is None else f"{interval.right:.3f}"]
            rows.append((f"{intervals[0].low:.1f}–{intervals[0].high:.1f}", *cells))
    columns = (column for name in analyses for column in (f"{name}: problems", "equations right"))
    return Table("Right equations by the cosine to the prototype's centre", ("cosine", *columns), tuple(rows))


def example_table(
    problems: Sequence[GoldProblem],
    solutions: Mapping[str, Sequence[Solution]],
    scores: Mapping[str, SolverScores],
    shows_text: bool,
) -> Table:
    """Tabulate the first problems that the last solver solves and the first does not, or vice versa (Table 7).

    Args:
        shows_text: Show texts. Otherwise show ids: a bank's texts may not be ours to publish.
    """
    first, last = (list(scores)[at] for at in (0, -1))
    title = f"Problems that {last} solves and {first} does not, and the other way round"
    header = ("problem", "true", first, last)
    if first == last:
        return Table(title, header, ())
    rows, notes = [], []
    for more, fewer in ((last, first), (first, last)):
        differing = np.flatnonzero(scores[more].answers & ~scores[fewer].answers)
        if len(differing):
            notes.append(f"{more} alone: {len(differing):,}.")
        for row in differing[:_EXAMPLES].tolist():
            gold = problems[row]
            text = " ".join(gold.question.content.split())
            name = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…") if shows_text else gold.question.id
            equations = [solutions[solver][row].equation for solver in (first, last)]
            predicted = (infix(equation) if equation else NOTHING for equation in equations)
            rows.append((name, infix(gold.problem.equation), *predicted))
    return Table(title, header, tuple(rows), tuple(notes))
