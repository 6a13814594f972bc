"""What becomes of each type of Moodle's questions: its options and answer, and what it changes in the stem."""

from __future__ import annotations

import copy
import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lxml import etree

from tqnet.importers.job import lettered
from tqnet.importers.safe_xml import Element, inner_markup
from tqnet.text.plain import BLANK, plain

if TYPE_CHECKING:
    from tqnet.importers.moodle import MoodleQuestion

#: The fields of a record.
Fields = dict[str, Any]

_NUMBERED_GAP = re.compile(r"\[\[(\d+)\]\]")


def _multichoice(item: MoodleQuestion, record: Fields) -> Fields:
    """All options with a positive share are right if several may be chosen, otherwise the best ones."""
    answers = item.element.findall("answer")
    options = [item.text("", answer, figures=f"answer[{i}]") for i, answer in enumerate(answers)]
    shares = [_fraction(answer) for answer in answers]
    single = item.value("single").lower() in ("true", "1", "")
    most = _most(item, "answer", shares) if single else 0.0
    right = [i for i, share in enumerate(shares) if (share == most if single else share > 0) and share > 0]
    if not right:
        item.fault("answer", "none is right")
    partial = {lettered([i]): share for i, share in enumerate(shares) if 0 < share < most}
    feedback = [(i, item.text("feedback", answer)) for i, answer in enumerate(answers)]
    analysis = "\n".join(f"{lettered([i])}: {text}" for i, text in feedback if text)
    extras = {"partial": partial} if partial else {}
    return {"options": options, "answer": lettered(right) or None, "analysis": analysis, "extras": extras}


def _truefalse(item: MoodleQuestion, record: Fields) -> Fields:
    right = [_text(answer).lower() for answer in item.element.findall("answer") if _fraction(answer) > 0]
    answer = {"true": "A", "false": "B"}.get(right[0]) if len(right) == 1 else None
    if answer is None:
        item.fault("answer", "neither true nor false is right")
    feedback = [item.text("feedback", answer) for answer in item.element.findall("answer")]
    return {"options": ["True", "False"], "answer": answer, "analysis": "\n".join(filter(None, feedback))}


def _shortanswer(item: MoodleQuestion, record: Fields) -> Fields:
    """The first answer of the highest value counts; others of it are ``accepted``, of a lower one ``partial``."""
    right, partial = _right(item)
    texts = [text for text in map(_text, right) if text]
    if not texts:
        item.fault("answer", "none is right")
    extras = {"accepted": texts[1:], "partial": partial}
    return {"answer": texts[0] if texts else None, "extras": extras}


def _numerical(item: MoodleQuestion, record: Fields) -> Fields:
    fields = _shortanswer(item, record)
    answer = next((each for each in item.element.findall("answer") if _text(each) == fields["answer"]), None)
    tolerance = "" if answer is None else (answer.findtext("tolerance") or "").strip()
    more = {"tolerance": tolerance if tolerance != "0" else "", "unit": item.value("units/unit/unit_name")}
    return fields | {"extras": fields["extras"] | more}


def _matching(item: MoodleQuestion, record: Fields) -> Fields:
    """Number the items in the stem; their matches are the options in alphabetical order: ``1-B, 2-A``."""
    pairs: list[tuple[str, str]] = []
    for i, part in enumerate(item.element.findall("subquestion")):
        figures = len(item.images)
        question = item.text("", part, f"subquestion[{i}]") or ("(figure)" if len(item.images) > figures else "")
        pairs.append((question, _match(item, part, f"subquestion[{i}].answer")))
    if not any(question and answer for question, answer in pairs):
        item.fault("subquestion", "no pair")
    options = sorted({answer for _, answer in pairs if answer})
    items = [(question, answer) for question, answer in pairs if question]
    answer = ", ".join(f"{i}-{lettered([options.index(match)])}" for i, (_, match) in enumerate(items, 1) if match)
    return {
        "stem": f"{record['stem']}\n{numbered([question for question, _ in items])}".strip(),
        "options": options,
        "answer": answer or None,
        "extras": {"matches": [list(pair) for pair in pairs]},
    }


