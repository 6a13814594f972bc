"""QTI 2.x and 3: items alone, in folders, and in packages with ``imsmanifest.xml``."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree

from tqnet.importers.job import Draft, Job, Place, distinct, lettered, resolve
from tqnet.importers.markup import plain
from tqnet.importers.moodle import BLANK
from tqnet.importers.safe_xml import Element, XmlError, inner_markup, parse, strip_namespaces
from tqnet.importers.source import SourceError, inside

# QTI's interactions: what each shows in a stem, what there is to choose from, and which of it is right.


@dataclass(frozen=True)
class Interaction:
    """What a reader of an interaction makes of it.

    Attributes:
        kind: Its name without "Interaction".
        shown: Markup that stands in its place.
        is_inline: Within a line.
        choices: The elements that are the question's options.
        answer: Letters of choices, or a text; empty without one.
    """

    kind: str
    shown: str = ""
    is_inline: bool = False
    choices: tuple[Element, ...] = ()
    answer: str = ""


#: Takes the element, the values of its correct response, and whether it is the item's only one: else its choices are
#: shown where it stands.
Read = Callable[[Element, list[str], bool], Interaction]

#: Those to which no answer need be known.
OPEN = frozenset({"extendedTextInteraction", "uploadInteraction", "drawingInteraction", "endAttemptInteraction"})


def _choice(element: Element, correct: list[str], alone: bool) -> Interaction:
    choices = element.findall("simpleChoice")
    answer = lettered(sorted(_places(choices, correct)))
    return _of_choices("choice", _prompt(element), choices, answer, alone)


def _order(element: Element, correct: list[str], alone: bool) -> Interaction:
    """The letters in their right order."""
    choices = element.findall("simpleChoice")
    return _of_choices("order", _prompt(element), choices, lettered(_places(choices, correct)), alone)


def _inline_choice(element: Element, correct: list[str], alone: bool) -> Interaction:
    choices = element.findall("inlineChoice")
    places = _places(choices, correct)
    if alone:
        return Interaction("inlineChoice", BLANK, True, tuple(choices), lettered(places))
    texts = [_text(choice) for choice in choices]
    shown = html.escape(f"{BLANK} ({' / '.join(texts)})", quote=False)
    return Interaction("inlineChoice", shown, True, answer=", ".join(texts[place] for place in places))


def _text_entry(element: Element, correct: list[str], alone: bool) -> Interaction:
    return Interaction("textEntry", BLANK, True, answer=correct[0] if correct else "")


def _open(element: Element, correct: list[str], alone: bool) -> Interaction:
    kind = element.tag.removesuffix("Interaction")
    return Interaction(kind, _prompt(element), answer=correct[0] if correct else "")


def _hottext(element: Element, correct: list[str], alone: bool) -> Interaction:
    """The words that may be chosen stand in their text, and are the options."""
    choices = list(element.iter("hottext"))
    return Interaction(
        "hottext", inner_markup(element), False, tuple(choices), lettered(sorted(_places(choices, correct)))
    )


def _match(element: Element, correct: list[str], alone: bool) -> Interaction:
    """The first set is numbered in the stem, the second the options: ``1-B, 2-A``."""
    sets = [one.findall("simpleAssociableChoice") for one in element.findall("simpleMatchSet")][:2]
    sources, targets = sets if len(sets) == 2 else ([], [])
    pairs = sorted((a, b) for a, b in _pairs(sources, targets, correct))
    answer = ", ".join(f"{source + 1}-{lettered([target])}" for source, target in pairs)
    items = "".join(f"<p>{number}. {inner_markup(one)}</p>" for number, one in enumerate(sources, 1))
    return _of_choices("match", _prompt(element) + items, targets, answer, alone)


def _associate(element: Element, correct: list[str], alone: bool) -> Interaction:
    """Pairs among the choices: ``A-C, B-D``."""
    choices = element.findall("simpleAssociableChoice")
    answer = ", ".join(f"{lettered([a])}-{lettered([b])}" for a, b in _pairs(choices, choices, correct))
    return _of_choices("associate", _prompt(element), choices, answer, alone)


def _gap_match(element: Element, correct: list[str], alone: bool) -> Interaction:
    """Numbered blanks, and what goes into them as options: ``1-B``."""
    choices = [one for one in element if one.tag in ("gapText", "gapImg")]
    gaps = list(element.iter("gap"))
    for number, gap in enumerate(gaps, 1):
        gap.text = f"{BLANK}({number})"
    pairs = sorted((gap, choice) for choice, gap in _pairs(choices, gaps, correct))
    answer = ", ".join(f"{gap + 1}-{lettered([choice])}" for gap, choice in pairs)
    rest = "".join(
        f"<div>{inner_markup(one)}</div>" for one in element if one.tag not in ("gapText", "gapImg", "prompt")
    )
    return _of_choices("gapMatch", _prompt(element) + rest, choices, answer, alone)


INTERACTIONS: dict[str, Read] = {
    "choiceInteraction": _choice,
    "orderInteraction": _order,
    "inlineChoiceInteraction": _inline_choice,
    "textEntryInteraction": _text_entry,
    "hottextInteraction": _hottext,
    "matchInteraction": _match,
    "associateInteraction": _associate,
    "gapMatchInteraction": _gap_match,
    "sliderInteraction": _open,
    **dict.fromkeys(OPEN, _open),
}


def _of_choices(kind: str, prompt: str, choices: Sequence[Element], answer: str, alone: bool) -> Interaction:
    if alone:
        return Interaction(kind, prompt, False, tuple(choices), answer)
    listed = "".join(f"<p>({lettered([i])}) {inner_markup(choice)}</p>" for i, choice in enumerate(choices))
    return Interaction(kind, prompt + listed, False, (), answer)


def _prompt(element: Element) -> str:
    prompt = element.find("prompt")
    return "" if prompt is None else f"<div>{inner_markup(prompt)}</div>"


def _places(choices: Sequence[Element], correct: Sequence[str]) -> list[int]:
    named = [choice.get("identifier") for choice in choices]
    return [named.index(name) for name in correct if name in named]


def _pairs(sources: Sequence[Element], targets: Sequence[Element], correct: Sequence[str]) -> list[tuple[int, int]]:
    """Places of the two that each value, ``S1 T2``, names; a match may name them the other way."""
    found = []
    for value in correct:
        names = value.split()
        for one, other in (names, names[::-1]) if len(names) == 2 else ():
            if (a := _places(sources, [one])) and (b := _places(targets, [other])):
                found.append((a[0], b[0]))
                break
    return found


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


# QTI 3 in the names of QTI 2: ``qti-choice-interaction`` is ``choiceInteraction``.


def normalized(root: Element) -> Element:
    """The tree without namespaces, its elements and attributes under QTI 2's names, in place."""
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


