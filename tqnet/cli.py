"""The command line: ``tqnet COMMAND ...``.

A command is a module of :mod:`tqnet.commands`. Its ``add`` makes a parser and sets ``run``, a function of the
parsed arguments that returns the exit code. What is heavy is imported inside ``run``, so that ``tqnet --help``
answers at once.

Exit codes: 0 all is well, 1 the command found faults, 2 it was called wrongly, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tqnet.commands import (
    augment,
    bench,
    card,
    check,
    convert,
    duplicates,
    encode,
    evaluate,
    export,
    import_bank,
    index,
    merge,
    perturb,
    prototypes,
    rewrite,
    score,
    search,
    serve,
    solve,
)
from tqnet.version import __version__

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def _is_fault(error: Exception) -> bool:
    """Whether the data is to blame, rather than the call."""
    from tqnet.questions.faults import BankError

    return isinstance(error, BankError)


#: Package that only some commands need -> the extra that brings it.
_EXTRAS = {
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

COMMANDS: tuple[Callable[[Subparsers], None], ...] = (
    import_bank.add,
    check.add,
    merge.add,
    convert.add,
    encode.add,
    export.add,
    evaluate.add,
    bench.add,
    card.add,
    augment.add,
    rewrite.add,
    perturb.add,
    duplicates.add,
    index.add,
    search.add,
    score.add,
    prototypes.add,
    solve.add,
    serve.add,
)


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``tqnet`` with all commands."""
    parser = argparse.ArgumentParser(prog="tqnet", description="Vectors for test questions.")
    parser.add_argument("--version", action="version", version=f"tqnet {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(subparsers)
    for command in subparsers.choices.values():  # so that --debug may also stand at the end
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``tqnet`` with ``argv`` (of the process if None) and returns the exit code.

    Errors that a user can cause (wrong paths, wrong files, wrong values) are one line each.

    Raises:
        SystemExit: From argparse: usage errors (2), ``--help`` and ``--version`` (0).
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    args = make_parser().parse_args(index.with_verb(argv))
    args.argv = argv  # for reports, which say how they were made
    try:
        return args.run(args)
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError) as error:
        if args.debug:
            raise
        print(f"tqnet: error: {error}", file=sys.stderr)
        return 1 if _is_fault(error) else 2
    except ModuleNotFoundError as error:
        if args.debug or error.name not in _EXTRAS:
            raise
        print(f"tqnet: error: {error.name} is missing: pip install 'tqnet[{_EXTRAS[error.name]}]'", file=sys.stderr)
        return 2
    except (RuntimeError, MemoryError) as error:
        from tqnet.libraries import out_of_memory

        if args.debug or not out_of_memory(error):
            raise
        hint = ": lower --batch-size" if hasattr(args, "batch_size") else ""
        print(f"tqnet: error: out of memory{hint} ({error})", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