def _match(item: MoodleQuestion, part: Element, name: str) -> str:
    """Return what an item matches: plain text, or HTML (ddmatch), of which a picture alone counts as its number."""
    answer = part.find("answer")
    if answer is None or answer.get("format") is None:
        return _text(answer)
    figures = len(item.images)
    text = item.text("", answer, name)
    return text or (f"(figure {len(item.images)})" if len(item.images) > figures else "")


def _ordering(item: MoodleQuestion, record: Fields) -> Fields:
    """The answers in their right order: ``A-B-C``."""
    answers = item.element.findall("answer")
    options = [item.text("", answer, figures=f"answer[{i}]") for i, answer in enumerate(answers)]
    return {"options": options, "answer": "-".join(lettered([place]) for place in range(len(options))) or None}


def other(item: MoodleQuestion, record: Fields) -> Fields:
    """Read a type that this importer does not know: its texts, blanks, and answers of the ordinary form."""
    stem = re.sub(r"\[\[(?:validation|feedback):[^\[\]]*\]\]", "", record["stem"])
    fields: Fields = {"stem": re.sub(r"\[\[input:[^\[\]]*\]\]", BLANK, stem).strip()}
    for number, part in enumerate(item.element.iter("subqtext"), 1):  # of Formulas, in place of {#1}
        text, name = item.text("", part, f"subqtext[{number}]"), part.getparent().findtext("placeholder/text") or ""
        place = f"{{{name}}}" if name else ""
        shown = (
            fields["stem"].replace(place, text) if place and place in fields["stem"] else f"{fields['stem']}\n{text}"
        )
        fields["stem"] = shown.strip()
    rows = [*item.element.iter("optiontext"), *item.element.iterfind("drag")]  # of tables of choices, and of drawings
    texts = [item.text("", row, f"{row.tag}[{i}]") for i, row in enumerate(rows)]
    if any(texts):
        fields["options"] = texts
    answers = [answer for answer in item.element.findall("answer") if answer.get("fraction") is not None]
    if not any(_fraction(answer) > 0 for answer in answers):
        item.fault("type", f"of the type {item.kind!r}, the response is not read")
        return fields
    item.fault("type", f"of the type {item.kind!r}, only ordinary answers are read")
    is_choice = any(_fraction(answer) <= 0 and _text(answer) != "*" for answer in answers)
    return fields | (_multichoice if is_choice else _shortanswer)(item, record)


def _gapfill(item: MoodleQuestion, record: Fields) -> Fields:
    """Put blanks for the words in brackets, which are the answers; those between bars are alternatives."""
    marks = (item.element.findtext("delimitchars") or "[]").strip()
    opening, closing = re.escape(marks[:1] or "["), re.escape(marks[1:2] or "]")
    known = {_text(answer) for answer in item.element.findall("answer")}
    answers: list[str] = []

    def fill(gap: re.Match[str]) -> str:
        if known and gap[1].strip() not in known:
            return gap[0]
        answers.append(" / ".join(word.strip() for word in gap[1].split("|")))
        return BLANK

    stem = re.sub(f"{opening}([^{opening}{closing}]+){closing}", fill, record["stem"])
    if not answers:
        item.fault("questiontext", "no gap")
    return {"stem": stem, "answer": _each(answers)}


def _each(answers: Sequence[str]) -> str | None:
    """Return the answers of gaps, numbered if there are several."""
    return (
        "; ".join(f"{i}: {text}" for i, text in enumerate(answers, 1)) if len(answers) > 1 else "".join(answers) or None
    )


def _cloze(item: MoodleQuestion, record: Fields) -> Fields:
    """Put blanks for the gaps, with their choices; the text with its codes is the extra ``cloze``."""
    text, answers, shares = _filled(record["stem"], BLANK)
    if not answers:
        item.fault("questiontext", "no gap")
    for number, share in enumerate(shares, 1):
        _most(item, f"questiontext: gap {number}", [share])
    return {"stem": text, "answer": _each(answers), "extras": {"cloze": record["stem"]}}


