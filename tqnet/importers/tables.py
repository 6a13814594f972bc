"""Rows of a table as questions: the field of each column, and the values of cells."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.json_records import split_options, without_letters
from tqnet.questions.question import Question
from tqnet.text.plain import plain_texts

#: Field -> usual names of its column.
_NAMES = {
    "id": "id, question id, qid, no, no., number, #, 编号, 题号, 序号",
    "stem": "stem, question, question text, questiontext, problem, text, body, prompt, item, 题目, 题干, 问题, 试题",
    "options": "options, choices, alternatives, answers, 选项",
    "answer": "answer, correct answer, correct, correct option, key, answer key, ans, 答案, 正确答案",
    "analysis": "analysis, explanation, solution, rationale, feedback, worked solution, 解析, 解答, 分析",
    "images": "images, image, figure, figures, picture, pictures, image file, diagram, 图片, 图, 配图",
    "knowledge": "knowledge, knowledge point, knowledge points, topic, topics, concept, concepts, skill, skills, tags, "
    "category, 知识点, 考点",
    "difficulty": "difficulty, level, 难度",
    "type": "type, question type, kind, 题型, 类型",
    "language": "language, lang, 语言",
    "group": "group, 组",
    "split": "split, 划分",
    "source": "source, origin, 来源",
}
_FIELD_OF = {name: field for field, names in _NAMES.items() for name in names.split(", ")}
#: Columns of one option: "A", "Option B", "choice_3", "选项C"; not "答案A".
_OPTION = re.compile(r"(?:(?:option|choice|answer|alternative|选项)[\s_]*)?(?:([a-h])|([1-8]))", re.IGNORECASE)
_LEVEL = re.compile(r"(?:topic|knowledge|level|subtopic|知识点|category)[\s_]*([1-9])", re.IGNORECASE)


def columns_by_name(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return field -> columns for columns of known names; of two columns for a field, the first."""
    columns: dict[str, tuple[str, ...]] = {}
    for column in header:
        field = _FIELD_OF.get(re.sub(r"[\s_]+", " ", column.strip().lower()))
        if field is not None:
            columns.setdefault(field, (column,))
    if len(options := _numbered(header, _OPTION)) > 1:
        columns["options"] = options
    if len(levels := _numbered(header, _LEVEL)) > 1:
        columns["knowledge"] = levels
    elif {"topic", "subtopic"} <= (lowered := {column.strip().lower(): column for column in header}).keys():
        columns["knowledge"] = (lowered["topic"], lowered["subtopic"])
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


#: The fields of columns.
FIELDS = tuple(name for name in Question.__dataclass_fields__ if name != "extras")
_SPLITS = {"training": "train", "testing": "test"}
_SPLITS |= dict.fromkeys(("validation", "val", "dev", "development"), "valid")
_STEPS = re.compile(r"\s*(?:>|›|→|::)\s*")


class ColumnError(ValueError):
    """Columns that the table lacks, or none for the stem."""


#: A row: its place, and its cells by the name of their column.
Row = tuple[Place, Mapping[str, Any]]


def drafts(job: Job, header: Sequence[str], rows: Iterator[Row], document: str) -> Iterator[Draft]:
    """Yield a draft of each row that is not empty; other columns with a value are extras by their names.

    Args:
        document: The part of the source that the paths of figures are relative to.

    Raises:
        ColumnError: The settings name a missing column, or there is none for the stem.
    """
    columns = _columns(job, header)
    taken = {column for names in columns.values() for column in names} | set(FIELDS) | {""}
    for place, cells in rows:
        values = {name: _value(value) for name, value in cells.items()}
        if all(value is None for value in values.values()):
            continue
        row = _Row(job, place, document, columns, values)
        extras = {name: _extra(value) for name, value in values.items() if name not in taken and value is not None}
        yield Draft(row.record() | {"extras": extras}, place)


