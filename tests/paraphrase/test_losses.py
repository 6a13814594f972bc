"""What a rewriting lost, by the comparison that also explains scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import Part
from tqnet.paraphrase.losses import losses

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

TEXT = "Alice drove 100 km to London in 2 hours. How fast did Alice drive?"


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("In two hours Alice drove 100 kilometres to London. What was her speed?", None),
        ("Alice drove to London in 2 hours. How fast did Alice drive?", Part.NUMBER),
        ("Alice drove 100 km to London in 3 hours. How fast did Alice drive?", Part.NUMBER),
        ("Alice drove 100 km to London in 2 hours and 5 more. How fast did Alice drive?", Part.NUMBER),
        ("Alice drove 100 miles to London in 2 hours. How fast did Alice drive?", Part.UNIT),
        ("Alice drove 100 to London in 2 hours. How fast did Alice drive?", Part.UNIT),
        ("Alice drove 100 km in 2 hours. How fast did Alice drive?", Part.ENTITY),
        ("Alice and Robert drove 100 km to London in 2 hours. How fast did Alice drive?", Part.ENTITY),  # a new name
        ("Alice drove 100 km to London in 2 hours. How fast did Robert drive?", Part.ENTITY),
        ("Alice drove 100 km to London in 2 hours.", Part.QUESTION),
        ("Alice drove 100 km to London in 2 hours. How fast?", Part.QUESTION),
        ("Alice drove 100 km to Paris in 2 hours. How fast did Alice drive?", None),  # renamed wherever it stands
    ],
)
def test_what_was_lost(explainer: Explainer, text: str, loss: Part | None) -> None:
    assert losses(explainer, [(TEXT, text)]) == [loss]


def test_sentences_and_formulas(explainer: Explainer) -> None:
    cats = "A cat makes 3 jumps for 4 of a dog. A fox watches both animals. How far is that?"
    pairs = [
        (cats, "A cat makes 3 jumps for 4 of a dog. How far is that?"),
        ("Let $x^2 = 3x + 1$. Find $x$.", "Let $x^2 = 3x - 1$. Find $x$."),
        (cats, cats),
    ]
    assert losses(explainer, pairs) == [Part.SENTENCE, Part.FORMULA, None]


def test_numbers_and_units_that_changed_places(explainer: Explainer) -> None:
    text, swapped = "Tom has 5 pens and 7 cups.", "Tom has 7 cups and 5 pens."
    pairs = [(text, swapped), (text, text), ("A rope is 5 km or miles long.", "A rope is 5 km or miles long.")]
    assert losses(explainer, pairs) == [None, None, None]
    assert losses(explainer, pairs, in_order=True) == [Part.NUMBER, None, None]
    units = ("Some kilometres are fewer miles.", "Some miles are fewer kilometres.")
    assert losses(explainer, [units]) == [None]
    assert losses(explainer, [units], in_order=True) == [Part.UNIT]


def test_other_languages_are_compared_by_digits(explainer: Explainer) -> None:
    text = "小明有15个苹果，吃了3个，还剩几个？"
    pairs = [(text, "小明吃了3个苹果，原有15个，还剩几个？"), (text, "小明有15个苹果，吃了几个？")]
    assert losses(explainer, pairs) == [None, Part.NUMBER]
