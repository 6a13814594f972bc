"""Which field of a question a column holds, by its name in English, Chinese and other languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tqnet.text.lists import narrow

#: Field -> usual names of its column, the most telling first. A passage is put before the stem.
_NAMES = {
    "id": "id, question id, qid, que id, unique id, problem id, item id, uid, no, no., number, #, nr, nr., numéro, "
    "número, номер, 编号, 編號, 题号, 題號, 序号, 序號",
    "stem": "stem, question, question text, questiontext, problem, problem text, text, body, prompt, item, query, "
    "input, content, original text, frage, fragetext, aufgabe, aufgabentext, énoncé, pregunta, enunciado, questão, "
    "pergunta, вопрос, задача, задание, 题目, 題目, 题干, 題幹, 问题, 問題, 试题, 試題, 题目内容, 題目內容",
    "passage": "passage, context, article, premise, background, instruction, kontext, contexte, contexto, контекст, "
    "材料, 背景",
    "options": "options, choices, alternatives, option list, answer option list, candidates, "
    "antwortmöglichkeiten, optionen, choix, opciones, alternativas, opções, варианты, варианты ответа, "
    "варианты ответов, 选项, 選項, option",
    "answer": "answer, correct answer, correct answers, correct, correct option, correct choice, right answer, "
    "final answer, key, answer key, answer value, answer index, answer idx, correct index, correct idx, "
    "correct answer index, correct answer idx, correct option index, correct option idx, cop, ans, gold, label, "
    "target, output, antwort, richtige antwort, lösung, réponse, bonne réponse, réponse correcte, respuesta, "
    "respuesta correcta, resposta, resposta correta, gabarito, ответ, "
    "правильный ответ, 答案, 正确答案, 正確答案, 参考答案, 參考答案, 标准答案, 標準答案, answers",
    "analysis": "analysis, explanation, solution, rationale, feedback, worked solution, answer analysis, "
    "answer explanation, support, erklärung, lösungsweg, explication, corrigé, explicación, solución, explicação, "
    "solução, resolução, решение, объяснение, пояснение, 解析, 解答, 分析, 详解, 詳解, 答案解析",
    "knowledge": "knowledge, knowledge point, knowledge points, knowledge point routes, topic, topics, concept, "
    "concepts, skill, skills, tags, chapter, subject, category, thema, kapitel, fach, thème, chapitre, matière, tema, "
    "capítulo, materia, matéria, тема, раздел, предмет, 知识点, 知識點, 考点, 考點, 章节, 章節, 学科, 學科",
    "difficulty": "difficulty, difficulty level, level, schwierigkeit, schwierigkeitsgrad, difficulté, niveau, "
    "dificultad, nivel, dificuldade, nível, сложность, 难度, 難度, 难度等级, 難度等級, 难度系数, 難度係數",
    "type": "type, question type, qtype, problem type, kind, typ, fragetyp, tipo, тип, 题型, 題型, 类型, 類型",
    "language": "language, lang, sprache, langue, idioma, язык, 语言, 語言",
    "group": "group, 组",
    "split": "split, 划分",
    "source": "source, origin, dataset, dataset name, quelle, fuente, fonte, источник, 来源, 來源",
}
_LISTS = {field: names.split(", ") for field, names in _NAMES.items()}
#: Fields of which a row has the first filled column, where a table has several.
_EITHER = ("stem", "answer", "analysis")
#: A column of answers that are all right, or of options.
ANSWERS = "answers"
#: Answers in these columns are counted by programs, from 0.
FROM_ZERO = frozenset(
    {"label", "gold", "target", "cop", *(name for name in _LISTS["answer"] if name.endswith((" index", " idx")))}
)

#: Columns of one option: "A", "Option B", "choice_3", "选项C"; not "答案A".
_OPTION = re.compile(
    r"(?:(?:option|opt|choice|answer|alternative|op|antwort|choix|réponse|opción|opção|alternativa|respuesta|resposta|вариант"
    r"|ответ|选项|選項) ?)?[(]?(?:(?P<letter>[a-h])|(?P<number>[1-8]))[)]?"
)
_FIRST_OPTION = frozenset({"option", "choice", "选项"})
_LEVEL = re.compile(
    r"(?:topic|knowledge|level|subtopic|thema|thème|tema|тема|知识点|知識點|category) ?(?P<number>[1-9])"
)
_FIGURE = re.compile(
    r"(?:(?:question|stem|problem) )?"
    r"(?:images?|imgs?|figures?|figs?|pictures?|pics?|photos?|diagrams?|bild(?:er)?|imagen|imagem|рисунок|图片?|圖片?|配图|配圖|插图|插圖|附图|附圖)"
    r"(?: (?:files?|paths?|links?|urls?|names?))?(?: ?\d+)?"
)
_DISTRACTOR = re.compile(r"(?:distractors?|(?:incorrect|wrong) ?(?:answers?|options?|choices?)?|干扰项)(?: ?\d)?")
#: What forms add to a name: "Question - max 120 characters", "Correct answer(s)", "Question *".
_NOTE = re.compile(r"(?:\((?:s|[^()]{2,})\)|\s-\s.*|[*:?])$")
#: A longer heading is known under no name.
_LONGEST = 300


def plain_key(column: str) -> str:
    """``answerKey``, ``Answer_key`` and ``answer key`` are one name."""
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)).strip().lower()


def heading(column: str) -> str:
    """Return the name of a column in the form in which they are known."""
    name = narrow(column).strip()[:_LONGEST]
    while (shorter := _NOTE.sub("", name).rstrip()) not in ("", name):
        name = shorter
    return plain_key(name)


def is_figure(column: str) -> bool:
    """Return True for the name of a column, or a key of an option, with figures: ``image_2``, ``Diagram``, ``img``."""
    return _FIGURE.fullmatch(heading(column)) is not None


def columns_by_name(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return field -> columns for columns of known names; of several columns for a field, the most telling."""
    named = {heading(column): column for column in reversed(header)}
    columns: dict[str, tuple[str, ...]] = {
        field: (chosen[0],) for field, names in _LISTS.items() if (chosen := _known(names, named))
    }
    if figures := tuple(column for column in header if is_figure(column)):
        columns["images"] = figures
    if len(options := _numbered(header, _OPTION, _FIRST_OPTION)) > 1:
        columns["options"] = options
    distractors = tuple(column for column in header if _DISTRACTOR.fullmatch(heading(column)))
    if distractors and "options" not in columns and "answer" in columns:
        columns["distractors"] = distractors
    if len(levels := _numbered(header, _LEVEL)) > 1:
        columns["knowledge"] = levels
    elif {"topic", "subtopic"} <= named.keys():
        columns["knowledge"] = (named["topic"], named["subtopic"])
    return columns


