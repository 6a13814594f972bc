"""``tqnet bench``: train and measure the rows of a table, and write it."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments, whole_number

if TYPE_CHECKING:
    from tqnet.bench.results import RowResult
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
    parser.add_argument("--bank", help="another bank than the suite's: a folder with questions.*, or such a file")
    parser.add_argument("--seeds", type=whole_number(1), default=1, help="how many seeds (1)")
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
    from tqnet.bench.run import Bench
    from tqnet.bench.suite import load_suite
    from tqnet.bench.table import render
    from tqnet.libraries import quiet

    quiet()
    signal.signal(signal.SIGTERM, _interrupt)
    suite = load_suite(args.suite, args.rows)
    measured = [Path(folder) for folder in args.scores]
    bank, out, recipes = args.bank or suite.bank, Path(args.out), Path(args.recipes)
    bench = Bench(suite, bank, out, recipes, _encoding(args), measured, args.precision)
    for results in bench.run(args.seeds):
        _write(args, suite, results, bench.facts(results))
    print(render(suite, results))
    return 1 if any(result.errors for result in results) else 0


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _encoding(args: argparse.Namespace) -> Any:
    from tqnet.evaluation.sources import Encoding
    from tqnet.libraries import precision

    return Encoding(args.batch_size, args.device, precision(args.precision, args.device))


def _write(args: argparse.Namespace, suite: Suite, results: list[RowResult], facts: dict[str, str]) -> None:
    import json

    from tqnet.bench.differences import differences
    from tqnet.bench.table import render
    from tqnet.files import atomic

    out = Path(args.out) / suite.name
    out.mkdir(parents=True, exist_ok=True)
    facts = {"command": "tqnet " + shlex.join(args.argv), **facts}
    with atomic(out / "results.json") as temporary:
        document = {
            "made_by": facts,
            "paper_metric": suite.paper_metric,
            "rows": {result.row.name: result.to_dict() for result in results},
            "differences": [difference.to_dict() for difference in differences(suite, results)],
        }
        temporary.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic(out / "results.md") as temporary:
        lines = [f"- {name}: `{fact}`" for name, fact in facts.items()]
        temporary.write_text("\n".join((*lines, "", render(suite, results, markdown=True))), encoding="utf-8")
    print(f"{out / 'results.md'}", file=sys.stderr)
