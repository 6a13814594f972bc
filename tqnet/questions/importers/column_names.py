"""The field that a column is likely to be, by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
#: One column each: "A", "Option B", "choice_3", "选项C", "答案A" is none.
_OPTION = re.compile(r"(?:(?:option|choice|answer|alternative|选项)[\s_]*)?(?:([a-h])|([1-8]))", re.IGNORECASE)
_LEVEL = re.compile(r"(?:topic|knowledge|level|subtopic|知识点|category)[\s_]*([1-9])", re.IGNORECASE)


def columns_by_name(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Field -> its columns, of those whose names tell; of two columns for a field, the first."""
    found: dict[str, tuple[str, ...]] = {}
    for column in header:
        field = _FIELD_OF.get(re.sub(r"[\s_]+", " ", column.strip().lower()))
        if field is not None:
            found.setdefault(field, (column,))
    if len(options := _numbered(header, _OPTION)) > 1:
        found["options"] = options
    if len(levels := _numbered(header, _LEVEL)) > 1:
        found["knowledge"] = levels
    elif {"topic", "subtopic"} <= (lowered := {column.strip().lower(): column for column in header}).keys():
        found["knowledge"] = (lowered["topic"], lowered["subtopic"])
    return found


def _numbered(header: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The columns ``A``, ``B``, ``C`` (or 1, 2, 3) in order, from the first on without a gap."""
    places: dict[int, str] = {}
    for column in header:
        if match := pattern.fullmatch(column.strip()):
            mark = next(filter(None, match.groups())).lower()
            place = int(mark) if mark.isdigit() else ord(mark) - ord("a") + 1
            if not (mark.isdigit() and column.strip().isdigit()):
                places.setdefault(place, column)
    return tuple(places[place] for place in range(1, len(places) + 1) if place in places)