def alternatives(header: Sequence[str], columns: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return field -> further columns of its names, which count where the field's own column is empty."""
    taken = {column for names in columns.values() for column in names}
    named = {heading(column): column for column in reversed(header) if column not in taken}
    return {field: tuple(_known(_LISTS[field], named)) for field in _EITHER if field in columns}


def singular(column: str) -> str:
    """Return ``question`` for ``questions``, where that is a name of a stem, answer or analysis."""
    name = heading(column).removesuffix("s")
    return name if any(name in _LISTS[field] for field in _EITHER) else column


def _known(names: Sequence[str], named: Mapping[str, str]) -> list[str]:
    return [named[name] for name in names if name in named]


def _numbered(header: Sequence[str], pattern: re.Pattern[str], first: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the columns ``A``, ``B``, ``C`` (or 1, 2, 3) in order, from the first on without a gap.

    Args:
        first: Names of the first that lack a number, where the second has one: ``Option``, ``Option_2``.
    """
    places: dict[int, str] = {}
    for column in header:
        name = heading(column)
        if (match := pattern.fullmatch(name)) and not name.isdigit():
            parts = match.groupdict()
            places.setdefault(int(parts["number"]) if parts["number"] else ord(parts["letter"]) - ord("a") + 1, column)
    if 1 not in places and 2 in places and (unnumbered := [column for column in header if heading(column) in first]):
        places[1] = unnumbered[0]
    return tuple(places[place] for place in range(1, len(places) + 1) if place in places)
