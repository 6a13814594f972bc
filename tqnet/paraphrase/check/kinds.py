"""What a number counts or measures in one text and not in the other one: 12 men or 12 days, 6 boxes or boxes of 6."""

from __future__ import annotations

from fractions import Fraction

from spacy.tokens import Token

from tqnet.paraphrase.check.counted import counted_noun, packed_in
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma, lemmas
from tqnet.paraphrase.check.values import by_value
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number


def other_kinds(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number that counts something in one text and measures in the other one: "12 days" for "12 men", where both
    texts know days and men; or how many boxes there are, and how many things a box has: "6 boxes" for "boxes of 6".
    """
    before, after = _kinds(original), _kinds(paraphrase)
    known, told = ({*(unit.name for unit in problem.units), *lemmas(problem.doc)} for problem in (original, paraphrase))
    found = []
    for value in (value for value in before if value in after):
        (was, measured), (became, measures) = before[value], after[value]
        if measured != measures and was != became and {was, became} <= known & told:
            found.append(Difference(Part.NUMBER, Change.CHANGED, f"{value} {was}", f"{value} {became}"))
    return found + _other_packing(original, paraphrase)


def _other_packing(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _packing(original), _packing(paraphrase)
    places = [(before[value], after[value]) for value in before if value in after]
    return [
        Difference(Part.NUMBER, Change.CHANGED, said, instead)
        for (box, inside, said), (other, is_inside, instead) in places
        if box == other and inside != is_inside
    ]


def _packing(problem: Problem) -> dict[Fraction, tuple[str, bool, str]]:
    """Value of which there is one number -> a thing, whether so many are in it or of it, and how that is said."""
    found = {}
    for value, numbers in by_value(problem).items():
        if len(numbers) > 1:
            continue
        if box := packed_in(problem, numbers[0]):
            found[value] = lemma(box), True, f"{box.lower_} of {value}"
        elif (noun := _several(problem, numbers[0])) is not None:
            found[value] = lemma(noun), False, f"{value} {noun.lower_}"
    return found


def _several(problem: Problem, number: Number) -> Token | None:
    """What a number counts; the "pack" of "a 6-pack" or "an 8 pack" is but one."""
    noun = counted_noun(problem, number)
    is_one = noun is None or noun.tag_ != "NNS" or problem.text.startswith("-", number.outer[1])
    return None if is_one else noun


def _kinds(problem: Problem) -> dict[Fraction, tuple[str, bool]]:
    """Value of which there is one number -> what it counts or measures, and whether that is a unit."""
    units = {unit.number: unit.name for unit in problem.units}
    found = {}
    for value, numbers in by_value(problem).items():
        if len(numbers) == 1 and numbers[0].kind is Kind.WHOLE and not numbers[0].sign:
            noun = counted_noun(problem, numbers[0])
            if numbers[0] in units:
                found[value] = units[numbers[0]], True
            elif noun is not None and noun.tag_ == "NNS":
                found[value] = lemma(noun), False
    return found
