"""Rows of any kind (CSV, Excel, Parquet, JSON) as questions: the field of each column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from tqnet.importers.cells import as_extra, is_content, items_of, read_cell
from tqnet.importers.choices import (
    Options,
    are_options,
    json_value,
    shown,
    whole_numbers,
)
from tqnet.importers.columns import ANSWERS, alternatives, columns_by_name, heading
from tqnet.importers.job import Draft, Job, Place, distinct
from tqnet.importers.option_numbers import Numbered, first_number, letters_count, texts_are_options
from tqnet.importers.table_rows import Layout, TableRow
from tqnet.questions.question import Question
from tqnet.questions.reading import kind
from tqnet.text.lists import narrow

#: Rows that show what columns hold.
_PEEK = 1000
#: Columns that a message names.
_MOST_NAMED = 50

#: The fields of columns.
FIELDS = tuple(name for name in Question.__dataclass_fields__ if name != "extras")


class ColumnError(ValueError):
    """Columns that the table lacks, or none for the stem."""


#: A row: its place, and its cells by the name of their column.
Row = tuple[Place, Mapping[str, Any]]


def drafts(
    job: Job, rows: Iterable[Row], document: str, header: Sequence[str] | None = None, by_program: bool = False
) -> Iterator[Draft]:
    """Yield a draft of each row that is not empty; other columns with a value are extras by their names.

    Args:
        document: The part of the source that the paths of figures are relative to.
        header: The names of all columns; by default those of the first thousand rows.
        by_program: A program wrote the rows, not a person: its whole numbers count options from 0.

    Raises:
        ColumnError: The settings name a missing column, or there is none for the stem.
    """
    read = _values(job, rows)
    first = list(islice(read, _PEEK))
    used = distinct(name for _, cells in first for name, value in cells.items() if value is not None)
    if not used and header is None:
        return
    header, filled = (used if header is None else header), set(used)
    columns = _columns(job, header, used, first)
    more = alternatives([name for name in header if name in filled], columns)
    layout = Layout(columns, {name: names for name, names in more.items() if name not in job.settings.columns})
    answered = list(_answered(job, layout, first))
    answers = list(_numbered(answered, by_program))
    if written_are_options := texts_are_options(answers):
        answers = [answer for answer in answers if not answer.is_text]
    written = ((place, shown(answer), options.texts, options.counted()) for place, _, options, answer in answered)
    layout = replace(
        layout,
        first=first_number(job, answers),
        texts_are_options=written_are_options,
        letters_first=letters_count(job, written),
    )
    read_columns = {column for names in (*columns.values(), *layout.others.values()) for column in names}
    for name in used:
        if name in FIELDS and name not in read_columns:  # no extra may have a field's name
            job.fault(first[0][0], name, "another column is read for this field; this one is not kept")
    chosen = {column for names in columns.values() for column in names} | set(FIELDS) | {""}
    _report_no_answer(job, layout, first, [name for name in used if name not in chosen | {"extras"}])
    for place, cells in chain(first, read):
        if all(value is None for value in cells.values()):
            continue
        row = TableRow(job, place, document, layout, cells)
        record = row.record()
        taken = chosen | row.taken
        extras = {name: as_extra(value) for name, value in cells.items() if name not in taken and value is not None}
        nested = extras.pop("extras", {})
        extras |= record.pop("extras")
        extras |= _nested(job, place, nested, {*FIELDS, "extras", *extras})
        yield Draft(record | {"extras": extras}, place)


def _values(job: Job, rows: Iterable[Row]) -> Iterator[Row]:
    for place, cells in rows:
        try:
            values = {name: read_cell(cell) for name, cell in cells.items()}
            for name in (name for name, cell in cells.items() if isinstance(cell, float) and values[name] is None):
                if job.first_time("number", name):
                    job.fault(place, name, "no finite number (NaN, or too large); left empty, also in other rows")
        except RecursionError:
            job.leave_out(place, "record", "nested too deep")
            continue
        yield place, values


def _nested(job: Job, place: Place, cell: Any, taken: Set[str]) -> dict[str, Any]:
    """Return the extras of a row that has an object of them, but for names that a field or another extra has."""
    extras = json_value(cell) or cell
    if not isinstance(extras, dict):
        job.fault(place, "extras", f"expected an object, got {kind(extras)}")
        return {}
    for name in sorted(extras.keys() & taken):
        job.fault(place, "extras", f"{name!r:.80} is also a field of the record")
    return {name: value for name, value in extras.items() if name not in taken and value is not None}


def quoted(names: Sequence[str]) -> str:
    """Return the names of columns as a message shows them: not all of thousands."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"{name!r:.80}" for name in names[:_MOST_NAMED]) + more


