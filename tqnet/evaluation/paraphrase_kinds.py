"""Scores of paraphrases by what was done to them: a lost number, a changed unit (ParaQD, Section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tqnet.evaluation.paraphrase import THRESHOLD
from tqnet.evaluation.table import Table
from tqnet.questions.paraphrase_pairs import ParaphrasePair


@dataclass(frozen=True, slots=True)
class KindScores:
    """Scores of the pairs of one kind and label.

    Attributes:
        right: Share of them whose score is on the side of the label: above the threshold if they ask the same, else
            not above it.
        mean_score: mu+ or mu- of the kind.
    """

    kind: str
    label: int
    pairs: int
    right: float
    mean_score: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def kind_scores(
    pairs: Sequence[ParaphrasePair], scores: np.ndarray, threshold: float = THRESHOLD
) -> tuple[KindScores, ...]:
    """Of each kind and label that labelled pairs have, as they come; pairs without a kind are left out.

    Args:
        scores: ``[n]``, of each pair.
    """
    rows: dict[tuple[str, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        if pair.kind and pair.label is not None:
            rows.setdefault((pair.kind, pair.label), []).append(row)
    return tuple(
        KindScores(kind, label, len(own), float(((found > threshold) == bool(label)).mean()), float(found.mean()))
        for (kind, label), own in rows.items()
        for found in [np.asarray(scores, dtype=np.float64)[own]]
    )


def kind_table(results: Mapping[str, Sequence[KindScores]], title: str = "", threshold: float = THRESHOLD) -> Table:
    """A row for each kind and label, two columns for each stage.

    Args:
        results: Stage -> its scores, of the same pairs.
    """
    kinds = next(iter(results.values()))
    rows = [
        (
            one.kind,
            "yes" if one.label else "no",
            str(one.pairs),
            *(cell for of in results.values() for cell in (f"{of[at].right:.2f}", f"{of[at].mean_score:.3f}")),
        )
        for at, one in enumerate(kinds)
    ]
    columns = (column for stage in results for column in (f"{stage}: right", "mean score"))
    note = (
        f"Right is the share of pairs with a score on the side of their label: above {threshold:g} where the "
        "paraphrase asks the same, else not above it."
    )
    return Table(title, ("kind", "asks the same", "pairs", *columns), tuple(rows), (note,))
