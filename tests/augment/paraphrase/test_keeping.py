"""What a rewriting lost, and in which order rewritings come."""

from __future__ import annotations

import pytest
from spacy.matcher.levenshtein import levenshtein

from tqnet.augment.paraphrase.keeping import farthest_first, joined, loss_of
from tqnet.augment.paraphrase.problem import Parser

TEXT = "Alice drove 100 km to London in 2 hours. How fast did Alice drive?"


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("In two hours Alice drove 100 kilometres to London. What was her speed?", None),
        ("Alice drove to London in 2 hours. How fast did Alice drive?", "number"),
        ("Alice drove 100 km to London in 3 hours. How fast did Alice drive?", "number"),
        ("Alice drove 100 km to London in 2 hours and 5 more. How fast did Alice drive?", "number"),
        ("Alice drove 100 miles to London in 2 hours. How fast did Alice drive?", "unit"),
        ("Alice drove 100 to London in 2 hours. How fast did Alice drive?", "unit"),
        ("Alice drove 100 km to Paris in 2 hours. How fast did Alice drive?", "name"),
        ("Alice drove 100 km to London in 2 hours.", "question"),
    ],
)
def test_what_was_lost(parse: Parser, text: str, loss: str | None) -> None:
    assert loss_of(parse(TEXT), text) == loss


def test_numbers_that_changed_places(parse: Parser) -> None:
    problem, swapped = parse("Tom has 5 pens and 7 cups."), "Tom has 7 pens and 5 cups."
    assert loss_of(problem, swapped) is None
    assert loss_of(problem, swapped, in_order=True) == "number"
    assert loss_of(problem, problem.text, in_order=True) is None


def test_the_farthest_comes_first() -> None:
    text = "Tom ran home."
    candidates = ["Tom ran.", "Tom  ran home.", "He went back to where he lives.", "Tom ran.", " ?", "", "Tom ran off."]
    found = farthest_first(text, candidates)
    assert found == ["He went back to where he lives.", "Tom ran.", "Tom ran off."]
    distances = [levenshtein(text, one) for one in found]
    assert distances == sorted(distances, reverse=True)
    assert farthest_first(text, [text]) == []


def test_texts_of_rewritten_sentences() -> None:
    assert joined(["", " ", "!"], [["A", "a"], ["B"]]) == ["A B!", "a B!"]
    assert joined(["all"], []) == []
