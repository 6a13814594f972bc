"""The mechanism of options, and what all commands share: exit codes, ``--debug``, lazy imports."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cli.conftest import Tqnet
from tqnet.cli import bank as bank_commands
from tqnet.cli import main
from tqnet.cli.options import Options, argument, count, naming, number, option, switch, whole_number
from tqnet.version import __version__


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
    ("command", "option", "message"),
    [
        ("search index --id q", "--diversity=1.5", "1.5 is not between 0 and 1"),
        ("augment bank", "--probability=1.5", "1.5 is not between 0 and 1"),
        ("duplicates bank", "--threshold=0", "0 is not between 0 and 1 (excluding 0)"),
        ("score --model minilm", "--threshold=nan", "'nan' is not a number"),
        ("evaluate similar --model m --bank b", "--similar-level=0", "0 is less than 1"),
        ("evaluate similar --model m --bank b", "--k=x", "'x' is not a whole number"),
        ("evaluate agreement --model m --bank b", "--plot=ranks.gif", "ranks.gif: pictures are .svg or .png"),
    ],
)
def test_the_option_is_named(command: str, option: str, message: str, tqnet: Tqnet) -> None:
    error = tqnet.fails(*command.split(), option)
    assert error.endswith(f"error: argument {option.partition('=')[0]}: {message}")


def test_an_option_whose_file_is_missing() -> None:
    with pytest.raises(OSError, match=r"^--rewrites: .*'gone'"), naming("--rewrites"), open("gone", encoding="utf-8"):
        raise AssertionError


@dataclass(frozen=True, kw_only=True)
class Base(Options):
    heading = "the base"

    size: int = count("how many", default=3)
    loud: bool = switch("shout")


@dataclass(frozen=True, kw_only=True)
class Both(Base):
    name: str = argument("what", metavar="NAME")
    words: Sequence[str] = option("some", default=())
    first: str | None = option("first", exclusive="kind")
    second: str | None = option("second", exclusive="kind")
    command: str = "typed"


def test_fields_are_options() -> None:
    parser = argparse.ArgumentParser()
    Both.add_arguments(parser)

    def parse(*argv: str) -> Both:
        return Both.parse(parser.parse_args(argv, argparse.Namespace(command="tqnet")))

    assert parse("x") == Both(name="x", command="tqnet")
    assert parse("x", "--words", "a", "b", "--loud", "--size", "4").words == ("a", "b")
    assert "the base:\n" in parser.format_help()
    assert "how many (default: 3)" in parser.format_help()
    for wrong in (["x", "--first", "1", "--second", "2"], ["x", "--size", "0"], []):
        with pytest.raises(SystemExit):
            parse(*wrong)


@pytest.mark.parametrize("arguments", [["--debug", "check", "gone"], ["check", "gone", "--debug"]])
def test_debug_shows_the_error(arguments: list[str]) -> None:
    with pytest.raises(FileNotFoundError):
        main(arguments)


@pytest.mark.parametrize("call", ["", "nonsense", "check", "check a --nonsense", "evaluate probe --bank b --k=3"])
def test_usage_errors(call: str, tqnet: Tqnet) -> None:
    tqnet.fails(*call.split())


def test_an_unknown_option_shows_those_of_its_command(tqnet: Tqnet) -> None:
    error = tqnet.fails("evaluate", "probe", "--bank", "b", "--model", "m", "--nonsense", "3")
    assert error == "tqnet evaluate probe: error: unrecognized arguments: --nonsense 3"
    assert tqnet.err.startswith("usage: tqnet evaluate probe [-h]")


def test_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(args: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(bank_commands.Check, "run", interrupt)
    assert main(["check", "bank"]) == 130


def test_version(tqnet: Tqnet) -> None:
    assert tqnet("--version") == f"tqnet {__version__}\n"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("tqnet.cli.make_parser().format_help()", {"torch", "transformers", "datasets", "numpy", "pyarrow"}),
        ("tqnet.cli.main(['check', sys.argv[1]])", {"torch", "transformers", "datasets", "scipy"}),
    ],
)
def test_commands_load_nothing_that_they_do_not_need(code: str, heavy: set[str], tmp_path: Path) -> None:
    """It would take seconds: torch comes with datasets and transformers."""
    (tmp_path / "questions.jsonl").write_text('{"id": "a", "stem": "x"}\n')
    call = [sys.executable, "-c", f"import sys, tqnet.cli; {code}; print(*sys.modules)", str(tmp_path)]
    loaded = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    assert not heavy & set(loaded)
