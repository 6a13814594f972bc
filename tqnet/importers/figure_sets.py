"""Questions with figures or drawings: MATH, Geometry3K, ScienceQA."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Draft, Job, Place, lettered
from tqnet.importers.json_records import draft, records, split_of, values, word
from tqnet.importers.source import SourceError

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{|([^\s{}$.,]+))")
_DRAWING = re.compile(r"\[asy\].*?\[/asy\]", re.DOTALL)


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


def boxed(solution: str) -> str | None:
    r"""Return the contents of the last ``\boxed`` of a solution; None without a closed one."""
    answer = None
    for match in _BOX.finditer(solution):
        if match[1]:
            answer = match[1]
            continue
        depth, place = 1, match.end()
        while place < len(solution) and depth:
            if solution[place] == "\\":
                place += 1
            elif solution[place] in "{}":
                depth += 1 if solution[place] == "{" else -1
            place += 1
        if not depth:
            answer = solution[match.end() : place - 1].strip()
    return answer


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