def _gaps(item: MoodleQuestion, record: Fields) -> Fields:
    """Number the blanks in the stem; the words for them are the options: ``1-B, 2-A``."""
    choices = item.element.findall("selectoption") + item.element.findall("dragbox")
    options = list(map(_text, choices))
    wanted = [int(number) - 1 for number in _NUMBERED_GAP.findall(record["stem"])]
    if any(not 0 <= number < len(options) for number in wanted):
        item.fault("questiontext", "a gap without its word")
    answers = [f"{i}-{lettered([number])}" for i, number in enumerate(wanted, 1) if 0 <= number < len(options)]
    places = iter(range(1, len(wanted) + 1))
    stem = _NUMBERED_GAP.sub(lambda _: f"{BLANK}({next(places)})", record["stem"])
    return {"stem": stem, "options": options, "answer": ", ".join(answers) or None}


KINDS: dict[str, Callable[[MoodleQuestion, Fields], Fields]] = {
    "multichoice": _multichoice,
    "truefalse": _truefalse,
    "shortanswer": _shortanswer,
    "numerical": _numerical,
    "essay": lambda item, record: {"answer": item.text("graderinfo") or None},
    "description": lambda item, record: {},
    "matching": _matching,
    "cloze": _cloze,
    "gapselect": _gaps,
    "ddwtos": _gaps,
    "gapfill": _gapfill,
    "calculated": _numerical,
    "calculatedsimple": _numerical,
    "calculatedmulti": _multichoice,
    "ordering": _ordering,
}
#: Types that are written like another.
ALIASES = {
    **dict.fromkeys(("oumultiresponse", "multichoiceset", "allornothing"), "multichoice"),
    **dict.fromkeys(("ddmatch", "match", "matchwiris"), "matching"),
    **dict.fromkeys(("multianswer", "multianswerwiris"), "cloze"),
    "essayautograde": "essay",
}


