"""Published data sets: MAWPS with ASDiv-A and SVAMP, GSM8K, Math23K, MathQA, AQuA-RAT; MATH, Geometry3K, ScienceQA."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.choices import split_options, without_letters
from tqnet.importers.columns import columns_by_name
from tqnet.importers.job import Draft, Job, Place, lettered
from tqnet.importers.json_records import boxed, derivation, draft, records, split_of, values, word
from tqnet.importers.source import SourceError
from tqnet.questions.question import FieldError
from tqnet.text.equations import OPERATORS, EquationError, Prefix, ends, evaluate, infix, parse_equation, same_value

_GAP = re.compile(r"\bnumber(\d+)\b")
_PERCENT = re.compile(r"\bnumber(\d+)\s*(?:%|percent\b)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: A percentage becomes a share by this factor, or divisor.
_HUNDREDTHS = {"*": Fraction(1, 100), "/": Fraction(100)}
_DRAWING = re.compile(r"\[asy\].*?\[/asy\]", re.DOTALL)


def recognised(record: dict[str, Any]) -> str | None:
    """Return the data set whose form a record has: its keys, and what only its authors write.

    One with further fields is a table, in which they are kept.
    """
    return next((name for name, fits in _FORMS.items() if fits(record)), None)


def _has(*keys: str, others: str = "") -> Callable[[dict[str, Any]], bool]:
    """Return a test for ``keys``, beside which may stand ``others`` and such as are no field of a table."""
    known = {"id", *keys, *others.split()}
    return lambda record: record.keys() >= set(keys) and not columns_by_name([*(record.keys() - known)])


def _only(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda record: record.keys() - {"id"} == set(keys)


_EQUATION = _has("equation", others="original_text segmented_text ans")
_MAWPS = _has("Question", "Equation", others="ID Numbers Body Ques Answer Type question equation ans")
_FORMS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "mathqa": _has("Problem", "options", "correct", "annotated_formula", others="Rationale linear_formula category"),
    "aqua": _only("question", "options", "correct", "rationale"),
    "mawps": lambda record: bool({"Numbers", "Body"} & record.keys()) and _MAWPS(record),
    "math23k": lambda record: bool({"segmented_text", "original_text"} & record.keys()) and _EQUATION(record),
    "math": lambda record: (
        _only("problem", "level", "type", "solution")(record) and boxed(str(record["solution"])) is not None
    ),
    "geometry3k": _has("problem_text", "choices", "problem_type_graph", others="answer compact_text problem_type_goal"),
    "scienceqa": _has(
        *("question", "choices", "answer", "lecture", "skill"),
        others="hint image task grade subject topic category solution split",
    ),
    "gsm8k": lambda record: _only("question", "answer")(record) and "####" in str(record["answer"]),
}


# Word problems with equations.


def read_mawps(job: Job) -> Iterator[Draft]:
    """MAWPS, ASDiv-A and SVAMP (Patel et al. 2021): English word problems with an equation.

    Two forms are published: the collection's, texts with ``number0`` in place of numbers, ``Numbers`` beside them and
    an equation in prefix order; and SVAMP's own, ``Body`` and ``Question`` apart and an equation in parentheses. The
    numbers are put back into the text and the equation (infix). A row whose numbers do not fit its gaps is left out; an
    unreadable equation is dropped, and so are an equation and an answer that contradict each other.
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


