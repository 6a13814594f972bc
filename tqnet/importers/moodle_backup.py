"""Moodle backups (.mbz): the question banks of a course, read as Moodle XML."""

from __future__ import annotations

import base64
import posixpath
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from lxml import etree

from tqnet.importers.job import Draft, Job
from tqnet.importers.moodle import MoodleQuestion, draft_question
from tqnet.importers.safe_xml import Element, XmlError, parse, strip_namespaces
from tqnet.importers.source import MAX_DOCUMENT, SourceError

_FORMATS = {"0": "moodle_auto_format", "1": "html", "2": "plain_text", "4": "markdown"}
#: Codes of embedded answers by the type of a subquestion.
_CLOZE = {"multichoice": "MULTICHOICE", "numerical": "NUMERICAL"}


def read_mbz(job: Job) -> Iterator[Draft]:
    """Yield the latest version of each question, under its category."""
    for name in job.source.names:
        if posixpath.basename(name) != "questions.xml":
            continue
        try:
            root = strip_namespaces(parse(job.source.read(name, MAX_DOCUMENT)))
            backup = _Backup(job, name, root)
        except (SourceError, XmlError) as error:
            job.leave_unread(job.place(name), str(error))
            continue
        yield from backup.drafts()


class _Backup:
    def __init__(self, job: Job, name: str, root: Element):
        self._job, self._name = job, name
        self._categories = {category.get("id"): category for category in root.iter("question_category")}
        self._questions = {question.get("id"): question for question in root.iter("question")}
        self._files: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        listing = posixpath.join(posixpath.dirname(name), "files.xml")
        if listing in job.source.names:
            for file in strip_namespaces(parse(job.source.read(listing, MAX_DOCUMENT))).iter("file"):
                if (
                    _text(file, "component") in ("question", f"qtype_{_text(file, 'filearea')}")
                    and _text(file, "filename") != "."
                ):
                    key = (_text(file, "filearea"), _text(file, "itemid"))
                    path = f"{_text(file, 'filepath') or '/'}{_text(file, 'filename')}".lstrip("/")
                    self._files[key].append((path, _text(file, "contenthash")))

    def drafts(self) -> Iterator[Draft]:
        for category in self._categories.values():
            path = self._path(category)
            latest = [
                max(versions, key=lambda version: int(_text(version, "version") or 0)).find(".//question")
                for entry in category.iter("question_bank_entry")
                if (versions := list(entry.iter("question_versions")))
            ]
            for question in latest or category.iterfind("questions/question"):
                if (
                    question is None
                    or _text(question, "parent") not in ("", "0")
                    or _text(question, "qtype") == "random"
                ):
                    continue
                item = MoodleQuestion(
                    self._job, self._as_xml(question), self._job.place(self._name, question.sourceline or 0), self._name
                )
                made = f"{self._job.source.path.stem}-{question.get('id')}"
                yield draft_question(item, path, made, f"question: {question.get('id')}")

    def _path(self, category: Element) -> list[str]:
        names: list[str] = []
        seen: set[Any] = set()
        current: Element | None = category
        while current is not None and current.get("id") not in seen:
            seen.add(current.get("id"))
            names.append(_text(current, "name"))
            current = self._categories.get(_text(current, "parent"))
        return [name for name in reversed(names) if name not in ("", "top")]

    def _as_xml(self, question: Element) -> Element:
        """Return a question as Moodle's own export writes it."""
        kind, number = _text(question, "qtype"), question.get("id") or ""
        kind = {"match": "matching", "multianswer": "cloze"}.get(kind, kind)
        element = etree.Element("question", type=kind)
        self._add(element, "name", _text(question, "name"))
        stem = _text(question, "questiontext")
        if kind == "cloze":
            for place, child in enumerate(_text(question, ".//sequence").split(","), 1):
                stem = stem.replace(f"{{#{place}}}", self._gap(child.strip()))
        self._add(element, "questiontext", stem, _text(question, "questiontextformat"), "questiontext", number)
        feedback = _text(question, "generalfeedback")
        self._add(
            element, "generalfeedback", feedback, _text(question, "generalfeedbackformat"), "generalfeedback", number
        )
        holders = (question, *question.iterancestors("question_bank_entry"))
        if idnumber := next(filter(None, (_text(holder, "idnumber") for holder in holders)), ""):
            etree.SubElement(element, "idnumber").text = idnumber
        if single := _text(question, ".//single"):
            etree.SubElement(element, "single").text = single
        tolerances = {
            _text(record, "answer"): _text(record, "tolerance") for record in question.iter("numerical_record")
        }
        for answer in question.iter("answer"):
            if answer.find("answertext") is None:
                continue
            share = f"{100 * float(_text(answer, 'fraction') or 0):g}"
            text = _text(answer, "answertext")
            name = "dragbox" if kind == "ddwtos" else "selectoption" if kind == "gapselect" else "answer"
            made = self._add(element, name, text, _text(answer, "answerformat"), "answer", answer.get("id") or "")
            made.set("fraction", share)
            self._add(made, "feedback", _text(answer, "feedback"), _text(answer, "feedbackformat"))
            if tolerance := tolerances.get(answer.get("id") or ""):
                etree.SubElement(made, "tolerance").text = tolerance
        for match in question.iter("match"):
            if match.find("answertext") is not None:
                made = self._add(
                    element, "subquestion", _text(match, "questiontext"), "1", "subquestion", match.get("id") or ""
                )
                self._add(made, "answer", _text(match, "answertext"))
        if grader := _text(question, ".//graderinfo"):
            self._add(element, "graderinfo", grader, "1")
        tags = etree.SubElement(element, "tags")
        for tag in question.iterfind("tags/tag/rawname"):
            self._add(tags, "tag", tag.text or "")
        return element

    def _gap(self, number: str) -> str:
        """Return an embedded answer as cloze code."""
        child = self._questions.get(number)
        if child is None:
            return ""
        answers = [answer for answer in child.iter("answer") if answer.find("answertext") is not None]
        parts = []
        for answer in answers:
            text = _text(answer, "answertext")
            for special in "}#~":
                text = text.replace(special, f"\\{special}")
            parts.append(f"%{100 * float(_text(answer, 'fraction') or 0):g}%{text}")
        return f"{{1:{_CLOZE.get(_text(child, 'qtype'), 'SHORTANSWER')}:{'~'.join(parts)}}}"

    def _add(
        self, parent: Element, name: str, text: str, format: str = "", area: str = "", number: str = ""
    ) -> Element:
        holder = etree.SubElement(parent, name)
        if format:
            holder.set("format", _FORMATS.get(format, "html"))
        etree.SubElement(holder, "text").text = text
        for path, digest in self._files.get((area, number), ()):
            folder, _, file = path.rpartition("/")
            element = etree.SubElement(holder, "file", name=file, path=f"/{folder}/" if folder else "/")
            stored = posixpath.join(posixpath.dirname(self._name), "files", digest[:2], digest)
            try:
                element.text = base64.b64encode(self._job.source.read(stored)).decode()
            except SourceError as error:
                self._job.fault(self._job.place(self._name), area, f"{error}: {path!r:.80}")
        return holder


def _text(element: Element | None, path: str) -> str:
    """Return the text at ``path``; Moodle writes ``$@NULL@$`` for none."""
    text = "" if element is None else (element.findtext(path) or "").strip()
    return "" if text == "$@NULL@$" else text
