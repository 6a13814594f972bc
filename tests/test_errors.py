"""What is said of an error, and the exit code; one line, whatever it is."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from pathlib import Path

import pytest
import torch

from tqnet import errors
from tqnet.libraries import precision
from tqnet.questions import BankError
from tqnet.questions.question import Fault
from tqnet.training.loop import NonFiniteLossError


@pytest.fixture(autouse=True)
def _no_debugging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TQNET_DEBUG", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def caught(error: BaseException) -> BaseException:
    """As it comes out of code, with its traceback."""
    try:
        raise error
    except BaseException as raised:
        return raised


ALLOCATOR = "[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory: you tried"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (BankError([Fault("bank.jsonl", 3, "stem", "is missing")]), 1, "bank.jsonl:3: stem: is missing"),
        (NonFiniteLossError("step 3: the loss"), 1, "step 3: the loss"),
        (FileNotFoundError(2, os.strerror(2), "gone.csv"), 2, "gone.csv: no such file or directory"),
        (PermissionError(13, os.strerror(13), "shut"), 2, "shut: permission denied"),
        (OSError(errno.EIO, os.strerror(errno.EIO), "disk"), 1, "disk: input/output error"),
        (OSError(28, os.strerror(28), "step.pt"), 1, "no space left to write: step.pt: no space left on device"),
        (OSError(27, os.strerror(27), "a.npy"), 1, "no space left to write: a.npy: file too large"),
        (RuntimeError("lance error: LanceError(IO): x (os error 28)"), 1, "no space left to write: lance error: .*"),
        (RuntimeError("x (os error 27), /root/src/io/commit.rs:1663:50"), 1, r".*: x \(os error 27\)"),
        (RuntimeError("[enforce] . PytorchStreamWriter failed writing file"), 1, "no space left to write: .*"),
        (ModuleNotFoundError("No module named 'ray'", name="ray"), 2, r"ray is missing: pip install 'tqnet\[ray\]'"),
        (MemoryError(), 1, r"out of memory: lower --batch-size \(MemoryError\)"),
        (torch.OutOfMemoryError("on the card"), 1, r"out of memory: lower --batch-size \(on the card\)"),
        (RuntimeError(ALLOCATOR), 1, "out of memory: lower --batch-size .*"),
    ],
)
def test_what_is_foreseen(error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert errors.end(caught(error), "tqnet", "--batch-size") == code
    line = capsys.readouterr().err
    begins = "tqnet: " if code == 130 else "tqnet: error: "
    assert line.startswith(begins)
    assert line.count("\n") == 1
    assert re.fullmatch(message, line.removeprefix(begins).rstrip("\n"))


@pytest.mark.parametrize(
    "error", [KeyError("x"), RuntimeError("mat1 and mat2\nshapes"), AssertionError(), TypeError("y")]
)
def test_a_fault_of_the_program_is_one_line_and_its_traceback_kept(
    error: Exception, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert errors.end(caught(error), "") == 1
    line = capsys.readouterr().err
    assert line.startswith(f"error: unexpected {type(error).__name__}: ")
    assert line.count("\n") == 1
    assert "--debug or TQNET_DEBUG=1 shows where" in line
    (kept,) = tmp_path.iterdir()
    assert f"traceback: {kept};" in line
    assert "in caught" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_an_error_of_a_library_is_not_taken_for_a_message_of_ours() -> None:
    """Both are ValueError; one was written for a reader."""
    with pytest.raises(ValueError, match="Expecting") as of_library:
        json.loads("[")
    assert errors.ending(of_library.value).unexpected
    with pytest.raises(ValueError, match="not one of") as of_ours:
        precision("fp17")
    assert errors.ending(of_ours.value) == errors.Ending(2, "precision: 'fp17' is not one of auto, fp32, bf16")


def test_an_error_of_a_loading_process_is_the_original() -> None:
    class Broken(torch.utils.data.Dataset[int]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, place: int) -> int:
            raise KeyError("no such figure")

    with pytest.raises(KeyError) as raised:
        next(iter(torch.utils.data.DataLoader(Broken(), num_workers=1)))
    assert errors.ending(raised.value).message == "unexpected KeyError: 'no such figure'"


def test_a_full_disk_behind_another_error_is_told() -> None:
    """datasets and others hide it behind a class of their own."""
    error = caught(RuntimeError("An error occurred while generating the dataset"))
    error.__cause__ = OSError(28, os.strerror(28), "cache.arrow")
    assert errors.ending(error).message == "no space left to write: cache.arrow: no space left on device"


@pytest.mark.parametrize(("argv", "variable"), [(["--debug"], None), ([], "1")])
def test_debugging_leaves_errors_as_they_are(
    argv: list[str], variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv("TQNET_DEBUG", variable)
    with pytest.raises(KeyError), errors.clear("tqnet", argv):
        raise KeyError("x")
    with pytest.raises(KeyboardInterrupt), errors.clear("tqnet", argv):
        raise KeyboardInterrupt
