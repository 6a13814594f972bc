"""What the tables of a suite have in common: how a number stands in its cell, and what is said below."""

from __future__ import annotations

from collections.abc import Sequence

from tqnet.bench.results import RowResult
from tqnet.bench.spread import Gain, Spread
from tqnet.bench.suite import Row, Suite
from tqnet.evaluation.table import NOTHING


def spread_cell(spread: Spread | None, digits: int = 3) -> str:
    """The mean, and its deviation where there are several seeds."""
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def gain_cell(found: Gain | None) -> str:
    """The difference and its interval."""
    if found is None:
        return NOTHING
    difference, interval = found
    return f"{difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def paper_number(row: Row, paraphrases: str | None = None) -> float | None:
    """What the paper has for a row, on a file of labelled paraphrases or else on its bank."""
    return row.paper if paraphrases is None else row.paper_paraphrases.get(paraphrases)


def paper_header(suite: Suite, results: Sequence[RowResult], paraphrases: str | None = None) -> list[str]:
    """The column of the paper's numbers; none where it has none for any row."""
    known = any(paper_number(result.row, paraphrases) is not None for result in results)
    return [f"paper's {suite.paper_metric}"] if known else []


def repeats(results: Sequence[RowResult]) -> int:
    """How many seeds or folds there are of a row, at most."""
    return max((len(result.scores) for result in results), default=0)


def folded(results: Sequence[RowResult]) -> bool:
    """Whether the repeats are folds of a cross-validation, and no seeds."""
    return any(scores.fold is not None for result in results for scores in result.scores)


def suite_notes(suite: Suite, results: Sequence[RowResult]) -> tuple[str, ...]:
    """What a reader of the scores has to know: what they are of, and what of them is missing."""
    count, by_fold = repeats(results), folded(results)
    each = "folds" if by_fold else "seeds"
    what = f"Mean ± standard deviation over {count} {each}." if count > 1 else f"One {each[:-1]}."
    repeated = (result for result in results if by_fold or result.row.stages)  # what is not trained has no seed
    missing = (f"{r.row.name}: {len(r.scores)} of {count} {each}." for r in repeated if len(r.scores) < count)
    failed = (f"{result.row.name} failed: {error}" for result in results for error in result.errors)
    known = (f"{result.row.name}: {note}." for result in results for note in result.notes)
    return (*([suite.about] if suite.about else []), what, *known, *missing, *failed)


def interval_note(results: Sequence[RowResult], drawn: str) -> str:
    """What the intervals of differences hold for; ``drawn`` says how they were bootstrapped."""
    another = "the spread above" if repeats(results) > 1 and not folded(results) else "not measured here"
    return f"Intervals are 95 %, {drawn}. They hold for these trainings; what another seed would change is {another}."
