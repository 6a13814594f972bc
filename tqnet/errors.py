"""Error messages and exit codes of commands and recipes.

Exit codes: 1 for failures and faults in the data, 2 for a wrong call (an option, a setting, a path, a model of another
kind), 3 if another process writes to the index, 4 if the Milvus server does not answer, 130 for Ctrl-C, 141 if the
reader of the output has gone.
"""

from __future__ import annotations

import errno
import os
import re
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

FAILED, CALLED_WRONGLY, ANOTHER_WRITES, NO_SERVER, INTERRUPTED, NO_READER = 1, 2, 3, 4, 130, 141

#: For ``--help``.
EXIT_CODES = (
    "Exit codes: 1 for a failure or faults found, 2 for a wrong call, 3 if another process writes to the index, 4 if "
    "the Milvus server does not answer, 130 after Ctrl-C."
)

#: How to see tracebacks.
DEBUG, DEBUG_VARIABLE = "--debug", "TQNET_DEBUG"

#: Optional package -> the extra that installs it.
EXTRAS = {
    "mteb": "mteb",
    "peft": "lora",
    **dict.fromkeys(("lancedb", "pylatexenc"), "search"),
    "pymilvus": "milvus",
    "ray": "ray",
    **dict.fromkeys(("fastapi", "uvicorn", "python_multipart", "prometheus_client"), "serve"),
    **dict.fromkeys(("num2words", "pint", "pytextrank", "spacy"), "paraphrase"),
    **dict.fromkeys(("sacremoses", "sentencepiece"), "translate"),
    **dict.fromkeys(("lxml", "openpyxl"), "import"),
    **dict.fromkeys(("nncf", "onnx", "onnxruntime", "onnxscript", "openvino"), "export"),
}

#: Packages whose errors are meant for users: we raised them, with a message.
_OURS = ("tqnet", "pretrain", "finetune", "reproduce", "__main__")

#: Errors of a wrong path rather than of the machine.
_PATH_ERROR_NAMES = "ENOENT ENOTDIR EISDIR EEXIST ENOTEMPTY EACCES EPERM EROFS ENAMETOOLONG ELOOP"
_WRONG_PATH = {getattr(errno, name) for name in _PATH_ERROR_NAMES.split()}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: The same in messages of other languages' libraries: Rust's, Arrow's, libxml's and torch's.
_NO_SPACE_TEXT = re.compile(
    rf"(?:os error|errno) (?:{'|'.join(map(str, _NO_SPACE))})\b"
    rf"|\bIO_(?:{'|'.join(errno.errorcode[number] for number in _NO_SPACE)})\b|PytorchStreamWriter failed"
)

#: The end of a Rust library's message: a path in its sources on the machine that built it.
_RUST_SOURCE = re.compile(r", +\S+\.rs:\d+:\d+[ \t]*$", re.MULTILINE)


class FaultyDataError(ValueError):
    """Data with faults: the call was right.

    Attributes:
        exit_code: Any class of errors may have one; by default, it follows from the base class.
    """

    exit_code = FAILED


class Ended(SystemExit):
    """The end of a process after its error was printed."""

    def __init__(self, exit_code: int):
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Ending:
    """How a process ends: exit code, message (None for silence), and whether the error was unexpected."""

    code: int
    message: str | None
    unexpected: bool = False


def first_line(error: object) -> str:
    """Return the first line of an error's message, or its class's name; without a place in Rust's sources."""
    return next(iter(_RUST_SOURCE.sub("", str(error)).strip().splitlines()), type(error).__name__)


def debugging(argv: Sequence[str]) -> bool:
    """Return True if tracebacks are wanted: ``--debug`` or ``TQNET_DEBUG=1``."""
    return DEBUG in argv or os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


def ending(error: BaseException, when_memory_ends: str = "") -> Ending:
    """Return the exit code and the message of an error.

    Args:
        when_memory_ends: The option to lower when memory runs out.
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
        return Ending(CALLED_WRONGLY if error.errno in _WRONG_PATH else FAILED, _file_message(error))
    if not foreseen(error):
        named = f"{type(error).__name__}: {first_line(error)}"
        if " worker process" in first_line(error):  # torch wraps errors of data loading processes
            named = str(error).strip().splitlines()[-1]
        return Ending(FAILED, f"unexpected {named}", unexpected=True)
    by_base = CALLED_WRONGLY if isinstance(error, OSError | ValueError | ImportError) else FAILED
    return Ending(getattr(error, "exit_code", by_base), _RUST_SOURCE.sub("", str(error)))


def end(error: BaseException, name: str, when_memory_ends: str = "") -> int:
    """Print an error on stderr, in a line that begins with ``name``, and return the exit code.

    The traceback of an unexpected error is kept in a file that the line names, so that a long training need not be
    repeated to see it.
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
    """Turn errors within the block into one line on stderr and an exit code, unless ``--debug`` is given.

    Output is flushed here, so that a reader that has gone causes no traceback at exit.

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


def _file_message(error: OSError) -> str:
    """Return ``file: problem``, like our own messages."""
    words = error.strerror or type(error).__name__
    problem = f"{words[:1].lower()}{words[1:]}"
    if error.errno == errno.EEXIST and error.filename and os.path.isfile(error.filename):
        problem = "is a file, not a folder"  # where a folder was to be made
    files = [str(file) for file in (error.filename, error.filename2) if file is not None]
    return f"{files[0]}: {problem}" if files else first_line(error)


def _no_space(error: BaseException) -> str | None:
    """Return what a full disk or quota did not take, anywhere in the chain of causes; None for other errors."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, OSError) and cause.errno in _NO_SPACE:
            return _file_message(cause)
        if _NO_SPACE_TEXT.search(str(cause)):
            return first_line(cause)
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return None


def _out_of_memory(error: BaseException) -> bool:
    """Return True for out of memory; on a CPU, torch raises a plain RuntimeError."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return True
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def foreseen(error: BaseException) -> bool:
    """Return True if our own code raised the error, with a message for users, rather than a library.

    A class of ours counts wherever it was raised; for others, the frame that raised.
    """
    if type(error).__module__.partition(".")[0] in _OURS[:-1]:
        return True
    if not isinstance(error, OSError | ValueError | ImportError) or error.__traceback__ is None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").partition(".")[0] in _OURS


def _keep_traceback(error: BaseException) -> str:
    """Write the traceback to a new file, and return what the error line says of it; nothing if the disk is full."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="tqnet-", suffix=".txt", encoding="utf-8", delete=False) as stream:
            stream.write("".join(traceback.format_exception(error)))
    except OSError:
        return ""
    return f"traceback: {stream.name}; "


def _output_is_closed() -> bool:
    """Return True if our own reader has gone, not the other end of some connection."""
    try:
        sys.stdout.flush()  # fails again only if something is left to write
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except BrokenPipeError:
        return True
    except (OSError, ValueError, AttributeError):  # no such call on Windows
        return False


def _forget_output() -> None:
    """Discard the output: Python would flush it at exit and complain once more."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
