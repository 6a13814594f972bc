import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tqnet.cli import bank as bank_commands
from tqnet.cli import main
from tqnet.version import __version__


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"id": "a", "stem": "x", "images": ["gone.png"]}\n')
    return file


def test_exit_codes_of_check(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(bank.parent)]) == 1
    assert f"{bank}:1: images[0]: missing file: 'gone.png'" in capsys.readouterr().out
    assert main(["check", str(bank), "--no-images"]) == 0
    assert capsys.readouterr().out.endswith("faults      none\n")


def test_check_as_json(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(bank), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["faults"][0]["field"] == "images[0]"


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "gone")]) == 2
    assert capsys.readouterr() == ("", f"tqnet: error: {tmp_path / 'gone'}: no such bank\n")


def test_a_missing_tokenizer_is_one_line(bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(bank), "--tokenizer", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"tqnet: error: --tokenizer: nothing to load at '{tmp_path}'\n"


@pytest.mark.parametrize("arguments", [["--debug", "check", "gone"], ["check", "gone", "--debug"]])
def test_debug_shows_the_error(arguments: list[str]) -> None:
    with pytest.raises(FileNotFoundError):
        main(arguments)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check"], ["check", "a", "--nonsense"]])
def test_usage_errors(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(args: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(bank_commands.Check, "run", interrupt)
    assert main(["check", "bank"]) == 130


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"tqnet {__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, tqnet.cli; tqnet.cli.make_parser().format_help(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "datasets", "numpy", "pyarrow"} & set(loaded)


def test_a_check_loads_nothing_that_it_does_not_need(bank: Path) -> None:
    """It would take seconds: torch comes with datasets and transformers."""
    code = f"import sys, tqnet.cli; tqnet.cli.main(['check', {str(bank)!r}]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "datasets", "scipy"} & set(loaded)
