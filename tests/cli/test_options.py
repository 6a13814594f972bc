"""Numbers that options take, and what is said of others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tqnet.cli import main
from tqnet.cli.options import Options, argument, count, naming, number, option, whole_number


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (number(0, 1), "1.5", "1.5 is not between 0 and 1"),
        (number(0, 1, above=True), "0", "0 is not between 0 and 1 (excluding 0)"),
        (number(0), "-1", "-1 is not 0 or more"),
        (number(0), "inf", "'inf' is not a number"),
        (number(), "nan", "'nan' is not a number"),
        (number(), "much", "'much' is not a number"),
        (whole_number(1), "0", "0 is less than 1"),
        (whole_number(1), "1.5", "'1.5' is not a whole number"),
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


@dataclass(frozen=True, kw_only=True)
class Base(Options):
    heading = "the base"

    size: int = count("how many", default=3)
    loud: bool = option("shout", default=False)


@dataclass(frozen=True, kw_only=True)
class Both(Base):
    name: str = argument("what", metavar="NAME")
    words: Sequence[str] = option("some", default=(), nargs="+")
    one: str | None = option("first", exclusive="kind")
    other: str | None = option("second", exclusive="kind")
    command: str = "typed"


def test_fields_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    Both.add_arguments(parser)

    def parse(*argv: str) -> Both:
        return Both.parse(parser.parse_args(argv, argparse.Namespace(command="tqnet")))

    assert parse("x") == Both(name="x", command="tqnet")
    assert parse("x", "--words", "a", "b", "--loud", "--size", "4").words == ("a", "b")
    assert "the base:\n" in parser.format_help()
    assert "how many (default: 3)" in parser.format_help()
    for wrong in (["x", "--one", "1", "--other", "2"], ["x", "--size", "0"], []):
        with pytest.raises(SystemExit):
            parse(*wrong)
