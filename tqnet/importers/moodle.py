"""Moodle XML: the questions of a question bank, with their categories, tags and embedded figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tqnet.importers.job import Draft, Job, Place, distinct, from_base64, lettered
from tqnet.importers.markup import Plain, plain
from tqnet.importers.safe_xml import Element, XmlError, elements, strip_namespaces
from tqnet.importers.source import SourceError
from tqnet.importers.tables import paths

if TYPE_CHECKING:
    from tqnet.importers.safe_xml import Element


# The gaps of Moodle's embedded answers: ``{1:SHORTANSWER:=Paris~%50%paris#feedback}``.


_GAP = re.compile(r"(?<!\\)\{\d*:(?P<kind>[A-Z_]+):(?P<body>(?:\\.|[^\\}])*)\}", re.DOTALL)
_CHOICE_CODES = (
    "MULTICHOICE MC MULTICHOICE_H MULTICHOICE_V MULTICHOICE_S MCH MCV MCS MULTICHOICE_HS MULTICHOICE_VS MCHS MCVS "
    "MULTIRESPONSE MULTIRESPONSE_H MULTIRESPONSE_S MULTIRESPONSE_HS MR MRH MRS MRHS"
)
_CHOICES = frozenset(_CHOICE_CODES.split())
_SEVERAL = ("MULTIRESPONSE", "MR")
_SHARE = re.compile(r"%(-?\d+(?:[.,]\d+)?)%")


def cloze(text: str, blank: str) -> tuple[str, list[str]]:
    """The text with a blank for each gap, and the choices of those that have some; and the right answer of each."""
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
    """How much an alternative counts, and what it says; a number's tolerance is left off."""
    share, answer = 0.0, part.strip()
    if answer.startswith("="):
        share, answer = 100.0, answer[1:]
    elif match := _SHARE.match(answer):
        share, answer = float(match[1].replace(",", ".")), answer[match.end() :]
    answer = re.split(r"(?<!\\)#", answer)[0]
    number = re.fullmatch(r"\s*(-?[\d.,]+):[\d.,]+\s*", answer)
    return share, re.sub(r"\\(.)", r"\1", number[1] if number else answer).strip()


# What the types of Moodle's questions make of a record: options, answer, and what stands in the stem.


Fields = dict[str, Any]

_MOODLE_KINDS_GAP = re.compile(r"\[\[(\d+)\]\]")
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
    wanted = [int(number) - 1 for number in _MOODLE_KINDS_GAP.findall(record["stem"])]
    if any(not 0 <= number < len(options) for number in wanted):
        item.fault("questiontext", "a gap without its word")
    answers = [f"{i}-{lettered([number])}" for i, number in enumerate(wanted, 1) if 0 <= number < len(options)]
    places = iter(range(1, len(wanted) + 1))
    stem = _MOODLE_KINDS_GAP.sub(lambda _: f"{BLANK}({next(places)})", record["stem"])
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


#: What a category's path begins with, before the names that a teacher gave.
_CONTEXT = re.compile(r"^\$(?:course|module|cat|coursecat|system)\$(?:/|$)")
#: A tag that holds a field of a bank, as `tqnet.importers.moodle_export` writes it.
FIELD_TAG = re.compile(
    r"tqnet:(?P<field>type|language|difficulty|group|split|source|knowledge)=(?P<value>.+)", re.DOTALL
)
_PLUGIN_FILE = "@@PLUGINFILE@@"


def read_moodle(job: Job) -> Iterator[Draft]:
    """Each ``question`` of the source's XML files, under the category that was named last."""
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
    """A ``question`` element, its texts as plain text and its figures in the new bank."""

    def __init__(self, job: Job, element: Element, place: Place, document: str):
        self.element = element
        self.place = place
        self.images: list[str] = []
        self._job, self._document = job, document

    @property
    def kind(self) -> str:
        return str(self.element.get("type", ""))

    def text(self, path: str = "", of: Element | None = None, figures: str | None = None) -> str:
        """The text at ``path`` of an element; with ``figures``, the field of their faults, they are taken too."""
        holder = self.element if of is None else of
        found = holder.find(path) if path else holder
        if found is None:
            return ""
        content = found.findtext("text") or ""
        is_markup = found.get("format", "html") in ("html", "moodle_auto_format", "")
        text = plain(content) if is_markup else Plain(content.strip())
        if figures is not None:
            self._take_figures(text, found, figures)
        return text.text

    def value(self, path: str) -> str:
        """The text of a plain element."""
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
    """Its id number, which Moodle keeps unique within a category only, else one of the file and its place."""
    own = item.value("idnumber") or made
    number = 2
    name = own
    while name in used:
        name, number = f"{own}-{number}", number + 1
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
    """``Algebra > Equations`` is knowledge, ``tqnet:language=en`` a field; the others stay as they are."""
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
    """``$course$/top/Algebra/Equations`` as its names; a stroke within a name is doubled."""
    text = _CONTEXT.sub("", text.strip())
    names = [" ".join(name.replace("\0", "/").split()) for name in text.replace("//", "\0").split("/")]
    return [name for name in (names[1:] if names[0] == "top" else names) if name]
