"""Moodle XML: the questions of a question bank, with their categories, tags and embedded figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from tqnet.importers.job import Draft, Job, Place, distinct, from_base64, lettered
from tqnet.importers.safe_xml import Element, XmlError, elements, strip_namespaces
from tqnet.importers.source import SourceError
from tqnet.importers.tables import paths
from tqnet.text.plain import BLANK, Plain, plain

#: The fields of a record.
Fields = dict[str, Any]

_NUMBERED_GAP = re.compile(r"\[\[(\d+)\]\]")
#: The beginning of a category's path, before the teacher's names.
_CONTEXT = re.compile(r"^\$(?:course|module|cat|coursecat|system)\$(?:/|$)")
#: A tag with a field of a bank, as `tqnet.importers.moodle_export` writes it.
FIELD_TAG = re.compile(
    r"tqnet:(?P<field>type|language|difficulty|group|split|source|knowledge)=(?P<value>.+)", re.DOTALL
)
_PLUGIN_FILE = "@@PLUGINFILE@@"


def read_moodle(job: Job) -> Iterator[Draft]:
    """Yield a draft of each ``question`` of the source's XML files, under the last named category."""
    for name in job.source.names:
        if not name.lower().endswith(".xml"):
            continue
        category: list[str] = []
        used: set[str] = set()
        number = 0
        try:
            for element in elements(job.source.file(name), "question"):
                strip_namespaces(element)
                if element.get("type") == "category":
                    category = category_path(element.findtext("category/text") or "")
                    continue
                number += 1
                item = MoodleQuestion(job, element, job.place(name, element.sourceline or 0), name)
                if draft := _draft(item, category, _id(item, used, f"{job.source.path.stem}-{number}")):
                    yield draft
        except XmlError as error:
            job.leave_out(job.place(name, error.line), "record", error.message)


class MoodleQuestion:
    """A ``question`` element; its texts are read as plain text and its figures put into the new bank."""

    def __init__(self, job: Job, element: Element, place: Place, document: str):
        self.element = element
        self.place = place
        self.images: list[str] = []
        self._job, self._document = job, document

    @property
    def kind(self) -> str:
        return str(self.element.get("type", ""))

    def text(self, path: str = "", parent: Element | None = None, figures: str | None = None) -> str:
        """Return the text at ``path``; with ``figures``, the field of their faults, take its figures too."""
        parent = self.element if parent is None else parent
        holder = parent.find(path) if path else parent
        if holder is None:
            return ""
        content = holder.findtext("text") or ""
        is_markup = holder.get("format", "html") in ("html", "moodle_auto_format", "")
        text = plain(content) if is_markup else Plain(content.strip())
        if figures is not None:
            self._take_figures(text, holder, figures)
        return text.text

    def value(self, path: str) -> str:
        """Return the text of an element without markup."""
        return (self.element.findtext(path) or "").strip()

    def fault(self, name: str, message: str) -> None:
        self._job.fault(self.place, name, message)

    def leave_out(self, name: str, message: str) -> None:
        self._job.leave_out(self.place, name, message)

    def _take_figures(self, text: Plain, holder: Element, name: str) -> None:
        for lost in text.lost:
            self.fault(name, lost)
        for source in text.images:
            if not source.startswith(_PLUGIN_FILE):
                self.images += self._job.figure(source, self._document, self.place, name)
                continue
            path = source.removeprefix(_PLUGIN_FILE).partition("?")[0].lstrip("/")
            self.images += self._embedded(path, holder, name)

    def _embedded(self, path: str, holder: Element, name: str) -> list[str]:
        for file in holder.iter("file"):
            if f"{file.get('path', '/')}{file.get('name', '')}".lstrip("/") == path:
                try:
                    content = from_base64(file.text or "")
                except SourceError as error:
                    self.fault(name, f"{error}: {path!r:.200}")
                    return []
                return self._job.embedded(content, self.place, name, f": {path!r:.200}")
        self.fault(name, f"no file embedded: {path!r:.200}")
        return []


def _id(item: MoodleQuestion, used: set[str], made: str) -> str:
    """Return the id number, which Moodle keeps unique only within a category, or else ``made``."""
    base = item.value("idnumber") or made
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    name = next(name for name in names if name not in used)
    used.add(name)
    return name


