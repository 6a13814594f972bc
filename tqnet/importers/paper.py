"""Papers: paragraphs of numbered questions with lettered options and answer lines, from Word, PDF and text.

Understood are ``1.``, ``1)``, ``(1)``, ``1、``, ``Question 1``, ``第1题`` before a question; ``A.``, ``(A)``, ``A、``
before an option, one or several in a line, a ``*`` before a right one; lines that begin with ``Answer:``,
``Solution:``, ``Topic:``, ``Difficulty:`` (``答案``, ``解析``, ``知识点``, ``难度``, ``【答案】``); headings; and lists
of answers at the end under a title such as ``Answers``. Each paragraph that fits none of these is reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from tqnet.importers.choices import option_places
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.tables import paths
from tqnet.text.formulas import segments
from tqnet.text.lists import letter

_QUESTION = re.compile(
    r"(?:question|problem|exercise|q|例)\s*(?P<word>\d{1,4})\s*[.):：．、]?\s*"
    r"|第\s*(?P<chinese>\d{1,4})\s*题\s*[.:：．、]?\s*"
    r"|[(（\[](?P<inside>\d{1,4})[)）\]]\s*"
    r"|(?P<plain>\d{1,4})\s*(?:(?P<decimal>\.(?=\d))|[.．)）、:：])\s*",
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
    name: re.compile(rf"(?:[【\[](?:{words})[】\]]\s*[:：]?|(?:{words})\s*(?:[:：]|$))\s*", re.IGNORECASE)
    for name, words in _LINES.items()
}
#: Headings that have no heading's style.
_HEADING = re.compile(
    r"(?:(?:Part|PART|Section|SECTION)\s+(?:[IVX]{1,4}|[A-H]|\d{1,2})\s*(?:$|\.(?!\d)|[:：(（—–-])"
    r"|第\s*[一二三四五六七八九十\dIVXⅠ-Ⅹ]{1,3}\s*(?:部分|卷|大题)"
    r"|[一二三四五六七八九十]{1,3}\s*[、.．])(?P<rest>.*)"
)
#: Titles of answer keys; "Answer:" alone may stand above the answer of a single question as well.
_KEY = re.compile(
    r"(?:(?P<certain>answers|answer key|solutions|参考答案(?:及解析|与解析)?|答案及解析)|answer|key|答案)\s*[:：]?",
    re.IGNORECASE,
)
#: Before an answer of a key: "1." or, before several letters, "1-5".
_ENTRY = re.compile(
    r"(?:^|(?<=[\s;；,，])|(?<=[^\d\s][:：、]))(?P<first>\d{1,4})"
    r"(?:\s*[-–—~～]\s*(?P<last>\d{1,4})(?!\d)\s*[.:：、)）]?|\s*(?:[.．](?!\d)|[)）、:：-]))\s*"
)
#: Paragraphs to look ahead when a number may be that of a question or of something else.
_AHEAD = 100

Item = TypeVar("Item")


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


class _Mark(NamedTuple):
    """A number at the beginning of a paragraph, the signs around it (``.``, ``()``), and where the text begins.

    Attributes:
        is_decimal: It may be part of one, as in "3.2024 is even".
    """

    number: int
    form: str
    end: int
    is_decimal: bool = False


class _Entry(NamedTuple):
    answer: str
    place: Place


@dataclass
class _Question:
    mark: _Mark
    place: Place
    section: str
    parts: dict[str, list[str]] = field(default_factory=dict)
    options: list[list[str]] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    """The last number of the list within the question, for each form of numbers."""
    key: str | None = None

    def add(self, part: str, text: str) -> None:
        (self.options[-1] if part == "options" else self.parts.setdefault(part, [])).append(text)

    def text(self, part: str) -> str | None:
        return "\n".join(filter(None, self.parts.get(part, []))) or None

    def last_line(self, part: str) -> str:
        return self.options[-1][-1] if part == "options" else self.parts.get(part, [""])[-1]

    def take(self, part: str, text: str) -> str:
        """Add a paragraph's text to the part that it belongs to, and return that part."""
        for name, line in _LINE.items():
            if match := line.match(text):
                self.add(name, text[match.end() :])
                return name
        return self.take_options(part, text)

    def take_options(self, part: str, text: str) -> str:
        stem, options = _options(text, len(self.options), part) if part in ("stem", "options") else (text, [])
        if not options:
            self.add(part, text)
            return part
        if stem:
            self.add("stem", stem)
        self.right += [place for place, is_right, _ in options if is_right]
        self.options += [[option] for _, _, option in options]
        return "options"


def read_paper(job: Job, paragraphs: Iterable[Paragraph]) -> Iterator[Draft]:
    """Yield the questions of one paper; each paragraph that is part of none is a fault."""
    for question in _Paper(job, paragraphs).questions():
        yield Draft(_record(job, question), question.place)


