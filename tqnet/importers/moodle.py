"""Moodle XML: the questions of a question bank, with their categories, tags and embedded figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tqnet.importers.figures import from_base64
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.safe_xml import Element, XmlError, elements, strip_namespaces
from tqnet.importers.source import SourceError
from tqnet.importers.tables import paths
from tqnet.text.plain import BLANK, Plain, plain, plain_texts

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
#: The comment that Moodle writes before a question.
_NUMBER = re.compile(r"question:\s*(\d+)")


def read_moodle(job: Job) -> Iterator[Draft]:
    """Yield a draft of each ``question`` of the source's XML files, under the last named category."""
    for name in job.source.names:
        if not name.lower().endswith(".xml"):
            continue
        category: list[str] = []
        number = 0
        try:
            for piece in elements(job.source.file(name), "question"):
                place = job.place(name, piece.line)
                if piece.element is None:
                    job.leave_unread(place, piece.problem)
                    continue
                if piece.problem:
                    job.fault(place, "record", piece.problem)
                element = strip_namespaces(piece.element)
                if element.get("type") == "category":
                    category = category_path(element.findtext("category/text") or "")
                    continue
                number += 1
                item = MoodleQuestion(job, element, place, name)
                yield draft_question(item, category, f"{job.source.path.stem}-{number}", piece.comment)
        except (XmlError, SourceError) as error:
            job.leave_unread(job.place(name), str(error))


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
        match holder.get("format", "html"):
            case "plain_text":
                text = Plain(content.strip())
            case "markdown":
                (text,) = plain_texts([content.strip()], self._job.settings.language)
            case _:
                text = plain(content, self._job.settings.language)
        if figures is not None:
            self._take_figures(text, holder, figures)
        else:
            for source in text.images:
                self.fault(holder.tag, f"a figure outside of stem and options is not kept: {source!r:.80}")
        return text.text

    def value(self, path: str) -> str:
        """Return the text of an element without markup."""
        return (self.element.findtext(path) or "").strip()

    def fault(self, name: str, message: str) -> None:
        self._job.fault(self.place, name, message)

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
                file.set("shown", "true")
                return self._decoded(file.text or "", name, path)
        self.fault(name, f"no file embedded: {path!r:.200}")
        return []

    def _decoded(self, content: str, name: str, path: str) -> list[str]:
        try:
            return self._job.embedded(from_base64(content), self.place, name, f": {path!r:.200}")
        except SourceError as error:
            self.fault(name, f"{error}: {path!r:.200}")
            return []

    def take_other_files(self) -> None:
        """Take the picture of Moodle 1.9, and report the files that no text shows."""
        if picture := self.value("image_base64"):
            self.images += self._decoded(picture, "image", self.value("image"))
        for holder in self.element.iter("file"):
            if holder.get("shown") is None and holder.get("name"):
                self.fault(
                    holder.getparent().tag, f"a file that stem and options do not show: {holder.get('name')!r:.200}"
                )


def draft_question(item: MoodleQuestion, category: list[str], made: str, comment: str) -> Draft:
    """Return the draft of a question.

    Args:
        made: Its id if it has none.
        comment: The comment before it, with its number.
    """
    kind = ALIASES.get(item.kind, item.kind.removesuffix("wiris"))
    record: dict[str, Any] = {
        "id": item.value("idnumber") or made,
        "stem": item.text("questiontext", figures="questiontext"),
        "type": item.kind,
        "knowledge": [category] if category else [],
    }
    number = _NUMBER.fullmatch(comment)
    extras = {"name": item.value("name/text"), "number": number and number[1]}
    feedback = item.text("generalfeedback")
    for field, value in KINDS.get(kind, _other)(item, record).items():
        if field == "extras":
            extras |= value
        else:
            record[field] = value
    record["extras"] = {name: value for name, value in extras.items() if value}
    record["analysis"] = "\n".join(filter(None, (feedback, record.get("analysis")))) or None
    if item.element.find("hint") is not None:
        item.fault("hint", "hints are not kept")
    _read_tags(item, record)
    item.take_other_files()
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
        return _text(part, "answer/text")
    figures = len(item.images)
    text = item.text("", answer, name)
    return text or (f"(figure {len(item.images)})" if len(item.images) > figures else "")


def _ordering(item: MoodleQuestion, record: Fields) -> Fields:
    """The answers in their right order: ``A-B-C``."""
    answers = item.element.findall("answer")
    options = [item.text("", answer, figures=f"answer[{i}]") for i, answer in enumerate(answers)]
    return {"options": options, "answer": "-".join(lettered([place]) for place in range(len(options))) or None}


def _other(item: MoodleQuestion, record: Fields) -> Fields:
    """Read a type that this importer does not know: blanks, and answers of the ordinary form."""
    stem = re.sub(r"\[\[(?:validation|feedback):[^\[\]]*\]\]", "", record["stem"])
    fields: Fields = {"stem": re.sub(r"\[\[input:[^\[\]]*\]\]", BLANK, stem).strip()}
    answers = [answer for answer in item.element.findall("answer") if answer.get("fraction") is not None]
    if not any(_fraction(answer) > 0 for answer in answers):
        item.fault("type", f"of the type {item.kind!r}, the response is not read")
        return fields
    item.fault("type", f"of the type {item.kind!r}, only ordinary answers are read")
    is_choice = any(_fraction(answer) <= 0 and _text(answer) != "*" for answer in answers)
    return fields | (_multichoice if is_choice else _shortanswer)(item, record)


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
_DECIMAL = r"-?\d*[.,]?\d+(?:[eE][-+]?\d+)?"
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
    number = re.fullmatch(rf"\s*({_DECIMAL}):{_DECIMAL}\s*", answer)
    return share, re.sub(r"""\\([}~#/"])""", r"\1", number[1] if number else answer).strip()
