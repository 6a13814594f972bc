"""Which values there are to filter by."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from tqnet.search.index import Index
from tqnet.serving.models import Suggestions

#: Values of a field that are named, the most frequent ones.
_NAMED = 500

_FIELDS = ("type", "language", "concept")


def suggestions(index: Index) -> Suggestions:
    """Those of an index, in one pass over it."""
    values: dict[str, Counter[str]] = {field: Counter() for field in _FIELDS}
    questions = figures = 0
    ends: list[float] = []
    for table in index.engine.scan([*_FIELDS, "difficulty", "figures"]):
        questions += len(table)
        figures += pc.sum(table["figures"]).as_py() or 0
        for field, counter in values.items():
            counter.update(_counted(table[field]))
        ends += [end for end in pc.min_max(table["difficulty"]).as_py().values() if end is not None]
    named = {field: sorted(value for value, _ in counter.most_common(_NAMED)) for field, counter in values.items()}
    return Suggestions(
        bank=index.manifest.bank,
        questions=questions,
        types=named["type"],
        languages=named["language"],
        concepts=named["concept"],
        difficulty=[min(ends), max(ends)] if ends else [],
        figures=figures > 0,
    )


def _counted(column: pa.ChunkedArray) -> dict[str, int]:
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(flat.drop_null()).to_pylist()}
