"""Math23K (Wang et al. 2017): Chinese word problems with an equation, a list or objects one after another."""

from __future__ import annotations

from collections.abc import Iterator

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.json_records import records, word


def read(job: Job) -> Iterator[Draft]:
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
