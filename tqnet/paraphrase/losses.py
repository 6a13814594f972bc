"""What a model's rewriting of a question lost, so that it is not taken for one that asks the same."""

from __future__ import annotations

from collections.abc import Sequence

from tqnet.paraphrase.check.difference import Part
from tqnet.paraphrase.check.explain import Explainer
from tqnet.paraphrase.check.values import value_of
from tqnet.paraphrase.units import find_units
from tqnet.text.numbers import find_numbers


def losses(explainer: Explainer, pairs: Sequence[tuple[str, str]], in_order: bool = False) -> list[Part | None]:
    """Of each (question, rewriting) the first part that was lost or changed, or that is new; None where there is none.

    What is harmless is no loss: a name that is another one wherever it stands.

    Args:
        in_order: Numbers and units must also be as many, and come in the same order. In a translation they may not: a
            clause moves, and its number with it. Where words were merely restored, a number in another place is
            another number.
    """
    return [
        next((one.part for one in explanation.differences if not one.is_harmless), None)
        or (_out_of_order(*pair) if in_order else None)
        for pair, explanation in zip(pairs, explainer.explain(pairs), strict=True)
    ]


def _out_of_order(original: str, rewriting: str) -> Part | None:
    before, after = find_numbers(original), find_numbers(rewriting)
    if list(map(value_of, before)) != list(map(value_of, after)):
        return Part.NUMBER
    units, others = find_units(original, before), find_units(rewriting, after)
    return Part.UNIT if [unit.name for unit in units] != [unit.name for unit in others] else None
