"""``tqnet check``: counts, labels, lengths, duplicates, and every fault of a bank."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("check", help="report on a question bank and list its faults")
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument(
        "--tokenizer",
        metavar="NAME_OR_DIR",
        help="counts tokens: minilm (the default where it is installed), a tokenizer, or a trained TQ-Net",
    )
    parser.add_argument("--unique-names", action="store_true", help="names of knowledge concepts are unique")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--no-images", action="store_true", help="do not look at the images; doubles know a figure by its path"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.questions.check import check_bank
    from tqnet.questions.table import bank_file

    bank_file(args.bank)  # a wrong path should not wait for a tokenizer
    tokenizer = _load_tokenizer(args.tokenizer) if args.tokenizer else _usual_tokenizer()
    report = check_bank(args.bank, tokenizer, unique_names=args.unique_names, images=not args.no_images)
    print(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if args.json else report.render())
    return 1 if report.faults else 0


class _Spelling:
    """A tokenizer that reads texts as a TQ-Net does, its formulas spelt; uncut, since lengths are asked for."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer

    def __call__(self, texts: list[str], **options: Any) -> Any:
        from tqnet.text.vocabulary import spell

        return self._tokenizer([spell(text) for text in texts], **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def _usual_tokenizer() -> Any:
    """The start encoder's; None, and a line that says so, where its package is missing."""
    from transformers import AutoTokenizer

    from tqnet.modeling.pretrained import text_encoder_path

    try:
        return AutoTokenizer.from_pretrained(text_encoder_path("minilm"))
    except ImportError as error:
        print(f"tqnet: tokens not counted: {error}; or name one with --tokenizer", file=sys.stderr)
        return None


def _load_tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    from tqnet.modeling.pretrained import text_encoder_path
    from tqnet.modeling.processor import TQNetProcessor

    try:
        if (Path(name) / "processor_config.json").is_file():
            processor = TQNetProcessor.from_pretrained(name)
            return _Spelling(processor.tokenizer) if processor.spell_formulas else processor.tokenizer
        return AutoTokenizer.from_pretrained(text_encoder_path(name))
    except (ImportError, OSError, ValueError) as error:
        raise FileNotFoundError(f"--tokenizer: nothing to load at {name!r}") from error
