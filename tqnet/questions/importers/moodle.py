"""Moodle XML: the questions of a question bank, with their categories, tags and embedded figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tqnet.questions.importers.columns import paths
from tqnet.questions.importers.figures import from_base64
from tqnet.questions.importers.job import Draft, Job, Place, distinct
from tqnet.questions.importers.markup import Plain, plain
from tqnet.questions.importers.moodle_kinds import KINDS
from tqnet.questions.importers.safe_xml import Element, XmlError, elements, strip_namespaces
from tqnet.questions.importers.source import SourceError

#: What a category's path begins with, before the names that a teacher gave.
_CONTEXT = re.compile(r"^\$(?:course|module|cat|coursecat|system)\$(?:/|$)")
#: A tag that holds a field of a bank, as `tqnet.questions.importers.moodle_export` writes it.
FIELD_TAG = re.compile(
    r"tqnet:(?P<field>type|language|difficulty|group|split|source|knowledge)=(?P<value>.+)", re.DOTALL
)
_PLUGIN_FILE = "@@PLUGINFILE@@"


def read(job: Job) -> Iterator[Draft]:
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
