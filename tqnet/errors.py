"""What an error says to who typed the command, and the exit code that it ends with; the same for commands and recipes.

Exit codes: 1 it failed or found faults, 2 it was called wrongly (an option, a setting, a path, a model of another
kind), 130 Ctrl-C, 141 the reader of its output has gone.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

FAILED, CALLED_WRONGLY, INTERRUPTED, NO_READER = 1, 2, 130, 141

#: What to type to see where an error came from.
DEBUG, DEBUG_VARIABLE = "--debug", "TQNET_DEBUG"

#: Package that only some commands need -> the extra that brings it.
EXTRAS = {
    "mteb": "mteb",
    "lancedb": "search",
    "pylatexenc": "search",
    "pymilvus": "milvus",
    "ray": "ray",
    "fastapi": "serve",
    "uvicorn": "serve",
    "python_multipart": "serve",
    "prometheus_client": "serve",
    "num2words": "paraphrase",
    "pint": "paraphrase",
    "pytextrank": "paraphrase",
    "spacy": "paraphrase",
    "sacremoses": "translate",
    "sentencepiece": "translate",
    "lxml": "import",
    "openpyxl": "import",
    "nncf": "export",
    "onnx": "export",
    "onnxruntime": "export",
    "onnxscript": "export",
    "openvino": "export",
}

#: Whose errors are meant for readers: they were raised by us, with a message.
_OURS = ("tqnet", "pretrain", "finetune", "__main__")

#: Paths that cannot be what they are said to be, rather than a machine that fails.
_WRONG_PATH = {
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENOTEMPTY,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ELOOP,
}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: The same, as libraries in other languages have it: Rust's, Arrow's, libxml's and torch's.
_NO_SPACE_TEXT = re.compile(
    rf"(?:os error|errno) (?:{'|'.join(map(str, _NO_SPACE))})\b"
    rf"|\bIO_(?:{'|'.join(errno.errorcode[number] for number in _NO_SPACE)})\b|PytorchStreamWriter failed"
)

#: Where in its own source a library in Rust has raised, at the end of a message: a path of the machine that built it.
_RUST_SOURCE = re.compile(r", +\S+\.rs:\d+:\d+[ \t]*$", re.MULTILINE)


class Ended(SystemExit):
    """An error has been told; ``exit_code`` is what the process ends with."""

    def __init__(self, exit_code: int):
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Ending:
    """How a process ends; ``unexpected`` is an error that nobody has foreseen, ``message`` None one without a word."""

    code: int
    message: str | None
    unexpected: bool = False


def first_line(error: object) -> str:
    """The first line of its message, without a place in Rust's sources; or its name where it has none."""
    return next(iter(_RUST_SOURCE.sub("", str(error)).strip().splitlines()), type(error).__name__)


def debugging(argv: Sequence[str]) -> bool:
    """Whether tracebacks are asked for, by ``--debug`` or by ``TQNET_DEBUG=1``."""
    return DEBUG in argv or os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


def ending(error: BaseException, when_memory_ends: str = "") -> Ending:
    """What is said of an error, and the code.

    Args:
        when_memory_ends: What to lower then.
    """
    if isinstance(error, KeyboardInterrupt):
        return Ending(INTERRUPTED, "interrupted")
    if isinstance(error, BrokenPipeError) and _output_is_closed():
        return Ending(NO_READER, None)
    if _out_of_memory(error):
        hint = when_memory_ends and f": lower {when_memory_ends}"
        return Ending(FAILED, f"out of memory{hint} ({first_line(error)})")
    if (full := _no_space(error)) is not None:
        return Ending(FAILED, f"no space left to write: {full}")
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return Ending(CALLED_WRONGLY, f"{error.name} is missing: pip install 'tqnet[{EXTRAS[error.name]}]'")
    if isinstance(error, OSError) and error.errno is not None:
        return Ending(CALLED_WRONGLY if error.errno in _WRONG_PATH else FAILED, _of_file(error))
    if not _is_ours(error):
        return Ending(FAILED, f"unexpected {_named(error)}", unexpected=True)
    wrong_call = isinstance(error, OSError | ValueError | ImportError)
    code = getattr(error, "exit_code", CALLED_WRONGLY if wrong_call else FAILED)
    return Ending(code, _RUST_SOURCE.sub("", str(error)))