def numbered(texts: list[str]) -> str:
    """Number texts in lines: ``1. ..``."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _right(item: MoodleQuestion) -> tuple[list[Element], dict[str, float]]:
    """Return the answers of the highest value, and the others of some value with their percentages."""
    answers = item.element.findall("answer")
    most = _most(item, "answer", map(_fraction, answers))
    right = [answer for answer in answers if _fraction(answer) == most > 0]
    partial = {_text(answer): _fraction(answer) for answer in answers if 0 < _fraction(answer) < most}
    return right, {text: share for text, share in partial.items() if text}


def _most(item: MoodleQuestion, name: str, shares: Iterable[float]) -> float:
    """Return the highest share, and say so if it is not the whole."""
    most = max(shares, default=0.0)
    if 0 < most < 100:
        item.fault(name, f"none counts whole; the best, of {most:g} %, is taken")
    return most


def _text(element: Element | None) -> str:
    return "" if element is None else plain_content(element)


#: Elements within one that holds a text.
_PARTS = frozenset({"text", "file", "feedback", "answer", "tolerance", "toleranceformat", "answerformat"})


def content_of(holder: Element) -> tuple[str, bool]:
    """Return the text of an element, and whether it is markup that nobody escaped: ``<text><p>x</p></text>``."""
    inner = holder.find("text")
    if inner is None:
        if not any(child.tag not in _PARTS for child in holder):
            return "".join([holder.text or "", *(child.tail or "" for child in holder)]), False
        inner = copy.copy(holder)
        for child in [child for child in inner if child.tag in _PARTS]:
            child.tag = "tq-removed"
        etree.strip_elements(inner, "tq-removed", with_tail=False)
    return (inner_markup(inner), True) if len(inner) else (inner.text or "", False)


def plain_content(holder: Element) -> str:
    """Return the text of an element that is not of HTML, unless it has markup."""
    content, is_markup = content_of(holder)
    return plain(content).text if is_markup else content.strip()


def _fraction(answer: Element) -> float:
    try:
        return float(answer.get("fraction", "0").replace(",", "."))
    except ValueError:
        return 0.0


_GAP_BEGINS = re.compile(r"(?<!\\)\{\d*:[A-Z_]+:")
#: A text whose only braces are those of sets: "\{1,2\}".
_NO_GROUPS = r"(?:\\\{[^{}]*\\\}|[^{}])*"
#: A gap ends at a brace that is not escaped; those of LaTeX's groups, which follow a letter or a brace, need no escape.
_GAP = re.compile(
    r"(?<!\\)\{\d*:(?P<kind>[A-Z_]+):(?P<body>(?:(?<=\\)\}|(?<=[\w}^\]])\{(?!\d*:[A-Z_]+:)"
    rf"{_NO_GROUPS}(?:(?<!\\)\{{{_NO_GROUPS}(?<!\\)\}}{_NO_GROUPS})*(?<!\\)\}}|[^}}])*)(?<!\\)\}}",
    re.DOTALL,
)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_CHOICE_CODES = (
    "MULTICHOICE MC MULTICHOICE_H MULTICHOICE_V MULTICHOICE_S MCH MCV MCS MULTICHOICE_HS MULTICHOICE_VS MCHS MCVS "
    "MULTIRESPONSE MULTIRESPONSE_H MULTIRESPONSE_S MULTIRESPONSE_HS MR MRH MRS MRHS"
)
_CHOICES = frozenset(_CHOICE_CODES.split())
_SEVERAL = ("MULTIRESPONSE", "MR")
_DECIMAL = r"-?\d*[.,]?\d+(?:[eE][-+]?\d+)?"
_SHARE = re.compile(r"%(-?\d+(?:[.,]\d+)?)%")


def cloze(text: str, blank: str) -> tuple[str, list[str]]:
    """Put a blank for each gap, with the choices of those that have some; also return the right answer of each.

    Gaps are Moodle's embedded answers, ``{1:SHORTANSWER:=Paris~%50%paris#feedback}``.
    """
    return _filled(text, blank)[:2]


def _filled(text: str, blank: str) -> tuple[str, list[str], list[float]]:
    """Return what `cloze` does, and the highest share of each gap where one answer is right."""
    answers: list[str] = []
    shares: list[float] = []

    def fill(gap: re.Match[str]) -> str:
        parsed = [_alternative(part) for part in re.split(r"(?<!\\)~", gap["body"]) if part.strip()]
        right = [answer for share, answer in parsed if share > 0]
        most = max((share for share, _ in parsed), default=0.0)
        best = [answer for share, answer in parsed if share == most > 0]
        has_several = gap["kind"].startswith(_SEVERAL)
        answers.append(" and ".join(right) if has_several else (best or [""])[0])
        shares.append(100 if has_several else most)
        if gap["kind"] not in _CHOICES:
            return blank
        return f"{blank} ({' / '.join(answer for _, answer in parsed)})"

    return _with_gaps(text, fill), answers, shares


def named_figures(markup: str) -> str:
    """Put ``(figure 2)`` before the pictures of a gap's choices, by their number in the whole text."""

    starts = [image.start() for image in _IMAGE.finditer(markup)]

    def name(gap: re.Match[str]) -> str:
        numbers = itertools.count(bisect_left(starts, gap.start()) + 1)
        return _IMAGE.sub(lambda image: f"(figure {next(numbers)}){image[0]}", gap[0])

    return _with_gaps(markup, name)


def _with_gaps(text: str, replaced: Callable[[re.Match[str]], str]) -> str:
    """Replace each gap; the first that no brace closes is the last that is tried, as none closes those after it."""
    pieces, position = [], 0
    while (begin := _GAP_BEGINS.search(text, position)) and (gap := _GAP.match(text, begin.start())):
        pieces += [text[position : gap.start()], replaced(gap)]
        position = gap.end()
    return "".join((*pieces, text[position:]))


def _alternative(part: str) -> tuple[float, str]:
    """Return an alternative's value and text, without a number's tolerance."""
    share, answer = 0.0, part.strip()
    if answer.startswith("="):
        share, answer = 100.0, answer[1:]
    elif match := _SHARE.match(answer):
        share, answer = float(match[1].replace(",", ".")), answer[match.end() :]
    answer = re.split(r"(?<!\\)#", answer)[0]
    number = re.fullmatch(rf"\s*({_DECIMAL}):{_DECIMAL}\s*", answer)
    return share, re.sub(r"""\\([}~#/"])""", r"\1", number[1] if number else answer).strip()
