"""QTI: single items, folders of them, and packages with ``imsmanifest.xml``; 1.2 is read by `tqnet.importers.qti1`.

QTI 3 is read under the names of QTI 2: ``qti-choice-interaction`` is ``choiceInteraction``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from tqnet.importers import qti1
from tqnet.importers.formats import root_of
from tqnet.importers.job import Draft, Job, Place, distinct
from tqnet.importers.qti_interactions import (
    INTERACTIONS,
    OPEN,
    Interaction,
    Read,
    UnknownChoiceError,
    place_of,
    text_of,
)
from tqnet.importers.safe_xml import Element, XmlError, inner_markup, parse, parse_repaired, strip_namespaces
from tqnet.importers.source import SourceError
from tqnet.text.plain import plain

#: Concepts of an item, coarse to fine.
Knowledge = Sequence[Sequence[str]]

#: Blackboard's pools, tests and surveys, each a file of items.
_POOL = "x-bb-qti"
#: Elements that files of items begin with.
_ITEMS = ("assessmentItem", "qti-assessment-item", "questestinterop")
#: Kinds of resources without items.
_OTHERS = ("test", "section", "stimulus", "rubric", "webcontent", "associatedcontent", "manifest", "outcome", "lom")


def read_qti(job: Job) -> Iterator[Draft]:
    """Yield the items in the order of the manifest and its tests; without a manifest, of all XML files by name."""
    manifests = [name for name in job.source.names if posixpath.basename(name) == "imsmanifest.xml"]
    listed: set[str] = set()
    of_canvas = [name for name in job.source.names if manifests and name.endswith(".xml.qti")]
    for manifest in manifests:
        root = _root(job, manifest)
        if root is None:
            continue
        resources = list(_resources(job, manifest, root))
        for name, knowledge in resources:
            yield from _item(job, name, knowledge, listed=True)
        if not (resources or of_canvas):
            _report_types(job, manifest, root)
        listed |= {name for name, _ in resources}
    if manifests:
        _report_unlisted(job, manifests[0], listed)
    for name in of_canvas:
        yield from _item(job, name, (), listed=False)
    if not manifests:
        for name in job.source.names:
            if name.lower().endswith(".xml"):
                yield from _item(job, name, (), listed=False)


def _root(job: Job, name: str) -> Element | None:
    try:
        root, mended = parse_repaired(job.source.read(name))
    except (SourceError, XmlError) as error:
        job.leave_unread(job.place(name, getattr(error, "line", 0)), str(error))
        return None
    if mended:
        job.fault(job.place(name), "record", mended)
    return normalized(root)


def _item(job: Job, name: str, knowledge: Knowledge, listed: bool) -> Iterator[Draft]:
    root = _root(job, name)
    if root is None:
        return
    if root.tag == "assessmentItem":
        yield _Item(job, root, name).draft(knowledge)
    elif root.tag == "questestinterop":
        yield from qti1.items(job, root, name)
    elif listed:
        job.leave_out(job.place(name, root.sourceline or 0), "record", f"<{root.tag}> is no item")


def _resources(job: Job, manifest: str, root: Element) -> Iterator[tuple[str, Knowledge]]:
    """Yield the file and the concepts of each item of the manifest, then of its tests, once."""
    names: set[str] = set()
    tests: list[str] = []
    for element in root.iter("resource"):
        kind = element.get("type", "").lower()
        is_pool = _POOL in kind
        is_test = "test" in kind and not is_pool
        reference = _reference(element)
        if reference is None or not (is_pool or is_test or "item" in kind or "xmlv1p" in kind):
            continue
        if (name := _resolved(job, element, reference, manifest)) is None:
            continue
        if _is_twice(job, name):
            continue
        if is_test:
            tests.append(name)
        elif (is_pool or not any(other in kind for other in _OTHERS)) and name not in names:
            names.add(name)
            yield name, _taxon_paths(element)
    while tests:
        test = tests.pop(0)
        document = _root(job, test)
        for element in () if document is None else document.iter("assessmentItemRef", "assessmentSectionRef"):
            name = _resolved(job, element, element.get("href", ""), test)
            if name is not None and name not in names:
                names.add(name)
                if element.tag == "assessmentItemRef":
                    yield name, ()
                else:
                    tests.append(name)


def _reference(resource: Element) -> str | None:
    """Return the file of a resource; Blackboard names it by an attribute of its own, ``bb:file``."""
    files = (file.get("href", "") for file in resource.iterfind("file"))
    listed = (file for file in files if file.endswith(".xml"))
    attributes = (value for name, value in resource.attrib.items() if name.endswith("}file"))
    return resource.get("href") or next(listed, None) or next(attributes, None)


def _report_types(job: Job, manifest: str, root: Element) -> None:
    """Report what a manifest without questions lists."""
    for kind in distinct(resource.get("type", "") for resource in root.iter("resource")):
        job.fault(job.place(manifest), "record", f"no question; resources of the type {kind!r:.80} are not read")


def _report_unlisted(job: Job, manifest: str, listed: set[str]) -> None:
    """Report the files of items that are not read, in one line."""
    others = [name for name in job.source.names if name.lower().endswith(".xml") and name not in listed]
    items = [name for name in others if root_of(job.source, name) in _ITEMS and not _is_twice(job, name)]
    if items:
        message = f"files of items that it does not list as such, not read: {len(items)}, such as {items[0]!r:.200}"
        job.fault(job.place(manifest), "record", message)


def _is_twice(job: Job, name: str) -> bool:
    """Return True for a quiz that Canvas has also written in a form of its own."""
    return f"non_cc_assessments/{posixpath.dirname(name)}.xml.qti" in job.source.held


def _resolved(job: Job, element: Element, reference: str, document: str) -> str | None:
    try:
        base = element.base or ""  # of the package; an absolute one is an address on some server
        return job.source.resolve(posixpath.join("" if "://" in base else base, reference), document)
    except SourceError as error:
        job.leave_unread(job.place(document, element.sourceline or 0), str(error))
        return None


def _taxon_paths(resource: Element) -> Knowledge:
    """Return the concepts of the resource's LOM metadata, coarse to fine."""
    paths = ([text_of(entry) for entry in path.iterfind("taxon/entry")] for path in resource.iter("taxonPath"))
    return [names for path in paths if (names := [name for name in path if name])]


