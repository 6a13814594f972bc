"""Word pieces as a text again, written like the text that they were made from."""

from __future__ import annotations

import re

import pytest

from tqnet.paraphrase.seq2seq import Placed, restore


def placed(text: str) -> list[Placed]:
    """Words, numbers and marks in small letters, with their places."""
    return [(match[0].lower(), match.span()) for match in re.finditer(r"[A-Za-z]+|\d+|[^\w\s]", text)]


@pytest.mark.parametrize(
    ("text", "made", "written"),
    [
        ("Tom paid $1,200.", "tom paid $ 1 , 200 .", "Tom paid $1,200."),
        ("Tom paid $1,200.", "he paid $ 1 , 200 .", "He paid $1,200."),
        ("He read a 120-page book at 3 km/h.", "at 3 km / h he read a 120 - page book", None),
        ("How old is Ann? She is 5.", "ann is 5 . how old is she ?", "Ann is 5. How old is she?"),
        ("The cat saw Tom.", "then the cat saw tom .", "Then the cat saw Tom."),
        ("Ann left. Then Tom left.", "ann left then tom left .", "Ann left then Tom left."),
        ("the boy has 5 pens .", "the boys have 5 pens .", "the boys have 5 pens ."),
        ("Ann ran.", "ann jump ##ed .", "Ann jumped."),
        ("Ann ran (far).", "ann ran ( very far ) .", "Ann ran (very far)."),
        ("", "why ?", "why?"),
        ("Why?", "", ""),
    ],
)
def test_a_text_is_written_like_the_one_it_was_made_from(text: str, made: str, written: str | None) -> None:
    expected = "At 3 km/h he read a 120-page book" if written is None else written
    assert restore(text, placed(text), made.split()) == expected


def test_a_text_that_was_not_changed() -> None:
    text = "In May, Tom's 2.5 km run (uphill) took 25% longer.  Why did it?\nSay $x_1$!"
    tokens = placed(text)
    assert restore(text, tokens, [token for token, _ in tokens]) == text
