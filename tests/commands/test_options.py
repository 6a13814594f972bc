"""Numbers that options take, and what is said of others."""

from __future__ import annotations

import argparse

import pytest

from tqnet.cli import main
from tqnet.commands.options import naming, number, whole_number


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (number(0, 1), "1.5", "1.5 is not between 0 and 1"),
        (number(0, 1, above=True), "0", "0 is not between 0 and 1, 0 left out"),
        (number(0), "-1", "-1 is not 0 or more"),
        (number(0), "inf", "'inf' is no number"),
        (number(), "nan", "'nan' is no number"),
        (number(), "much", "'much' is no number"),
        (whole_number(1), "0", "0 is less than 1"),
        (whole_number(1), "1.5", "'1.5' is no whole number"),
    ],
)
def test_numbers_out_of_bounds(kind, text: str, message: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        kind(text)
    assert str(caught.value) == message


def test_numbers_at_their_bounds() -> None:
    assert [number(-1, 1)(text) for text in ("-1", "1e0")] == [-1, 1]
    assert number(0, 1, above=True)("0.001") == 0.001
    assert whole_number(3)("3") == 3


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["search", "index", "--id", "q"], "--diversity=1.5"),
        (["augment", "bank"], "--probability=1.5"),
        (["duplicates", "bank"], "--threshold=1.5"),
        (["score", "--model", "minilm"], "--threshold=1.5"),
    ],
)
def test_the_option_is_named(command: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, option])
    assert f"argument {option.partition('=')[0]}: 1.5 is not between" in capsys.readouterr().err


def test_an_option_whose_file_is_missing() -> None:
    with pytest.raises(OSError, match=r"^--rewrites: .*'gone'"), naming("--rewrites"), open("gone", encoding="utf-8"):
        raise AssertionError
