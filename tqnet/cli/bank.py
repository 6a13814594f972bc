"""``tqnet check``, ``merge``, ``convert`` and ``augment``: question banks."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import BANK, SPLITS, FaultOptions, ReadingOptions, SeedOptions
from tqnet.cli.options import Command, argument, count, number, option, output_file, repeated, switch

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank


@dataclass(frozen=True, kw_only=True)
class Check(Command, name="check"):
    """Report on a question bank and list its faults."""

    bank: str = argument(BANK, metavar="BANK")
    tokenizer: str | None = option(
        "tokenizer, or trained TQ-Net, to count tokens with; by default that of the bank's language",
        metavar="NAME_OR_DIR",
    )
    unique_names: bool = switch("require unique names of knowledge concepts")
    json: bool = switch("print the report as JSON")
    no_images: bool = switch("do not read images; duplicates then compare figures by path")

    def run(self) -> int:
        from tqnet.questions.check import check_bank
        from tqnet.questions.table import bank_file

        bank_file(self.bank)  # a wrong path should not wait for a tokenizer
        named = _load_tokenizer(self.tokenizer) if self.tokenizer else None
        chosen = (lambda texts: named) if self.tokenizer else _default_tokenizer
        report = check_bank(self.bank, chosen, unique_names=self.unique_names, images=not self.no_images)
        print(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if self.json else report.render())
        return 1 if report.faults else 0


class _Tokenizer:
    """Encodes texts without loading transformers; with ``spells``, spells out formulas first, as a TQ-Net may."""

    def __init__(self, tokenizer: Any, spells: bool):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        from tqnet.text.vocabulary import Legible

        self._tokenizer, self._spells, self._legible = tokenizer, spells, Legible(tokenizer)
        unknown = getattr(tokenizer.model, "unk_token", None)
        number = getattr(tokenizer.model, "unk_id", None)  # SentencePiece
        self.unk_token_id = number if unknown is None else tokenizer.token_to_id(unknown)

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        from tqnet.text.vocabulary import spell

        texts = [spell(text) if self._spells else text for text in map(self._legible, texts)]
        return {"input_ids": [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]}

    def num_special_tokens_to_add(self) -> int:
        return int(self._tokenizer.num_special_tokens_to_add(False))


def _default_tokenizer(texts: Sequence[str]) -> Any:
    """Return the tokenizer of the texts' language; None, with a line on stderr, if its package is missing."""
    from tqnet.modeling.pretrained import encoder_for, text_encoder_path

    name = encoder_for(texts)
    try:
        text_encoder_path(name)
    except ImportError as error:
        print(f"tqnet: tokens not counted: {error}; or name one with --tokenizer", file=sys.stderr)
        return None
    return _load_tokenizer(name)


def _load_tokenizer(name: str) -> Any:
    from tqnet.modeling.pretrained import text_encoder_path

    try:
        folder = Path(text_encoder_path(name))
        file, processor = folder / "tokenizer.json", folder / "processor_config.json"
        if file.is_file():
            from tokenizers import Tokenizer

            spells = processor.is_file() and json.loads(processor.read_text(encoding="utf-8"))["spell_formulas"]
            return _Tokenizer(Tokenizer.from_file(str(file)), spells)
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise FileNotFoundError(f"--tokenizer: nothing to load at {name!r}") from error