def _draft(item: MoodleQuestion, category: list[str], name: str) -> Draft | None:
    kind = KINDS.get(item.kind)
    if kind is None:
        item.leave_out("type", f"questions of the type {item.kind!r} are not read")
        return None
    record: dict[str, Any] = {
        "id": name,
        "stem": item.text("questiontext", figures="questiontext"),
        "type": item.kind,
        "knowledge": [category] if category else [],
        "extras": {},
    }
    feedback = item.text("generalfeedback")
    for field, value in kind(item, record).items():
        record[field] = record["extras"] | value if field == "extras" else value
    record["analysis"] = "\n".join(filter(None, (feedback, record.get("analysis")))) or None
    _read_tags(item, record)
    record["images"] = distinct(item.images)
    return Draft(record, item.place)


def _read_tags(item: MoodleQuestion, record: dict[str, Any]) -> None:
    """Read ``Algebra > Equations`` as knowledge and ``tqnet:language=en`` as a field; other tags stay tags."""
    tags = []
    for tag in (text.strip() for text in item.element.xpath("tags/tag/text/text()")):
        if (field := FIELD_TAG.fullmatch(tag)) and field["field"] == "knowledge":
            record["knowledge"] = [*record["knowledge"], [field["value"]]]
        elif field:
            record[field["field"]] = field["value"]
        elif ">" in tag and len(path := paths([tag])[0]) > 1:
            record["knowledge"] = [*record["knowledge"], path]
        elif tag:
            tags.append(tag)
    if isinstance(record.get("difficulty"), str):
        try:
            record["difficulty"] = float(record["difficulty"])
        except ValueError:
            item.fault("tags", f"difficulty: no number: {record.pop('difficulty')!r:.80}")
    if tags:
        record["extras"] = record["extras"] | {"tags": tags}


def category_path(text: str) -> list[str]:
    """Return the names of ``$course$/top/Algebra/Equations``; a slash within a name is doubled."""
    text = _CONTEXT.sub("", text.strip())
    names = [" ".join(name.replace("\0", "/").split()) for name in text.replace("//", "\0").split("/")]
    return [name for name in (names[1:] if names[0] == "top" else names) if name]


# The types of questions: each adds its options and answer to a record, and changes the stem.


def _multichoice(item: MoodleQuestion, record: Fields) -> Fields:
    """All options with a positive share are right if several may be chosen, otherwise the best ones."""
    answers = item.element.findall("answer")
    options = [item.text("", answer, figures=f"answer[{i}]") for i, answer in enumerate(answers)]
    shares = [_fraction(answer) for answer in answers]
    single = item.value("single").lower() in ("true", "1", "")
    right = [i for i, share in enumerate(shares) if (share == max(shares) if single else share > 0) and share > 0]
    if not right:
        item.fault("answer", "none is right")
    feedback = [(i, item.text("feedback", answer)) for i, answer in enumerate(answers)]
    analysis = "\n".join(f"{lettered([i])}: {text}" for i, text in feedback if text)
    return {"options": options, "answer": lettered(right) or None, "analysis": analysis}


def _truefalse(item: MoodleQuestion, record: Fields) -> Fields:
    right = [_text(answer).lower() for answer in item.element.findall("answer") if _fraction(answer) > 0]
    answer = {"true": "A", "false": "B"}.get(right[0]) if len(right) == 1 else None
    if answer is None:
        item.fault("answer", "neither true nor false is right")
    feedback = [item.text("feedback", answer) for answer in item.element.findall("answer")]
    return {"options": ["True", "False"], "answer": answer, "analysis": "\n".join(filter(None, feedback))}


def _shortanswer(item: MoodleQuestion, record: Fields) -> Fields:
    """The first answer of full value counts; the others are the extra ``accepted``."""
    right = [text for text in map(_text, _right(item)) if text]
    if not right:
        item.fault("answer", "none is right")
    return {"answer": right[0] if right else None, "extras": {"accepted": right[1:]} if right[1:] else {}}


def _numerical(item: MoodleQuestion, record: Fields) -> Fields:
    right = _right(item)
    if not right:
        item.fault("answer", "none is right")
        return {}
    tolerance = _text(right[0], "tolerance")
    unit = item.value("units/unit/unit_name")
    extras = {"tolerance": tolerance if tolerance not in ("", "0") else None, "unit": unit}
    extras = {name: value for name, value in extras.items() if value}
    return {"answer": _text(right[0]) or None, "extras": extras}


