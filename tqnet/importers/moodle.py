"""Moodle XML: the questions of a question bank, with their categories, tags and embedded figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tqnet.importers.cells import paths
from tqnet.importers.figures import from_base64
from tqnet.importers.job import Draft, Job, Place, distinct
from tqnet.importers.moodle_types import ALIASES, KINDS, content_of, named_figures, other, plain_content
from tqnet.importers.safe_xml import Element, XmlError, elements, strip_namespaces
from tqnet.importers.source import SourceError
from tqnet.text.notations import without_marks
from tqnet.text.plain import Plain, plain, plain_texts

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
                yield draft_question(MoodleQuestion(job, element, place, name), category, None, piece.comment)
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

    def text(
        self,
        path: str = "",
        parent: Element | None = None,
        figures: str | None = None,
        mark: Callable[[str], str] | None = None,
    ) -> str:
        """Return the text at ``path``; with ``figures``, the field of their faults, take its figures too.

        Args:
            mark: Changes the markup before it is read.
        """
        parent = self.element if parent is None else parent
        holder = parent.find(path) if path else parent
        if holder is None:
            return ""
        content, is_markup = content_of(holder)
        content = content if mark is None else mark(content)
        match "html" if is_markup else holder.get("format", "html"):
            case "plain_text":
                text = Plain(content.strip())
            case "markdown":
                (text,) = plain_texts([content.strip()], self._job.settings.language)
                text = text._replace(text=without_marks(text.text))
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
        name, picture = self.value("image"), self.value("image_base64")
        if picture:
            self.images += self._decoded(picture, "image", name)
        elif name:
            self.images += self._job.figure(name, self._document, self.place, "image")
        for holder in self.element.iter("file"):
            if holder.getparent() is self.element and holder.text:  # what the drags of ddimageortext go onto
                self.images += self._decoded(holder.text, "file", holder.get("name", ""))
            elif holder.get("shown") is None and holder.get("name"):
                self.fault(
                    holder.getparent().tag, f"a file that stem and options do not show: {holder.get('name')!r:.200}"
                )


def draft_question(item: MoodleQuestion, category: list[str], made: str | None, comment: str) -> Draft:
    """Return the draft of a question.

    Args:
        made: Its id if it has none; without, it is numbered.
        comment: The comment before it, with its number.
    """
    kind = ALIASES.get(item.kind, item.kind.removesuffix("wiris"))
    record: dict[str, Any] = {
        "id": item.value("idnumber") or made,
        "stem": item.text("questiontext", figures="questiontext", mark=named_figures if kind == "cloze" else None),
        "type": item.kind,
        "knowledge": [category] if category else [],
    }
    number = _NUMBER.fullmatch(comment)
    name = item.element.find("name")
    extras = {"name": "" if name is None else plain_content(name), "number": number and number[1]}
    feedback = item.text("generalfeedback")
    for field, value in KINDS.get(kind, other)(item, record).items():
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
