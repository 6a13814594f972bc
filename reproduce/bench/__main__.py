"""``python -m reproduce.bench``: train and measure the rows of a suite, and write its tables."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet import errors
from tqnet.cli.groups import EncodingOptions
from tqnet.cli.options import whole_number

if TYPE_CHECKING:
    from reproduce.bench.results import RowResult
    from reproduce.bench.run import Bench
    from reproduce.bench.suite import Suite

PROGRAM = "python -m reproduce.bench"


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        PROGRAM,
        description="Trains the rows of a suite, each shared stage once, and writes a table with mean and spread over "
        "seeds. Finished rows are not run again, interrupted ones are resumed, failed ones are reported.",
    )
    parser.add_argument("--suite", required=True, metavar="FILE", help="reproduce/tables/table3.yaml, for example")
    parser.add_argument(
        "--bank", help="instead of the suite's bank: a file, or a folder with questions.* or the suite's file"
    )
    repeats = parser.add_mutually_exclusive_group()
    repeats.add_argument("--seeds", type=whole_number(1), default=1, help="number of seeds (1)")
    repeats.add_argument(
        "--folds",
        type=whole_number(2),
        help="cross-validate on this many folds, drawn by group, instead of the bank's splits; without a valid split, "
        "a training keeps its last state",
    )
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--out", default="runs/bench", metavar="DIR", help="folder of trainings and results.*")
    parser.add_argument("--recipes", default=".", metavar="DIR", help="folder of pretrain/ and finetune/ (.)")
    parser.add_argument(
        "--num-processes", type=whole_number(1), help="processes of each training; by default one for each GPU, else 1"
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="DIR",
        help="folders of earlier scores, besides OUT/scores: rows found there (by settings, seed, bank, version, and "
        "--precision if it is not auto) are not trained",
    )
    EncodingOptions.add_arguments(parser)
    parser.add_argument(errors.DEBUG, action="store_true", help="show the traceback of an error")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (of the process if None) and return its exit code, as `tqnet` does."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        with errors.clear(PROGRAM, argv, lambda: "--batch-size"):
            return run(make_parser().parse_args(argv, argparse.Namespace(argv=argv)))
    except errors.Ended as ended:
        return ended.exit_code


def run(args: argparse.Namespace) -> int:
    from reproduce.bench.run import cross_validate, data_config, fold_facts, save_folds
    from reproduce.bench.suite import load_suite
    from reproduce.bench.tables import render
    from tqnet.libraries import quiet

    quiet()
    signal.signal(signal.SIGTERM, _interrupt)
    suite = load_suite(args.suite, args.rows)
    bank = suite.bank_at(args.bank)
    facts: Callable[[list[RowResult]], dict[str, str]]
    if args.folds and suite.paraphrases:
        raise ValueError(f"--folds: {args.suite} measures labelled paraphrases, not the bank")
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
    from reproduce.bench.run import Bench
    from tqnet.evaluation.sources import Encoding
    from tqnet.libraries import precision
    from tqnet.modeling.encode import accelerator

    device = args.device or accelerator() or "cpu"
    encoding = Encoding(args.batch_size, str(device), precision(args.precision, device))
    measured = [Path(folder) for folder in args.scores]
    out, recipes = Path(args.out), Path(args.recipes)
    return Bench(suite, bank, out, recipes, encoding, measured, args.precision, fold, args.num_processes)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _write(args: argparse.Namespace, suite: Suite, results: list[RowResult], facts: dict[str, str]) -> None:
    import shlex

    from reproduce.bench.results import differences
    from reproduce.bench.tables import render
    from tqnet.evaluation.table import write_results

    out = Path(args.out) / suite.name
    document = {
        "paper_metric": suite.paper_metric,
        "rows": {result.row.name: result.to_dict() for result in results},
        "differences": [difference.to_dict() for difference in differences(suite, results)],
    }
    command = f"{PROGRAM} {shlex.join(args.argv)}"
    write_results(out, {"command": command, **facts}, document, render(suite, results, markdown=True))
    print(f"{out / 'results.md'}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
