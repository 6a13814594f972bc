"""Rows of any kind (CSV, Excel, Parquet, JSON) as questions: the field of each column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from tqnet.importers.cells import as_extra, is_content, items_of, paths, read_cell
from tqnet.importers.choices import (
    Options,
    are_letters,
    are_options,
    json_value,
    listed_answers,
    listed_options,
    option_places,
    shown,
    split_options,
    whole_numbers,
    without_letters,
)
from tqnet.importers.columns import ANSWERS, alternatives, columns_by_name, heading
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.option_numbers import Numbered, first_number, letters_count, texts_are_options
from tqnet.importers.paper_lines import options_of
from tqnet.questions.question import Question
from tqnet.questions.reading import kind
from tqnet.text.lists import narrow
from tqnet.text.plain import Plain, plain_texts

#: Rows that show what columns hold.
_PEEK = 1000
#: Columns that a message names.
_MOST_NAMED = 50

#: The fields of columns.
FIELDS = tuple(name for name in Question.__dataclass_fields__ if name != "extras")
_SPLITS = {"training": "train", "testing": "test"}
_SPLITS |= dict.fromkeys(("validation", "val", "dev", "development"), "valid")


class ColumnError(ValueError):
    """Columns that the table lacks, or none for the stem."""


#: A row: its place, and its cells by the name of their column.
Row = tuple[Place, Mapping[str, Any]]


@dataclass(frozen=True)
class Layout:
    """What the columns of a table hold.

    Attributes:
        columns: Field -> its columns, in order.
        others: Field -> columns of which a row has the first filled one, where its own are empty.
        first: The number that names the first option in answers, 0 or 1; None if numbers are the options' texts.
        texts_are_options: Numbers that are written as texts are always the options' texts.
        letters_first: Letters name options by their places even if they are texts of others.
    """

    columns: Mapping[str, tuple[str, ...]]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int | None = None
    texts_are_options: bool = False
    letters_first: bool = False


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
        row = _Row(job, place, document, layout, cells)
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
Answered = tuple[Place, "_Row", Options, Any]


def _answered(job: Job, layout: Layout, rows: Sequence[Row]) -> Iterator[Answered]:
    silent = Job(job.source, job.figures, job.settings)
    for place, cells in rows:
        row = _Row(silent, place, "", layout, cells)
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
    if not any(_Row(silent, place, "", layout, cells).options().right for place, cells in rows):
        names = f"; columns left: {quoted(left)}" if left else ""
        job.fault(rows[0][0], "answer", f"no column is known to hold it (--map answer=COLUMN){names}")


class _Row:
    """The cells of one row by field."""

    def __init__(self, job: Job, place: Place, document: str, layout: Layout, cells: Mapping[str, Any]):
        self._job, self._place, self._document = job, place, document
        self._layout, self._cells = layout, cells

    def record(self) -> dict[str, Any]:
        options = self.options()
        answers = self._answer(options)
        answer, accepted = (answers[0] if answers else None), answers[1:]
        texts = {"stem": self._text("stem"), "analysis": self._text("analysis"), "answer": answer}
        if passage := self._text("passage"):
            texts["stem"] = f"{passage}\n{texts['stem']}" if texts["stem"] else passage
        present = [name for name, text in texts.items() if text is not None]
        written = [*(texts[name] or "" for name in present), *options.texts, *accepted]
        plain = plain_texts(written, self._job.settings.fixed.get("language"))
        of_fields, of_options = dict(zip(present, plain, strict=False)), plain[len(present) :][: len(options.texts)]
        difficulty, extras = self._difficulty()
        if accepted:
            extras |= {"accepted": [text.text for text in plain[-len(accepted) :]]}
        record: dict[str, Any] = texts | {name: text.text for name, text in of_fields.items()}
        choices = [text.text for text in of_options]
        if not choices and are_letters(record["answer"] or ""):
            record["stem"], choices = self._within(record["stem"] or "", record["answer"])
            record["answer"] = lettered(option_places(record["answer"], choices)) or record["answer"]
        record |= {name: self._text(name) for name in ("id", "type", "language", "group", "source")}
        return record | {
            "options": choices,
            "images": self._figures(of_fields, of_options, options.figures),
            "knowledge": self._knowledge(),
            "difficulty": difficulty,
            "split": self._split(),
            "extras": extras,
        }

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a field in this row."""
        columns = self._layout.columns.get(name, ())
        if any(self._cells.get(column) is not None for column in columns):
            return columns
        others = self._layout.others.get(name, ())
        return next(((column,) for column in others if self._cells.get(column) is not None), columns)

    @property
    def taken(self) -> set[str]:
        """The columns of this row that stand in for another."""
        return {column for name in self._layout.others for column in self.columns(name)}

    def cells(self, name: str) -> list[Any]:
        values = (self._cells.get(column) for column in self.columns(name))
        return [value for value in values if value is not None]

    def _fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)

    def _text(self, name: str) -> str | None:
        """Join several columns as lines of one text."""
        pieces = [shown(cell) for cell in self.cells(name)]
        return "\n".join(pieces) if pieces else None

    def _several(self, name: str, usual: str) -> list[str]:
        """Return the values of cells with several: items of a JSON list, or pieces between separators."""
        pieces: list[str] = []
        for cell in self.cells(name):
            listed = cell if isinstance(cell, list) else json_value(cell)
            if isinstance(listed, list):
                pieces += [shown(item) for item in listed if item is not None]
            elif separator := self._job.settings.separators.get(name):
                pieces += shown(cell).split(separator)
            else:
                pieces += re.split(usual, shown(cell))
        return [piece.strip() for piece in pieces if piece.strip()]

    def options(self) -> Options:
        """Return the options: a column each, one column, or the answer among ``distractors``, in alphabetical order."""
        columns = self._layout.columns.get("options", ())
        if len(columns) > 1:
            cells = [self._cells.get(column) for column in columns]
            while cells and cells[-1] is None:
                cells.pop()
            if None in cells:
                self._fault("options", f"an empty cell before the last: {columns[cells.index(None)]!r}")
            places = [place for place, cell in enumerate(cells) if cell is not None]
            texts = without_letters([shown(cell) for cell in cells if cell is not None])
            return Options(
                texts,
                [columns[place] for place in places],
                places,
                are_numbers=all(not isinstance(cell, str) for cell in cells),
            )
        if wrong := self._several("distractors", r"[;\n]"):
            return Options(sorted({*wrong, *self._answers()[:1]}))
        cell = next(iter(self.cells("options")), None)
        value = json_value(cell) if isinstance(cell, str) else cell
        if isinstance(value, list | dict):
            return listed_options(value)
        options = self._several("options", r"[;；,，、]?(?:\n|$)")
        if len(options) == 1:
            options = split_options(options[0])
        if len(options) == 1:
            self._fault("options", "one option; what separates them? --separate options=SEPARATOR")
        return Options(without_letters(options))

    def _within(self, stem: str, answer: str) -> tuple[str, list[str]]:
        """Split the options off that a stem ends with, whose answer is letters."""
        before, listed = options_of(stem, 0, "stem")
        texts = [text for *_, text in listed]
        if before and texts and not any("\n" in text or options_of(text, 0, "options")[1] for text in texts):
            return before, texts
        self._fault("answer", f"names no option: {answer!r:.80}")
        return stem, []

    def _answer(self, options: Options) -> list[str]:
        """Return the letters of right options, or the texts of the answer and of others that are as good."""
        cells = self.cells("answer")
        if not cells:
            return [lettered(options.right)] if options.right else []
        answer = cells[0] if len(cells) == 1 else self._text("answer")
        first = None if self._layout.texts_are_options and isinstance(answer, str) else self._layout.first
        letters_first = self._layout.letters_first
        if places := option_places(answer, options.texts, options.labels, first, options.places, letters_first):
            return [lettered(places)]
        answers = self._answers()
        if len(answers) > 1 and self._job.first_time("answers"):
            self._fault("answer", "the first of several; the others are kept as accepted (--map options=answers)")
        return answers

    def _answers(self) -> list[str]:
        """Return the text of the answer; of a column ``answers``, the text of each."""
        cells = self.cells("answer")
        if len(cells) == 1 and heading(self.columns("answer")[0]) == ANSWERS:
            return listed_answers(cells[0])
        if len(cells) == 1 and isinstance(cells[0], list):
            return [", ".join(map(shown, cells[0]))]
        return list(filter(None, [self._text("answer")]))

    def _figures(
        self, texts: Mapping[str, Plain], options: Sequence[Plain], references: Sequence[Sequence[Any]]
    ) -> list[str]:
        """Collect the figures of the stem and the options, then those of the columns."""
        job, place, document = self._job, self._place, self._document
        figures = job.figures_of(texts["stem"], document, place, "stem") if "stem" in texts else []
        for number, option in enumerate(options):
            figures += job.figures_of(option, document, place, f"options[{number}]")
            for item in references[number] if references else ():
                figures += self._figure(item, f"options[{number}]")
        separator = re.escape(self._job.settings.separators.get("images", "")) or r"[;\n]"
        for cell in self.cells("images"):
            for item in items_of(cell):
                is_path = isinstance(item, str) and not item.startswith("data:")
                pieces = [piece.strip() for piece in re.split(separator, item)] if is_path else [item]
                figures += chain.from_iterable(self._figure(piece, "images") for piece in pieces if piece)
        return distinct(figures)

    def _figure(self, item: Any, name: str) -> list[str]:
        """Take a figure by its bytes, its path, or an object with either."""
        named = item if isinstance(item, dict) else {"bytes" if isinstance(item, bytes) else "path": item}
        path = next((named[key] for key in ("path", "src", "url", "file") if isinstance(named.get(key), str)), None)
        if isinstance(content := named.get("bytes"), bytes):
            return self._job.embedded(content, self._place, name, f": {path!r:.200}" if path else "")
        if path is None:
            self._fault(name, f"no figure: {shown(item)!r:.80}")
            return []
        return self._job.figure(path, self._document, self._place, name)

    def _knowledge(self) -> list[list[str]]:
        """Read ``Algebra > Equations; Geometry`` in one column, or a column per level."""
        columns = self._layout.columns.get("knowledge", ())
        cells = self.cells("knowledge")
        if len(columns) > 1:
            return [list(map(shown, cells))] if cells else []
        if cells and isinstance(cells[0], list) and any(isinstance(item, list) for item in cells[0]):
            listed = [item if isinstance(item, list) else [item] for item in cells[0]]
            named = ([shown(name) for name in names if name is not None] for names in listed)
            return [path for path in named if path]
        return paths(self._several("knowledge", r"[;；、\n]"))

    def _difficulty(self) -> tuple[float | None, dict[str, Any]]:
        """Return the number; of a word that has none, the word as an extra."""
        text = self._text("difficulty")
        if text is None:
            return None, {}
        levels = self._job.settings.levels
        if (word := text.strip().lower()) in levels:
            return levels.index(word) + 1, {}
        if number := re.fullmatch(r"(?:level|grade|难度)?\s*(-?\d+(?:[.,]\d+)?)\s*(%?)", word):
            return float(number[1].replace(",", ".")) / (100 if number[2] else 1), {}
        if self._job.first_time("difficulty", word):
            self._fault("difficulty", f"no number: {text!r:.80}; kept as difficulty_word (--levels orders words)")
        return None, {"difficulty_word": text}

    def _split(self) -> str | None:
        text = self._text("split")
        return None if text is None else _SPLITS.get(text.lower(), text.lower())