def normalized(root: Element) -> Element:
    """Drop namespaces and give elements and attributes the names of QTI 2, in place."""
    strip_namespaces(root)
    for element in root.iter():
        if not isinstance(element.tag, str) or not element.tag.startswith("qti-"):
            continue
        element.tag = _camel(element.tag.removeprefix("qti-"))
        for name, value in list(element.attrib.items()):
            if "-" in name and not name.startswith("data-"):
                del element.attrib[name]
                element.set(_camel(name), value)
    return root


def _camel(name: str) -> str:
    return re.sub(r"-([a-z0-9])", lambda m: m[1].upper(), name)


# Items: the body is the stem, interactions are options and blanks, the correct response is the answer.

#: Elements of a body that are hidden, or shown only after an answer.
_HIDDEN = (
    *("feedbackInline", "feedbackBlock", "templateInline", "templateBlock"),
    *("infoControl", "catalogInfo", "positionObjectStage"),
)
#: QTI's elements without a capital in their names.
_OWN = frozenset({"gap", "hottext", "prompt", "stylesheet", "include"})
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class _Item:
    """An ``assessmentItem``; its parts that cannot be read are faults."""

    def __init__(self, job: Job, root: Element, document: str):
        self._job, self._root, self._document = job, root, document
        self._place: Place = job.place(document, root.sourceline or 0)
        self._images: list[str] = []

    def draft(self, knowledge: Knowledge) -> Draft:
        root = self._root
        body = root.find("itemBody")
        analysis = self._feedback()
        stem, interactions = ("", []) if body is None else self._body(body)
        language = (root.get(_LANGUAGE) or root.get("lang") or root.get("language") or "").split("-")[0].lower()
        kinds = {interaction.kind for interaction in interactions}
        record: dict[str, Any] = {
            "id": root.get("identifier") or None,
            "stem": "\n".join(filter(None, (*self._stimuli(), stem))),
            "type": kinds.pop() if len(kinds) == 1 else "composite" if kinds else None,
            "language": language or None,
            "knowledge": [list(path) for path in knowledge],
            "analysis": analysis or None,
        }
        if len(interactions) == 1:
            choices = enumerate(interactions[0].choices)
            options = [self._read(choice, f"{choice.tag}[{i}]", self._document) for i, choice in choices]
            record |= {"options": options, "answer": interactions[0].answer or None}
        else:
            answers = [f"{i}: {each.answer}" for i, each in enumerate(interactions, 1) if each.answer]
            record["answer"] = "; ".join(answers) or None
        if title := root.get("title"):
            record["extras"] = {"title": title}
        record["images"] = distinct(self._images)
        return Draft({name: value for name, value in record.items() if value is not None}, self._place)

    def _read(self, element: Element, name: str, document: str) -> str:
        """Return the text of an element, take its figures and report what is lost."""
        text = plain(_markup(element))
        self._images += self._job.figures_of(text, document, self._place, name)
        return text.text

    def _fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)

    def _body(self, body: Element) -> tuple[str, list[Interaction]]:
        """Return the stem, with blanks and lists in place of the interactions, and these."""
        for hidden in list(body.iter(*_HIDDEN)):
            _remove(hidden)
        for rubric in list(body.iter("rubricBlock")):
            if "candidate" not in rubric.get("view", "candidate").split():
                _remove(rubric)
        if next(body.iter("printedVariable"), None) is not None:
            self._fault("itemBody", "values that a template draws are not read")
        elements = [part for part in body.iter() if isinstance(part.tag, str) and part.tag.endswith("Interaction")]
        interactions = []
        for element in elements:
            read: Read | None = INTERACTIONS.get(element.tag)
            if read is None:
                self._fault("itemBody", f"the response to <{element.tag}> is not read")
                interactions.append(Interaction(element.tag.removesuffix("Interaction")))
                continue
            is_alone = len(elements) == 1
            try:
                interaction = read(element, self._correct(element), is_alone)
            except UnknownChoiceError as error:
                self._fault(element.get("responseIdentifier", "RESPONSE"), str(error))
                interaction = read(element, [], is_alone)
            interactions.append(interaction)
            _replace(element, interaction)
        if not elements:
            self._fault("itemBody", "no interaction")
        return self._read(body, "itemBody", self._document), interactions

    def _correct(self, interaction: Element) -> list[str]:
        """Return the values of the correct response, or else those that the mapping gives points for, most first."""
        name = interaction.get("responseIdentifier", "RESPONSE")
        declarations = self._root.findall("responseDeclaration")
        place = place_of([declaration.get("identifier", "") for declaration in declarations], name)
        for declaration in declarations[place : place + 1] if place is not None else ():
            if values := list(filter(None, map(text_of, declaration.iterfind("correctResponse/value")))):
                return values
            entries = declaration.findall("mapping/mapEntry")
            paid = sorted((entry for entry in entries if _points(entry) > 0), key=_points, reverse=True)
            if paid:
                several = declaration.get("cardinality") in ("multiple", "ordered")
                return [entry.get("mapKey", "") for entry in (paid if several else paid[:1])]
        if interaction.tag not in OPEN:
            self._fault(name, "no correct response")
        return []

    def _feedback(self) -> str:
        """Return the feedback after an answer, each text once."""
        tags = ("feedbackInline", "feedbackBlock", "modalFeedback")
        texts = [plain(_markup(element)).text for element in self._root.iter(*tags)]
        return "\n".join(distinct(text for text in texts if text))

    def _stimuli(self) -> list[str]:
        """Return the texts that several items share, such as a passage to read."""
        texts = []
        for reference in self._root.iter("assessmentStimulusRef"):
            try:
                name = self._job.source.resolve(reference.get("href", ""), self._document)
                stimulus = normalized(parse(self._job.source.read(name)))
            except (SourceError, XmlError) as error:
                self._fault("assessmentStimulusRef", str(error))
                continue
            body = stimulus.find("stimulusBody")
            if body is not None:
                texts.append(self._read(body, "stimulusBody", name))
        return texts


def _points(entry: Element) -> float:
    try:
        return float(entry.get("mappedValue", "0"))
    except ValueError:
        return 0.0


def _remove(element: Element) -> None:
    """Remove an element, but not the text after it."""
    parent = element.getparent()
    element.tag = "tq-removed"
    etree.strip_elements(parent, element.tag, with_tail=False)


def _replace(element: Element, interaction: Interaction) -> None:
    """Put the markup of an interaction in its place."""
    name = "span" if interaction.is_inline else "div"
    new = parse(f"<{name}>{interaction.shown}</{name}>")
    new.tail = element.tail
    element.getparent().replace(element, new)


def _markup(element: Element) -> str:
    """Return the content of an element as HTML; QTI's own elements become spans."""
    for part in element.iterdescendants():
        if isinstance(part.tag, str) and (part.tag in _OWN or part.tag != part.tag.lower()):
            part.tag = "span"
    return inner_markup(element)