def _columns(job: Job, header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    mapped = dict(job.settings.columns)
    for name, names in mapped.items():
        if (whole := ",".join(names)) in header:  # a name with a comma in it
            mapped[name] = (whole,)
    named = [column for names in mapped.values() for column in names]
    shown = ", ".join(map(repr, header))
    if missing := [column for column in named if column not in header]:
        raise ColumnError(f"{job.source.path}: --map: no column {missing[0]!r}; the columns are {shown}")
    by_name = columns_by_name([column for column in header if column not in named])
    columns = {name: names for name, names in by_name.items() if name not in job.settings.fixed} | mapped
    if "stem" not in columns:
        raise ColumnError(f"{job.source.path}: which column is the stem? --map stem=COLUMN; the columns are {shown}")
    return columns


class _Row:
    """The cells of one row by field."""

    def __init__(
        self, job: Job, place: Place, document: str, columns: Mapping[str, Sequence[str]], values: Mapping[str, Any]
    ):
        self._job, self._place, self._document = job, place, document
        self._columns, self._values = columns, values

    def record(self) -> dict[str, Any]:
        texts = {name: self._text(name) for name in ("stem", "answer", "analysis") if name in self._columns}
        options = self._options()
        present = [name for name, text in texts.items() if text is not None]
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            plain = plain_texts([*(texts[name] or "" for name in present), *options])
            of_fields, of_options = dict(zip(present, plain, strict=False)), plain[len(present) :]
            images = self._figures(of_fields, of_options)
            texts |= {name: text.text for name, text in of_fields.items()}
            options = [text.text for text in of_options]
        else:
            images = self._figures({}, [])
        record: dict[str, Any] = texts | {"options": options, "images": images}
        record |= {name: self._text(name) for name in ("id", "type", "language", "group", "source")}
        return record | {"knowledge": self._knowledge(), "difficulty": self._difficulty(), "split": self._split()}

    def _cells(self, name: str) -> list[Any]:
        values = (self._values.get(column) for column in self._columns.get(name, ()))
        return [value for value in values if value is not None]

    def _text(self, name: str) -> str | None:
        """Join several columns as lines of one text."""
        pieces = [_shown(cell) for cell in self._cells(name)]
        return "\n".join(pieces) if pieces else None

    def _several(self, name: str, usual: str) -> list[str]:
        """Return the values of cells with several: items of a JSON list, or pieces between separators."""
        pieces: list[str] = []
        for cell in self._cells(name):
            if _embedded(cell):
                continue
            listed = cell if isinstance(cell, list) else _json_list(cell)
            if listed is not None:
                pieces += [_shown(item) for item in listed if item is not None]
            elif separator := self._job.settings.separators.get(name):
                pieces += _shown(cell).split(separator)
            else:
                pieces += re.split(usual, _shown(cell))
        return [piece.strip() for piece in pieces if piece.strip()]

    def _options(self) -> Any:
        columns = self._columns.get("options", ())
        if len(columns) > 1:
            cells = [self._values.get(column) for column in columns]
            while cells and cells[-1] is None:
                cells.pop()
            if None in cells:
                self._job.fault(
                    self._place, "options", f"an empty cell before the last: {columns[cells.index(None)]!r}"
                )
            return without_letters([_shown(cell) for cell in cells if cell is not None])
        options = self._several("options", r"\n")
        if len(options) == 1:
            options = split_options(options[0])
        if len(options) == 1:
            self._job.fault(self._place, "options", "one option; what separates them? --separate options=SEPARATOR")
        return without_letters(options)

    def _figures(self, texts: Mapping[str, Any], options: Sequence[Any]) -> list[str]:
        """Collect the figures of the stem and the options, then those of the columns."""
        job, place, document = self._job, self._place, self._document
        figures = job.figures_of(texts["stem"], document, place, "stem") if "stem" in texts else []
        for number, option in enumerate(options):
            figures += job.figures_of(option, document, place, f"options[{number}]")
        for cell in self._cells("images"):
            for content in _embedded(cell):
                figures += job.embedded(content, place, "images")
        for reference in self._several("images", r"[;\n]"):
            figures += job.figure(reference, document, place, "images")
        return list(dict.fromkeys(figures))

    def _knowledge(self) -> list[list[str]]:
        """Read ``Algebra > Equations; Geometry`` in one column, or a column per level."""
        columns = self._columns.get("knowledge", ())
        if len(columns) > 1:
            path = [_shown(cell) for cell in self._cells("knowledge")]
            return [path] if path else []
        cells = self._cells("knowledge")
        if cells and isinstance(cells[0], list) and any(isinstance(item, list) for item in cells[0]):
            return [[_shown(name) for name in path] for path in cells[0] if isinstance(path, list) and path]
        return paths(self._several("knowledge", r"[;\n；]"))

    def _difficulty(self) -> Any:
        text = self._text("difficulty")
        if text is None:
            return None
        try:
            return float(text.replace(",", ".", 1))
        except ValueError:
            self._job.fault(self._place, "difficulty", f"no number: {text!r:.80}")
            return None

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


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _extra(value: Any) -> Any:
    """Return a JSON value; bytes are replaced by their number."""
    return json.loads(json.dumps(value, default=lambda other: f"{len(other)} bytes"))


def _json_list(cell: Any) -> list[Any] | None:
    if not isinstance(cell, str) or not cell.startswith("["):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None