class _Paper:
    """Assigns the paragraphs of a paper to questions, sections and the key."""

    def __init__(self, job: Job, paragraphs: Iterable[Paragraph]):
        self._job = job
        self._paragraphs = [paragraph for paragraph in paragraphs if paragraph.text.strip() or paragraph.images]
        self._marks = list(map(_mark, self._paragraphs))
        self._questions: list[_Question] = []
        self._highest = 0  # number of a question
        self._part = ""  # of the last question, to which the next paragraph belongs; "" after a heading
        self._heading: Paragraph | None = None  # without a question so far
        self._key: list[tuple[int, _Entry]] = []

    def questions(self) -> list[_Question]:
        section, in_key = "", False
        for at, paragraph in enumerate(self._paragraphs):
            text, mark = paragraph.text.strip(), self._marks[at]
            if in_key:
                self._take_key(paragraph)
            elif self._begins_key(at, text):
                in_key = True
            elif _heading(paragraph):
                self._report_heading()
                self._heading, section, self._part = paragraph, text, ""
            elif mark and self._begins_question(at, mark):
                self._heading = None
                question = _Question(mark, paragraph.place, section, images=[*paragraph.images])
                self._questions.append(question)
                self._highest = max(self._highest, mark.number)
                self._part = question.take_options("stem", text[mark.end :])
            elif self._part:
                self._part = self._questions[-1].take(self._part, text)
                self._questions[-1].images += paragraph.images
            else:
                self._report(paragraph)
        self._report_heading()
        self._answer_by_key()
        return self._questions

    def _report(self, paragraph: Paragraph, message: str = "part of no question") -> None:
        self._job.fault(paragraph.place, "paragraph", f"{message}: {paragraph.text.strip()!r:.80}")

    def _report_heading(self) -> None:
        if self._heading:
            self._report(self._heading)

    def _begins_question(self, at: int, mark: _Mark) -> bool:
        """Return True if the questions' numbers go on here or begin anew at 1; report what is doubtful.

        Other numbers are those of lists within the question. If such a list reaches the question's next number, that
        number occurs again.
        """
        last = self._questions[-1].mark.number if self._questions else 0
        if not self._part:
            return mark.number in (1, last + 1) if mark.is_decimal else mark.number > 0
        question, before = self._questions[-1], self._questions[-1].last_line(self._part)
        is_introduced = before.endswith((":", "："))
        # "(1)" is below "1."; other forms are on one level.
        is_below = bool(set(mark.form) & set("()[]") - set(question.mark.form))
        is_next_item = question.items.get(mark.form) == mark.number - 1
        is_complete = bool(question.options or "answer" in question.parts) and self._part != "analysis"
        follows, restarts = mark.number == last + 1, mark.number == 1 and is_complete
        if mark.is_decimal and not (follows or restarts):
            return False
        if follows and not (is_below and is_next_item) and (is_complete or not mark.is_decimal):
            is_clear = not (is_below or is_next_item or mark.is_decimal)
            if is_clear or not self._occurs_again(at, mark.number, question.mark.form):
                return True
        if restarts and not (is_below or mark.is_decimal or is_introduced) and before:
            return True
        is_sublist = is_below and self._part != "options"
        if not (is_sublist or is_next_item or (mark.number == 1 and is_introduced)):
            self._report(self._paragraphs[at], f"may begin a question, but is read as part of question {last}")
        question.items[mark.form] = mark.number
        return False

    def _occurs_again(self, at: int, number: int, form: str) -> bool:
        lower = (mark.number for mark in self._ahead(at) if mark.form == form and mark.number <= number)
        return next(lower, 0) == number

    def _ahead(self, at: int) -> Iterator[_Mark]:
        return filter(None, self._marks[at + 1 : at + 1 + _AHEAD])

    def _begins_key(self, at: int, text: str) -> bool:
        title = _KEY.fullmatch(text) if self._questions else None
        if title is None or title["certain"]:
            return title is not None
        last = self._questions[-1].mark.number
        entry = _ENTRY.match(self._paragraphs[at + 1].text.strip()) if at + 1 < len(self._paragraphs) else None
        # The next question's number is one of a key only where it answers an earlier section, which is longer.
        goes_on = any(
            number == last + 1 and (before != last or self._highest == last)
            for before, number in pairwise(mark.number for mark in self._ahead(at))
        )
        return entry is not None and int(entry["first"]) <= last and not goes_on

    def _take_key(self, paragraph: Paragraph) -> None:
        heading = _heading(paragraph)
        text = f"{paragraph.number}. {paragraph.text}" if paragraph.number else heading or paragraph.text.strip()
        entries = _entries(text) if heading or _ENTRY.match(text) else []
        self._key += [(number, _Entry(answer, paragraph.place)) for number, answer in entries]
        if paragraph.images or not (entries or heading or _KEY.fullmatch(text)):
            self._report(paragraph)

    def _answer_by_key(self) -> None:
        """Give the questions their answers, section by section; none if it is uncertain which section a list is of."""
        if not self._key:
            return
        sections, lists = _rising((question.mark.number, question) for question in self._questions), _rising(self._key)
        fits = len(lists) == len(sections) and all(a.keys() <= q.keys() for a, q in zip(lists, sections, strict=True))
        if not fits and len(lists) + len(sections) > 2:
            numbers, asked = (", ".join(map(_shown, runs)) for runs in (lists, sections))
            message = f"numbers {numbers} of the key for questions {asked}: uncertain, so none of its answers is taken"
            self._job.fault(self._key[0][1].place, "answer", message)
            return
        for answers, questions in zip(lists, sections, strict=True):
            for number, entry in answers.items():
                if number in questions:
                    questions[number].key = entry.answer
                else:
                    self._job.fault(entry.place, "answer", f"the key answers question {number}, which there is not")