def end(error: BaseException, name: str, when_memory_ends: str = "") -> int:
    """Say on stderr, in a line that begins with ``name``, what went wrong; the exit code.

    The traceback of an unexpected error is kept in a file that the line names: a training of hours is not run again
    for it.
    """
    ends = ending(error, when_memory_ends)
    if ends.code == NO_READER:
        _forget_output()
    if ends.message is None:
        return ends.code
    line = f"{name}: {'' if ends.code == INTERRUPTED else 'error: '}{ends.message}".removeprefix(": ")
    if ends.unexpected:
        line += f" (a fault of tqnet; {_keep_traceback(error)}{DEBUG} or {DEBUG_VARIABLE}=1 shows where)"
    print(line, file=sys.stderr)
    return ends.code


@contextmanager
def clear(name: str, argv: Sequence[str], when_memory_ends: Callable[[], str] = str) -> Iterator[None]:
    """Errors within end as :func:`end` says, or with ``--debug`` as they are.

    Output is flushed here, where a reader that has gone is no traceback at exit.

    Raises:
        Ended: With the exit code, in place of an error.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if debugging(argv) and not isinstance(error, BrokenPipeError):
            raise
        raise Ended(end(error, name, when_memory_ends())) from None


def _named(error: BaseException) -> str:
    """Class and message; those of the original where torch tells of one in a process that loads data."""
    if str(error).startswith("Caught ") and " worker process" in first_line(error):
        return str(error).strip().splitlines()[-1]
    return f"{type(error).__name__}: {first_line(error)}"


def _of_file(error: OSError) -> str:
    """``file: what is wrong``, as other lines of ours."""
    words = error.strerror or type(error).__name__
    said = f"{words[:1].lower()}{words[1:]}"
    if error.errno == errno.EEXIST and error.filename and os.path.isfile(error.filename):
        said = "is a file, not a folder"  # where a folder was to be made
    files = [str(file) for file in (error.filename, error.filename2) if file is not None]
    return f"{files[0]}: {said}" if files else first_line(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it came of."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _no_space(error: BaseException) -> str | None:
    """What a full disk, or a quota, did not take; None where it is something else."""
    for one in _chain(error):
        if isinstance(one, OSError) and one.errno in _NO_SPACE:
            return _of_file(one)
        if _NO_SPACE_TEXT.search(str(one)):
            return first_line(one)
    return None


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    from tqnet.libraries import out_of_memory

    return out_of_memory(error)


def _is_ours(error: BaseException) -> bool:
    """Whether our own code has raised it, with a message for readers, rather than a library or a fault of ours.

    A class of ours says so wherever it comes from; of others, the frame that raised.
    """
    if type(error).__module__.partition(".")[0] in _OURS[:-1]:
        return True
    if not isinstance(error, OSError | ValueError | ImportError) or error.__traceback__ is None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").partition(".")[0] in _OURS


def _keep_traceback(error: BaseException) -> str:
    file = None
    try:
        handle, name = tempfile.mkstemp(prefix="tqnet-", suffix=".txt")  # of a name that nobody can have taken before
        file = Path(name)
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write("".join(traceback.format_exception(error)))
    except OSError:
        if file is not None:
            with suppress(OSError):
                file.unlink(missing_ok=True)
        return ""
    return f"traceback: {file}; "


def _output_is_closed() -> bool:
    """Whether it is our reader that has gone, not the other end of some connection."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _forget_output() -> None:
    """Python flushes at exit, and would complain once more."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
