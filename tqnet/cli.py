"""The command line: ``tqnet COMMAND ...``.

A command is one function ``add_<command>(subparsers)`` in `COMMANDS`. It adds its parser and sets ``run``, a
function of the parsed arguments that returns the exit code. What is heavy is imported inside ``run``, so that
``tqnet --help`` answers at once.

Exit codes: 0 all is well, 1 the command found faults, 2 it was called wrongly, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tqnet.version import __version__

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_check(subparsers: Subparsers) -> None:
    """``tqnet check``: counts, labels, lengths, duplicates, and every fault of a bank."""
    parser = subparsers.add_parser("check", help="report on a question bank and list its faults")
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--tokenizer", metavar="NAME_OR_DIR", help="count the tokens of this tokenizer")
    parser.add_argument("--unique-names", action="store_true", help="names of knowledge concepts are unique")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--no-images", action="store_true", help="do not look at the images")
    parser.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    from tqnet.questions.check import check_bank
    from tqnet.questions.table import bank_file

    bank_file(args.bank)  # a wrong path should not wait for a tokenizer
    tokenizer = _load_tokenizer(args.tokenizer) if args.tokenizer else None
    report = check_bank(args.bank, tokenizer, unique_names=args.unique_names, images=not args.no_images)
    print(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if args.json else report.render())
    return 1 if report.faults else 0


def _load_tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise FileNotFoundError(f"--tokenizer: nothing to load at {name!r}") from error


def _is_fault(error: Exception) -> bool:
    """Whether the data is to blame, rather than the call."""
    from tqnet.questions.faults import BankError

    return isinstance(error, BankError)


COMMANDS: tuple[Callable[[Subparsers], None], ...] = (add_check,)


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
    args = make_parser().parse_args(argv)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError) as error:
        if args.debug:
            raise
        print(f"tqnet: error: {error}", file=sys.stderr)
        return 1 if _is_fault(error) else 2


if __name__ == "__main__":
    sys.exit(main())
