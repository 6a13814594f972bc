"""A bank as Moodle XML, to bring new knowledge points and difficulties back to the platform.

Formulas stay as they are, figures are embedded; the first knowledge path is the category, the others are tags, and so
are the fields that Moodle lacks (type, language, difficulty, group, split, source); `tqnet.importers.moodle` reads them
back. Runs of spaces and blank lines become one, as in HTML.
"""

from __future__ import annotations

import base64
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from tqnet.files import atomic
from tqnet.importers.moodle_types import numbered
from tqnet.importers.safe_xml import Element
from tqnet.questions.question import Fault, KnowledgePath, Question
from tqnet.text.formulas import segments
from tqnet.text.lists import letter, named_places
from tqnet.text.plain import BLANK

_LETTERS = re.compile(r"[A-Z]{1,2}(?:\s*,\s*[A-Z]{1,2})*")
_ORDER = re.compile(r"[A-Z](?:-[A-Z])*")
_GAP = re.compile(rf"{BLANK}\(\d+\)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: Moodle's limit.
_LONGEST_TAG = 255
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def export_moodle(questions: Iterable[Question], out: Path) -> tuple[int, list[Fault]]:
    """Write ``out``, whole or not at all; return the number of its questions, and faults for what was lost.

    Raises:
        OSError: A figure cannot be read, or the file cannot be written.
    """
    count, faults = 0, []
    lost: Counter[str] = Counter()
    with atomic(out) as temporary, etree.xmlfile(str(temporary), encoding="utf-8") as stream:
        stream.write_declaration()
        with stream.element("quiz"):
            category: KnowledgePath | None = None
            for question in questions:
                path = question.knowledge[0] if question.knowledge else ()
                if path != category:
                    stream.write(_category(path), pretty_print=True)
                    category = path
                if number := question.extras.get("number"):
                    stream.write(etree.Comment(f" question: {number} ".replace("--", "")))
                element, missing = _question(question)
                stream.write(element, pretty_print=False)
                faults += [Fault(str(out), 0, f"{question.id}: {name}", message) for name, message in missing]
                lost.update(question.extras.keys() - _KEPT)
                count += 1
    faults += [
        Fault(str(out), 0, f"extras.{name}", f"no place in Moodle: {n:,} question{'s' if n != 1 else ''}")
        for name, n in lost.items()
    ]
    return count, faults


def _category(path: KnowledgePath) -> Element:
    element = etree.Element("question", type="category")
    names = "/".join(["top", *(name.replace("/", "//") for name in path)])
    etree.SubElement(etree.SubElement(element, "category"), "text").text = _clean(f"$course$/{names}")
    return element


def _question(question: Question) -> tuple[Element, list[tuple[str, str]]]:
    kind = _kind(question)
    element = etree.Element("question", type=kind)
    _add_text(element, "name", str(question.extras.get("name", question.id)), markup=False)
    stem = _stem(question, kind)
    holder = _add_text(element, "questiontext", stem, figures=question.images)
    for image in question.images:
        name = Path(image).name
        packed = base64.b64encode(Path(image).read_bytes()).decode()
        etree.SubElement(holder, "file", name=name, path="/", encoding="base64").text = packed
    if question.analysis:
        _add_text(element, "generalfeedback", question.analysis)
    etree.SubElement(element, "idnumber").text = _clean(question.id)
    _ANSWERS[kind](element, question)
    return element, _add_tags(element, question, kind)


#: Extras that Moodle's types or tags hold.
_KEPT = frozenset({"name", "number", "tags", "matches", "cloze", "accepted", "partial", "tolerance", "unit"})


def _kind(question: Question) -> str:
    """Return the type that the question was if its fields still fit, or else one that fits."""
    matches, letters = question.extras.get("matches"), _letters(question)
    if question.type == "matching" and isinstance(matches, list):
        return "matching"
    if question.type == "cloze" and isinstance(question.extras.get("cloze"), str):
        return "cloze"
    if question.type == "truefalse" and question.options == ("True", "False") and question.answer in ("A", "B"):
        return "truefalse"
    if question.type in ("gapselect", "ddwtos") and _gap_answers(question):
        return "gapselect"
    if question.type == "ordering" and _ORDER.fullmatch(question.answer or "") and question.options:
        return "ordering"
    if question.options:
        return "multichoice" if question.answer is None or letters else "essay"
    if question.type == "description" and question.answer is None:
        return "description"
    if not question.answer or question.type == "essay" or len(question.answer) > _LONGEST_TAG:
        return "essay"
    if question.type == "numerical" and _NUMBER.fullmatch(question.answer):
        return "numerical"
    return "shortanswer"


def _stem(question: Question, kind: str) -> str:
    """Return the question text: gaps by their codes, without the list of items to match; an essay with its options."""
    if kind == "cloze":
        return str(question.extras["cloze"])
    if kind == "matching":
        listed = numbered([item for item, _ in question.extras["matches"] if item])
        return question.stem.removesuffix(listed).rstrip("\n")
    if kind == "gapselect":
        answers = iter(_gap_answers(question))
        return _GAP.sub(lambda _: f"[[{next(answers) + 1}]]", question.stem)
    return question.content if kind == "essay" else question.stem


def _gap_answers(question: Question) -> list[int]:
    """Return the option of each gap of the stem in order; none if not all are answered."""
    places = named_places(" ".join(re.findall(r"\d+-([A-Z]+)", question.answer or "")), len(question.options))
    return places if len(places) == len(_GAP.findall(question.stem)) else []


def _letters(question: Question) -> list[int]:
    """Return the options that the answer names, by letters or as one of their texts."""
    answer = (question.answer or "").strip()
    if answer in question.options and not re.fullmatch("[A-Z]", answer):
        return [question.options.index(answer)]
    return named_places(answer, len(question.options)) if _LETTERS.fullmatch(answer) else []


def _multichoice(element: Element, question: Question) -> None:
    right, partial = _letters(question), _partial(question)
    etree.SubElement(element, "single").text = "false" if len(right) > 1 else "true"
    etree.SubElement(element, "shuffleanswers").text = "true"
    etree.SubElement(element, "answernumbering").text = "ABCD"
    for place, option in enumerate(question.options):
        share = f"{100 / len(right):.5f}".rstrip("0").rstrip(".") if place in right else partial.get(letter(place), "0")
        _add_answer(element, option, share)


def _ordering(element: Element, question: Question) -> None:
    """Write the options in their right order, which is that of the answers."""
    for number, place in enumerate(named_places(question.answer or "", len(question.options)), 1):
        _add_answer(element, question.options[place], str(number))


def _truefalse(element: Element, question: Question) -> None:
    for name, word in (("A", "true"), ("B", "false")):
        _add_answer(element, word, "100" if question.answer == name else "0", markup=False)


def _shortanswer(element: Element, question: Question) -> list[Element]:
    right = (question.answer or "", *question.extras.get("accepted", ()))
    shares = _partial(question) | {str(text): "100" for text in right}
    best_first = sorted(shares, key=lambda text: -float(shares[text]))
    return [_add_answer(element, text, shares[text], markup=False) for text in best_first]


def _partial(question: Question) -> dict[str, str]:
    """Return the percentages of answers that are right in part."""
    partial = question.extras.get("partial")
    pairs = partial.items() if isinstance(partial, dict) else ()
    return {answer: f"{share:g}" for answer, share in pairs if isinstance(share, int | float)}


def _numerical(element: Element, question: Question) -> None:
    for answer in _shortanswer(element, question):
        etree.SubElement(answer, "tolerance").text = str(question.extras.get("tolerance", "0"))
    if unit := question.extras.get("unit"):
        holder = etree.SubElement(etree.SubElement(element, "units"), "unit")
        etree.SubElement(holder, "multiplier").text = "1"
        etree.SubElement(holder, "unit_name").text = _clean(str(unit))


def _essay(element: Element, question: Question) -> None:
    etree.SubElement(element, "responseformat").text = "editor"
    if question.answer:
        _add_text(element, "graderinfo", question.answer)


def _matching(element: Element, question: Question) -> None:
    etree.SubElement(element, "shuffleanswers").text = "true"
    for item, answer in question.extras["matches"]:
        part = _add_text(element, "subquestion", item)
        _add_text(part, "answer", answer, markup=False)


def _gapselect(element: Element, question: Question) -> None:
    for option in question.options:
        holder = etree.SubElement(element, "selectoption")
        etree.SubElement(holder, "text").text = _clean(option)
        etree.SubElement(holder, "group").text = "1"


_ANSWERS: dict[str, Callable[[Element, Question], object]] = {
    "multichoice": _multichoice,
    "ordering": _ordering,
    "truefalse": _truefalse,
    "shortanswer": _shortanswer,
    "numerical": _numerical,
    "essay": _essay,
    "matching": _matching,
    "gapselect": _gapselect,
    **dict.fromkeys(("cloze", "description"), lambda element, question: None),  # the text says everything
}


def _add_tags(element: Element, question: Question, kind: str) -> list[tuple[str, str]]:
    """Add tags for the fields without a place; return those too long for Moodle as faults."""
    fields: dict[str, Any] = {
        "type": None if question.type == kind else question.type,
        "language": question.language,
        "difficulty": None if question.difficulty is None else f"{question.difficulty:g}",
        "group": question.group,
        "split": question.split,
        "source": question.source,
    }
    paths = question.knowledge[1:]
    tags = [("knowledge", " > ".join(path) if len(path) > 1 else f"tqnet:knowledge={path[0]}") for path in paths]
    tags += [(name, f"tqnet:{name}={value}") for name, value in fields.items() if value is not None]
    given = question.extras.get("tags", [])
    tags += [("tags", str(tag)) for tag in (given if isinstance(given, list) else [given])]
    holder = etree.SubElement(element, "tags")
    for _, tag in tags:
        if len(tag) <= _LONGEST_TAG:
            etree.SubElement(etree.SubElement(holder, "tag"), "text").text = _clean(tag)
    return [(name, f"too long for a tag: {tag!r:.80}") for name, tag in tags if len(tag) > _LONGEST_TAG]


def _add_answer(element: Element, text: str, fraction: str, markup: bool = True) -> Element:
    answer = _add_text(element, "answer", text, markup=markup)
    answer.set("fraction", fraction)
    return answer


def _add_text(element: Element, name: str, text: str, markup: bool = True, figures: Sequence[str] = ()) -> Element:
    holder = etree.SubElement(element, name)
    if markup:
        holder.set("format", "html")
    etree.SubElement(holder, "text").text = _clean(_markup(text, figures) if markup else text)
    return holder


def _markup(text: str, figures: Sequence[str]) -> str:
    """Escape a text, with its lines as lines outside of formulas and its figures below."""
    pieces = []
    for segment in segments(text):
        piece = html.escape(text[segment.start : segment.end], quote=False)
        pieces.append(piece if segment.is_formula else piece.replace("\n", "<br>"))
    images = "".join(f'<p><img src="@@PLUGINFILE@@/{html.escape(Path(image).name)}" alt=""></p>' for image in figures)
    return f"<p>{''.join(pieces)}</p>{images}"


def _clean(text: str) -> str:
    """Drop the control characters that XML cannot hold."""
    return _NOT_XML.sub("", text)
