"""MAWPS, ASDiv-A and SVAMP (Patel et al. 2021): English word problems with an equation.

Two forms are published: the collection's, texts with ``number0`` where a number stood, ``Numbers`` beside them and an
equation in prefix order; and SVAMP's own, ``Body`` and ``Question`` apart and an equation in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.json_records import in_one_text, records, without_letters, word
from tqnet.text.equations import OPERATORS, EquationError, Prefix, ends, evaluate, infix, parse_equation, same_value

_GAP = re.compile(r"\bnumber(\d+)\b")
_PERCENT = re.compile(r"\bnumber(\d+)\s*(?:%|percent\b)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: What a percentage is multiplied by, or divided by, to be a share.
_HUNDREDTHS = {"*": Fraction(1, 100), "/": Fraction(100)}


class _FieldError(ValueError):
    """A field that cannot be read; the first argument is its name."""


def read_mawps(job: Job) -> Iterator[Draft]:
    """The numbers are put back into the text, and into the extra ``equation``, which is infix notation.

    A row whose numbers do not fit its gaps is left out; an equation that cannot be read, or whose value is not the
    answer, goes without both.
    """
    for record in records(job):
        fields, place = record.fields, record.place
        try:
            stem, numbers = _text(fields)
        except _FieldError as error:
            job.leave_out(place, *error.args)
            continue
        equation, answer = _solution(job, place, fields, numbers)
        yield Draft(
            {
                "id": word(fields.get("id")) or word(fields.get("ID")) or record.name,
                "stem": stem,
                "answer": answer,
                "type": word(fields.get("Type")),
                "language": "en",
                "split": record.split,
                "source": "MAWPS, ASDiv, SVAMP",
                "extras": {"equation": equation} if equation else {},
            },
            place,
        )


def _text(fields: dict[str, Any]) -> tuple[str, list[str] | None]:
    """The text with its numbers in place, and those; None where the text comes with them."""
    question, body = word(fields.get("Question")), word(fields.get("Body"))
    if question is None:
        raise _FieldError("Question", "missing")
    if "Numbers" not in fields:
        return f"{body} {question}" if body else question, None
    numbers = [number.removesuffix(".0") for number in (word(fields["Numbers"]) or "").split()]
    for number in numbers:
        if not _NUMBER.fullmatch(number):
            raise _FieldError("Numbers", f"no number: {number!r:.50}")
    gaps = {int(gap) for gap in _GAP.findall(question)}
    if missing := sorted(gap for gap in gaps if gap >= len(numbers)):
        raise _FieldError("Numbers", f"{len(numbers)} of them, but the question has number{missing[0]}")
    return _GAP.sub(lambda gap: numbers[int(gap[1])], question), numbers


def _solution(
    job: Job, place: Place, fields: dict[str, Any], numbers: Sequence[str] | None
) -> tuple[str | None, str | None]:
    """Equation and answer; neither where they are at odds."""
    answer, told = word(fields.get("Answer")), word(fields.get("Equation"))
    if told is None:
        job.fault(place, "Equation", "missing")
        return None, answer
    try:
        prefix = _equation(told, numbers, fields)
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


def _equation(told: str, numbers: Sequence[str] | None, fields: dict[str, Any]) -> Prefix:
    """In prefix order, of values; a percentage of the text that is made a share there is written as one."""
    if numbers is None:
        return parse_equation(told)
    percentages = {f"number{gap}" for gap in _PERCENT.findall(str(fields["Question"]))}
    tokens = tuple(told.split())
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


# GSM8K (Cobbe et al. 2021): an object a line; the answer stands after ``####`` at the end of its derivation.


#: What a calculator was asked: ``<<48/2=24>>``.
_CALCULATION = re.compile(r"<<(.*?)>>")


def read_gsm8k(job: Job) -> Iterator[Draft]:
    """The calculations are the extra ``equation``, one after another; the analysis is without them."""
    for record in records(job):
        derivation, mark, answer = (word(record.fields.get("answer")) or "").partition("####")
        if not mark:
            job.fault(record.place, "answer", "no #### before an answer")
        equation = "; ".join(_CALCULATION.findall(derivation))
        yield Draft(
            {
                "id": word(record.fields.get("id")) or record.name,
                "stem": word(record.fields.get("question")),
                "answer": answer.strip() or None,
                "analysis": _CALCULATION.sub("", derivation).strip() or None,
                "language": "en",
                "split": record.split,
                "source": "GSM8K",
                "extras": {"equation": equation} if equation else {},
            },
            record.place,
        )


# Math23K (Wang et al. 2017): Chinese word problems with an equation, a list or objects one after another.


def read_math23k(job: Job) -> Iterator[Draft]:
    """``original_text`` is the stem, or ``segmented_text`` joined; ``ans`` and ``equation`` stay as they are."""
    for record in records(job):
        fields = record.fields
        text, segmented = word(fields.get("original_text")), word(fields.get("segmented_text"))
        equation = word(fields.get("equation"))
        if equation is None:
            job.fault(record.place, "equation", "missing")
        yield Draft(
            {
                "id": word(fields.get("id")) or record.name,
                "stem": text or (segmented and segmented.replace(" ", "")),
                "answer": word(fields.get("ans")),
                "language": "zh",
                "split": record.split,
                "source": "Math23K",
                "extras": {"equation": equation} if equation else {},
            },
            record.place,
        )


# MathQA (Amini et al. 2019): AQuA's problems with annotated formulas; options in one text.


def read_mathqa(job: Job) -> Iterator[Draft]:
    """``annotated_formula`` is the extra ``equation``, ``category`` the knowledge; ids are made of file and number."""
    for record in records(job):
        fields = record.fields
        options = in_one_text(fields["options"]) if isinstance(fields.get("options"), str) else fields.get("options")
        answer = (word(fields.get("correct")) or "").upper() or None
        if answer is None:
            job.fault(record.place, "correct", "missing")
        rationale, category = word(fields.get("Rationale")), word(fields.get("category"))
        extras = {
            "equation": word(fields.get("annotated_formula")),
            "linear_formula": word(fields.get("linear_formula")),
        }
        yield Draft(
            {
                "id": word(fields.get("id")) or record.name,
                "stem": word(fields.get("Problem")),
                "options": options,
                "answer": answer,
                "analysis": rationale and rationale.strip('"').strip(),
                "knowledge": [[category]] if category else [],
                "language": "en",
                "split": record.split,
                "source": "MathQA",
                "extras": {name: value for name, value in extras.items() if value},
            },
            record.place,
        )


# AQuA-RAT (Ling et al. 2017): an object a line, options with their letters, a rationale.


def read_aqua(job: Job) -> Iterator[Draft]:
    """``correct`` is the answer, ``rationale`` the analysis; ids are made of file and number."""
    for record in records(job):
        fields = record.fields
        options = fields.get("options")
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            options = without_letters(options)
        if not word(fields.get("correct")):
            job.fault(record.place, "correct", "missing")
        yield Draft(
            {
                "id": word(fields.get("id")) or record.name,
                "stem": word(fields.get("question")),
                "options": options,
                "answer": word(fields.get("correct")),
                "analysis": word(fields.get("rationale")),
                "language": "en",
                "split": record.split,
                "source": "AQuA",
            },
            record.place,
        )
