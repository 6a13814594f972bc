"""Options and answers: their letters, their texts, and what an answer may call them."""

from __future__ import annotations

import pytest

from tqnet.importers.choices import option_places, split_options, without_letters
from tqnet.importers.job import lettered
from tqnet.text.lists import letter


@pytest.mark.parametrize(
    ("answer", "options", "places"),
    [
        ("TRUE", ["True", "False"], [0]),
        ("√", ["对", "错"], [0]),
        ("×", ["对", "错"], [1]),
        ("F", ["True", "False"], [1]),
        (r"\frac{1}{2}", [r"$\frac12$", "2"], [0]),
        ("$x^{2}$", ["x^2", "y"], [0]),
        ("2.50", ["1.5", "2.5"], [1]),
        ("Answer: B", ["x", "y"], [1]),
        ("The correct answer is (B).", ["x", "y"], [1]),
        ("答案：B", ["x", "y"], [1]),
        ("选B", ["x", "y"], [1]),
        ("option 2", ["x", "y"], [1]),
        ("B. X", ["y", "x"], [1]),
        ([True, False], ["x", "y"], [0]),
        ("Key West", ["Key West", "Miami"], [0]),
        ("AB", ["A", "B", "AB", "O"], [2]),
        ("y because z", ["x", "y", "z"], []),
        ("E", ["x", "y"], []),
        ("yes", ["x", "y"], []),
        ("Ｂ", ["x", "y"], [1]),
        ("ＡＢ", ["x", "y", "z"], [0, 1]),
        ("Ａ、Ｃ", ["x", "y", "z"], [0, 2]),
        ("B．", ["x", "y"], [1]),
        ("Ｂ。", ["x", "y"], [1]),
        ("答案：（Ｂ）", ["x", "y"], [1]),
        ("３", ["2", "3", "4"], [1]),
        ("m²", ["m2", "m²"], [1]),
    ],
)
def test_what_an_answer_names(answer: object, options: list[str], places: list[int]) -> None:
    assert option_places(answer, options) == places


def test_numbers_of_options_of_which_some_are_left_out() -> None:
    assert option_places("3", ["w", "y", "z"], first=1, places=[0, 2, 3]) == [1]
    assert option_places("2.0", ["w", "x"], first=1) == [1]
    assert option_places("C", ["w", "y", "z"], places=[0, 2, 3]) == [1]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a ) 38 , b ) 27.675 , c ) none of these", ["38", "27.675", "none of these"]),
        ("['a ) 1', 'b ) 2']", ["1", "2"]),
        ("A. x B. y", ["x", "y"]),
        ("（A）甲 （B）乙", ["甲", "乙"]),
        ("Ａ．５　Ｂ．６", ["５", "６"]),
        ("A、4；B、5；C、6。", ["4", "5", "6"]),
        ("A、甲、B、乙、", ["甲", "乙"]),
        ("A. 甲，B. 乙，C. 丙", ["甲", "乙", "丙"]),
        ("A. 他来。B. 她来。", ["他来。", "她来。"]),
        ("just this", ["just this"]),
    ],
)
def test_options_in_one_text(text: str, options: list[str]) -> None:
    assert split_options(text) == options


def test_letters_beyond_z() -> None:
    """Each names its own option, alone and among others, and is taken off the text of an option."""
    options = [f"option {place}" for place in range(60)]
    assert list(map(letter, (0, 25, 26, 27, 51, 52, 701, 702))) == ["A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]
    assert all(option_places(lettered([place]), options) == [place] for place in range(60))
    assert option_places(lettered([3, 26, 59]), options) == [3, 26, 59]
    assert option_places("AB", options[:26]) == [0, 1]
    assert option_places("AB, C", options[:26]) == []
    marked = [f"{letter(place)}. {option}" for place, option in enumerate(options)]
    assert without_letters(marked) == options
    assert split_options(", ".join(marked)) == options


def test_letters_that_are_none() -> None:
    assert without_letters(["A) 1", "B) 2"]) == ["1", "2"]
    assert without_letters(["A) 1", "2"]) == ["A) 1", "2"]
    assert without_letters(["b. 1", "a. 2"]) == ["b. 1", "a. 2"]
