"""The rule check, by pairs of our own: one case per line of ``cases.jsonl``, and the labelled sets of ``assets``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import Change, Difference, Part, readable
from tqnet.paraphrase.check.compare import compare, losses
from tqnet.paraphrase.check.text import is_english
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs

if TYPE_CHECKING:
    from tqnet.paraphrase.check.compare import Explainer
    from tqnet.paraphrase.problem import Parser

Explain = Callable[[str, str], str]

ASSETS = Path(__file__).parents[2] / "assets"
CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]
TEXT = "Alice drove 100 km to London in 2 hours. How fast did Alice drive?"


@pytest.mark.parametrize("part", list(dict.fromkeys(case["part"] for case in CASES)))
def test_cases(part: str, explainer: Explainer) -> None:
    """The decisive differences are exactly those named; "same" pairs have none."""
    cases = [case for case in CASES if case["part"] == part]
    explanations = explainer.explain([(case["original"], case["paraphrase"]) for case in cases])
    for case, explanation in zip(cases, explanations, strict=True):
        decisive = [difference for difference in explanation.differences if difference.asks_otherwise]
        assert readable(decisive) == case["otherwise"], (case["original"], case["paraphrase"])


def _flagged(explainer: Explainer, pairs: list[ParaphrasePair]) -> list[ParaphrasePair]:
    explanations = explainer.explain([(pair.original, pair.paraphrase) for pair in pairs])
    return [pair for pair, explanation in zip(pairs, explanations, strict=True) if explanation.asks_otherwise]


def test_behaviour(explainer: Explainer) -> None:
    """Every loss of the paper's Table 3 is found, and no pair that asks the same is blamed."""
    pairs = read_paraphrase_pairs(ASSETS / "paraphrase_behaviour.jsonl")
    assert set(Counter(pair.kind for pair in pairs).values()) == {12}
    assert {pair.id for pair in _flagged(explainer, pairs)} == {pair.id for pair in pairs if pair.label == 0}


def test_rewordings(explainer: Explainer) -> None:
    """What is left is up to a model: another question about the same, "he" for "she"."""
    flagged = _flagged(explainer, read_paraphrase_pairs(ASSETS / "paraphrase_rewordings.jsonl"))
    counts = Counter((pair.label, is_english(pair.original)) for pair in flagged)
    assert counts[1, True] <= 1  # of 53
    assert counts[0, True] >= 34  # of 52
    assert counts[1, False] == 0
    assert counts[0, False] >= 6  # of 8


