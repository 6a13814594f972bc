"""Trying the table of faults: ``python -m tests.faults.trial`` tries all cases, with WORD .. those that begin with one.

The libraries are loaded once. Every case is then a process of its own, by fork, which runs the command as the shell
would: real output streams, a real SIGINT, a real limit on what may be written.
"""

from __future__ import annotations

import os
import resource
import runpy
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import datasets  # noqa: F401 - loaded once, as are those that come with the next ones
import torch  # noqa: F401
import transformers.models.auto  # noqa: F401

from tests.faults import materials
from tests.faults.table import Case, cases
from tqnet.evaluation import stages  # noqa: F401
from tqnet.modeling import pairs  # noqa: F401
from tqnet.search import ranker as cross_encoder  # noqa: F401
from tqnet.training import (
    loop,  # noqa: F401
    session,  # noqa: F401
)

#: Seconds after which a case hangs.
PATIENCE = 120


@dataclass
class Outcome:
    """What a case did.

    Attributes:
        message: The last line of stderr; nothing of a call that went well.
        stderr: All of it; of progress bars the last state.
        left: Files that should not be there.
        right: The code is one of the case's, one line says why, and nothing is left.
    """

    code: int
    message: str
    stderr: str
    left: list[str]
    right: bool


def outcomes(folder: Path, words: Sequence[str] = ()) -> Iterator[tuple[Case, Outcome]]:
    """Tries the cases whose ids begin with one of ``words``, all without; in ``folder`` materials are, or are made."""
    if not folder.is_dir():
        materials.make(folder)
    for case in cases():
        if not words or case.id.startswith(tuple(words)):
            yield case, attempt(case, folder)


def attempt(case: Case, folder: Path) -> Outcome:
    """One case, in a copy of what it may change."""
    place = Path(tempfile.mkdtemp(dir=folder.parent))
    for name in os.listdir(folder):
        if (folder / name).is_file():
            shutil.copy(folder / name, place / name)
        elif name == "index":
            shutil.copytree(folder / name, place / name)
        else:
            (place / name).symlink_to(folder / name)
    before = _files(place)
    code, stderr = _fork(case, place)
    lines = [line.rpartition("\r")[2].rstrip() for line in stderr.splitlines() if line.strip()]
    left = [file for file in sorted(_files(place) - before) if _half_written(case, file, code)]
    shutil.rmtree(place)
    message = (lines[-1] if lines and code else "").replace(f"{place}/", "").replace(f"{folder}/", "")
    return Outcome(code, message, stderr, left, code in case.codes and not left and is_clear(case, code, lines))


def is_clear(case: Case, code: int, lines: list[str]) -> bool:
    """One line says what is wrong, the last; nothing else looks like an error."""
    if code in (0, 141) or (case.command == "check" and code == 1):  # which reports faults on stdout
        return not any("Traceback" in line or "Error" in line for line in lines)
    recipe = case.command.endswith(".py")
    begins = ("error: ", "interrupted", f"{Path(case.command).name}: error: ") if recipe else ("tqnet",)
    errors = [line for line in lines if ": error: " in line or line.startswith("error: ")]
    return (
        bool(lines)
        and lines[-1].startswith(begins)
        and "unexpected" not in lines[-1]
        and not any("Traceback" in line or line.startswith("Exception ignored") for line in lines)
        and len(errors) == (0 if code == 130 else 1)
    )


def _half_written(case: Case, file: str, code: int) -> bool:
    """What is left by a command that failed: temporary files, and results that look whole."""
    name = Path(file)
    if code in (0, 141) or name.suffix == ".lock":  # which is empty
        return False
    return name.suffix == ".tmp" or name.parent == Path(".") or name.suffix in (".json", ".safetensors", ".npy", ".md")


def _files(place: Path) -> set[str]:
    return {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file() or file.is_symlink()}


def _fork(case: Case, place: Path) -> tuple[int, str]:
    """Exit code and stderr of the case in a process of its own."""
    out_read, out = os.pipe()
    err_read, err = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(out_read)
        os.close(err_read)
        _be_the_command(case, place, out, err)
    os.close(out)
    os.close(err)
    if case.how == "closed":
        os.close(out_read)
    written = _read(child, err_read, None if case.how == "closed" else out_read, signals=case.command == "serve")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace")


def _read(child: int, err: int, out: int | None, signals: bool) -> bytes:
    """All of ``err``, while ``out`` is drained; with ``signals``, SIGINT once something is on ``out``."""
    written, begun = b"", time.monotonic()
    with selectors.DefaultSelector() as selector:
        for stream in (err, out):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(1):
                piece = os.read(key.fd, 65536)
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                elif key.fd == err:
                    written += piece
                elif signals:
                    os.kill(child, signal.SIGINT)
                    signals = False
            if time.monotonic() - begun > PATIENCE:
                os.kill(child, signal.SIGKILL)
                begun = float("inf")
    return written


def _be_the_command(case: Case, place: Path, out: int, err: int) -> NoReturn:
    code = 99
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", 1, encoding="utf-8")
        os.chdir(place)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
        os.environ |= {"TQNET_CACHE": str(place.parent / "cache"), "ACCELERATE_USE_CPU": "true"}
        tempfile.tempdir = str(place)
        if case.how == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        if case.how == "interrupt" and case.command != "serve":
            _interrupt_when_it_writes(place, writes=any("OUT" in word for word in case.argv))
        code = _run(case.argv)
        sys.stdout.flush()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if not isinstance(error.code, int | None):
            print(error.code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run(argv: Sequence[str]) -> int:
    if argv[0].endswith(".py"):
        sys.argv = list(argv)
        runpy.run_path(str(materials.ROOT / argv[0]), run_name="__main__")
        return 0
    from tqnet.cli import main

    return main(argv)


def _interrupt_when_it_writes(place: Path, writes: bool) -> None:
    """SIGINT as the first file of the output is opened or takes its name; of a command that makes none, as it first
    opens any file."""
    came = [False]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if came[0] or event not in ("open", "os.rename") or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.path.abspath(os.fspath(arguments[0]))
        if not writes or (path.startswith(str(place)) and "OUT" in path):
            came[0] = True
            signal.raise_signal(signal.SIGINT)

    sys.addaudithook(hook)


def main() -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, outcome in outcomes(Path(folder, "materials"), sys.argv[1:]):
            print("ok   " if outcome.right else "WRONG", outcome.code, f"{case.id}: {outcome.message}", *outcome.left)
            wrong += not outcome.right
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
