"""Lines of papers: what begins a question, an option, an answer or a section."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tqnet.importers.job import Place
from tqnet.text.formulas import segments
from tqnet.text.lists import letter, narrow

#: Before the number of a question.
QUESTION_WORDS = (
    "question|problem|exercise|aufgabe|frage|übung|exercice|problème|ejercicio|pregunta|problema|exercício|questão"
    "|pergunta|вопрос|задача|задание|упражнение"
)
_QUESTION = re.compile(
    rf"(?:{QUESTION_WORDS}|q|例)\s*(?P<word>\d{{1,4}})\s*[.):：．、]?\s*"
    r"|第\s*(?P<chinese>\d{1,4})\s*[题題]\s*[.:：．、]?\s*"
    r"|[(（\[](?P<inside>\d{1,4})[)）\]]\s*"
    r"|(?P<plain>\d{1,4})\s*(?:(?P<decimal>\.(?=\d))|[.．)）、:：])\s*",
    re.IGNORECASE,
)
_OPTION = re.compile(r"(?:(?<=[\s\x01）)。？?_])|^)(?P<right>\*?)[(（\[]?(?P<letter>[A-Ha-h])[.)）\]、．:：]\s*")
#: "A.1B.2C.3", "A.1;B.2;C.3".
_TIGHT_OPTION = re.compile(r"(?<![A-Za-z])(?P<right>\*?)(?P<letter>[A-H])[.．、)）](?=\S)")
_LINES = {
    "answer": "answers?|ans|(?:correct|right) answer|key|(?:richtige )?antwort|lösung|(?:bonne )?réponse"
    "|respuesta(?: correcta)?|resposta(?: correta)?|gabarito|(?:правильный )?ответ"
    "|答案|参考答案|參考答案|正确答案|正確答案|答",
    "analysis": "solution|explanation|analysis|rationale|feedback|working|lösungsweg|erklärung|begründung|corrigé"
    "|explication|solución|explicación|solução|resolução|explicação|решение|объяснение|пояснение"
    "|解析|分析|详解|詳解|解答|点评|點評|解",
    "knowledge": "topics?|knowledge(?: points?)?|concepts?|skills?|thema|thème|tema|тема|知识点|知識點|考点|考點",
    "difficulty": "difficulty|level|schwierigkeit|niveau|difficulté|dificultad|dificuldade|сложность|难度|難度",
}
_LINE = {
    name: re.compile(rf"(?:[【\[](?:{words})[】\]]\s*[:：]?|(?:{words})\s*(?:[:：]|$))\s*", re.IGNORECASE)
    for name, words in _LINES.items()
}
#: Answers without a colon: "Ans. 42", "Answer – 7", "答案 AB", "Correct: B".
_ANSWER = re.compile(
    rf"(?:ans\.|(?:{_LINES['answer']})\s+[–—-])\s+"
    rf"|(?:{_LINES['answer']}|correct(?: option| choice)?)\s*(?:[:：.–—-]\s*)?"
    r"(?-i:(?=[(（\[]?[A-H](?:[\s,，、&]*[A-H])*[)）\]]?[.。]?\s*$)(?<![A-Za-z]))",
    re.IGNORECASE,
)
_NUMBERED_PART = (
    r"(?:Part|PART|Section|SECTION|Teil|TEIL|Abschnitt|Partie|PARTIE|Parte|PARTE|Sección|Seção|Часть|ЧАСТЬ|Раздел)"
    r"\s+(?:[IVX]{1,4}|[A-H]|\d{1,2})"
)
#: Headings that have no heading's style.
_HEADING = re.compile(
    rf"(?:{_NUMBERED_PART}\s*(?:$|\.(?!\d)|[:：(（—–-])"
    r"|第\s*[一二三四五六七八九十\dIVXⅠ-Ⅹ]{1,3}\s*(?:部分|卷|大[题題])"
    r"|[一二三四五六七八九十]{1,3}\s*[、.．])(?P<rest>.*)"
)
#: The same without a sign after the number, which a sentence may begin with as well.
_PART = re.compile(rf"{_NUMBERED_PART}\s")
#: "Questions 2 and 3 refer to the graph.", "阅读材料，回答1～3题".
_INTRODUCTION = re.compile(
    r"\b(?:questions?|problems?|items?|exercises?|nos?\.|aufgaben|fragen|exercices|preguntas|ejercicios|questões"
    r"|exercícios|вопросы|задачи|задания)\s+(\d{1,4})\s*"
    r"(?:[-–—~～&]|to|and|through|bis|und|à|et|a|y|e|до|и)\s*(\d{1,4})\b"
    r"|(\d{1,4})\s*(?:[-–—~～至到和、]|[题題]\s*[至到和、])\s*第?\s*(\d{1,4})\s*小?[题題]",
    re.IGNORECASE,
)
_SENTENCE_ENDS = tuple(".?!;,:。？！；，：")
_LONGEST_HEADING = 60


@dataclass(frozen=True)
class Paragraph:
    """A paragraph or a row of a table.

    Attributes:
        images: Its figures in the new bank.
        number: Its number in an automatic list of numbers; 0 without one.
        is_heading: It has a heading's style.
    """

    text: str
    place: Place
    images: tuple[str, ...] = ()
    number: int = 0
    is_heading: bool = False


class Mark(NamedTuple):
    """A number at the beginning of a paragraph, the signs around it (``.``, ``()``), and where the text begins.

    Attributes:
        is_decimal: It may be part of one, as in "3.2024 is even".
    """

    number: int
    form: str
    end: int
    is_decimal: bool = False


def mark_of(paragraph: Paragraph) -> Mark | None:
    """Return the number that a paragraph begins with."""
    if paragraph.number:
        return Mark(paragraph.number, "automatic", 0)
    match = _QUESTION.match(paragraph.text.strip())
    if match is None:
        return None
    form = re.sub(r"[\d\s]", "", unicodedata.normalize("NFKC", match[0])).lower()
    number = next(filter(None, match.groups()))
    return Mark(int(number), form, match.end(), match["decimal"] is not None)


def heading_of(paragraph: Paragraph) -> str:
    """Return what follows the number of a heading, or the whole of one without a number; "" if it is none."""
    text = paragraph.text.strip()
    match = None if paragraph.images or paragraph.number else _HEADING.fullmatch(text)
    return (match["rest"] or text) if match else text if paragraph.is_heading else ""


def may_be_heading(text: str, is_apart: bool) -> bool:
    """Return True if a line above a question reads like a heading.

    Args:
        is_apart: It is surely no part of the question before it; otherwise it must begin like "Part II".
    """
    is_short = text[:1].isalpha() and len(text) <= _LONGEST_HEADING and not text.endswith(_SENTENCE_ENDS)
    return is_short and (is_apart or _PART.match(text) is not None)


def introduced(text: str) -> tuple[int, int] | None:
    """Return the numbers of the questions that a paragraph introduces: "Questions 2 to 4 refer to the graph."."""
    match = _INTRODUCTION.search(text)
    if match is None:
        return None
    first, last = map(int, filter(None, match.groups()))
    return (first, last) if first < last else None


def labelled(text: str) -> tuple[str, str] | None:
    """Return the part that a line is of by its first word (``answer``, ``analysis``, ..) and its text."""
    for name, line in _LINE.items():
        if match := line.match(text):
            return name, text[match.end() :]
    match = _ANSWER.match(narrow(text))
    return ("answer", text[match.end() :]) if match else None


def masked(text: str) -> str:
    """Return a text of the same length without its formulas."""
    return "".join("\x01" * (part.end - part.start) if part.is_formula else part.body for part in segments(text))


def options_of(text: str, known: int, part: str, is_usual: bool = False) -> tuple[str, list[tuple[int, bool, str]]]:
    """Return what precedes the options of a paragraph, and the place, mark and text of each.

    Args:
        known: Number of options before this paragraph.
        part: ``stem`` or ``options``: options may begin within a line of the stem only.
        is_usual: Other questions of the paper have their options in the line of their stem.
    """
    hidden = narrow(masked(text))
    marks = _in_order(_OPTION.finditer(hidden), known)
    tight = _in_order(_TIGHT_OPTION.finditer(hidden), known)
    if len(tight) > max(len(marks), 2) and tight[0].start() == 0:
        marks = tight
    if not marks:
        return text, []
    ends = [*(match.start() for match in marks[1:]), len(text)]
    texts = [text[match.end() : end].strip() for match, end in zip(marks, ends, strict=True)]
    stem = text[: marks[0].start()].strip()
    if marks[0].start() > 0 and (part == "options" or not _ends_with_options(stem, texts, is_usual)):
        return text, []
    if all(option.endswith((";", "；")) for option in texts[:-1]):
        texts = [option.rstrip(";；") for option in texts]
    return stem, [(known + n, bool(match["right"]), texts[n]) for n, match in enumerate(marks)]


def _in_order(matches: Iterable[re.Match[str]], known: int) -> list[re.Match[str]]:
    marks: list[re.Match[str]] = []
    for match in matches:
        if match["letter"].upper() == letter(known + len(marks)):
            marks.append(match)
    return marks


def _ends_with_options(stem: str, texts: list[str], is_usual: bool) -> bool:
    """Return True if a line of the stem ends with options; "A." may be a name, "Vitamin A. and B. are?"."""
    asks = texts[-1].endswith(("?", "？")) and not stem.endswith(("?", "？"))
    is_clear = len(texts) > 2 or is_usual or stem.endswith(tuple("?？:：.。)）_"))
    return len(texts) > 1 and all(texts) and not asks and is_clear


def continues(line: str, text: str, width: int) -> bool:
    """Return True if a text goes on with an option's last line rather than beginning something else.

    Args:
        width: Of the paper's lines, where they end wherever the page does; 0 if they are paragraphs.
    """
    begins_within = text[:1].islower() or text[:1].isdigit() or text[:1] in "$\\"
    is_open = not line or line.endswith(tuple(",，、:：(（=+-"))
    return begins_within or is_open or bool(width and columns(line) >= 0.8 * width)


def columns(text: str) -> int:
    """Return the width of a text; Chinese characters are twice as wide as others."""
    return len(text) + sum(character > "\u2e7f" for character in text)
