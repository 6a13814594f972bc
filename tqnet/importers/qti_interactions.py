"""Interactions of QTI 2: what each shows in a stem, its choices, and its right answer."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tqnet.importers.job import lettered
from tqnet.importers.safe_xml import Element, inner_markup
from tqnet.text.plain import BLANK


@dataclass(frozen=True)
class Interaction:
    """An interaction as it is read.

    Attributes:
        kind: Its name without "Interaction".
        shown: Markup in its place.
        is_inline: It stands within a line.
        choices: The elements of the question's options.
        answer: Letters of choices, or a text; empty without one.
    """

    kind: str
    shown: str = ""
    is_inline: bool = False
    choices: tuple[Element, ...] = ()
    answer: str = ""


#: Takes the element, the values of its correct response, and if it is the only one of the item; otherwise its choices
#: are shown in its place. UnknownChoiceError: a value names no choice.
Read = Callable[[Element, list[str], bool], Interaction]

#: Interactions that need no known answer.
OPEN = frozenset({"extendedTextInteraction", "uploadInteraction", "drawingInteraction", "endAttemptInteraction"})


def _choice(element: Element, correct: list[str], alone: bool) -> Interaction:
    """Letters of the right choices; of an ordering, in the right order: ``B-A``."""
    choices, kind = element.findall("simpleChoice"), element.tag.removesuffix("Interaction")
    places = _places(choices, correct)
    answer = "-".join(lettered([place]) for place in places) if kind == "order" else lettered(sorted(places))
    return _of_choices(kind, _prompt(element), choices, answer, alone)


def _inline_choice(element: Element, correct: list[str], alone: bool) -> Interaction:
    choices = element.findall("inlineChoice")
    places = _places(choices, correct)
    if alone:
        return Interaction("inlineChoice", BLANK, True, tuple(choices), lettered(places))
    texts = [text_of(choice) for choice in choices]
    shown = html.escape(f"{BLANK} ({' / '.join(texts)})", quote=False)
    return Interaction("inlineChoice", shown, True, answer=", ".join(texts[place] for place in places))


def _open(element: Element, correct: list[str], alone: bool) -> Interaction:
    kind, answer = element.tag.removesuffix("Interaction"), correct[0] if correct else ""
    is_inline = kind == "textEntry"
    return Interaction(kind, BLANK if is_inline else _prompt(element), is_inline, answer=answer)


def _hottext(element: Element, correct: list[str], alone: bool) -> Interaction:
    """The words to choose from stand in their text, and are the options."""
    choices = list(element.iter("hottext"))
    return Interaction(
        "hottext", inner_markup(element), False, tuple(choices), lettered(sorted(_places(choices, correct)))
    )


def _match(element: Element, correct: list[str], alone: bool) -> Interaction:
    """The first set is numbered in the stem, the second the options: ``1-B, 2-A``."""
    sets = [each.findall("simpleAssociableChoice") for each in element.findall("simpleMatchSet")][:2]
    sources, targets = sets if len(sets) == 2 else ([], [])
    pairs = sorted(_pairs(sources, targets, correct))
    answer = ", ".join(f"{source + 1}-{lettered([target])}" for source, target in pairs)
    items = "".join(f"<p>{number}. {inner_markup(source)}</p>" for number, source in enumerate(sources, 1))
    return _of_choices("match", _prompt(element) + items, targets, answer, alone)


def _associate(element: Element, correct: list[str], alone: bool) -> Interaction:
    """Pairs among the choices: ``A-C, B-D``."""
    choices = element.findall("simpleAssociableChoice")
    answer = ", ".join(f"{lettered([a])}-{lettered([b])}" for a, b in _pairs(choices, choices, correct))
    return _of_choices("associate", _prompt(element), choices, answer, alone)


def _gap_match(element: Element, correct: list[str], alone: bool) -> Interaction:
    """Numbered blanks, with the options that go into them: ``1-B``."""
    choices = [part for part in element if part.tag in ("gapText", "gapImg")]
    gaps = list(element.iter("gap"))
    for number, gap in enumerate(gaps, 1):
        gap.text = f"{BLANK}({number})"
    pairs = sorted((gap, choice) for choice, gap in _pairs(choices, gaps, correct))
    answer = ", ".join(f"{gap + 1}-{lettered([choice])}" for gap, choice in pairs)
    others = (part for part in element if part.tag not in ("gapText", "gapImg", "prompt"))
    rest = "".join(f"<div>{inner_markup(part)}</div>" for part in others)
    return _of_choices("gapMatch", _prompt(element) + rest, choices, answer, alone)


INTERACTIONS: dict[str, Read] = {
    "choiceInteraction": _choice,
    "orderInteraction": _choice,
    "inlineChoiceInteraction": _inline_choice,
    "hottextInteraction": _hottext,
    "matchInteraction": _match,
    "associateInteraction": _associate,
    "gapMatchInteraction": _gap_match,
    **dict.fromkeys((*OPEN, "textEntryInteraction", "sliderInteraction"), _open),
}


def _of_choices(kind: str, prompt: str, choices: Sequence[Element], answer: str, alone: bool) -> Interaction:
    if alone:
        return Interaction(kind, prompt, False, tuple(choices), answer)
    listed = "".join(f"<p>({lettered([i])}) {inner_markup(choice)}</p>" for i, choice in enumerate(choices))
    return Interaction(kind, prompt + listed, False, (), answer)


def _prompt(element: Element) -> str:
    prompt = element.find("prompt")
    return "" if prompt is None else f"<div>{inner_markup(prompt)}</div>"


class UnknownChoiceError(ValueError):
    """A correct response that names no choice; without it, the others would be half an answer."""

    def __init__(self, value: str):
        super().__init__(f"names no option: {value!r:.80}")


def place_of(names: Sequence[str], value: str) -> int | None:
    """Return the place of the name that a value is, also in other case if only one is alike."""
    alike = [name for name in names if name.casefold() == value.strip().casefold()]
    name = value if value in names else alike[0] if len(alike) == 1 else None
    return None if name is None else names.index(name)


def chosen(names: Sequence[str], values: Sequence[str]) -> list[int]:
    """Return the places of the choices that the values name, ``A,B`` two of them; or raise UnknownChoiceError."""
    places = []
    for value in values:
        for name in [value] if value in names else value.split(","):
            if (place := place_of(names, name)) is None:
                raise UnknownChoiceError(value)
            places.append(place)
    return places


def _names(choices: Sequence[Element]) -> list[str]:
    return [choice.get("identifier", "") for choice in choices]


def _places(choices: Sequence[Element], correct: Sequence[str]) -> list[int]:
    return chosen(_names(choices), correct)


def _pairs(sources: Sequence[Element], targets: Sequence[Element], correct: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of the two that each value, ``S1 T2``, names; a match may name them in reverse."""
    return [_pair(_names(sources), _names(targets), value) for value in correct]


def _pair(sources: Sequence[str], targets: Sequence[str], value: str) -> tuple[int, int]:
    names = value.split()
    for first, second in (names, names[::-1]) if len(names) == 2 else ():
        source, target = place_of(sources, first), place_of(targets, second)
        if source is not None and target is not None:
            return source, target
    raise UnknownChoiceError(value)


def text_of(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())
