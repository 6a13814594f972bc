"""Nouns and names that stand for others, in some places only, and words whose noun is missing."""

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
            "Mark has 12 coins. Mark gives 3 away. How many has Mark left?",
            "Mark has 12 coins. Mary gives 3 away. How many has Mark left?",
            "inconsistent entity: Mark -> Mary, but not everywhere",
        ),
        (
            "A farm has 12 hens. 5 hens die. How many hens are left?",
            "A farm has 12 hens. 5 drinks die. How many hens are left?",
            "inconsistent entity: hens -> drinks, but not everywhere",
        ),
        (
            "Paul has 12 pens. Paul gives 3 away. How many has Paul left?",
            "Paul has 12 pens. Paula gives 3 away. How many has Paul left?",
            "inconsistent entity: Paul -> Paula, but not everywhere",
        ),
        (
            "Nadia has 3 cats. Each cat of Nadia eats 2 fish. How many fish does Nadia buy?",
            "Nadia has 3 cats. Each cat of Fatima eats 2 fish. How many fish does Nadia buy?",
            "inconsistent entity: Nadia -> Fatima, but not everywhere",
        ),
        (
            "A train leaves with 210 people. In Dijon 35 get off. How many are left on the train?",
            "A ship leaves with 210 people. In Dijon 35 get off. How many are left on the train?",
            "inconsistent entity: train -> ship, but not everywhere",
        ),
        (
            "A bag has 8 red balls and 6 blue balls. How likely is a red ball?",
            "A bag has 8 red hats and 6 blue balls. How likely is a red ball?",
            "inconsistent entity: balls -> hats, but not everywhere",
        ),
        (
            "A rope is 2 feet long. How many inches is that?",
            "A rope is 2 xyz long. How many inches is that?",
            "changed unit: feet -> xyz",
        ),
        (
            "A ship leaves a port at a speed of 9 miles per hour. How far does it sail in 5 hours?",
            "A ship leaves a at a speed of 9 miles per hour. How far does it sail in 5 hours?",
            "lost word: port",
        ),
        (
            "In a mix of salt and water, the salt is 3 kg. How many kg of salt are there in 5 such?",
            "In a mix of and water, 3 kg are salt. How many kg of salt are there in 5 such?",
            "lost word: the noun of 'of and'",
        ),
        (
            "Kirk sells cars. Kirk sold 9 cars, and Kirk now sells 4 more. How many is that?",
            "Kirk sells cars. Ivor sold 9 cars, and Omar now sells 4 more. How many is that?",
            "inconsistent entity: Kirk -> Ivor, but not everywhere",
        ),
        (
            "Ken has 9 pens. He loses 4. How many pens does he have?",
            "Ken has 9 pens. He loses 4. How many pens does Mike have?",
            "inconsistent entity: Ken -> Mike, but not everywhere",
        ),
    ],
)
def test_another_noun_in_one_place_is_named(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == named


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        (
            "Tom thinks of a number. He doubles it and gets 24. What is the number?",
            "If the number Tom is thinking of is doubled, the result is 24. What is it?",
        ),
        (
            "Let a be a number such that 3a + 5 = 20. What is the value of a?",
            "If 3a + 5 = 20, find the number a.",
        ),
        (
            "If a + c = 10 and a - c = 2, what is a?",
            "Find the value of a, if a and c sum to 10 and a exceeds c by 2.",
        ),
        (
            "Let a be the side of a square. What is a if the area is 25?",
            "The side of a square is a. Find a when the area is 25.",
        ),
        (
            "Each unit costs $5 to make. What do 20 units cost?",
            "The per-unit cost is $5. What do 20 units cost?",
        ),
        (
            "An bought 5 pens and Binh 3 pens. How many pens did they buy together?",
            "An has bought 5 pens, and Binh has bought 3. How many pens have they bought together?",
        ),
        (
            "A hotel has 120 rooms. 45 rooms are taken. How many rooms in the hotel are free?",
            "A hotel has 120 rooms. 45 rooms are taken. How many rooms in the building are free?",
        ),
        (
            "A nurse works 8 hours a day. How long does the nurse work in 5 days?",
            "A nurse works 8 hours a day. How long does the woman work in 5 days?",
        ),
        (
            "A pot holds 3 cups of tea. How many cups do 4 pots hold?",
            "A pot holds 3 mugs of tea. How many cups do 4 pots hold?",
        ),
        ("In a class of 30 pupils 12 swim. How many do not?", "In a class of 30, 12 swim. How many do not?"),
        ("Tanya is 5. How old is Tanya in 2 years?", "Tanya is 5. How old is Tanja in 2 years?"),
        (
            "A car drives 60 km in an hour. How far does the car drive in 3 hours?",
            "A car drives 60 km in an hour. How far does the automobile drive in 3 hours?",
        ),
        (
            "Carl must pay 20% of a $900 bill. How much is that?",
            "Of the costs of $900 Carl must pay 20%. How much is that?",
        ),
    ],
)
def test_other_names_of_the_same_are_none(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)
