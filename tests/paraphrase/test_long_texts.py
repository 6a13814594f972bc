"""Long texts are compared in time that goes by their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import readable
from tqnet.paraphrase.check.explain import compare

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

Explain = Callable[[str, str], str]


def test_a_long_row_of_numbers_is_read_at_once(explain: Explain) -> None:
    row = ",".join("372" * 20)
    assert explain(f"Find the mean of {row} in 5 steps.", f"Find the mean of {row} in 6 steps.").startswith("changed")


def test_a_text_too_long_to_parse_is_compared_by_digits(explainer: Explainer) -> None:
    (found,) = explainer.explain([("a 5 " * 20_000, "a 5 " * 19_999)])
    assert readable(found.differences) == "lost number: 5 (1 of 20000 mentions)"
    assert found.note.startswith("more than 50,000 characters")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("The crate {0} has {1} kg of pears and 1 rope of {2} m.", "How many kg are there?"),
        ("It was -{0} degrees, then minus {1}, as once in {2} days.", "How cold is it?"),
        ("Let $x_{{{0}}}={1}$ and {2}% of $y={1}$.", "What is $x_1$?"),
    ],
)
def test_the_time_goes_by_the_length_of_the_texts(told: str, asked: str, explainer: Explainer) -> None:
    """Counted in calls of functions, which a busy machine does not change."""

    def calls(sentences: int) -> int:
        pair = [
            " ".join([*(told.format(at, at + more, at + 2 * more) for at in range(sentences)), asked])
            for more in (1, 1000)
        ]
        problems = explainer._parser.parse(pair)
        count = 0

        def profile(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(profile)
        try:
            found = compare(*problems)
        finally:
            sys.setprofile(None)
        assert len(found) > sentences
        return count

    calls(5)  # what is looked up once
    assert calls(160) < 1.2 * 4 * calls(40)
