"""Numbers and signs as careless programs, other languages and teachers write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import readable

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

Explain = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        (
            "A pen costs 5 dollars. If $x$ pens cost 40 dollars, what is $x$?",
            "A pen costs 5. If $x$ pens cost 40, what is $x$?",
            "lost unit: dollars; words that the question lost: dollars",
        ),
        (
            "Twenty one/two-bed rooms and 5 others. How many in total?",
            "Twenty 1/2-bed rooms and 5 others. How many in total?",
            "changed numbers: two -> 1/2, Twenty one -> Twenty",
        ),
        (
            "Draw numbers 0,6 then sum them. What is the sum of 0 and 6?",
            "Draw numbers 0.6 then sum them. What is the sum of 0 and 6?",
            "new number: 0.6",
        ),
    ],
)
def test_what_is_no_number_is_not_read_as_one(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == named


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        (
            "How many 5p coins make £2?",
            "How many 5p coins are worth two pounds?",
        ),
        (
            "What is 20 percent of 50?",
            "What is 20% of 50?",
        ),
        (
            "Of the five thousand, two hundred stayed. How many left?",
            "Two hundred of the five thousand stayed. How many left?",
        ),
        (
            "A code uses only the digits 0,1 with length 5. How many codes are there?",
            "A code of length 5 uses only the digits 0 and 1. How many codes are there?",
        ),
        (
            "He buys 3 Rs. 10 notes. What are they worth?",
            "He buys three Rs. 10 notes. What are they worth?",
        ),
        (
            "A ticket is $24. Ann has $323. Why?",
            "A ticket is $twenty-four. Ann has $three hundred and twenty-three. Why?",
        ),
        ("It costs Rs. 60 for 250 m. Why?", "It costs Rs. sixty for two50 metres. Why?"),
        ("1/3 of 12.8 kg are 14 cm long. Why?", "One/three of twelve.eight kg are fourteencm long. Why?"),
        ("A km is 0.6 miles, so how many are 5 km?", "A km is 0,6 miles, so how many are 5 km?"),
        ("Turf is $4 per square metre. Why?", "A square metre of turf is $4. Why?"),
    ],
)
def test_what_is_meant_is_read(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)
