"""Places in a text: what is within spans, and what is outside of formulas."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tqnet.paraphrase.spans import Covered, outside_formulas

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)).map(lambda of: (of[0], of[0] + of[1])), max_size=8)


@given(SPANS)
def test_a_place_is_covered_where_a_span_holds_it(spans: list[tuple[int, int]]) -> None:
    """Whether they overlap, hold one another or are empty."""
    covered = Covered(spans)
    for place in range(45):
        assert (place in covered) == any(start <= place < end for start, end in spans)


def test_places_outside_of_formulas() -> None:
    text = "For $2$ or $x$ or $ 5 the $ab$ of an ab"
    places = outside_formulas(text, re.compile(r"[a-z]{2,}|\d"))
    assert [text[slice(*place)] for place in places] == ["or", "or", "or", "5", "the", "of", "an", "ab"]