def test_added_conditions(explainer: Explainer) -> None:
    """Added conditions, in digits, words or without numbers, against valid rewordings that are merely longer."""
    pairs = read_paraphrase_pairs(ASSETS / "paraphrase_added.jsonl")
    counts = Counter(pair.label for pair in _flagged(explainer, pairs))
    assert counts[0] >= 56  # of 58
    assert counts[1] <= 3  # of 58


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        ("Nora has 12 pens. How many has Nora?", "She has 12 pens. How many has she?", "lost entity: Nora"),
        (
            "Ben has 6 pens and Ida 6 cups. Why?",
            "Ben has 6 pens and Ida cups. Why?",
            "lost number: 6 (1 of 2 mentions)",
        ),
        ("Ann has 5 figs. Ann eats 2. Why?", "Eva has 5 figs. Eva eats 2. Why?", "renamed entity: Ann -> Eva"),
    ],
)
def test_a_line_names_every_difference(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert named in explain(original, paraphrase)


def test_differences_are_read_and_written() -> None:
    differences = [
        Difference(Part.NUMBER, Change.LOST, "15"),
        Difference(Part.NUMBER, Change.LOST, "4", mentions=(3, 1)),
        Difference(Part.ENTITY, Change.RENAMED, "Ann", "Eve"),
        Difference(Part.QUESTION, Change.LOST, "How many?"),
    ]
    assert readable(differences) == (
        "lost numbers: 15, 4 (2 of 3 mentions); renamed entity: Ann -> Eve; the question is missing"
    )
    assert readable([]) == ""
    assert differences[0].to_dict() == {"part": "number", "change": "lost", "before": "15", "after": ""}
    assert [difference.asks_otherwise for difference in differences] == [True, True, False, True]


CATS = "A cat makes 3 jumps for 4 of a dog. A fox watches both animals. How far is that?"


@pytest.mark.parametrize(
    ("text", "rewriting", "loss"),
    [
        (TEXT, "In two hours Alice drove 100 kilometres to London. What was her speed?", None),
        (TEXT, "Alice drove to London in 2 hours. How fast did Alice drive?", Part.NUMBER),
        (TEXT, "Alice drove 100 km to London in 2 hours and 5 more. How fast did Alice drive?", Part.NUMBER),
        (TEXT, "Alice drove 100 miles to London in 2 hours. How fast did Alice drive?", Part.UNIT),
        (TEXT, "Alice drove 100 km in 2 hours. How fast did Alice drive?", Part.ENTITY),
        (TEXT, "Alice and Robert drove 100 km to London in 2 hours. How fast did Alice drive?", Part.ENTITY),
        (TEXT, "Alice drove 100 km to London in 2 hours.", Part.QUESTION),
        (TEXT, "Alice drove 100 km to London in 2 hours. How fast?", Part.QUESTION),
        (TEXT, "Alice drove 100 km to Paris in 2 hours. How fast did Alice drive?", None),  # renamed everywhere
        (CATS, "A cat makes 3 jumps for 4 of a dog. How far is that?", Part.SENTENCE),
        (CATS, CATS, None),
        ("Let $x^2 = 3x + 1$. Find $x$.", "Let $x^2 = 3x - 1$. Find $x$.", Part.FORMULA),
    ],
)
def test_losses(explainer: Explainer, text: str, rewriting: str, loss: Part | None) -> None:
    assert losses(explainer, [(text, rewriting)]) == [loss]


def test_losses_of_order(explainer: Explainer) -> None:
    text, swapped = "Tom has 5 pens and 7 cups.", "Tom has 7 cups and 5 pens."
    units = ("Some kilometres are fewer miles.", "Some miles are fewer kilometres.")
    assert losses(explainer, [(text, swapped), (text, text), units]) == [None, None, None]
    assert losses(explainer, [(text, swapped), (text, text), units], in_order=True) == [Part.NUMBER, None, Part.UNIT]


def test_other_languages_are_compared_by_digits(explainer: Explainer) -> None:
    pairs = [
        ("小明有15个苹果，吃了3个，还剩几个？", "小明有１５个苹果，吃了几个，还剩几个？"),
        (
            "Anna hat 1.200 Murmeln und bekommt noch 30 dazu. Wie viele hat sie?",
            "Anna besitzt 1200 Murmeln und bekommt 35.",
        ),
        ("It is 5 o'clock. What is the time?", "现在是5点。几点了？"),
    ]
    explanations = explainer.explain(pairs)
    lines = [readable(explanation.differences) for explanation in explanations]
    assert lines == ["lost number: 3", "lost number: 30; new number: 35", ""]
    assert [explanation.note for explanation in explanations] == [
        "not in English: only numbers, their units and some words are compared",
        *["not in English: only numbers in digits are compared"] * 2,
    ]


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Nora walked 12 km in 3 hours. How many metres did she walk in an hour?", True),
        ("Why?", True),
        (r"Simplify $\cos^2 x + \cos^2 (x + y) - 2 \cos x \cos y \cos (x + y) + \sin x \sin y$.", True),
        ("Juan tiene 5 manzanas y compra 3 más. ¿Cuántas manzanas tiene ahora en total?", False),
        ("У Маши 5 яблок.", False),
    ],
)
def test_english_is_recognized(text: str, english: bool) -> None:
    assert is_english(text) is english


def test_a_long_row_of_numbers_is_read_at_once(explain: Explain) -> None:
    row = ",".join("372" * 20)
    assert explain(f"Find the mean of {row} in 5 steps.", f"Find the mean of {row} in 6 steps.").startswith("changed")


def test_a_text_too_long_to_parse_is_compared_by_digits(explainer: Explainer) -> None:
    (explanation,) = explainer.explain([("a 5 " * 20_000, "a 5 " * 19_999)])
    assert readable(explanation.differences) == "lost number: 5 (1 of 20000 mentions)"
    assert explanation.note.startswith("more than 50,000 characters")


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("The crate {0} has {1} kg of pears and 1 rope of {2} m.", "How many kg are there?"),
        ("It was -{0} degrees, then minus {1}, as once in {2} days.", "How cold is it?"),
        ("Let $x_{{{0}}}={1}$ and {2}% of $y={1}$.", "What is $x_1$?"),
    ],
)
def test_the_time_goes_by_the_length_of_the_texts(statement: str, question: str, parse: Parser) -> None:
    """Counted in calls of functions, which a busy machine does not change."""

    def calls(sentences: int) -> int:
        pair = [
            " ".join([*(statement.format(at, at + more, at + 2 * more) for at in range(sentences)), question])
            for more in (1, 1000)
        ]
        problems = parse.parse(pair)
        count = 0

        def profile(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(profile)
        try:
            differences = compare(*problems)
        finally:
            sys.setprofile(None)
        assert len(differences) > sentences
        return count

    calls(5)  # what is looked up once
    assert calls(80) < 1.2 * 4 * calls(20)
