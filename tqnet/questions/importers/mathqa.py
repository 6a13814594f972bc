"""MathQA (Amini et al. 2019): AQuA's problems with annotated formulas; options in one text."""

from __future__ import annotations

from collections.abc import Iterator

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.json_records import records, word
from tqnet.questions.importers.lettered_options import in_one_text


def read(job: Job) -> Iterator[Draft]:
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
