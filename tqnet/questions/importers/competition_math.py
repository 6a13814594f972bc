r"""MATH (Hendrycks et al. 2021): a folder a subject, a file a problem; the answer is in ``\boxed``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tqnet.questions.importers.job import Draft, Job, Place
from tqnet.questions.importers.json_records import records, word

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{|([^\s{}$.,]+))")
_DRAWING = re.compile(r"\[asy\].*?\[/asy\]", re.DOTALL)


def read(job: Job) -> Iterator[Draft]:
    """Subject and number are the id, the level the difficulty; drawings in Asymptote are left out, with a fault."""
    for record in records(job):
        fields = record.fields
        path = PurePosixPath(record.file)
        solution, subject = word(fields.get("solution")), word(fields.get("type"))
        answer = boxed(solution or "")
        if answer is None:
            job.fault(record.place, "solution", r"no \boxed answer")
        parts = [part for part in (record.split, path.parent.name) if part]
        yield Draft(
            {
                "id": "/".join(dict.fromkeys((*parts, path.stem if path.suffix == ".json" else record.name))),
                "stem": _without_drawings(job, record.place, "problem", word(fields.get("problem"))),
                "answer": answer,
                "analysis": _without_drawings(job, None, "solution", solution),
                "knowledge": [[subject]] if subject else [],
                "difficulty": _difficulty(job, record.place, word(fields.get("level"))),
                "language": "en",
                "split": record.split,
                "source": "MATH",
            },
            record.place,
        )


def boxed(solution: str) -> str | None:
    r"""What the last ``\boxed`` of a solution holds, braces and all; None without one that ends."""
    found = None
    for match in _BOX.finditer(solution):
        if match[1]:
            found = match[1]
            continue
        depth, place = 1, match.end()
        while place < len(solution) and depth:
            if solution[place] == "\\":
                place += 1
            elif solution[place] in "{}":
                depth += 1 if solution[place] == "{" else -1
            place += 1
        if not depth:
            found = solution[match.end() : place - 1].strip()
    return found


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
