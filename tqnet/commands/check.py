"""``tqnet check``: counts, labels, lengths, duplicates, and every fault of a bank."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("check", help="report on a question bank and list its faults")
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--tokenizer", metavar="NAME_OR_DIR", help="count the tokens of this tokenizer")
    parser.add_argument("--unique-names", action="store_true", help="names of knowledge concepts are unique")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--no-images", action="store_true", help="do not look at the images")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
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
