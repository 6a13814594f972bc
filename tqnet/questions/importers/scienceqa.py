"""ScienceQA (Lu et al. 2022): ``problems.json``, an object of problems by id, and the figures in folders by split."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tqnet.questions.importers.job import Draft, Job, Place, lettered
from tqnet.questions.importers.json_records import split_of, values, word
from tqnet.questions.importers.source import SourceError


def read(job: Job) -> Iterator[Draft]:
    """The hint precedes the question; topic, category and skill are the knowledge, lecture and solution analysis."""
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
    record = {
        "id": key,
        "stem": "\n".join(filter(None, (texts["hint"], texts["question"]))) or None,
        "options": problem.get("choices"),
        "answer": _answer(job, problem, place),
        "analysis": "\n".join(filter(None, (texts["lecture"], texts["solution"]))) or None,
        "images": _figure(job, file, key, problem, place),
        "knowledge": [path] if path else [],
        "language": "en",
        "split": split_of(texts["split"] or ""),
        "source": "ScienceQA",
        "extras": extras,
    }
    return Draft(record, place)


def _answer(job: Job, problem: dict[str, Any], place: Place) -> str | None:
    number, choices = problem.get("answer"), problem.get("choices")
    if isinstance(number, int) and isinstance(choices, list) and 0 <= number < len(choices):
        return lettered([number])
    job.fault(place, "answer", f"no place of a choice: {number!r:.80}")
    return None


def _figure(job: Job, file: str, key: str, problem: dict[str, Any], place: Place) -> list[str]:
    """Beside the problems or below ``images/``, by split and id."""
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
