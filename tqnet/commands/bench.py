"""``tqnet bench``: train and measure the rows of a table, and write it."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_results

if TYPE_CHECKING:
    from tqnet.bench.results import RowResult
    from tqnet.bench.run import Bench
    from tqnet.bench.suite import Suite
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "bench",
        help="train and measure the rows of a table",
        description="Trains what the rows of a suite ask for, each stage once, and writes one table with mean and "
        "spread over seeds. A finished row is not run again, an interrupted one goes on, a failed one is reported.",
    )
    parser.add_argument("--suite", required=True, metavar="FILE", help="configs/tables/table3.yaml and the like")
    parser.add_argument(
        "--bank",
        help="another bank than the suite's: a file, or a folder with questions.* or with the suite's own file",
    )
    repeats = parser.add_mutually_exclusive_group()
    repeats.add_argument("--seeds", type=whole_number(1), default=1, help="how many seeds (1)")
    repeats.add_argument(
        "--folds",
        type=whole_number(2),
        help="cross-validation in place of the bank's splits: every one of so many parts, drawn by group, is the test "
        "once; without a valid split, a training keeps its last state",
    )
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--out", default="runs/bench", metavar="DIR", help="gets trainings, results.json, results.md")
    parser.add_argument("--recipes", default=".", metavar="DIR", help="where pretrain/ and finetune/ lie (.)")
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="DIR",
        help="what was measured before, beside OUT/scores: such rows are not trained (docs/results/tables/scores has "
        "those of the published tables; known by settings, seed, bank, version, and by --precision if it is not auto)",
    )
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.bench.folds import cross_validate, fold_facts, save_folds
    from tqnet.bench.run import data_config
    from tqnet.bench.suite import load_suite
    from tqnet.bench.table import render
    from tqnet.libraries import quiet

    quiet()
    signal.signal(signal.SIGTERM, _interrupt)
    suite = load_suite(args.suite, args.rows)
    bank = suite.bank_at(args.bank)
    facts: Callable[[list[RowResult]], dict[str, str]]
    if args.folds and suite.paraphrases:
        raise ValueError(f"--folds: {args.suite} measures labelled paraphrases, and no part of the bank")
    if args.folds:
        whole = data_config(suite, bank).load()
        files = save_folds(whole, args.folds, Path(args.out) / "folds")
        benches = [_bench(args, suite, str(file), fold) for fold, file in enumerate(files, 1)]
        steps, facts = cross_validate(benches), partial(fold_facts, whole, benches)
    else:
        bench = _bench(args, suite, bank)
        steps, facts = bench.run(args.seeds), bench.facts
    for results in steps:
        _write(args, suite, results, facts(results))
    print(render(suite, results))
    return 1 if any(result.errors for result in results) else 0


def _bench(args: argparse.Namespace, suite: Suite, bank: str, fold: int | None = None) -> Bench:
    from tqnet.bench.run import Bench

    measured = [Path(folder) for folder in args.scores]
    return Bench(suite, bank, Path(args.out), Path(args.recipes), _encoding(args), measured, args.precision, fold)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _encoding(args: argparse.Namespace) -> Any:
    from tqnet.evaluation.sources import Encoding
    from tqnet.libraries import precision
    from tqnet.modeling.encode import accelerator

    device = args.device or accelerator() or "cpu"
    return Encoding(args.batch_size, str(device), precision(args.precision, device))


def _write(args: argparse.Namespace, suite: Suite, results: list[RowResult], facts: dict[str, str]) -> None:
    from tqnet.bench.differences import differences
    from tqnet.bench.table import render

    out = Path(args.out) / suite.name
    document = {
        "paper_metric": suite.paper_metric,
        "rows": {result.row.name: result.to_dict() for result in results},
        "differences": [difference.to_dict() for difference in differences(suite, results)],
    }
    write_results(out, {"command": command(args), **facts}, document, render(suite, results, markdown=True))
    print(f"{out / 'results.md'}", file=sys.stderr)
