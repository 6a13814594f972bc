"""Word problems with equations: MAWPS with ASDiv-A and SVAMP, GSM8K, Math23K, MathQA, AQuA-RAT."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.json_records import draft, records, split_options, without_letters, word
from tqnet.questions.question import FieldError
from tqnet.text.equations import OPERATORS, EquationError, Prefix, ends, evaluate, infix, parse_equation, same_value

_GAP = re.compile(r"\bnumber(\d+)\b")
_PERCENT = re.compile(r"\bnumber(\d+)\s*(?:%|percent\b)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: A percentage becomes a share by this factor, or divisor.
_HUNDREDTHS = {"*": Fraction(1, 100), "/": Fraction(100)}


def read_mawps(job: Job) -> Iterator[Draft]:
    """MAWPS, ASDiv-A and SVAMP (Patel et al. 2021): English word problems with an equation.

    Two forms are published: the collection's, texts with ``number0`` in place of numbers, ``Numbers`` beside them and
    an equation in prefix order; and SVAMP's own, ``Body`` and ``Question`` apart and an equation in parentheses. The
    numbers are put back into the text and the equation (infix). A row whose numbers do not fit its gaps is left out;
    an unreadable equation, or one whose value is not the answer, is dropped together with the answer.
    """
    for record in records(job):
        fields = record.fields
        try:
            stem, numbers = _mawps_text(fields)
        except FieldError as error:
            job.leave_out(record.place, error.field, error.message)
            continue
        equation, answer = _solution(job, record.place, fields, numbers)
        name = word(fields.get("id")) or word(fields.get("ID")) or record.name
        kind, extras = word(fields.get("Type")), {"equation": equation}
        yield draft(record, "MAWPS, ASDiv, SVAMP", id=name, stem=stem, answer=answer, type=kind, extras=extras)


def _mawps_text(fields: dict[str, Any]) -> tuple[str, list[str] | None]:
    """Return the text with its numbers in place, and the numbers; None if the text comes with them."""
    question, body = word(fields.get("Question")), word(fields.get("Body"))
    if question is None:
        raise FieldError("Question", "missing")
    if "Numbers" not in fields:
        return f"{body} {question}" if body else question, None
    numbers = [number.removesuffix(".0") for number in (word(fields["Numbers"]) or "").split()]
    for number in numbers:
        if not _NUMBER.fullmatch(number):
            raise FieldError("Numbers", f"no number: {number!r:.50}")
    gaps = {int(gap) for gap in _GAP.findall(question)}
    if missing := sorted(gap for gap in gaps if gap >= len(numbers)):
        raise FieldError("Numbers", f"{len(numbers)} of them, but the question has number{missing[0]}")
    return _GAP.sub(lambda gap: numbers[int(gap[1])], question), numbers


def _solution(
    job: Job, place: Place, fields: dict[str, Any], numbers: Sequence[str] | None
) -> tuple[str | None, str | None]:
    """Return equation and answer; neither if they contradict each other."""
    answer, equation = word(fields.get("Answer")), word(fields.get("Equation"))
    if equation is None:
        job.fault(place, "Equation", "missing")
        return None, answer
    try:
        prefix = _equation(equation, numbers, fields)
        value = evaluate(prefix)
    except EquationError as error:
        job.fault(place, "Equation", str(error))
        return None, answer
    if answer is None:
        job.fault(place, "Answer", "missing")
        return infix(prefix), None
    try:
        right = same_value(value, Fraction(answer))
    except (ValueError, ZeroDivisionError):
        job.fault(place, "Answer", f"no number: {answer!r:.50}")
        return infix(prefix), None
    if not right:
        job.fault(place, "Answer", f"{answer}, but the equation gives {float(value):g}; neither is taken")
        return None, None
    return infix(prefix), answer.removesuffix(".0")


def _equation(equation: str, numbers: Sequence[str] | None, fields: dict[str, Any]) -> Prefix:
    """Parse an equation into values; a percentage of the text that is made a share is written as one."""
    if numbers is None:
        return parse_equation(equation)
    percentages = {f"number{gap}" for gap in _PERCENT.findall(str(fields["Question"]))}
    tokens = tuple(equation.split())
    for token in tokens:
        gap = _GAP.fullmatch(token)
        if gap is not None and int(gap[1]) >= len(numbers):
            raise EquationError(f"{token}: there are {len(numbers)} numbers")
        if gap is None and token not in OPERATORS and not _NUMBER.fullmatch(token):
            raise EquationError(f"{token!r:.50} is neither a number nor an operator")
    return _valued(tokens, ends(tokens), 0, numbers, percentages)


def _valued(tokens: Prefix, behind: Sequence[int], place: int, numbers: Sequence[str], percentages: set[str]) -> Prefix:
    token = tokens[place]
    if gap := _GAP.fullmatch(token):
        return (numbers[int(gap[1])],)
    if token not in OPERATORS:
        return (token.removesuffix(".0"),)
    left, right = place + 1, behind[place + 1]
    if token in _HUNDREDTHS and tokens[left] in percentages and tokens[right] not in (*OPERATORS, *percentages):
        other = _valued(tokens, behind, right, numbers, percentages)
        if Fraction(other[0]) == _HUNDREDTHS[token]:
            return (f"{numbers[int(tokens[left].removeprefix('number'))]}%",)
    operands = (_valued(tokens, behind, operand, numbers, percentages) for operand in (left, right))
    return (token, *next(operands), *next(operands))


_CALCULATION = re.compile(r"<<(.*?)>>")


def read_gsm8k(job: Job) -> Iterator[Draft]:
    """GSM8K (Cobbe et al. 2021): an object per line; the answer follows ``####`` at the end of its derivation.

    The calculator's input, ``<<48/2=24>>``, is the extra ``equation``; the analysis is without it.
    """
    for record in records(job):
        derivation, mark, answer = (word(record.fields.get("answer")) or "").partition("####")
        if not mark:
            job.fault(record.place, "answer", "no #### before an answer")
        yield draft(
            record,
            "GSM8K",
            stem=word(record.fields.get("question")),
            answer=answer.strip() or None,
            analysis=_CALCULATION.sub("", derivation).strip() or None,
            extras={"equation": "; ".join(_CALCULATION.findall(derivation))},
        )


def read_math23k(job: Job) -> Iterator[Draft]:
    """Math23K (Wang et al. 2017): Chinese problems; ``original_text`` is the stem, or ``segmented_text`` joined."""
    for record in records(job):
        fields = record.fields
        text, segmented = word(fields.get("original_text")), word(fields.get("segmented_text"))
        equation = word(fields.get("equation"))
        if equation is None:
            job.fault(record.place, "equation", "missing")
        stem, extras = text or (segmented and segmented.replace(" ", "")), {"equation": equation}
        yield draft(record, "Math23K", "zh", stem=stem, answer=word(fields.get("ans")), extras=extras)


def read_mathqa(job: Job) -> Iterator[Draft]:
    """MathQA (Amini et al. 2019): ``annotated_formula`` is the extra ``equation``, ``category`` the knowledge."""
    for record in records(job):
        fields = record.fields
        options = fields.get("options")
        rationale, category = word(fields.get("Rationale")), word(fields.get("category"))
        answer = (word(fields.get("correct")) or "").upper() or None
        if answer is None:
            job.fault(record.place, "correct", "missing")
        equation, linear = word(fields.get("annotated_formula")), word(fields.get("linear_formula"))
        yield draft(
            record,
            "MathQA",
            stem=word(fields.get("Problem")),
            options=split_options(options) if isinstance(options, str) else options,
            answer=answer,
            analysis=rationale and rationale.strip('"').strip(),
            knowledge=[[category]] if category else [],
            extras={"equation": equation, "linear_formula": linear},
        )


def read_aqua(job: Job) -> Iterator[Draft]:
    """AQuA-RAT (Ling et al. 2017): options with their letters; ``rationale`` is the analysis."""
    for record in records(job):
        fields = record.fields
        options, answer = fields.get("options"), word(fields.get("correct"))
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            options = without_letters(options)
        if not answer:
            job.fault(record.place, "correct", "missing")
        stem, analysis = word(fields.get("question")), word(fields.get("rationale"))
        yield draft(record, "AQuA", stem=stem, options=options, answer=answer, analysis=analysis)
