"""GSM8K (Cobbe et al. 2021): an object a line; the answer stands after ``####`` at the end of its derivation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.json_records import records, word

#: What a calculator was asked: ``<<48/2=24>>``.
_CALCULATION = re.compile(r"<<(.*?)>>")


def read(job: Job) -> Iterator[Draft]:
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
