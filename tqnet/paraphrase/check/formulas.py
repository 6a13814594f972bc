"""LaTeX formulas that a paraphrase lost or changed; what is but written otherwise is the same."""

from __future__ import annotations

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.text.formulas import Segment, segments, unspaced_money
from tqnet.text.normal import normal_formula


def formula_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Formulas by their normal form; those that are but a number are left to the numbers.

    A formula that is no LaTeX in the paraphrase is found where it reads the same, "x = 3" for "$x=3$".
    """
    before, after = _formulas(original), _formulas(paraphrase)
    squeezed, others = (problem.text.replace(" ", "") for problem in (original, paraphrase))
    gone = [one for form, one in before.items() if form not in after and not _reads(one, others)]
    fresh = [one for form, one in after.items() if form not in before and not _reads(one, squeezed)]
    lost, new = ([text.text[one.start : one.end] for one in of] for text, of in ((original, gone), (paraphrase, fresh)))
    if len(lost) == len(new) == 1:
        return [Difference(Part.FORMULA, Change.CHANGED, lost[0], new[0])]
    return [
        *(Difference(Part.FORMULA, Change.LOST, before=written) for written in lost),
        *(Difference(Part.FORMULA, Change.NEW, after=written) for written in new),
    ]


def _formulas(problem: Problem) -> dict[str, Segment]:
    """Normal form -> where it stands."""
    numbers = Covered(number.span for number in problem.numbers)
    return {
        normal_formula(part.body): part
        for part in segments(unspaced_money(problem.text))
        if part.is_formula and part.start not in numbers
    }


def _reads(formula: Segment, squeezed: str) -> bool:
    """Whether a text without its spaces has the formula without its delimiters."""
    return formula.body.replace(" ", "") in squeezed
