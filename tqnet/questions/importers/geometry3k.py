"""Geometry3K (Lu et al. 2021): a folder a problem with ``data.json`` and ``img_diagram.png``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.json_records import records, word

_DIAGRAM = "img_diagram.png"


def read(job: Job) -> Iterator[Draft]:
    """The kinds of figure (``problem_type_graph``) are the knowledge, what is asked for an extra, the folder the id."""
    for record in records(job):
        path = PurePosixPath(record.file)
        if path.name != "data.json":  # logic_form.json and others beside it
            continue
        fields = record.fields
        diagram = posixpath.join(*path.parts[:-1], _DIAGRAM) if len(path.parts) > 1 else _DIAGRAM
        extras = {
            name: value
            for name, value in (("goal", fields.get("problem_type_goal")), ("values", fields.get("precise_value")))
            if value
        }
        yield Draft(
            {
                "id": word(fields.get("id")) or path.parent.name or record.name,
                "stem": word(fields.get("problem_text")) or word(fields.get("compact_text")),
                "options": _options(fields.get("choices")),
                "answer": word(fields.get("answer")),
                "images": job.figure(posixpath.basename(diagram), record.file, record.place, "images"),
                "knowledge": _concepts(fields.get("problem_type_graph")),
                "language": "en",
                "split": record.split,
                "source": "Geometry3K",
                "extras": extras,
            },
            record.place,
        )


def _options(choices: Any) -> Any:
    r"""LaTeX without delimiters (``5 \sqrt { 2 }``) gets them; what is no list of texts is left to be refused."""
    if not isinstance(choices, list):
        return choices
    texts = [word(choice) for choice in choices]
    return [f"${text}$" if text and "\\" in text and "$" not in text else text for text in texts]


def _concepts(kinds: Any) -> list[list[str]]:
    names = kinds if isinstance(kinds, list) else [kinds]
    return [[name] for name in map(word, names) if name]