def _columns(job: Job, header: Sequence[str], used: Sequence[str], rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    mapped = dict(job.settings.columns)
    for name, names in mapped.items():
        if (whole := ",".join(names)) in header:  # a name with a comma in it
            mapped[name] = (whole,)
    named = [column for names in mapped.values() for column in names]
    listed = quoted(header)
    if missing := [column for column in named if column not in header]:
        raise ColumnError(f"{job.source.path}: --map: no column {missing[0]!r}; the columns are {listed}")
    # An empty column stands for its field only if no other does.
    filled = set(used)
    by_name = columns_by_name(header) | columns_by_name([column for column in header if column in filled])
    by_name = {name: names for name, names in by_name.items() if not set(names) & set(named)}
    columns = {name: names for name, names in by_name.items() if name not in job.settings.fixed} | mapped
    columns = _with_answers(job, columns, header, rows)
    if "stem" not in columns:
        raise ColumnError(f"{job.source.path}: which column is the stem? --map stem=COLUMN; the columns are {listed}")
    if "images" not in mapped:
        taken = {column for names in columns.values() for column in names}
        held = {name for _, cells in rows for name, cell in cells.items() if any(map(is_content, items_of(cell)))}
        columns["images"] = (*columns.get("images", ()), *(name for name in header if name in held - taken))
    return columns


def _with_answers(
    job: Job, columns: dict[str, tuple[str, ...]], header: Sequence[str], rows: Sequence[Row]
) -> dict[str, tuple[str, ...]]:
    """Take a column ``answers`` for the options if another column, or a mark in it, says which of them are right."""
    column = next((column for column in header if heading(column) == ANSWERS), None)
    is_mapped = any(column in names for names in job.settings.columns.values())
    if column is None or is_mapped or {"options", "distractors"} & columns.keys():
        return columns
    if columns.get("answer") == (column,) and not any(are_options(cells.get(column)) for _, cells in rows):
        return columns
    return {name: names for name, names in columns.items() if names != (column,)} | {"options": (column,)}


#: A row that has options and an answer, with its place and both.
Answered = tuple[Place, TableRow, Options, Any]


def _answered(job: Job, layout: Layout, rows: Sequence[Row]) -> Iterator[Answered]:
    silent = Job(job.source, job.figures, job.settings)
    for place, cells in rows:
        row = TableRow(silent, place, "", layout, cells)
        options = row.options()
        if options.texts and (answers := row.cells("answer")):
            yield place, row, options, answers[0]


def _numbered(answered: Iterable[Answered], by_program: bool) -> Iterator[Numbered]:
    """Yield the answers that are whole numbers but no labels of options."""
    for place, row, options, answer in answered:
        numbers, count = whole_numbers(answer), max(options.counted(), default=0) + 1
        if count > 1 and numbers and not all(str(number) in options.labels for number in numbers):
            are_texts = {*map(str, numbers)} <= {*map(narrow, options.texts)}
            is_text = isinstance(answer, str)
            are_places = by_program and not is_text and not options.are_numbers
            column = heading(row.columns("answer")[0])
            yield Numbered(place, column, numbers, count, are_texts, is_text, are_places)


def _report_no_answer(job: Job, layout: Layout, rows: Sequence[Row], left: Sequence[str]) -> None:
    """Say that no column is known to hold the answer, where another column may."""
    are_answers = ANSWERS in map(heading, layout.columns.get("options", ()))
    if not (left or are_answers) or not rows or "answer" in {*layout.columns, *job.settings.fixed}:
        return
    silent = Job(job.source, job.figures, job.settings)
    if not any(TableRow(silent, place, "", layout, cells).options().right for place, cells in rows):
        names = f"; columns left: {quoted(left)}" if left else ""
        job.fault(rows[0][0], "answer", f"no column is known to hold it (--map answer=COLUMN){names}")
