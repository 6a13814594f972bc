"""What the types of Moodle's questions make of a record: options, answer, and what stands in the stem."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tqnet.questions.importers.cloze import cloze
from tqnet.questions.importers.job import lettered

if TYPE_CHECKING:
    from tqnet.questions.importers.moodle import MoodleQuestion
    from tqnet.questions.importers.safe_xml import Element

Fields = dict[str, Any]

_GAP = re.compile(r"\[\[(\d+)\]\]")
#: A blank to be filled in.
BLANK = "____"


def _multichoice(item: MoodleQuestion, record: Fields) -> Fields:
    """All that count in favour are right; of several, the answer names each."""
    answers = item.element.findall("answer")
    options = [item.text("", answer, figures=f"answer[{i}]") for i, answer in enumerate(answers)]
    shares = [_fraction(answer) for answer in answers]
    single = item.value("single").lower() in ("true", "1", "")
    right = [i for i, share in enumerate(shares) if (share == max(shares) if single else share > 0) and share > 0]
    if not right:
        item.fault("answer", "none is right")
    feedback = [(i, item.text("feedback", answer)) for i, answer in enumerate(answers)]
    said = [f"{lettered([i])}: {text}" for i, text in feedback if text]
    return {"options": options, "answer": lettered(right) or None, "analysis": "\n".join(said)}


def _truefalse(item: MoodleQuestion, record: Fields) -> Fields:
    right = [
        (answer.findtext("text") or "").strip().lower()
        for answer in item.element.findall("answer")
        if _fraction(answer) > 0
    ]
    answer = {"true": "A", "false": "B"}.get(right[0]) if len(right) == 1 else None
    if answer is None:
        item.fault("answer", "neither true nor false is right")
    feedback = [item.text("feedback", answer) for answer in item.element.findall("answer")]
    return {"options": ["True", "False"], "answer": answer, "analysis": "\n".join(filter(None, feedback))}


def _shortanswer(item: MoodleQuestion, record: Fields) -> Fields:
    """The first of those that count whole; others are the extra ``accepted``."""
    right = [text for text in ((answer.findtext("text") or "").strip() for answer in _right(item)) if text]
    if not right:
        item.fault("answer", "none is right")
    return {"answer": right[0] if right else None, "extras": {"accepted": right[1:]} if right[1:] else {}}


def _numerical(item: MoodleQuestion, record: Fields) -> Fields:
    right = _right(item)
    if not right:
        item.fault("answer", "none is right")
        return {}
    tolerance = (right[0].findtext("tolerance") or "").strip()
    unit = item.value("units/unit/unit_name")
    extras = {"tolerance": tolerance if tolerance not in ("", "0") else None, "unit": unit}
    answer = (right[0].findtext("text") or "").strip() or None
    return {"answer": answer, "extras": {name: value for name, value in extras.items() if value}}


def _essay(item: MoodleQuestion, record: Fields) -> Fields:
    return {"answer": item.text("graderinfo") or None}


def _description(item: MoodleQuestion, record: Fields) -> Fields:
    return {}


def _matching(item: MoodleQuestion, record: Fields) -> Fields:
    """The items are numbered in the stem, what they match is the options, in alphabetical order; ``1-B, 2-A``."""
    pairs = []
    for i, part in enumerate(item.element.findall("subquestion")):
        pairs.append([item.text("", part, figures=f"subquestion[{i}]"), (part.findtext("answer/text") or "").strip()])
    if not any(question and answer for question, answer in pairs):
        item.fault("subquestion", "no pair")
    options = sorted({answer for _, answer in pairs if answer})
    asked = [(question, answer) for question, answer in pairs if question]
    answer = ", ".join(f"{i}-{lettered([options.index(one)])}" for i, (_, one) in enumerate(asked, 1) if one)
    return {
        "stem": f"{record['stem']}\n{numbered([question for question, _ in asked])}".strip(),
        "options": options,
        "answer": answer or None,
        "extras": {"matches": pairs},
    }


def _cloze(item: MoodleQuestion, record: Fields) -> Fields:
    """Blanks for its gaps, with their choices; its codes are the extra ``cloze``."""
    text, answers = cloze(record["stem"], BLANK)
    if not answers:
        item.fault("questiontext", "no gap")
    answer = answers[0] if len(answers) == 1 else "; ".join(f"{i}: {one}" for i, one in enumerate(answers, 1))
    return {"stem": text, "answer": answer or None, "extras": {"cloze": record["stem"]}}


def _gaps(item: MoodleQuestion, record: Fields) -> Fields:
    """Numbered blanks in the stem, the words for them as options: ``1-B, 2-A``."""
    choices = item.element.findall("selectoption") + item.element.findall("dragbox")
    options = [(choice.findtext("text") or "").strip() for choice in choices]
    wanted = [int(number) - 1 for number in _GAP.findall(record["stem"])]
    if any(not 0 <= number < len(options) for number in wanted):
        item.fault("questiontext", "a gap without its word")
    answers = [f"{i}-{lettered([number])}" for i, number in enumerate(wanted, 1) if 0 <= number < len(options)]
    places = iter(range(1, len(wanted) + 1))
    stem = _GAP.sub(lambda _: f"{BLANK}({next(places)})", record["stem"])
    return {"stem": stem, "options": options, "answer": ", ".join(answers) or None}


KINDS: dict[str, Callable[[MoodleQuestion, Fields], Fields]] = {
    "multichoice": _multichoice,
    "truefalse": _truefalse,
    "shortanswer": _shortanswer,
    "numerical": _numerical,
    "essay": _essay,
    "description": _description,
    "matching": _matching,
    "cloze": _cloze,
    "gapselect": _gaps,
    "ddwtos": _gaps,
    "calculated": _numerical,
    "calculatedsimple": _numerical,
    "calculatedmulti": _multichoice,
}


def numbered(texts: list[str]) -> str:
    """``1. ..`` in lines."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _right(item: MoodleQuestion) -> list[Element]:
    """The answers that count most."""
    answers = item.element.findall("answer")
    most = max(map(_fraction, answers), default=0.0)
    return [answer for answer in answers if _fraction(answer) == most > 0]


def _fraction(answer: Element) -> float:
    try:
        return float(answer.get("fraction", "0").replace(",", "."))
    except ValueError:
        return 0.0
