"""AQuA-RAT (Ling et al. 2017): an object a line, options with their letters, a rationale."""

from __future__ import annotations

from collections.abc import Iterator

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.json_records import records, word
from tqnet.questions.importers.lettered_options import without_letters


def read(job: Job) -> Iterator[Draft]:
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
