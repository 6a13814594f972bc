"""Papers: paragraphs of numbered questions with lettered options and answer lines, from Word, PDF and text.

Understood are ``1.``, ``1)``, ``(1)``, ``1、``, ``Question 1`` and ``第1题`` before a question, numbers rising by one;
``A.``, ``(A)``, ``A、`` before an option, one or several in a line, a ``*`` before a right one; lines that begin with
``Answer:``, ``Solution:``, ``Topic:``, ``Difficulty:`` (``答案``, ``解析``, ``知识点``, ``难度``, ``【答案】``); and a
list of answers at the end under a heading such as ``Answers``. Each paragraph that fits none of these is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tqnet.importers.choices import option_places
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.tables import paths
from tqnet.text.formulas import segments

_QUESTION = re.compile(
    r"(?:question|problem|exercise|q|例)\s*(?P<word>\d{1,4})\s*[.):：．、]?\s*"
    r"|第\s*(?P<chinese>\d{1,4})\s*题\s*[.:：．、]?\s*"
    r"|[(（\[](?P<inside>\d{1,4})[)）\]]\s*"
    r"|(?P<plain>\d{1,4})\s*(?:[.．](?!\d)|[)）、:：])\s*",
    re.IGNORECASE,
)
_OPTION = re.compile(r"(?:(?<=[\s\x01）)。？?_])|^)(?P<right>\*?)[(（\[]?(?P<letter>[A-Ha-h])[.)）\]、．:：]\s*")
_LINES = {
    "answer": "answer|ans|correct answer|key|答案|参考答案|正确答案|答",
    "analysis": "solution|explanation|analysis|rationale|feedback|working|解析|分析|详解|解答|点评|解",
    "knowledge": "topics?|knowledge(?: points?)?|concepts?|skills?|知识点|考点",
    "difficulty": "difficulty|level|难度",
}
_LINE = {
    name: re.compile(rf"(?:[【\[](?:{words})[】\]]\s*[:：]?|(?:{words})\s*[:：])\s*", re.IGNORECASE)
    for name, words in _LINES.items()
}
_KEY = re.compile(
    r"(?:answers?|answer key|key|solutions?|参考答案(?:及解析|与解析)?|答案(?:及解析)?)\s*[:：]?", re.IGNORECASE
)
_KEY_ENTRY = re.compile(
    r"(?:^|(?<=\s)|(?<=[;；,，]))(\d{1,4})\s*[.)）、．:：-]\s*(.+?)(?=[\s;；,，]+\d{1,4}\s*[.)）、．:：-]|$)"
)


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


@dataclass
class _Question:
    number: int
    place: Place
    section: str
    parts: dict[str, list[str]] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    images: list[str] = field(default_factory=list)

    def add(self, part: str, text: str) -> None:
        self.parts.setdefault(part, []).append(text)

    def text(self, part: str) -> str | None:
        return "\n".join(filter(None, self.parts.get(part, []))) or None


def read_paper(job: Job, paragraphs: Iterable[Paragraph]) -> Iterator[Draft]:
    """Yield the questions of one paper; each paragraph that is part of none is a fault."""
    questions: list[_Question] = []
    key: dict[int, str] = {}
    section, part, last, in_key = "", "", 0, False
    for paragraph in paragraphs:
        text = paragraph.text.strip()
        if not text and not paragraph.images:
            continue
        if _KEY.fullmatch(text) and questions:
            in_key = True
            continue
        if in_key:
            entries = _KEY_ENTRY.findall(text)
            key |= {int(number): answer.strip() for number, answer in entries}
            if not entries or paragraph.images:
                _report(job, paragraph)
            continue
        if paragraph.is_heading:
            section, part, last = text, "", 0
            continue
        number, begin = _number(paragraph, text, last)
        if number:
            last, part = number, "stem"
            questions.append(_Question(number, paragraph.place, section))
            text = text[begin:]
        elif not part:
            _report(job, paragraph)
            continue
        part = _take(questions[-1], part, text)
        questions[-1].images += paragraph.images
    for question in questions:
        yield Draft(_record(job, question, key.get(question.number)), question.place)


def _report(job: Job, paragraph: Paragraph) -> None:
    job.fault(paragraph.place, "paragraph", f"part of no question: {paragraph.text.strip()!r:.80}")


def _number(paragraph: Paragraph, text: str, last: int) -> tuple[int, int]:
    """Return the number of the question that a paragraph begins, and where its text does; 0 if it begins none."""
    if paragraph.number and (paragraph.number == last + 1 or not last):
        return paragraph.number, 0
    match = _QUESTION.match(text)
    if match is None:
        return 0, 0
    number = int(next(filter(None, match.groups())))
    return (number, match.end()) if number == last + 1 or (not last and number) else (0, 0)


def _take(question: _Question, part: str, text: str) -> str:
    """Add a paragraph's text to the part that it belongs to, and return that part."""
    for name, line in _LINE.items():
        if match := line.match(text):
            question.add(name, text[match.end() :])
            return name
    if part in ("stem", "options"):
        stem, options = _options(text, len(question.options), part)
        for letter, right, option in options:
            if right:
                question.right.append(letter)
            question.options.append(option)
        if options:
            if stem:
                question.add("stem", stem)
            return "options"
        if part == "options":
            question.options[-1] += f"\n{text}"
            return part
    question.add(part, text)
    return part


def _options(text: str, known: int, part: str) -> tuple[str, list[tuple[int, bool, str]]]:
    """Return what precedes the options of a paragraph, and the place, mark and text of each."""
    masked = "".join("\x01" * len(text[s.start : s.end]) if s.is_formula else s.body for s in segments(text))
    found: list[re.Match[str]] = []
    for match in _OPTION.finditer(masked):
        if match["letter"].upper() == chr(ord("A") + known + len(found)):
            found.append(match)
    # Within the stem's own line, a single "A." may be a name.
    if not found or (found[0].start() > 0 and (part == "options" or len(found) < 3)):
        return text, []
    ends = [*(match.start() for match in found[1:]), len(text)]
    options = [
        (known + place, bool(match["right"]), text[match.end() : end].strip())
        for place, (match, end) in enumerate(zip(found, ends, strict=True))
    ]
    return text[: found[0].start()].strip(), options


def _record(job: Job, question: _Question, key: str | None) -> dict[str, Any]:
    answer = question.text("answer") or key
    if question.right and answer is None:
        answer = lettered(question.right)
    places = option_places(answer, question.options) if answer else []
    difficulty = question.text("difficulty")
    levels = [word.lower() for word in job.settings.levels]
    extras: dict[str, Any] = {"number": question.number} | ({"section": question.section} if question.section else {})
    record: dict[str, Any] = {
        "stem": question.text("stem") or "",
        "options": question.options,
        "answer": lettered(places) if places else answer,
        "analysis": question.text("analysis"),
        "knowledge": paths(re.split(r"[;；,，、\n]", question.text("knowledge") or "")),
        "images": distinct(question.images),
        "extras": extras,
    }
    if difficulty and (number := re.match(r"-?\d+(?:\.\d+)?", difficulty)):
        record["difficulty"] = float(number[0])
    elif difficulty and difficulty.lower() in levels:
        record["difficulty"] = levels.index(difficulty.lower()) + 1
    elif difficulty:
        extras["difficulty_word"] = difficulty
    return record
