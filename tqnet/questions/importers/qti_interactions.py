"""QTI's interactions: what each shows in a stem, what there is to choose from, and which of it is right."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tqnet.questions.importers.job import lettered
from tqnet.questions.importers.moodle_kinds import BLANK
from tqnet.questions.importers.safe_xml import Element, inner_markup


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