def read_gsm8k(job: Job) -> Iterator[Draft]:
    """GSM8K (Cobbe et al. 2021): an object per line; the answer follows ``####`` at the end of its derivation.

    The calculator's input, ``<<48/2=24>>``, is the extra ``equation``; the analysis is without it.
    """
    for record in records(job):
        text = word(record.fields.get("answer")) or ""
        if "####" not in text:
            job.fault(record.place, "answer", "no #### before an answer")
        analysis, answer, equation = derivation(text)
        yield draft(
            record,
            "GSM8K",
            stem=word(record.fields.get("question")),
            answer=answer or None,
            analysis=analysis or None,
            extras={"equation": equation},
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


# Questions with figures or drawings.


def read_math(job: Job) -> Iterator[Draft]:
    r"""MATH (Hendrycks et al. 2021): a folder per subject, a file per problem; the answer is in ``\boxed``.

    Subject and number are the id, the level the difficulty; drawings in Asymptote are left out, with a fault.
    """
    for record in records(job):
        fields, path = record.fields, PurePosixPath(record.file)
        solution, subject = word(fields.get("solution")), word(fields.get("type"))
        answer = boxed(solution or "")
        if answer is None:
            job.fault(record.place, "solution", r"no \boxed answer")
        parts = (*filter(None, (record.split, path.parent.name)), path.stem if path.suffix == ".json" else record.name)
        yield draft(
            record,
            "MATH",
            id="/".join(dict.fromkeys(parts)),
            stem=_without_drawings(job, record.place, "problem", word(fields.get("problem"))),
            answer=answer,
            analysis=_without_drawings(job, None, "solution", solution),
            knowledge=[[subject]] if subject else [],
            difficulty=_difficulty(job, record.place, word(fields.get("level"))),
        )


def _difficulty(job: Job, place: Place, level: str | None) -> int | None:
    number = re.fullmatch(r"(?:Level )?(\d+)", level or "")
    if number:
        return int(number[1])
    if level:
        job.fault(place, "level", f"no number: {level!r:.80}")
    return None


def _without_drawings(job: Job, place: Place | None, name: str, text: str | None) -> str | None:
    if text is None or "[asy]" not in text:
        return text
    if place:
        job.fault(place, name, "a drawing in Asymptote: not read")
    return _DRAWING.sub(" ", text).strip()


def read_geometry3k(job: Job) -> Iterator[Draft]:
    """Geometry3K (Lu et al. 2021): a folder per problem with ``data.json`` and ``img_diagram.png``.

    The kinds of figure (``problem_type_graph``) are the knowledge, the goal an extra, the folder the id.
    """
    for record in records(job):
        fields, path = record.fields, PurePosixPath(record.file)
        if path.name != "data.json":  # logic_form.json and others beside it
            continue
        kinds = fields.get("problem_type_graph")
        yield draft(
            record,
            "Geometry3K",
            id=word(fields.get("id")) or path.parent.name or record.name,
            stem=word(fields.get("problem_text")) or word(fields.get("compact_text")),
            options=_options(fields.get("choices")),
            answer=word(fields.get("answer")),
            images=job.figure("img_diagram.png", record.file, record.place, "images"),
            knowledge=[[name] for name in map(word, kinds if isinstance(kinds, list) else [kinds]) if name],
            extras={"goal": fields.get("problem_type_goal"), "values": fields.get("precise_value")},
        )


def _options(choices: Any) -> Any:
    r"""Put LaTeX without delimiters (``5 \sqrt { 2 }``) in dollars; anything but a list is left to be refused."""
    if not isinstance(choices, list):
        return choices
    texts = [word(choice) for choice in choices]
    return [f"${text}$" if text and "\\" in text and "$" not in text else text for text in texts]


def read_scienceqa(job: Job) -> Iterator[Draft]:
    """ScienceQA (Lu et al. 2022): ``problems.json``, an object of problems by id; figures in folders by split.

    The hint precedes the question; topic, category and skill are the knowledge, lecture and solution the analysis.
    """
    for name in job.source.names:
        if PurePosixPath(name).suffix.lower() != ".json" or PurePosixPath(name).name == "pid_splits.json":
            continue
        for place, problems in values(job, name):
            for key, problem in problems.items() if isinstance(problems, dict) else ():
                at = Place(f"{place.file}#{key}")
                if isinstance(problem, dict) and "question" in problem:
                    yield _draft(job, name, key, problem, at)
                else:
                    job.leave_out(at, "record", "no problem with a question")


def _draft(job: Job, file: str, key: str, problem: dict[str, Any], place: Place) -> Draft:
    texts = {name: word(problem.get(name)) for name in ("hint", "question", "lecture", "solution", "split")}
    path = [name for name in map(word, (problem.get(level) for level in ("topic", "category", "skill"))) if name]
    extras = {name: problem[name] for name in ("subject", "grade", "task") if word(problem.get(name))}
    number, choices, answer = problem.get("answer"), problem.get("choices"), None
    if isinstance(number, int) and isinstance(choices, list) and 0 <= number < len(choices):
        answer = lettered([number])
    else:
        job.fault(place, "answer", f"no place of a choice: {number!r:.80}")
    record = {
        "id": key,
        "stem": "\n".join(filter(None, (texts["hint"], texts["question"]))) or None,
        "options": choices,
        "answer": answer,
        "analysis": "\n".join(filter(None, (texts["lecture"], texts["solution"]))) or None,
        "images": _figure(job, file, key, problem, place),
        "knowledge": [path] if path else [],
        "language": "en",
        "split": split_of(texts["split"] or ""),
        "source": "ScienceQA",
        "extras": extras,
    }
    return Draft(record, place)


def _figure(job: Job, file: str, key: str, problem: dict[str, Any], place: Place) -> list[str]:
    """Find a figure beside the problems or below ``images/``, by split and id."""
    name = word(problem.get("image"))
    if name is None:
        return []
    split = word(problem.get("split")) or ""
    nearby = [posixpath.join(folder, split, key, name) for folder in ("", "images", "../images")]
    for reference in nearby:
        try:
            job.source.read(posixpath.normpath(posixpath.join(posixpath.dirname(file), reference)))
        except SourceError:
            continue
        return job.figure(reference, file, place, "image")
    return job.figure(nearby[0], file, place, "image")