def _mark(paragraph: Paragraph) -> _Mark | None:
    if paragraph.number:
        return _Mark(paragraph.number, "automatic", 0)
    match = _QUESTION.match(paragraph.text.strip())
    if match is None:
        return None
    form = re.sub(r"[\d\s]", "", unicodedata.normalize("NFKC", match[0])).lower()
    number = next(filter(None, match.groups()))
    return _Mark(int(number), form, match.end(), match["decimal"] is not None)


def _heading(paragraph: Paragraph) -> str:
    """Return what follows the number of a heading, or the whole of one without a number; "" if it is none."""
    text = paragraph.text.strip()
    match = None if paragraph.images or paragraph.number else _HEADING.fullmatch(text)
    return (match["rest"] or text) if match else text if paragraph.is_heading else ""


def _entries(text: str) -> list[tuple[int, str]]:
    """Return the answers of a key's paragraph; [] unless all of them can be read."""
    heads: list[re.Match[str]] = []
    for head in _ENTRY.finditer(text):
        if not heads or head.start() > heads[-1].end():  # otherwise the number is the answer itself
            heads.append(head)
    entries: list[tuple[int, str]] = []
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=False):
        first, answer = int(head["first"]), text[head.end() : end].strip(" \t\n;；,，、")
        count = int(head["last"] or first) - first + 1
        answers = answer.split() if head["last"] else [answer]
        if len(answers) != count:  # "ABCD", not "A B C D"
            answers = list("".join(answers))
        if len(answers) != count or not all(answers):
            return []
        entries += enumerate(answers, first)
    return entries


def _rising(numbered: Iterable[tuple[int, Item]]) -> list[dict[int, Item]]:
    """Cut a sequence where its numbers do not rise: sections begin anew at 1."""
    runs: list[dict[int, Item]] = []
    last = 0
    for number, item in numbered:
        if not runs or number <= last:
            runs.append({})
        runs[-1][number] = item
        last = number
    return runs


def _shown(run: Mapping[int, object]) -> str:
    return f"{min(run)}-{max(run)}"


def _options(text: str, known: int, part: str) -> tuple[str, list[tuple[int, bool, str]]]:
    """Return what precedes the options of a paragraph, and the place, mark and text of each."""
    masked = "".join("\x01" * len(text[s.start : s.end]) if s.is_formula else s.body for s in segments(text))
    marks: list[re.Match[str]] = []
    for match in _OPTION.finditer(masked):
        if match["letter"].upper() == letter(known + len(marks)):
            marks.append(match)
    # Within the stem's own line, a single "A." may be a name.
    if not marks or (marks[0].start() > 0 and (part == "options" or len(marks) < 3)):
        return text, []
    ends = [*(match.start() for match in marks[1:]), len(text)]
    options = [
        (known + place, bool(match["right"]), text[match.end() : end].strip())
        for place, (match, end) in enumerate(zip(marks, ends, strict=True))
    ]
    return text[: marks[0].start()].strip(), options


def _record(job: Job, question: _Question) -> dict[str, Any]:
    options = ["\n".join(lines) for lines in question.options]
    answer = question.text("answer") or question.key
    if question.right and answer is None:
        answer = lettered(question.right)
    places = option_places(answer, options) if answer else []
    difficulty = question.text("difficulty")
    levels = [word.lower() for word in job.settings.levels]
    section = {"section": question.section} if question.section else {}
    extras: dict[str, Any] = {"number": question.mark.number} | section
    record: dict[str, Any] = {
        "stem": question.text("stem") or "",
        "options": options,
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
