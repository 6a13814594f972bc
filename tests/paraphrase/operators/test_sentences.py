"""Sentences, the question asked, and names."""

from __future__ import annotations

import pytest

from tqnet.paraphrase.problem import LONGEST, NotApplicable, Parser
from tqnet.paraphrase.spans import asked_question, sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tom has 3.5 kg. How many?", ["Tom has 3.5 kg.", "How many?"]),
        ("it costs rs . 150 . find it .", ["it costs rs . 150 .", "find it ."]),
        ("the l . c . m of 2 is 4 . why ?", ["the l . c . m of 2 is 4 .", "why ?"]),
        ("It is 5 ft. long. Mr. Lee has it.", ["It is 5 ft. long.", "Mr. Lee has it."]),
        ("a costs $ 5.25 . b costs $ 2.99 . why ?", ["a costs $ 5.25 .", "b costs $ 2.99 .", "why ?"]),
        ("甲有3元。共多少？", ["甲有3元。", "共多少？"]),
        ("... !", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Tom has 3. How many has he? He is 5.", "How many has he?"),
        ("Tom has 3. Find the sum.", "Find the sum."),
        ("x is 5 . the value of y is :", "the value of y is :"),
        ("Tom has 3. He is 5.", None),
        ("", None),
    ],
)
def test_the_question_that_is_asked(text: str, asked: str | None) -> None:
    span = asked_question(text)
    assert (span and text[slice(*span)]) == asked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Natalia sold 5 clips in April. Natalia's friend is in New York.",
            ["Natalia", "April", "Natalia", "New York"],
        ),
        ("In triangle ABC, AB = 5 and point D lies on BC. Find AC.", []),
        ("Lisa has 5 TVs. How many has Lisa on Monday?", ["Lisa", "Lisa", "Monday"]),
        ("machine a makes 100 parts .", []),
        ("", []),
    ],
)
def test_names(parse: Parser, text: str, names: list[str]) -> None:
    assert [entity.name for entity in parse(text).entities] == names


def test_labels_and_counts(parse: Parser) -> None:
    found = {
        entity.name: (entity.label, entity.count) for entity in parse("Natalia met Tom in May. Tom left.").entities
    }
    assert found == {"Natalia": ("PERSON", 1), "Tom": ("PERSON", 2), "May": ("MONTH", 1)}


def test_texts_are_parsed_once() -> None:
    parser = Parser(size=2)
    first, second, again = parser.parse(["one", "two", "one"])
    assert first is again
    assert parser("two") is second
    parser("three")  # "one" was used longest ago
    assert parser("two") is second
    assert parser("one") is not first


def test_a_text_that_is_too_long_is_left_unparsed(parse: Parser, caplog: pytest.LogCaptureFixture) -> None:
    long, short = parse.parse(["5 " * LONGEST, "5 more"])
    assert caplog.messages == ["1 of 2 texts are left out: more than 50,000 characters"]
    assert long.text == "5 " * LONGEST
    assert short.doc.text == "5 more"
    for sees in (lambda: long.doc, lambda: long.tokens, lambda: long.entities):
        with pytest.raises(NotApplicable, match="more than 50,000 characters"):
            sees()


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(OSError, match="no_such_model"):
        Parser("no_such_model")
