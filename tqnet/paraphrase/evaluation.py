"""How well scores tell valid paraphrases from invalid ones (ParaQD, Section 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, percentiles, resampled_sums
from tqnet.evaluation.plots import LIGHT, PALETTE, canvas
from tqnet.evaluation.table import Table
from tqnet.paraphrase.check import UNLIKE
from tqnet.questions.paraphrase_pairs import ParaphrasePair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tqnet.paraphrase.scorer import TextVectors


#: A pair is called valid if its score is above this: the paper's tau.
THRESHOLD = 0.5

#: In the order of the paper's tables.
METRICS = (
    *("macro_precision", "macro_recall", "macro_f1", "weighted_precision", "weighted_recall", "weighted_f1"),
    *("mean_f1", "weighted_mean_f1", "mu_valid", "mu_invalid", "separation"),
)


@dataclass(frozen=True, eq=False)
class ParaphraseMetrics:
    """Scores ``[n]`` of labelled pairs, and the metrics computed from them.

    Attributes:
        valid: bool ``[n]``, the annotators' labels.
        groups: ``[n]``, the same number for all pairs of one original, for the bootstrap.
    """

    valid: BoolArray
    scores: FloatArray
    groups: IntArray
    threshold: float = THRESHOLD

    @classmethod
    def of(
        cls, labels: Sequence[int], scores: FloatArray, originals: Sequence[str], threshold: float = THRESHOLD
    ) -> ParaphraseMetrics:
        """Raise ValueError unless there is at least one pair of each label."""
        if set(labels) != {0, 1}:
            raise ValueError("valid and invalid pairs are needed, at least one of each")
        groups = np.unique(np.asarray(originals), return_inverse=True)[1].astype(np.int64)
        return cls(np.asarray(labels) == 1, np.asarray(scores, dtype=np.float64), groups, threshold)

    @cached_property
    def _sums(self) -> FloatArray:
        """``[n, 6]``; every metric is a function of the column sums."""
        called, valid, invalid = self.scores > self.threshold, self.valid, ~self.valid
        counts = (invalid & ~called, invalid & called, valid & ~called, valid & called)
        return np.stack([*counts, np.where(invalid, self.scores, 0.0), np.where(valid, self.scores, 0.0)], axis=1)

    @property
    def confusion(self) -> IntArray:
        """Number of invalid (row 0) and valid pairs that were called invalid (column 0) and valid, int64 ``[2, 2]``."""
        return self._sums[:, :4].sum(0).astype(np.int64).reshape(2, 2)

    @cached_property
    def values(self) -> dict[str, float]:
        """The value of each of METRICS."""
        return {name: float(value) for name, value in metrics_of_sums(self._sums.sum(0)).items()}

    @cached_property
    def draws(self) -> dict[str, FloatArray]:
        """Bootstrap draws of each metric, resampling originals with all their pairs.

        Equal groups and labels give equal draws. Draws without pairs of one label, which have no mean score for it, are
        left out.
        """
        sums = resampled_sums(self._sums, self.groups)
        both = (sums[:, :2].sum(1) > 0) & (sums[:, 2:4].sum(1) > 0)
        return metrics_of_sums(sums[both])

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The 95 % interval of each metric."""
        return {name: percentiles(values) for name, values in self.draws.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers for JSON."""
        return {
            "pairs": len(self.valid),
            "threshold": self.threshold,
            **self.values,
            "intervals": {name: interval.to_json() for name, interval in self.intervals.items()},
            "confusion": {
                label: dict(zip(("called_invalid", "called_valid"), row, strict=True))
                for label, row in zip(("invalid", "valid"), self.confusion.tolist(), strict=True)
            },
        }


def metrics_of_sums(sums: FloatArray) -> dict[str, FloatArray]:
    r"""Return METRICS, computed from counts and sums of scores.

    With precision :math:`P_c`, recall :math:`R_c` and share :math:`w_c` of each class c, valid and invalid::

        macro P = mean_c P_c            weighted P = sum_c w_c P_c            and so for R
        F1 = 2 P R / (P + R)            of macro (weighted) P and R
        mean F1 = mean_c F1_c           weighted mean F1 = sum_c w_c F1_c
        mu_l = E[score | label l]       separation = mu_valid - mu_invalid

    NOTE: the paper does not say which F1 it reports; its tables have the harmonic mean of averaged precision and
    recall, so that is ``macro_f1`` and ``weighted_f1`` here. scikit-learn's averages of the classes' F1 are the two
    means. The precision of a class that is never predicted is 0, as in the paper's row for SAWP.

    Shape:
        - sums: ``[..., 6]``: invalid called invalid, invalid called valid, valid called invalid, valid called valid,
          sum of the scores of invalid pairs, of valid ones
        - output: ``[...]`` each
    """
    confusion = sums[..., :4].reshape(*sums.shape[:-1], 2, 2)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    sizes, called = confusion.sum(-1), confusion.sum(-2)
    precision, recall = _ratio(right, called), _ratio(right, sizes)
    f1 = _harmonic(precision, recall)
    shares = _ratio(sizes, sizes.sum(-1, keepdims=True))
    metrics: dict[str, FloatArray] = {}
    for name, average in (("macro", np.full(2, 0.5)), ("weighted", shares)):
        p, r = (precision * average).sum(-1), (recall * average).sum(-1)
        metrics |= {f"{name}_precision": p, f"{name}_recall": r, f"{name}_f1": _harmonic(p, r)}
    metrics |= {"mean_f1": f1.mean(-1), "weighted_mean_f1": (f1 * shares).sum(-1)}
    mu = _ratio(sums[..., 4:], sizes)
    return metrics | {"mu_invalid": mu[..., 0], "mu_valid": mu[..., 1], "separation": mu[..., 1] - mu[..., 0]}


def scored_pairs(
    pairs: Sequence[ParaphrasePair], vectors: TextVectors, otherwise: BoolArray | None = None
) -> ParaphraseMetrics:
    """Score labelled pairs by the cosines of their vectors; those marked in ``otherwise``, bool ``[pairs]``, get -1
    regardless (:func:`tqnet.paraphrase.check.compare.asks_otherwise`).
    """
    scores = vectors.cosines([(pair.original, pair.paraphrase) for pair in pairs])
    if otherwise is not None:
        scores = np.where(otherwise, UNLIKE, scores)
    return ParaphraseMetrics.of([int(pair.label or 0) for pair in pairs], scores, [pair.original for pair in pairs])


def paraphrase_table(results: Mapping[str, ParaphraseMetrics], title: str = "") -> Table:
    """Show the columns of ParaQD's Table 1, the usual means of F1, and the confusion; intervals of F1 and separation.

    The last row is a baseline that calls every pair valid.
    """
    first = next(iter(results.values()))
    every = ParaphraseMetrics(first.valid, np.full(len(first.valid), np.inf), first.groups, first.threshold)
    counts = every._sums.sum(0)
    counts[4:] = 0.0  # it has no scores
    values = metrics_of_sums(counts)
    rows = [
        *(_row(name, metrics) for name, metrics in results.items()),
        ("(every pair valid)", *(f"{values[name]:.3f}" for name in METRICS[:8]), "", "", "", *_cells(every.confusion)),
    ]
    header = (
        "stage",
        *("macro P", "R", "F1", "weighted P", "R", "F1", "mean of F1", "weighted mean"),
        *("µ+", "µ-", "µs", "valid called valid", "invalid called invalid"),
    )
    note = (
        f"Of {len(first.valid):,} pairs of {len(np.unique(first.groups)):,} questions, {first.valid.sum():,} are "
        f"valid; pairs with a score above {first.threshold:g} are called valid. F1 is the harmonic mean of averaged "
        "precision and recall, as in the paper; next to it are the averages of the classes' F1. µs = µ+ - µ-, the "
        "mean scores of valid and of invalid pairs. 95 % intervals in brackets, pairs of one question drawn together."
    )
    return Table(title, header, tuple(rows), (note,))


def _row(name: str, metrics: ParaphraseMetrics) -> tuple[str, ...]:
    cells = []
    for metric in METRICS:
        interval = f" ({metrics.intervals[metric]})" if metric in ("macro_f1", "weighted_f1", "separation") else ""
        cells.append(f"{metrics.values[metric]:.3f}{interval}")
    return (name, *cells, *_cells(metrics.confusion))


def _cells(confusion: IntArray) -> tuple[str, str]:
    return tuple(f"{confusion[c, c]} of {confusion[c].sum()}" for c in (1, 0))  # type: ignore[return-value]


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide; 0 where the denominator is 0."""
    return above / np.where(below > 0, below, 1.0)


def _harmonic(a: FloatArray, b: FloatArray) -> FloatArray:
    return _ratio(2 * a * b, a + b)


@dataclass(frozen=True, slots=True)
class KindScores:
    """Scores of the pairs of one label and one kind, that is, what was done to them (ParaQD, Section 5.3).

    ``right`` is the share of pairs whose score is on the right side of the threshold: above it if they ask the same
    thing, else not above it.
    """

    kind: str
    label: int
    pairs: int
    right: float
    mean_score: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


def kind_scores(
    pairs: Sequence[ParaphrasePair], scores: np.ndarray, threshold: float = THRESHOLD
) -> tuple[KindScores, ...]:
    """Average the scores ``[n]`` by kind and label, in order of appearance; pairs without a kind are left out."""
    rows: dict[tuple[str, int], list[float]] = {}
    for pair, score in zip(pairs, scores, strict=True):
        if pair.kind and pair.label is not None:
            rows.setdefault((pair.kind, pair.label), []).append(float(score))
    return tuple(
        KindScores(kind, label, len(row), float(np.mean((np.array(row) > threshold) == label)), float(np.mean(row)))
        for (kind, label), row in rows.items()
    )


def kind_table(results: Mapping[str, Sequence[KindScores]], title: str = "", threshold: float = THRESHOLD) -> Table:
    """Show a row for each kind and label and two columns for each stage; all stages scored the same pairs."""
    rows = [
        (
            *(same[0].kind, "yes" if same[0].label else "no", str(same[0].pairs)),
            *(cell for kind in same for cell in (f"{kind.right:.2f}", f"{kind.mean_score:.3f}")),
        )
        for same in zip(*results.values(), strict=True)
    ]
    columns = (column for stage in results for column in (f"{stage}: right", "mean score"))
    note = (
        f"Right is the share of pairs with a score on the side of their label: above {threshold:g} where the "
        "paraphrase asks the same, else not above it."
    )
    return Table(title, ("kind", "asks the same", "pairs", *columns), tuple(rows), (note,))


#: Number of triplets drawn in their own colours, as many as in the paper.
_FEW = len(PALETTE)
#: Markers of the original, the valid paraphrase and the invalid one.
_PARTS = {"original": "o", "valid": "^", "invalid": "X"}


def triplets(pairs: Sequence[ParaphrasePair]) -> list[tuple[str, str, str]]:
    """Return (original, first valid, first invalid paraphrase) of each original that has both."""
    first: dict[str, dict[int | None, str]] = {}
    for pair in pairs:
        first.setdefault(pair.original, {}).setdefault(pair.label, pair.paraphrase)
    return [(original, by_label[1], by_label[0]) for original, by_label in first.items() if by_label.keys() >= {0, 1}]


def score_histograms(results: Mapping[str, ParaphraseMetrics]) -> bytes:
    """Draw scores of valid and invalid pairs, one row per stage, over the same range, as PNG (Figure 2)."""
    low = min(float(metrics.scores.min()) for metrics in results.values())
    edges = np.linspace(np.floor(10 * low) / 10, 1.0, 41).tolist()
    with canvas(7.2, 0.5 + 1.7 * len(results), LIGHT, "png") as (figure, buffer):
        first: Axes | None = None
        for row, (stage, metrics) in enumerate(results.items()):
            axes = figure.add_subplot(len(results), 1, row + 1, sharex=first)
            first = first or axes
            for label, color in (("valid", LIGHT.accent), ("invalid", PALETTE[5])):
                scores = metrics.scores[metrics.valid == (label == "valid")]
                axes.hist(scores, edges, color=color, alpha=0.55, label=f"{label} ({len(scores):,})")
                axes.axvline(scores.mean(), color=color, linewidth=1.4)
            axes.axvline(metrics.threshold, color=LIGHT.ink, linewidth=0.8, linestyle=":")
            axes.set_title(f"{stage}, µs {metrics.values['separation']:.3f}", fontsize=11, loc="left", color=LIGHT.ink)
            axes.legend(frameon=False, fontsize=9, labelcolor=LIGHT.ink, loc="upper left")
        axes.set_xlabel("cosine; lines: means, dotted: threshold", fontsize=9, color=LIGHT.ink)
    return buffer.getvalue()


def triplet_maps(maps: Mapping[str, FloatArray]) -> bytes:
    """Draw t-SNE maps of triplets, one row per stage, as PNG: a few of them, each in a colour, then all (Figure 5).

    Shape:
        - maps: stage -> ``[3 n, 2]``: original, valid and invalid of the first triplet, then of the next
    """
    with canvas(8.2, 4.1 * len(maps) + 0.4, LIGHT, "png") as (figure, buffer):
        for row, (stage, points) in enumerate(maps.items()):
            parts = points.reshape(-1, 3, 2)
            few = parts[np.linspace(0, len(parts) - 1, min(_FEW, len(parts))).astype(int)]
            left, right = (figure.add_subplot(len(maps), 2, 2 * row + column) for column in (1, 2))
            for triplet, color in zip(few, PALETTE, strict=False):
                _triplets(left, triplet[None], [color] * 3, 60)
            _triplets(right, parts, (LIGHT.other, LIGHT.accent, PALETTE[5]), 14)
            left.set_title(f"{stage}: {len(few)} triplets", fontsize=12, loc="left", color=LIGHT.ink)
            right.set_title(f"all {len(parts):,}", fontsize=12, loc="left", color=LIGHT.ink)
            for axes in (left, right):
                axes.set_xticks([])
                axes.set_yticks([])
                axes.set_aspect("equal", adjustable="datalim")
                axes.spines[:].set_color(LIGHT.faint)
                axes.spines[:].set_visible(True)
        handles, texts = figure.axes[1].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=3, frameon=False, fontsize=10, labelcolor=LIGHT.ink
        )
    return buffer.getvalue()


def _triplets(axes: Axes, points: FloatArray, colors: Sequence[str], size: float) -> None:
    for at, (part, marker) in enumerate(_PARTS.items()):
        x, y = points[:, at].T
        axes.scatter(x, y, s=size, color=colors[at], marker=marker, label=part, linewidths=0, alpha=0.85)
