"""Rows of any kind (CSV, Excel, Parquet, JSON) as questions: the field of each column, and the values of cells."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from tqnet.importers.choices import (
    answers,
    json_value,
    labelled,
    option_places,
    plain_key,
    shown,
    size,
    split_options,
    without_letters,
)
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.questions.question import Question
from tqnet.questions.reading import kind
from tqnet.text.plain import plain_texts

#: Field -> usual names of its column, the most telling first. A passage is put before the stem.
_NAMES = {
    "id": "id, question id, qid, que id, unique id, problem id, item id, uid, no, no., number, #, 编号, 题号, 序号",
    "stem": "stem, question, question text, questiontext, problem, problem text, text, body, prompt, item, query, "
    "input, content, 题目, 题干, 问题, 试题, 题目内容",
    "passage": "passage, context, article, background, 材料, 背景",
    "options": "options, choices, alternatives, answers, option list, answer option list, candidates, 选项",
    "answer": "answer, correct answer, correct, correct option, right answer, key, answer key, answer value, "
    "answer index, answer idx, cop, ans, gold, label, target, 答案, 正确答案, 参考答案, 标准答案",
    "analysis": "analysis, explanation, solution, rationale, feedback, worked solution, answer analysis, "
    "answer explanation, 解析, 解答, 分析, 详解, 答案解析",
    "images": "images, image, figure, figures, picture, pictures, image file, diagram, 图片, 图, 配图",
    "knowledge": "knowledge, knowledge point, knowledge points, knowledge point routes, topic, topics, concept, "
    "concepts, skill, skills, tags, chapter, subject, category, 知识点, 考点, 章节, 学科",
    "difficulty": "difficulty, difficulty level, level, 难度, 难度等级",
    "type": "type, question type, qtype, problem type, kind, 题型, 类型",
    "language": "language, lang, 语言",
    "group": "group, 组",
    "split": "split, 划分",
    "source": "source, origin, dataset, dataset name, 来源",
}
#: Columns of one option: "A", "Option B", "choice_3", "选项C"; not "答案A".
_OPTION = re.compile(r"(?:(?:option|choice|answer|alternative|op|选项)[\s_]*)?(?:([a-h])|([1-8]))", re.IGNORECASE)
_LEVEL = re.compile(r"(?:topic|knowledge|level|subtopic|知识点|category)[\s_]*([1-9])", re.IGNORECASE)
#: Rows that show what columns hold.
_PEEK = 1000

#: The fields of columns.
FIELDS = tuple(name for name in Question.__dataclass_fields__ if name != "extras")
_SPLITS = {"training": "train", "testing": "test"}
_SPLITS |= dict.fromkeys(("validation", "val", "dev", "development"), "valid")
_STEPS = re.compile(r"\s*(?:->|>|›|→|::)\s*")


class ColumnError(ValueError):
    """Columns that the table lacks, or none for the stem."""


#: A row: its place, and its cells by the name of their column.
Row = tuple[Place, Mapping[str, Any]]


@dataclass(frozen=True)
class Layout:
    """What the columns of a table hold.

    Attributes:
        columns: Field -> its columns, in order.
        first: The number that names the first option in answers, 0 or 1; None if numbers are the options' texts.
    """

    columns: Mapping[str, tuple[str, ...]]
    first: int | None = None


def columns_by_name(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return field -> columns for columns of known names; of several columns for a field, the most telling."""
    named = {plain_key(column): column for column in reversed(header)}
    columns: dict[str, tuple[str, ...]] = {}
    for field, names in _NAMES.items():
        if column := next((named[name] for name in names.split(", ") if name in named), None):
            columns[field] = (column,)
    if len(options := _numbered(header, _OPTION)) > 1:
        columns["options"] = options
    if len(levels := _numbered(header, _LEVEL)) > 1:
        columns["knowledge"] = levels
    elif {"topic", "subtopic"} <= named.keys():
        columns["knowledge"] = (named["topic"], named["subtopic"])
    return columns


