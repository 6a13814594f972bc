"""Options of papers that have no letters: check boxes, ``☐ 4`` or ``- [x] 5``, and numbers, ``ii) 5``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tqnet.importers.choices import answers, option_places
from tqnet.importers.job import lettered
from tqnet.importers.paper_lines import Paragraph, labelled, mark_of
from tqnet.text.lists import letter, roman

_MARK = re.compile(
    r"(?:[-+*•]\s+)?(?:(?P<box>[☐☑☒]|\[[ xX*]\])\s*(?:[A-Ha-h][.)]\s)?"
    r"|(?P<label>[ivx]{1,4}|[1-8])(?:[)）]\s*|\.\s+))(?P<text>\S.*)",
    re.DOTALL,
)
_UNCHECKED = ("☐", "[ ]")
_ASKS = ("?", "？")
#: Lines of a stem.
_MOST_LINES = 20
#: Questions whose answer is how many of the lines are right, not one of them.
_COUNTS = re.compile(
    r"how many (?:of (?:these|the (?:following|above|statements))|(?:statements )?are (?:true|right|correct))\b"
    "|正确的?(?:个数|有几|有多少)|有几个正确",
    re.IGNORECASE,
)
#: Paragraphs by their place, with their marks.
_Run = dict[int, re.Match[str]]


def with_letters(paragraphs: Sequence[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Give letters to options without, ``*B. 5`` to a checked one; also return the lines that only may begin options.

    Check boxes are those of options if some are checked and some are not. Numbered lines may be parts of the question
    as well: they are options if they are below a line of a numbered question that asks, not how many of them are
    right, and the line after them answers by their numbers.
    """
    out, doubtful = list(paragraphs), []
    for run, end in _runs(paragraphs):
        first, marks = min(run), list(run.values())
        checked = [mark["box"] not in (None, *_UNCHECKED) for mark in marks]
        if not (len(set(checked)) == 2 if marks[0]["box"] else _may_be_options(paragraphs, first, end, marks)):
            continue
        if not marks[0]["box"]:
            counts = _COUNTS.search(paragraphs[first - 1].text) is not None
            places = [] if counts else _answered(paragraphs[end : end + 1], marks)
            if not places:
                doubtful.append(paragraphs[first])
                continue
            out[end] = replace(out[end], text=f"Answer: {lettered(places)}")
        for place, (at, mark) in enumerate(run.items()):
            out[at] = replace(out[at], text=f"{'*' * checked[place]}{letter(place)}. {mark['text']}")
    return out, doubtful


def _runs(paragraphs: Sequence[Paragraph]) -> Iterator[tuple[_Run, int]]:
    """Yield the lines with boxes, or with numbers from 1, of each question, and where they end."""
    run: _Run = {}
    form = ""
    for at, paragraph in enumerate(paragraphs):
        text = paragraph.text.strip()
        mark = None if paragraph.number else _MARK.fullmatch(text)
        kind = "" if mark is None else "box" if mark["box"] else "digit" if mark["label"].isdigit() else "roman"
        if mark and run and kind == form and mark["label"] in _labels(len(run)):
            run[at] = mark
        elif mark and mark["label"] in _labels(0):
            yield from [(run, at)] if run else []
            run, form = {at: mark}, kind
        elif run and (mark_of(paragraph) or labelled(text)):
            yield run, at
            run = {}
    yield from [(run, len(paragraphs))] if run else []


def _labels(place: int) -> tuple[str | None, ...]:
    """Return what may name the option at a place: nothing, a digit or a Roman numeral."""
    return None, str(place + 1), roman(place + 1).lower()


def _may_be_options(paragraphs: Sequence[Paragraph], first: int, end: int, marks: Sequence[re.Match[str]]) -> bool:
    """Return True if numbered lines without others between them are below a question, and are none themselves."""
    is_below = first > 0 and paragraphs[first - 1].text.rstrip().endswith(_ASKS) and _is_numbered(paragraphs[:first])
    asks = any(mark["text"].endswith(_ASKS) for mark in marks)
    return is_below and not asks and end - first == len(marks) > 1


def _is_numbered(paragraphs: Sequence[Paragraph]) -> bool:
    """Return True if the last line belongs to a numbered question: no labelled line is between."""
    for paragraph in reversed(paragraphs[-_MOST_LINES:]):
        if mark_of(paragraph):
            return True
        if labelled(paragraph.text.strip()):
            return False
    return False


def _answered(following: Sequence[Paragraph], marks: Sequence[re.Match[str]]) -> list[int]:
    """Return the places of the options whose numbers are the answer in the next line; [] if its texts may be meant."""
    name, answer = (following and labelled(following[0].text.strip())) or ("", "")
    labels, texts = [mark["label"] for mark in marks], [mark["text"] for mark in marks]
    parts = [part.strip("().") for part in answers(answer)] if name == "answer" else []
    places = sorted({labels.index(part) for part in parts if part in labels})
    is_certain = len(places) == len(parts) and option_places(answer, texts) in ([], places)
    return places if is_certain else []