def _matching(item: MoodleQuestion, record: Fields) -> Fields:
    """Number the items in the stem; their matches are the options in alphabetical order: ``1-B, 2-A``."""
    parts = enumerate(item.element.findall("subquestion"))
    pairs = [[item.text("", part, f"subquestion[{i}]"), _text(part, "answer/text")] for i, part in parts]
    if not any(question and answer for question, answer in pairs):
        item.fault("subquestion", "no pair")
    options = sorted({answer for _, answer in pairs if answer})
    items = [(question, answer) for question, answer in pairs if question]
    answer = ", ".join(f"{i}-{lettered([options.index(match)])}" for i, (_, match) in enumerate(items, 1) if match)
    return {
        "stem": f"{record['stem']}\n{numbered([question for question, _ in items])}".strip(),
        "options": options,
        "answer": answer or None,
        "extras": {"matches": pairs},
    }


def _cloze(item: MoodleQuestion, record: Fields) -> Fields:
    """Put blanks for the gaps, with their choices; the text with its codes is the extra ``cloze``."""
    text, answers = cloze(record["stem"], BLANK)
    if not answers:
        item.fault("questiontext", "no gap")
    answer = answers[0] if len(answers) == 1 else "; ".join(f"{i}: {text}" for i, text in enumerate(answers, 1))
    return {"stem": text, "answer": answer or None, "extras": {"cloze": record["stem"]}}


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
    "calculated": _numerical,
    "calculatedsimple": _numerical,
    "calculatedmulti": _multichoice,
}


def numbered(texts: list[str]) -> str:
    """Number texts in lines: ``1. ..``."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _right(item: MoodleQuestion) -> list[Element]:
    """Return the answers of the highest value."""
    answers = item.element.findall("answer")
    most = max(map(_fraction, answers), default=0.0)
    return [answer for answer in answers if _fraction(answer) == most > 0]


def _text(element: Element, path: str = "text") -> str:
    return (element.findtext(path) or "").strip()


def _fraction(answer: Element) -> float:
    try:
        return float(answer.get("fraction", "0").replace(",", "."))
    except ValueError:
        return 0.0


_GAP = re.compile(r"(?<!\\)\{\d*:(?P<kind>[A-Z_]+):(?P<body>(?:\\.|[^\\}])*)\}", re.DOTALL)
_CHOICE_CODES = (
    "MULTICHOICE MC MULTICHOICE_H MULTICHOICE_V MULTICHOICE_S MCH MCV MCS MULTICHOICE_HS MULTICHOICE_VS MCHS MCVS "
    "MULTIRESPONSE MULTIRESPONSE_H MULTIRESPONSE_S MULTIRESPONSE_HS MR MRH MRS MRHS"
)
_CHOICES = frozenset(_CHOICE_CODES.split())
_SEVERAL = ("MULTIRESPONSE", "MR")
_SHARE = re.compile(r"%(-?\d+(?:[.,]\d+)?)%")


def cloze(text: str, blank: str) -> tuple[str, list[str]]:
    """Put a blank for each gap, with the choices of those that have some; also return the right answer of each.

    Gaps are Moodle's embedded answers, ``{1:SHORTANSWER:=Paris~%50%paris#feedback}``.
    """
    answers: list[str] = []

    def fill(gap: re.Match[str]) -> str:
        parsed = [_alternative(part) for part in re.split(r"(?<!\\)~", gap["body"]) if part.strip()]
        right = [answer for share, answer in parsed if share > 0]
        most = max((share for share, _ in parsed), default=0.0)
        best = [answer for share, answer in parsed if share == most > 0]
        answers.append(" and ".join(right) if gap["kind"].startswith(_SEVERAL) else (best or [""])[0])
        if gap["kind"] not in _CHOICES:
            return blank
        return f"{blank} ({' / '.join(answer for _, answer in parsed)})"

    return _GAP.sub(fill, text), answers


def _alternative(part: str) -> tuple[float, str]:
    """Return an alternative's value and text, without a number's tolerance."""
    share, answer = 0.0, part.strip()
    if answer.startswith("="):
        share, answer = 100.0, answer[1:]
    elif match := _SHARE.match(answer):
        share, answer = float(match[1].replace(",", ".")), answer[match.end() :]
    answer = re.split(r"(?<!\\)#", answer)[0]
    number = re.fullmatch(r"\s*(-?[\d.,]+):[\d.,]+\s*", answer)
    return share, re.sub(r"\\(.)", r"\1", number[1] if number else answer).strip()
