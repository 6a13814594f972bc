"""``tqnet evaluate recall``: how many similar questions an index finds among its first hundred."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.index import open_index
from tqnet.commands.options import number, whole_number
from tqnet.commands.results import command, write_results
from tqnet.commands.similarity import add_doubles_argument, add_similarity_arguments, rows_left_out, similarity_of

if TYPE_CHECKING:
    from tqnet.search.evaluation import RetrievalScores


def add(tasks: Any) -> None:
    parser = tasks.add_parser("recall", help="R@100 and P@1/3/5 of an index: by text, by vectors, and by both")
    parser.add_argument("index", metavar="INDEX", help="that tqnet index has made; its questions are also the queries")
    parser.add_argument("--split", default="test", help="whose questions are the queries (test); all: of every split")
    parser.add_argument("-n", type=whole_number(5), default=100, help="candidates that are recalled (100)")
    parser.add_argument(
        "--text-weights",
        type=number(0),
        nargs="+",
        default=[],
        metavar="W",
        help="also with what is found by both in the order of the cosine + W times the text, the best text being 1",
    )
    add_similarity_arguments(parser)
    add_doubles_argument(parser, "do not ask")
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty pairs")
    parser.add_argument("--out", metavar="DIR", help="gets results.json and results.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.search.evaluation import KNOWN, WAYS, evaluate_retrieval, index_bank, retrieval_table, weighted

    index = open_index(args.index)
    engine, bank = index.engine, index_bank(index.engine)
    split = None if args.split == "all" else args.split
    ways = (*WAYS, *weighted(args.text_weights))
    if not args.similar_level:  # else what is similar by its concept would be found by the concept's name
        ways += (*KNOWN, *weighted(args.text_weights, KNOWN[-1]))
    without = rows_left_out(args, bank)
    results = evaluate_retrieval(engine, bank, similarity_of(args, bank), split, args.n, ways, without)
    numbers = {name: _numbers(scores, args.n) for name, scores in results.items()}
    table = retrieval_table(results, args.n)
    if args.out:
        write_results(Path(args.out), {"command": command(args), **index.facts}, {"ways": numbers}, table.markdown())
    print(json.dumps(numbers, indent=2) if args.json else table.text())
    return 0


def _numbers(scores: RetrievalScores, n: int) -> dict[str, Any]:
    return {
        f"r@{n}": float(scores.recall.mean()),
        "interval": list(scores.interval),
        "queries": len(scores.recall),
        **{f"p@{k}": float(values.mean()) if len(values) else None for k, values in scores.precision.items()},
    }