def _renamed(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not {old, new} <= {*SPLITS}:
        raise argparse.ArgumentTypeError(f"{text}: expected OLD=NEW, each one of {', '.join(SPLITS)}")
    return old, new


def _fold(text: str) -> tuple[int, int]:
    fold, _, folds = text.partition("/")
    if not (fold.isdecimal() and folds.isdecimal()) or not 1 <= int(fold) <= int(folds) or int(folds) < 2:
        raise argparse.ArgumentTypeError(f"{text}: expected K/N, such as 1/5")
    return int(fold), int(folds)


@dataclass(frozen=True, kw_only=True)
class Merge(Command, SeedOptions, ReadingOptions, name="merge"):
    """Merge several banks into one, or select a part of one.

    Ids and groups of several banks become BANK/ID, unless --keep-ids. Figures of other folders are copied into
    images/ next to FILE.
    """

    banks: Sequence[str] = argument(BANK, nargs="+", metavar="BANK")
    out: str = option(".jsonl or .parquet", required=True, metavar="FILE")
    keep_ids: bool = switch("keep ids and groups as they are; fail if two banks share an id")
    split: Sequence[str] = option("only questions of these splits", default=(), choices=SPLITS)
    language: Sequence[str] = option("only questions in these languages", default=(), metavar="CODE")
    rename: Sequence[tuple[str, str]] = option(
        "rename a split: valid=test", default=(), exclusive="splits", type=_renamed, metavar="OLD=NEW"
    )
    fold: tuple[int, int] | None = option(
        "redraw train and test by group: test is the K-th of N parts", exclusive="splits", type=_fold, metavar="K/N"
    )

    def run(self) -> None:
        from tqnet.questions.splits import draw_fold, kept, merge, rename_splits

        bank = merge(
            [self.load(bank) for bank in self.banks],
            kept(list(self.split), list(self.language)),
            keep_ids=self.keep_ids,
        )
        if self.rename:
            bank = rename_splits(bank, dict(self.rename))
        if self.fold:
            bank = draw_fold(bank, *self.fold, self.seed)
        out = Path(self.out)
        out.parent.mkdir(parents=True, exist_ok=True)
        bank.save(out)
        counts = Counter(split or "no split" for split in bank.column("split"))
        print(f"{out}: {len(bank):,} questions, " + ", ".join(f"{count:,} {split}" for split, count in counts.items()))


@dataclass(frozen=True, kw_only=True)
class Convert(Command, ReadingOptions, name="convert"):
    """Write a bank as Moodle XML.

    Figures are embedded; knowledge points become category and tags.
    """

    bank: str = argument(BANK, metavar="BANK")
    to: str = option("format", required=True, choices=("moodle",))
    out: str = option("an .xml file", required=True, metavar="FILE")

    def run(self) -> None:
        from tqnet.importers.moodle_export import export_moodle

        out = output_file(self.out)
        count, faults = export_moodle(self.load(self.bank), out)
        for fault in faults:
            print(fault, file=sys.stderr)
        print(f"{out}: {count:,} questions in Moodle XML")


_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]+|\s+|.", re.DOTALL)
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


#: Number of random questions for --share.
_SAMPLE = 1000


@dataclass(frozen=True, kw_only=True)
class Augment(Command, SeedOptions, FaultOptions, name="augment"):
    """Show QuesCo's augmentation of questions.

    Differences are marked: [-removed-]{+added+}. --share shows how many questions each strategy changes.
    """

    bank: str = argument(BANK, metavar="BANK")
    id: Sequence[str] = repeated("id of a question; by default three at random", metavar="ID")
    strategy: Sequence[str] = repeated(
        "swap, delete, rename, scale, operator, number, shuffle, repeat, or a group of them: text, formula, "
        "structure; by default all",
        metavar="NAME",
    )
    probability: float | None = option(
        "probability of each strategy; by default 1 with --strategy, else 0.3", type=number(0, 1)
    )
    draws: int = count("number of augmentations of each question", default=1)
    share: bool = switch(f"print the share of questions each strategy changes, among --id or {_SAMPLE:,} at random")

    def run(self) -> None:
        import numpy as np

        from tqnet.augment.strategies import GROUPS, apply_strategies, shares_changed, strategy_names
        from tqnet.questions import load_bank

        names = strategy_names(list(self.strategy or GROUPS))
        default = 1.0 if self.strategy else 0.3
        probability = default if self.probability is None else self.probability
        bank = load_bank(self.bank, self.on_error)
        rows = self._rows(bank, _SAMPLE if self.share else 3)
        if self.share:
            print(f"of {len(rows):,} questions, changed by")
            for name, share in shares_changed([bank[row] for row in rows], names, self.seed).items():
                print(f"  {name:<10}{share:.2f}")
            return
        for row in rows:
            before = bank[row]
            print(f"{before.id}\n  {_indented(before.content)}")
            for draw in range(self.draws):
                rng = np.random.default_rng([self.seed, row, draw])
                after = apply_strategies(before, names, probability, rng)
                print(f"  -> {_indented(_marked(before.content, after.content, sys.stdout.isatty()))}")

    def _rows(self, bank: QuestionBank, drawn: int) -> list[int]:
        import numpy as np

        if not self.id:
            chosen = np.random.default_rng(self.seed).choice(len(bank), min(drawn, len(bank)), replace=False)
            return sorted(chosen.tolist())
        rows = {id: row for row, id in enumerate(bank.ids)}
        for id in self.id:
            if id not in rows:
                raise ValueError(f"--id: the bank has no question {id!r}")
        return [rows[id] for id in self.id]


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _marked(before: str, after: str, colour: bool) -> str:
    """Return ``after`` with removals in [- -] and additions in {+ +}, in red and green if ``colour``."""
    if before == after:
        return "(unchanged)"
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[start:end]), "".join(new[first:last])
        if kind == "equal":
            pieces.append(added)
            continue
        for text, opening, closing, paint in ((removed, "[-", "-]", _RED), (added, "{+", "+}", _GREEN)):
            if text:
                pieces.append(f"{paint}{opening}{text}{closing}{_PLAIN}" if colour else f"{opening}{text}{closing}")
    return "".join(pieces)