def _numbered(header: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the columns ``A``, ``B``, ``C`` (or 1, 2, 3) in order, from the first on without a gap."""
    places: dict[int, str] = {}
    for column in header:
        if match := pattern.fullmatch(column.strip()):
            mark = next(filter(None, match.groups())).lower()
            place = int(mark) if mark.isdigit() else ord(mark) - ord("a") + 1
            if not (mark.isdigit() and column.strip().isdigit()):
                places.setdefault(place, column)
    return tuple(places[place] for place in range(1, len(places) + 1) if place in places)


def drafts(job: Job, rows: Iterable[Row], document: str, header: Sequence[str] | None = None) -> Iterator[Draft]:
    """Yield a draft of each row that is not empty; other columns with a value are extras by their names.

    Args:
        document: The part of the source that the paths of figures are relative to.
        header: The names of all columns; by default those of the first thousand rows.

    Raises:
        ColumnError: The settings name a missing column, or there is none for the stem.
    """
    read = _values(job, rows)
    first = list(islice(read, _PEEK))
    used = distinct(name for _, cells in first for name, value in cells.items() if value is not None)
    if not used and header is None:
        return
    columns = _columns(job, used if header is None else header, used)
    layout = Layout(columns, _first_number(job, columns, first))
    taken = {column for names in columns.values() for column in names} | set(FIELDS) | {""}
    for place, cells in chain(first, read):
        if all(value is None for value in cells.values()):
            continue
        record = _Row(job, place, document, layout, cells).record()
        extras = {name: _extra(value) for name, value in cells.items() if name not in taken and value is not None}
        nested = extras.pop("extras", {})
        extras |= record.pop("extras")
        extras |= _nested(job, place, nested, {*FIELDS, "extras", *extras})
        yield Draft(record | {"extras": extras}, place)


def _values(job: Job, rows: Iterable[Row]) -> Iterator[Row]:
    for place, cells in rows:
        try:
            values = {name: _value(cell) for name, cell in cells.items()}
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


def _columns(job: Job, header: Sequence[str], used: Sequence[str]) -> dict[str, tuple[str, ...]]:
    mapped = dict(job.settings.columns)
    for name, names in mapped.items():
        if (whole := ",".join(names)) in header:  # a name with a comma in it
            mapped[name] = (whole,)
    named = [column for names in mapped.values() for column in names]
    listed = ", ".join(map(repr, header))
    if missing := [column for column in named if column not in header]:
        raise ColumnError(f"{job.source.path}: --map: no column {missing[0]!r}; the columns are {listed}")
    # An empty column stands for its field only if no other does.
    by_name = columns_by_name(header) | columns_by_name([column for column in header if column in used])
    by_name = {name: names for name, names in by_name.items() if not set(names) & set(named)}
    columns = {name: names for name, names in by_name.items() if name not in job.settings.fixed} | mapped
    if "stem" not in columns:
        raise ColumnError(f"{job.source.path}: which column is the stem? --map stem=COLUMN; the columns are {listed}")
    return columns


def _first_number(job: Job, columns: Mapping[str, tuple[str, ...]], rows: Sequence[Row]) -> int | None:
    """Return the number that answers use for the first option: whatever fits all of the first rows."""
    numbers, is_text, is_last, typed = set(), True, False, False
    silent = Job(job.source, job.figures, job.settings)
    for place, cells in rows:
        row = _Row(silent, place, "", Layout(columns), cells)
        options, answer = row.options()[0], next(iter(row.cells("answer")), None)
        found = [int(part) for part in answers(answer) if part.isdecimal()]
        if len(options) > 1 and found and len(found) == len(answers(answer)):
            numbers |= set(found)
            is_text &= all(str(number) in options for number in found)
            is_last |= max(found) >= len(options)
            typed |= isinstance(answer, int)
    if not numbers or is_text:
        return None
    return 0 if 0 in numbers or (typed and not is_last) else 1


class _Row:
    """The cells of one row by field."""

    def __init__(self, job: Job, place: Place, document: str, layout: Layout, cells: Mapping[str, Any]):
        self._job, self._place, self._document = job, place, document
        self._layout, self._cells = layout, cells

    def record(self) -> dict[str, Any]:
        options, labels = self.options()
        texts = {"stem": self._text("stem"), "analysis": self._text("analysis")}
        texts["answer"] = self._answer(options, labels)
        if passage := self._text("passage"):
            texts["stem"] = f"{passage}\n{texts['stem']}" if texts["stem"] else passage
        present = [name for name, text in texts.items() if text is not None]
        plain = plain_texts(
            [*(texts[name] or "" for name in present), *options], self._job.settings.fixed.get("language")
        )
        of_fields, of_options = dict(zip(present, plain, strict=False)), plain[len(present) :]
        difficulty, extras = self._difficulty()
        record: dict[str, Any] = texts | {name: text.text for name, text in of_fields.items()}
        record |= {name: self._text(name) for name in ("id", "type", "language", "group", "source")}
        return record | {
            "options": [text.text for text in of_options],
            "images": self._figures(of_fields, of_options),
            "knowledge": self._knowledge(),
            "difficulty": difficulty,
            "split": self._split(),
            "extras": extras,
        }

    def cells(self, name: str) -> list[Any]:
        values = (self._cells.get(column) for column in self._layout.columns.get(name, ()))
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
            if _embedded(cell):
                continue
            listed = cell if isinstance(cell, list) else json_value(cell)
            if isinstance(listed, list):
                pieces += [shown(item) for item in listed if item is not None]
            elif separator := self._job.settings.separators.get(name):
                pieces += shown(cell).split(separator)
            else:
                pieces += re.split(usual, shown(cell))
        return [piece.strip() for piece in pieces if piece.strip()]

    def options(self) -> tuple[list[str], list[str]]:
        """Return the options and their labels; without labels of their own, none."""
        columns = self._layout.columns.get("options", ())
        if len(columns) > 1:
            cells = [self._cells.get(column) for column in columns]
            while cells and cells[-1] is None:
                cells.pop()
            if None in cells:
                self._fault("options", f"an empty cell before the last: {columns[cells.index(None)]!r}")
            labels = [column for column, cell in zip(columns, cells, strict=False) if cell is not None]
            return without_letters([shown(cell) for cell in cells if cell is not None]), labels
        cell = next(iter(self.cells("options")), None)
        value = json_value(cell) if isinstance(cell, str) else cell
        if isinstance(value, list | dict):
            labels, options = labelled(value)
            return (options, labels) if labels else (without_letters(options), [])
        options = self._several("options", r"\n")
        if len(options) == 1:
            options = split_options(options[0])
        if len(options) == 1:
            self._fault("options", "one option; what separates them? --separate options=SEPARATOR")
        return without_letters(options), []

    def _answer(self, options: Sequence[str], labels: Sequence[str]) -> str | None:
        """Return the letters of right options, or the answer's text."""
        cells = self.cells("answer")
        if not cells:
            marked = (cell for cell in self.cells("options") if isinstance(cell, list))
            items = [item for cell in marked for item in cell if isinstance(item, dict)]
            return (
                lettered(place for place, item in enumerate(items) if any(flag is True for flag in item.values()))
                or None
            )
        answer = cells[0] if len(cells) == 1 else self._text("answer")
        places = option_places(answer, options, labels, self._layout.first)
        if places:
            return lettered(places)
        return ", ".join(map(shown, answer)) if isinstance(answer, list) else shown(answer)

    def _figures(self, texts: Mapping[str, Any], options: Sequence[Any]) -> list[str]:
        """Collect the figures of the stem and the options, then those of the columns."""
        job, place, document = self._job, self._place, self._document
        figures = job.figures_of(texts["stem"], document, place, "stem") if "stem" in texts else []
        for number, option in enumerate(options):
            figures += job.figures_of(option, document, place, f"options[{number}]")
        for cell in self.cells("images"):
            for content in _embedded(cell):
                figures += job.embedded(content, place, "images")
        for reference in self._several("images", r"[;\n]"):
            figures += job.figure(reference, document, place, "images")
        return distinct(figures)

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
        return paths(self._several("knowledge", r"[;\n；]"))

    def _difficulty(self) -> tuple[float | None, dict[str, Any]]:
        """Return the number; of a word that has none, the word as an extra."""
        text = self._text("difficulty")
        if text is None:
            return None, {}
        levels = self._job.settings.levels
        if (word := text.strip().lower()) in levels:
            return levels.index(word) + 1, {}
        if number := re.fullmatch(r"(?:level|grade|难度)?\s*(-?\d+(?:[.,]\d+)?)", word):
            return float(number[1].replace(",", ".")), {}
        if self._job.first_time("difficulty", word):
            self._fault("difficulty", f"no number: {text!r:.80}; kept as difficulty_word (--levels orders words)")
        return None, {"difficulty_word": text}

    def _split(self) -> str | None:
        text = self._text("split")
        return None if text is None else _SPLITS.get(text.lower(), text.lower())


def _embedded(cell: Any) -> list[bytes]:
    """Return the figures of Hugging Face's tables: an object, or a list of objects, with ``bytes``."""
    items = cell if isinstance(cell, list) else [cell]
    return [item["bytes"] for item in items if isinstance(item, dict) and isinstance(item.get("bytes"), bytes)]


def paths(texts: Sequence[str]) -> list[list[str]]:
    """Read ``Algebra > Equations`` as a path from coarse to fine."""
    split = ([step for step in _STEPS.split(text.strip()) if step] for text in texts)
    return [path for path in split if path]


def _value(cell: Any) -> Any:
    """Return a cell as a JSON value; None for an empty one."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, float) and cell.is_integer():  # as spreadsheets hold 3
        return int(cell)
    if isinstance(cell, list | tuple):
        return [_value(item) for item in cell] or None
    if isinstance(cell, Mapping):
        return {str(name): _value(value) for name, value in cell.items()}
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return float(cell)
    return cell if isinstance(cell, bool | int | float | bytes) else str(cell)


def _extra(value: Any) -> Any:
    """Return a JSON value; bytes are replaced by their number."""
    return json.loads(json.dumps(value, default=size))
