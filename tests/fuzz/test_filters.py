"""Filters of strangers: each is refused, or finds in an engine what it says."""

from __future__ import annotations

import operator
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.texts import FILTERS, pieces
from tests.search.conftest import EMBEDDED, QUESTIONS, VECTORS
from tqnet.questions import Question
from tqnet.search.engine import SearchEngine
from tqnet.search.records import FIELDS, Filter, FilterError, read_filter, records

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@cache
def _engine() -> SearchEngine:
    engine = EMBEDDED["lance"](Path(tempfile.mkdtemp(prefix="tqnet-fuzz-")))
    engine.add(records(QUESTIONS, VECTORS))
    return engine


def _meets(question: Question, condition: Filter) -> bool:
    """Evaluate a condition as the documentation says it."""
    paths = {path[:end] for path in question.knowledge for end in range(1, len(path) + 1)}
    values = {
        "concept": {"/".join(path) for path in paths} | {path[-1] for path in paths},
        "figures": {len(question.images)},
    }.get(condition.field, {getattr(question, condition.field, None)})
    if condition.sign in ("=", "!="):
        return bool(values & {*condition.values}) == (condition.sign == "=")
    return any(_SIGNS[condition.sign](value, condition.values[0]) for value in values if value is not None)


@given(st.lists(FILTERS, min_size=1, max_size=3))
def test_filters_find_what_they_say(texts: list[str]) -> None:
    where = []
    for text in texts:
        try:
            where.append(read_filter(text))
        except FilterError:
            continue
    expected = sum(all(_meets(question, condition) for condition in where) for question in QUESTIONS)
    assert _engine().count(where) == expected


@given(
    st.sampled_from([name for name, kind in FIELDS.items() if kind is str]),
    pieces(["'", "''", "--", "(", ")", ";", "\\"]),
)
def test_no_value_is_read_as_sql(field: str, value: str) -> None:
    """None of the questions has such a value, whatever it says."""
    if "|" in value or not value.strip():
        return
    engine, condition = _engine(), Filter(field, "=", (value,))
    assert engine.count([condition]) == 0
    assert engine.count([Filter(field, "!=", (value,))]) == len(QUESTIONS)
    assert engine.by_vector(VECTORS[0], 3, [condition]) == []
