"""Rows of a workbook below one merged stem: questions of their own, or the options of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from tqnet.importers.cells import read_cell
from tqnet.importers.choices import TICKS, is_mark, is_yes, shown, split_options
from tqnet.importers.columns import columns_by_name
from tqnet.importers.job import Job, Place

#: Cells of formulas that failed.
ERRORS = frozenset({"#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#N/A", "#NUM!", "#NULL!"})
#: Signs of a cell with several options, also in JSON.
_SEVERAL = re.compile(r"[\n;；]|^\s*\[")
#: Cells of a row with its place.
Cells = tuple[Place, Sequence[Any]]


class Repeated(NamedTuple):
    """The value of a merged cell in a row below its first."""

    value: Any


def questions_of_rows(job: Job, rows: Iterable[Cells], header: Sequence[str]) -> Iterator[Cells]:
    """Give a merged value to each of its rows; but rows of one merged stem, with an option each, are one question.

    Rows merged with the header are no questions.
    """
    fields = {**columns_by_name(header), **job.settings.columns}
    places = {name: [at for at, column in enumerate(header) if column in columns] for name, columns in fields.items()}
    question: list[Cells] = []
    for place, cells in rows:
        stems = [cells[at] for at in places.get("stem", ()) if at < len(cells) and cells[at] is not None]
        goes_on = bool(stems) and all(isinstance(cell, Repeated) for cell in stems)
        if not goes_on:
            yield from _joined(job, question, header, places)
            question = []
        if not goes_on or (question and any(map(_is_own, cells))):
            question.append((place, cells))
    yield from _joined(job, question, header, places)


def _joined(job: Job, rows: list[Cells], header: Sequence[str], places: Mapping[str, Sequence[int]]) -> Iterator[Cells]:
    """Yield the rows of a merged stem, as one if each has an option and no id of its own."""
    if len(rows) < 2:
        yield from _apart(rows)
        return
    columns = list(zip_longest(header, *(map(_read, cells) for _, cells in rows)))
    differing = {name: [at for at in chosen if any(map(_is_own, columns[at][2:]))] for name, chosen in places.items()}
    option, *others = differing.get("options", ()) or (None,)
    are_questions = bool(differing.get("id") or job.settings.separators.get("options"))
    if option is None or others or are_questions or not all(map(_is_one_option, columns[option][1:])):
        yield from _apart(rows)
        return
    values: list[Any] = []
    for at, (column, *cells) in enumerate(columns):
        written = list(filter(_is_own, cells))
        distinct = list(dict.fromkeys(map(shown, written)))
        if at == option:
            values.append(written)
        elif at in places.get("answer", ()) and _are_marks(cells, columns[option][1:]):
            crosses = {"x", "X"} if TICKS.intersection(distinct) - {"x"} else set()  # beside a tick, X is wrong
            values.append([is_yes(cell) and cell not in crosses for cell in cells])
        else:
            values.append(written[0] if len(distinct) == 1 else "\n".join(distinct) or None)
            if len(distinct) > 1 and job.first_time("merged", column):
                job.fault(
                    rows[0][0], column or "record", f"several in the rows of a question: {', '.join(distinct)!r:.80}"
                )
    yield rows[0][0], values


def _apart(rows: list[Cells]) -> Iterator[Cells]:
    return ((place, list(map(plain_value, cells))) for place, cells in rows)


def _is_own(cell: Any) -> bool:
    return cell is not None and not isinstance(cell, Repeated)


def _are_marks(cells: Sequence[Any], options: Sequence[Any]) -> bool:
    """Return True if cells, none of them merged, say which options are right: one for each, or ticks alone."""
    written = {shown(cell).strip().lower() for cell in cells if cell is not None}
    are_ticks = written <= TICKS and not written.intersection(shown(option).lower() for option in options)
    is_each = None not in cells and len(written) > 1
    all_are = all(cell is None or (_is_own(cell) and is_mark(cell)) for cell in cells)
    return all_are and (are_ticks or is_each) and any(map(is_yes, cells))


def _is_one_option(cell: Any) -> bool:
    return (
        _is_own(cell)
        and cell not in ERRORS
        and not _SEVERAL.search(text := shown(cell))
        and len(split_options(text)) < 2
    )


def _read(cell: Any) -> Any:
    return cell if isinstance(cell, Repeated) else read_cell(cell)


def plain_value(cell: Any) -> Any:
    return cell.value if isinstance(cell, Repeated) else cell
