"""``tqnet evaluate ranking``: what rankers make of the candidates that an index recalls."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.index import open_index
from tqnet.commands.options import whole_number
from tqnet.commands.ranking import load_ranker
from tqnet.commands.results import command, write_results
from tqnet.commands.similarity import add_doubles_argument, add_similarity_arguments, rows_left_out, similarity_of

if TYPE_CHECKING:
    from tqnet.search.evaluation import RankingScores


def add(tasks: Any) -> None:
    parser = tasks.add_parser("ranking", help="P@1/3/5 of the order that rankers make of what an index recalls")
    parser.add_argument("index", metavar="INDEX", help="that tqnet index has made; its questions are also the queries")
    parser.add_argument(
        "rankers",
        nargs="*",
        metavar="NAME=DIR",
        help="folders that finetune/ranker.py has made, in the order of comparison; without any, the evidence alone",
    )
    parser.add_argument("--split", default="test", help="whose questions are the queries (test); all: of every split")
    parser.add_argument(
        "--first", type=whole_number(5), default=20, help="candidates that rankers read, by the evidence (20)"
    )
    parser.add_argument("--concepts", action="store_true", help="queries whose concepts are known, as by --id")
    parser.add_argument("--queries", type=whole_number(1), metavar="N", help="so many queries, at random (all)")
    parser.add_argument("--seed", type=whole_number(0), default=0)
    add_similarity_arguments(parser)
    add_doubles_argument(parser, "do not ask")
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty pairs")
    parser.add_argument("--batch-size", type=whole_number(1), default=32, help="pairs that are read at a time (32)")
    parser.add_argument("--device", help="cpu, cuda, ...; by default the accelerator where there is one")
    parser.add_argument(
        "--precision", choices=("auto", "fp32", "bf16"), default="auto", help="auto: bf16 where it pays"
    )
    parser.add_argument("--out", metavar="DIR", help="gets results.json and results.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.files import content_digest
    from tqnet.libraries import precision, quiet
    from tqnet.search.evaluation import evaluate_ranking, index_bank, ranking_table, retrieve_candidates

    quiet()
    folders = dict(_named(ranker) for ranker in args.rankers)
    if len(folders) < len(args.rankers):
        raise ValueError(f"two rankers of one name: {', '.join(args.rankers)}")
    index = open_index(args.index)
    models = {name: load_ranker(folder, index, args.device) for name, folder in folders.items()}
    bank = index_bank(index.engine)
    split = None if args.split == "all" else args.split
    similarity, without = similarity_of(args, bank), rows_left_out(args, bank)
    queries = retrieve_candidates(
        index.engine, bank, similarity, split, args.queries, args.seed, without, args.concepts
    )
    rankers = {
        name: partial(
            model.probabilities,
            batch_size=args.batch_size,
            precision=precision(args.precision, args.device),
            show_progress=True,
        )
        for name, model in models.items()
    }
    results = evaluate_ranking(queries, bank, rankers, args.first)
    numbers = {name: _numbers(scores) for name, scores in results.items()}
    table = ranking_table(results, args.first)
    if args.out:
        digests = "; ".join(f"{name}: files {content_digest(folder)}" for name, folder in folders.items())
        facts = {"command": command(args), **index.facts, **({"rankers": digests} if digests else {})}
        write_results(Path(args.out), facts, {"orders": numbers}, table.markdown())
    print(json.dumps(numbers, indent=2) if args.json else table.text())
    return 0


def _named(ranker: str) -> tuple[str, Path]:
    name, equals, folder = ranker.partition("=")
    if not (name and equals and folder):
        raise ValueError(f"{ranker!r} is not of the form NAME=DIR")
    return name, Path(folder)


def _numbers(scores: RankingScores) -> dict[str, Any]:
    means = {f"p@{k}": float(values.mean()) for k, values in scores.precision.items()}
    return means | {"interval": list(scores.interval(5)), "queries": len(scores.groups)}
