"""Parquet tables, piece by piece; lists in a cell are lists."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from tqnet.questions.importers.columns import Row, drafts
from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.table import BATCH


def read(job: Job) -> Iterator[Draft]:
    """The rows of each ``.parquet`` file."""
    tables = [name for name in job.source.names if name.lower().endswith(".parquet")]
    for name in tables or job.source.names[:1]:
        file = job.source.file(name)
        try:
            with pq.ParquetFile(file) as table:
                yield from drafts(job, table.schema_arrow.names, _rows(job, name, table), name)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{file}: not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _rows(job: Job, name: str, table: pq.ParquetFile) -> Iterator[Row]:
    number = 0
    for batch in table.iter_batches(batch_size=BATCH):
        for row in batch.to_pylist():
            number += 1
            yield job.place(name, number), row
