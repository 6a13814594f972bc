"""Papers: paragraphs of numbered questions with lettered options and answer lines, from Word, PDF and text.

Understood are ``1.``, ``1)``, ``(1)``, ``1、``, ``Question 1``, ``第1题`` before a question; ``A.``, ``(A)``, ``A、``
before an option, one or several in a line, a ``*`` before a right one, or check boxes; lines that begin with
``Answer:``, ``Solution:``, ``Topic:``, ``Difficulty:`` (``答案``, ``解析``, ``知识点``, ``难度``, ``【答案】``);
headings; texts about several questions; and lists of answers under a title such as ``Answers``. Each paragraph that
fits none of these is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

from tqnet.importers import paper_key
from tqnet.importers.choices import option_places
from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.paper_lines import (
    Mark,
    Paragraph,
    columns,
    continues,
    heading_of,
    introduced,
    labelled,
    mark_of,
    may_be_heading,
    options_of,
)
from tqnet.importers.paper_options import with_letters
from tqnet.importers.paper_question import Question, record_of

#: Paragraphs to look ahead when a number may be that of a question or of something else.
_AHEAD = 100
#: Parts whose figures are not the question's.
_ANSWERS = ("answer", "analysis")
#: Parts of one line.
_SHORT = ("knowledge", "difficulty")
#: Options and lines of an answer that still names some; each further line would be compared with all of them.
_MOST_LINES = 60
Item = TypeVar("Item")


class _Entry(NamedTuple):
    answer: str
    place: Place


@dataclass
class _Passage:
    """Paragraphs for the questions ``first`` to ``last``."""

    first: int
    last: int
    paragraphs: list[Paragraph]
    is_used: bool = False


def read_paper(job: Job, paragraphs: Iterable[Paragraph], are_lines: bool = False) -> Iterator[Draft]:
    """Yield the questions of one paper; each paragraph that is part of none is a fault.

    Args:
        are_lines: The paragraphs are lines, which end where the page does.
    """
    for question in _Paper(job, paragraphs, are_lines).questions():
        yield Draft(record_of(job, question), question.place)


class _Paper:
    """Assigns the paragraphs of a paper to questions, sections and the key."""

    def __init__(self, job: Job, paragraphs: Iterable[Paragraph], are_lines: bool):
        self._job = job
        filled = [paragraph for paragraph in paragraphs if paragraph.text.strip() or paragraph.images]
        self._paragraphs, doubtful = with_letters(filled)
        for paragraph in doubtful:
            self._report(paragraph, "may begin options, but is read as part of the question")
        self._marks = list(map(mark_of, self._paragraphs))
        widths = sorted(columns(paragraph.text) for paragraph in self._paragraphs)
        self._width = max(40, widths[len(widths) * 9 // 10]) if are_lines and widths else 0
        self._questions: list[Question] = []
        self._highest = 0  # number of a question
        self._part = ""  # of the last question, to which the next paragraph belongs; "" after a heading
        self._heading: Paragraph | None = None  # without a question so far
        self._passage: _Passage | None = None
        self._key: list[tuple[int, _Entry]] = []
        self._count_options()

    def _count_options(self) -> None:
        """Find how many options most questions have, and whether several have them in the line of their stem."""
        count, counts, in_stem = 0, Counter[int](), 0
        for at, mark in enumerate(self._marks):
            text = self._paragraphs[at].text.strip()
            is_new = mark is not None or (count > 0 and bool(options_of(text, 0, "options")[1]))
            if is_new:
                counts[count] += 1
            known = 0 if is_new else count
            part = "options" if known else "stem"
            stem, options = options_of(text[mark.end :] if mark else text, known, part, is_usual=True)
            in_stem += bool(mark and stem and options)
            count = known + len(options)
        counts[count] += 1
        del counts[0]
        self._usual_count = counts.most_common(1)[0][0] if counts else 0
        self._are_in_stems = in_stem > 1

    def questions(self) -> list[Question]:
        section, in_key = "", False
        for at, paragraph in enumerate(self._paragraphs):
            text, mark = paragraph.text.strip(), self._marks[at]
            if in_key:
                self._take_key(paragraph)
            elif self._begins_key(at, text):
                in_key = bool(self._questions)
                self._take_key(paragraph)
            elif self._is_heading(at):
                self._report_unused()
                self._heading, section, self._part = paragraph, text, ""
            elif numbers := self._introduces(at):
                self._report_passage()
                self._passage, self._part = _Passage(*numbers, [paragraph]), ""
            elif mark and self._begins_question(at, mark):
                self._begin_question(at, mark, section)
            elif self._part and not self._is_apart(at):
                self._part = self._questions[-1].take(self._part, text) if text else self._part
                self._take_figures(paragraph)
            elif self._passage and not self._part:
                self._passage.paragraphs.append(paragraph)
            else:
                self._report(paragraph)
        self._report_unused()
        self._answer_by_key()
        return self._questions

    def _begin_question(self, at: int, mark: Mark, section: str) -> None:
        paragraph, passage = self._paragraphs[at], self._passage
        self._heading = None
        question = Question(mark, paragraph.place, section, images=[*paragraph.images])
        if passage and passage.first <= mark.number <= passage.last:
            question.parts["stem"] = [part.text.strip() for part in passage.paragraphs]
            question.images[:0] = [image for part in passage.paragraphs for image in part.images]
            passage.is_used = True
        else:
            self._report_passage()
        self._questions.append(question)
        self._highest = max(self._highest, mark.number)
        text = paragraph.text.strip()[mark.end :]
        if self._options_follow(at):
            question.add("stem", text)
            self._part = "stem"
        else:
            self._part = question.take_options("stem", text, self._are_in_stems)

    def _options_follow(self, at: int) -> bool:
        """Return True if the next paragraph begins with the first option."""
        after = self._paragraphs[at + 1].text.strip() if at + 1 < len(self._paragraphs) else ""
        return self._marks[at] is not None and bool(options_of(after, 0, "options")[1])

    def _take_figures(self, paragraph: Paragraph) -> None:
        if paragraph.images and self._part in _ANSWERS:
            self._job.fault(paragraph.place, "images", f"a figure of the {self._part} is not kept")
        else:
            self._questions[-1].images += paragraph.images

    def _is_heading(self, at: int) -> bool:
        paragraph = self._paragraphs[at]
        if heading_of(paragraph):
            return True
        following = self._marks[at + 1] if at + 1 < len(self._marks) else None
        last = self._questions[-1].mark.number if self._questions else 0
        text = paragraph.text.strip()
        if paragraph.images or self._marks[at] or following is None or following.number not in (1, last + 1):
            return False
        return may_be_heading(text, self._is_apart(at)) and not labelled(text)

    def _introduces(self, at: int) -> tuple[int, int] | None:
        """Return the numbers of the next questions if a paragraph is about several of them."""
        numbers = None if self._marks[at] else introduced(self._paragraphs[at].text)
        last = self._questions[-1].mark.number if self._questions else 0
        return numbers if numbers and (numbers[0] == last + 1 or (numbers[0] == 1 and not self._part)) else None

    def _is_apart(self, at: int) -> bool:
        """Return True if the last question is complete, and this paragraph neither goes on with it nor is a line of it.

        Its options are complete when there are four, or as many as most questions have; its answer, when it names
        options.
        """
        text = self._paragraphs[at].text.strip()
        if not self._part or not text or self._marks[at] or labelled(text):
            return False
        question = self._questions[-1]
        if self._part == "options":
            count = len(question.options)
            is_complete = count >= 4 or count >= self._usual_count > 1
            is_option = bool(options_of(text, count, "options")[1])
            return is_complete and not is_option and not continues(question.last_line("options"), text, self._width)
        if self._part == "answer":
            lines = len(question.options) + len(question.parts.get("answer", ()))
            return lines <= _MOST_LINES and bool(option_places(question.text("answer") or "", question.option_texts()))
        return self._part in _SHORT and any(question.parts.get(self._part, ()))

    def _report(self, paragraph: Paragraph, message: str = "part of no question") -> None:
        text = repr(paragraph.text.strip())[:80]
        figure = ("a figure" if text == "''" else f"{text} and a figure") if paragraph.images else text
        self._job.fault(paragraph.place, "paragraph", f"{message}: {figure}")

    def _report_unused(self) -> None:
        """Report a heading and a passage that no question follows."""
        if self._heading:
            self._report(self._heading)
        self._heading = None
        self._report_passage()

    def _report_passage(self) -> None:
        for paragraph in self._passage.paragraphs if self._passage and not self._passage.is_used else ():
            self._report(paragraph)
        self._passage = None

    def _begins_question(self, at: int, mark: Mark) -> bool:
        """Return True if the questions' numbers go on here or begin anew at 1; report what is doubtful.

        Other numbers are those of lists within the question. If such a list reaches the question's next number, that
        number occurs again.
        """
        last = self._questions[-1].mark.number if self._questions else 0
        if self._passage and not self._part:
            return mark.number in (self._passage.first, last + 1)
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

    def _ahead(self, at: int) -> Iterator[Mark]:
        return filter(None, self._marks[at + 1 : at + 1 + _AHEAD])

    def _begins_key(self, at: int, text: str) -> bool:
        """Return True at the title of a list of answers, also with answers in its line."""
        title, held = paper_key.cut(text)
        listed = [number for number, _ in paper_key.entries(held)] if title else []
        if not title or (held and len(listed) < 2):
            return False
        numbers = {question.mark.number for question in self._questions}
        if not numbers:
            return listed[:1] == [1]
        following, after = [*self._paragraphs[at + 1 : at + 3], None, None][:2]
        last, entry = self._questions[-1].mark.number, self._entry(following)
        # The next question's number is one of a key only where it answers an earlier section, which is longer.
        goes_on = any(
            number == last + 1 and (before != last or self._highest == last)
            for before, number in pairwise(mark.number for mark in self._ahead(at))
        )
        if held:  # otherwise the answers to a list within the last question
            is_whole = last in listed or entry == listed[-1] + 1
            is_answered = any("answer" in question.parts for question in self._questions)
            return is_whole and numbers.issuperset(listed) and not (is_answered or goes_on)
        has_options = after is not None and bool(options_of(after.text.strip(), 0, "options")[1])
        asks = following is not None and entry > 0 and (has_options or following.text.rstrip().endswith(("?", "？")))
        if paper_key.is_of_one_question(title):
            return 0 < entry <= last and not (goes_on or asks)
        return not asks

    def _entry(self, paragraph: Paragraph | None) -> int:
        """Return the number of the answer that a paragraph begins with; 0 without one."""
        if paragraph is None:
            return 0
        return paragraph.number or paper_key.begins_with_entry(paragraph.text.strip())

    def _take_key(self, paragraph: Paragraph) -> None:
        heading = heading_of(paragraph)
        text = f"{paragraph.number}. {paragraph.text}" if paragraph.number else heading or paragraph.text.strip()
        title, held = paper_key.cut(text)
        entries = paper_key.entries(held or text, after_title=bool(heading))
        self._key += [(number, _Entry(answer, paragraph.place)) for number, answer in entries]
        if not (entries or heading or (title and not held)):
            self._report(paragraph)
        elif paragraph.images:
            self._job.fault(paragraph.place, "images", "a figure of the key is not kept")

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
