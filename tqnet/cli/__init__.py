"""The command line: ``tqnet COMMAND ...``.

A command is a :class:`tqnet.cli.options.Command`. Heavy packages are imported inside ``run``, so that ``tqnet --help``
is fast. Exit codes are 0 and those of :mod:`tqnet.errors`.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence

from tqnet import errors
from tqnet.cli.options import Command
from tqnet.version import __version__

#: Modules whose import registers their commands, in the order of ``tqnet --help``.
MODULES = (
    "importing", "bank", "model", "predict", "evaluate", "index", "search", "evaluate_search", "duplicates",
    "paraphrase", "rewrite", "solver", "serve",
)  # fmt: skip
for _module in MODULES:
    importlib.import_module(f"tqnet.cli.{_module}")

#: First word of two-word commands -> help, and metavar of the second word.
GROUPS = {
    "evaluate": ("Evaluate a model on one task, or on all.", "TASK"),
    "index": (
        "Build an index of a bank for tqnet search, and keep it up to date. 'tqnet index BANK --model DIR --out INDEX' "
        "builds one. To encode with several processes: accelerate launch --module tqnet.cli index BANK ... (on CPUs: "
        "ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 --module tqnet.cli index BANK ...). A run that was killed "
        f"resumes. {errors.EXIT_CODES}",
        "BANK | VERB",
    ),
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of ``tqnet`` with all commands."""
    parser = argparse.ArgumentParser(prog="tqnet", description="Vectors for test questions.", epilog=errors.EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"tqnet {__version__}")
    parser.add_argument(
        errors.DEBUG, action="store_true", help=f"show the traceback of an error, as {errors.DEBUG_VARIABLE}=1 does"
    )
    groups = {"": parser.add_subparsers(required=True, metavar="COMMAND")}
    for command in Command.registered:
        group, _, name = command.command_name.rpartition(" ")
        if group not in groups:
            text, metavar = GROUPS[group]
            made = groups[""].add_parser(group, help=_summary(text), description=text)
            groups[group] = made.add_subparsers(required=True, metavar=metavar)
        text = command.__doc__ or ""
        subparser = groups[group].add_parser(name, help=_summary(text), description=text)
        command.add_arguments(subparser)
        # --debug may also come last
        subparser.add_argument(errors.DEBUG, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        subparser.set_defaults(run=command.execute, refuse=subparser.error)
    return parser


def _summary(text: str) -> str:
    """Return the first sentence, without its full stop."""
    return text.split(". ")[0].split(".\n")[0].strip().removesuffix(".")


def commands(parser: argparse.ArgumentParser, name: str = "") -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command under its full name, such as ``evaluate similar``."""
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not subparsers:
        return {name: parser}
    return {
        full: command
        for word, inner in subparsers[0].choices.items()
        for full, command in commands(inner, f"{name} {word}".strip()).items()
    }


def with_verb(argv: Sequence[str]) -> list[str]:
    """Return ``argv`` with ``tqnet index BANK`` expanded to ``tqnet index build BANK``."""
    argv = list(argv)
    at = next((at for at, word in enumerate(argv) if not word.startswith("-")), None)
    verbs = {
        name.partition(" ")[2] for command in Command.registered if (name := command.command_name).startswith("index ")
    }
    if at is None or argv[at] != "index" or not argv[at + 1 :] or argv[at + 1] in {*verbs, "-h", "--help"}:
        return argv
    return [*argv[: at + 1], "build", *argv[at + 1 :]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tqnet`` with ``argv``, by default that of the process, and return the exit code.

    Errors print one line to stderr (:mod:`tqnet.errors`).

    Raises:
        SystemExit: From argparse: usage errors (2), ``--help`` and ``--version`` (0).
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    args = argparse.Namespace(command=f"tqnet {shlex.join(argv)}")
    try:
        with errors.clear("tqnet", argv, lambda: "--batch-size" if hasattr(args, "batch_size") else ""):
            if unknown := make_parser().parse_known_args(with_verb(argv), args)[1]:
                args.refuse(f"unrecognized arguments: {shlex.join(unknown)}")
            return int(args.run(args))
    except errors.Ended as ended:
        return ended.exit_code
