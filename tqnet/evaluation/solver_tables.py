"""What the representations of solvers are like, and problems that one solves and another does not, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tqnet.equations.tree import infix
from tqnet.evaluation.solver_representations import LEAST_MEMBERS, PAIRS, common_prototypes
from tqnet.evaluation.table import NOTHING, Table

if TYPE_CHECKING:
    from tqnet.evaluation.solver import SolverScores, ToldProblem
    from tqnet.evaluation.solver_representations import Analysis
    from tqnet.modeling.solver import Solution

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