# One item of QTI: its body as a stem, its interactions as options and blanks, its correct response as an answer.


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


_MANIFEST = "imsmanifest.xml"
#: Kinds of resources that hold no item and are no fault.
_OTHERS = ("test", "section", "stimulus", "rubric", "webcontent", "associatedcontent", "manifest", "outcome", "lom")


@dataclass(frozen=True)
class Resource:
    """An item's file, and the concepts that the manifest's metadata names for it, coarse to fine."""

    name: str
    knowledge: tuple[tuple[str, ...], ...] = ()


def read_qti(job: Job) -> Iterator[Draft]:
    """The items in the order of the manifest; without one, of all XML files by name."""
    manifests = [name for name in job.source.names if posixpath.basename(name) == _MANIFEST]
    for manifest in manifests:
        root = _root(job, manifest)
        if root is not None:
            for resource in _resources(job, manifest, root):
                yield from _item(job, resource, listed=True)
    if not manifests:
        for name in job.source.names:
            if name.lower().endswith(".xml"):
                yield from _item(job, Resource(name), listed=False)


def _root(job: Job, name: str) -> Element | None:
    try:
        return normalized(parse(job.source.read(name)))
    except SourceError as error:
        job.leave_out(job.place(name), "record", str(error))
    except XmlError as error:
        job.leave_out(job.place(name, error.line), "record", error.message)
    return None


def _item(job: Job, resource: Resource, listed: bool) -> Iterator[Draft]:
    root = _root(job, resource.name)
    if root is None:
        return
    if root.tag == "assessmentItem":
        yield item_draft(job, root, resource.name, resource.knowledge)
    elif root.tag == "questestinterop":
        job.leave_out(job.place(resource.name), "record", "QTI 1, which is not read")
    elif listed:
        job.leave_out(job.place(resource.name, root.sourceline or 0), "record", f"<{root.tag}> is no item")


def _resources(job: Job, manifest: str, root: Element) -> Iterator[Resource]:
    """What the manifest lists as items, each once; a path that leads outside is a fault."""
    found: set[str] = set()
    for element in root.iter("resource"):
        kind, reference = element.get("type", "").lower(), element.get("href")
        is_item = "item" in kind or ("xmlv1p" in kind and "test" not in kind)
        if not is_item or any(other in kind for other in _OTHERS) or reference is None:
            continue
        try:
            name = inside(reference, posixpath.dirname(manifest))
        except SourceError as error:
            job.leave_out(job.place(manifest, element.sourceline or 0), "resource", str(error))
            continue
        if name not in found:
            found.add(name)
            yield Resource(name, _knowledge(element))


def _knowledge(resource: Element) -> tuple[tuple[str, ...], ...]:
    """The taxon paths of the resource's LOM metadata."""
    paths = []
    for path in resource.iter("taxonPath"):
        names = [" ".join("".join(entry.itertext()).split()) for entry in path.iterfind("taxon/entry")]
        if path_names := tuple(name for name in names if name):
            paths.append(path_names)
    return tuple(paths)
