"""``tqnet evaluate pairs``: precision and recall of a pair classifier on labelled pairs."""

from __future__ import annotations

import argparse
from typing import Any

from tqnet.commands.encode import add_model_arguments


def add(tasks: Any) -> None:
    parser = tasks.add_parser("pairs", help="duplicate, similar, variant or unrelated: precision and recall of each")
    parser.add_argument(
        "--model", required=True, metavar="DIR", help="a pair classifier, RUN/model of finetune/pairs.py"
    )
    parser.add_argument(
        "--pairs", required=True, metavar="FILE", help="a, b (questions, or ids of --bank) and label; .jsonl or .csv"
    )
    parser.add_argument("--bank", help="whose questions the pairs name by id")
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty records")
    parser.add_argument("--errors", action="store_true", help="list the pairs that are told wrongly")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.evaluation.pairs import pairs_table
    from tqnet.libraries import precision, quiet
    from tqnet.modeling.pairs import PairClassifier
    from tqnet.questions import load_bank
    from tqnet.questions.pairs import RELATIONS, read_labelled_pairs
    from tqnet.training.pairs import pair_vectors, score_pairs

    quiet()
    bank = load_bank(args.bank, args.on_error) if args.bank else None
    pairs = read_labelled_pairs(args.pairs, bank, args.on_error)
    classifier = PairClassifier.from_pretrained(args.model)
    chosen = precision(args.precision, args.device)
    vectors = pair_vectors(classifier, pairs, batch_size=args.batch_size, device=args.device, precision=chosen)
    scores = score_pairs(classifier, pairs, vectors)
    wrong = [
        {"a": pair.a.content, "b": pair.b.content, "label": pair.relation, "told": RELATIONS[told]}
        for pair, told in zip(pairs, scores.predicted.tolist(), strict=True)
        if RELATIONS[told] != pair.relation
    ]
    if args.json:
        numbers = scores.to_dict() | ({"errors": wrong} if args.errors else {})
        print(json.dumps(numbers, indent=2, ensure_ascii=False))
        return 0
    print(pairs_table(scores).text())
    if args.errors:
        print("\n".join(f"\n{one['label']}, told as {one['told']}:\n  {one['a']}\n  {one['b']}" for one in wrong))
    return 0
