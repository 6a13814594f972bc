"""One item of QTI: its body as a stem, its interactions as options and blanks, its correct response as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lxml import etree

from tqnet.questions.importers.job import Draft, Job, Place, distinct, resolve
from tqnet.questions.importers.markup import plain
from tqnet.questions.importers.qti_interactions import INTERACTIONS, OPEN, Interaction, Read
from tqnet.questions.importers.qti_names import normalized
from tqnet.questions.importers.safe_xml import Element, XmlError, inner_markup, parse
from tqnet.questions.importers.source import SourceError

#: What is in a body and is not shown to who is asked, or only after an answer.
_HIDDEN = (
    "feedbackInline",
    "feedbackBlock",
    "templateInline",
    "templateBlock",
    "infoControl",
    "catalogInfo",
    "positionObjectStage",
)
#: QTI's elements whose names have no capital, which the others have.
_OWN = frozenset({"gap", "hottext", "prompt", "stylesheet", "include"})
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def item_draft(job: Job, root: Element, document: str, knowledge: Sequence[Sequence[str]] = ()) -> Draft:
    """The draft of an ``assessmentItem`` (by its name in QTI 2); its parts that are not read are faults."""
    return _Item(job, root, document).draft(knowledge)


class _Item:
    def __init__(self, job: Job, root: Element, document: str):
        self._job, self._root, self._document = job, root, document
        self._place: Place = job.place(document, root.sourceline or 0)
        self._images: list[str] = []

    def draft(self, knowledge: Sequence[Sequence[str]]) -> Draft:
        root = self._root
        body = root.find("itemBody")
        analysis = self._feedback()
        stem, interactions = ("", []) if body is None else self._body(body)
        language = (root.get(_LANGUAGE) or root.get("lang") or root.get("language") or "").split("-")[0].lower()
        record: dict[str, Any] = {
            "id": root.get("identifier") or None,
            "stem": "\n".join(filter(None, (*self._stimuli(), stem))),
            "type": interactions[0].kind if len({one.kind for one in interactions}) == 1 else None,
            "language": language or None,
            "knowledge": [list(path) for path in knowledge],
            "analysis": analysis or None,
        }
        if len({one.kind for one in interactions}) > 1:
            record["type"] = "composite"
        if len(interactions) == 1:
            choices = enumerate(interactions[0].choices)
            options = [self.text(choice, f"{choice.tag}[{i}]") for i, choice in choices]
            record |= {"options": options, "answer": interactions[0].answer or None}
        else:
            answers = [f"{i}: {one.answer}" for i, one in enumerate(interactions, 1) if one.answer]
            record["answer"] = "; ".join(answers) or None
        if title := root.get("title"):
            record["extras"] = {"title": title}
        record["images"] = distinct(self._images)
        return Draft({name: value for name, value in record.items() if value is not None}, self._place)

    def text(self, element: Element, name: str) -> str:
        """The text in an element; its figures are taken, what is lost is reported."""
        text = plain(_markup(element))
        self._images += self._job.figures_of(text, self._document, self._place, name)
        return text.text

    def fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)

    def _body(self, body: Element) -> tuple[str, list[Interaction]]:
        """The stem with blanks and lists in place of the interactions."""
        for hidden in list(body.iter(*_HIDDEN)):
            _remove(hidden)
        for rubric in list(body.iter("rubricBlock")):
            if "candidate" not in rubric.get("view", "candidate").split():
                _remove(rubric)
        if next(body.iter("printedVariable"), None) is not None:
            self.fault("itemBody", "values that a template draws are not read")
        found = [element for element in body.iter() if _is_interaction(element)]
        interactions = []
        for element in found:
            read: Read | None = INTERACTIONS.get(element.tag)
            if read is None:
                self.fault("itemBody", f"the response to <{element.tag}> is not read")
                interactions.append(Interaction(element.tag.removesuffix("Interaction")))
                continue
            interaction = read(element, self._correct(element), len(found) == 1)
            interactions.append(interaction)
            _replace(element, interaction)
        if not found:
            self.fault("itemBody", "no interaction")
        return self.text(body, "itemBody"), interactions

    def _correct(self, interaction: Element) -> list[str]:
        """The values of the correct response; else those that the mapping gives points for, the most first."""
        name = interaction.get("responseIdentifier", "RESPONSE")
        declared = [one for one in self._root.findall("responseDeclaration") if one.get("identifier") == name]
        for declaration in declared:
            values = [
                " ".join("".join(value.itertext()).split()) for value in declaration.iterfind("correctResponse/value")
            ]
            if values := [value for value in values if value]:
                return values
            entries = declaration.findall("mapping/mapEntry")
            paid = sorted((entry for entry in entries if _points(entry) > 0), key=_points, reverse=True)
            if paid:
                several = declaration.get("cardinality") in ("multiple", "ordered")
                return [entry.get("mapKey", "") for entry in (paid if several else paid[:1])]
        if interaction.tag not in OPEN:
            self.fault(name, "no correct response")
        return []

    def _feedback(self) -> str:
        """What is said after an answer, each once."""
        tags = ("feedbackInline", "feedbackBlock", "modalFeedback")
        texts = [plain(_markup(element)).text for element in self._root.iter(*tags)]
        return "\n".join(distinct(text for text in texts if text))

    def _stimuli(self) -> list[str]:
        """What several items share, a passage to read."""
        texts = []
        for reference in self._root.iter("assessmentStimulusRef"):
            try:
                name = resolve(reference.get("href", ""), self._document)
                stimulus = normalized(parse(self._job.source.read(name)))
            except (SourceError, XmlError) as error:
                self.fault("assessmentStimulusRef", str(error))
                continue
            body = stimulus.find("stimulusBody")
            if body is not None:
                text = plain(_markup(body))
                self._images += self._job.figures_of(text, name, self._place, "stimulusBody")
                texts.append(text.text)
        return texts


def _is_interaction(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag.endswith("Interaction")


def _points(entry: Element) -> float:
    try:
        return float(entry.get("mappedValue", "0"))
    except ValueError:
        return 0.0


def _remove(element: Element) -> None:
    """Take an element out, but not the text after it."""
    parent = element.getparent()
    element.tag = "tq-removed"
    etree.strip_elements(parent, element.tag, with_tail=False)


def _replace(element: Element, interaction: Interaction) -> None:
    """Put what an interaction shows in its place."""
    name = "span" if interaction.is_inline else "div"
    new = parse(f"<{name}>{interaction.shown}</{name}>")
    new.tail = element.tail
    element.getparent().replace(element, new)


def _markup(element: Element) -> str:
    """What is in an element as HTML: QTI's own elements have no meaning there."""
    for part in element.iterdescendants():
        if isinstance(part.tag, str) and (part.tag in _OWN or part.tag != part.tag.lower()):
            part.tag = "span"
    return inner_markup(element)
