"""The command line: ``tqnet COMMAND ...``.

A command is a module of :mod:`tqnet.commands`. Its ``add`` makes a parser and sets ``run``, a function of the
parsed arguments that returns the exit code. What is heavy is imported inside ``run``, so that ``tqnet --help``
answers at once.

Exit codes: 0 all is well, and those of :mod:`tqnet.errors`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tqnet import errors
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
    predict,
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


COMMANDS: tuple[Callable[[Subparsers], None], ...] = (
    import_bank.add,
    check.add,
    merge.add,
    convert.add,
    encode.add,
    predict.add,
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
    parser.add_argument(
        errors.DEBUG, action="store_true", help=f"show the traceback of an error, as {errors.DEBUG_VARIABLE}=1 does"
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(subparsers)
    for command in commands(parser).values():  # so that --debug may also stand at the end
        command.add_argument(errors.DEBUG, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def commands(parser: argparse.ArgumentParser, name: str = "") -> dict[str, argparse.ArgumentParser]:
    """Name, as in ``evaluate similar`` -> parser of every command that can be run, those within others included."""
    within = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not within:
        return {name: parser}
    return {
        full: command
        for own, inner in within[0].choices.items()
        for full, command in commands(inner, f"{name} {own}".strip()).items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``tqnet`` with ``argv`` (of the process if None) and returns the exit code.

    Errors are one line each (:mod:`tqnet.errors`).

    Raises:
        SystemExit: From argparse: usage errors (2), ``--help`` and ``--version`` (0).
    """
    argv = sys.argv[1:] if argv is None else list(argv)

    args = argparse.Namespace(argv=argv)  # for reports, which say how they were made

    try:
        with errors.clear("tqnet", argv, lambda: "--batch-size" if hasattr(args, "batch_size") else ""):
            make_parser().parse_args(index.with_verb(argv), args)
            return args.run(args)
    except errors.Ended as ended:
        return ended.exit_code


if __name__ == "__main__":
    sys.exit(main())
