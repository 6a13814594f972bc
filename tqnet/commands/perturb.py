"""``tqnet perturb``: labelled paraphrases of questions, by ParaQD's operators."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.english import add_language_model_argument, english_parser, english_texts
from tqnet.commands.options import naming, whole_number
from tqnet.commands.results import output_file
from tqnet.paraphrase.symbols import NEGATIVE, POSITIVE, TEST

if TYPE_CHECKING:
    import numpy as np

    from tqnet.cli import Subparsers
    from tqnet.paraphrase.operators import Operator, Rewrite
    from tqnet.paraphrase.problem import Problem

_GROUPS = {"training": (*POSITIVE, *NEGATIVE), "test": TEST}


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "perturb",
        help="make labelled paraphrases of questions, valid and invalid ones, for measuring a paraphrase scorer",
        description="A text that asks the same and one that does not of each question, by operators of ParaQD, drawn "
        "among those that apply: f1 back-translation, f2 same sentence, f3 numbers to words, f4 unit expansion; f5 "
        "phrase deletion, f6 last sentence deletion, f7 entity replacement, f8 number deletion, f9 lossy paraphrase, "
        "f10 unit replacement; of test sets f_a active to passive, f_b reconstruction; f_c replacement of heavy words, "
        "f_d random deletion, f_e paraphrase. The labels are what the paper takes an operator's results for.",
    )
    parser.add_argument(
        "bank", metavar="QUESTIONS", help="a bank: a .jsonl or .parquet file, or a folder with questions.*"
    )
    parser.add_argument("--pairs", action="store_true", help="QUESTIONS is a file of pairs, whose originals are taken")
    parser.add_argument(
        "--operators",
        nargs="+",
        default=["training"],
        choices=(*_GROUPS, *POSITIVE, *NEGATIVE, *TEST),
        metavar="NAME",
        help="f3 f8 and the like; training (the default): f1 to f10; test: f_a to f_e",
    )
    parser.add_argument("--every", action="store_true", help="a text by each operator that applies, not by one a label")
    parser.add_argument(
        "--rewrites", metavar="FILE", help="what models have written beforehand (tqnet rewrite): f1, f9, f_b, f_e"
    )
    parser.add_argument(
        "--encoder",
        default="encoder:minilm",
        metavar="SOURCE",
        help="by which the most important phrase is found (f5): encoder:NAME, or a model's folder (encoder:minilm)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="a .jsonl file of pairs with labels")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of what is drawn (0)")
    add_language_model_argument(parser)
    add_model_arguments(parser)
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json
    from collections import Counter

    import numpy as np

    from tqnet.files import atomic
    from tqnet.libraries import quiet
    from tqnet.paraphrase.settings import check_installed
    from tqnet.questions.table import hash64

    quiet()
    out = output_file(args.out)
    if out.suffix != ".jsonl":
        raise ValueError(f"--out: {out} does not end in .jsonl")
    texts = _texts(args)
    check_installed(args.language_model)
    problems = english_parser(args, size=len(texts)).parse(list(texts))
    operators = _operators(args, problems)
    rows, counts, without = [], Counter[str](), Counter[str]()
    reasons: dict[str, str] = {}
    for problem in problems:
        rng = np.random.default_rng([args.seed, hash64(problem.text)])  # whatever questions stand around it
        made, lacking = _paraphrases(problem, operators, args.every, rng)
        without.update(lacking.keys())
        reasons = reasons or lacking
        for operator, text in made:
            counts[operator.symbol] += 1
            label, name = int(operator.label == "positive"), f"{texts[problem.text]}-{operator.symbol}"
            pair = {"id": name, "original": problem.text, "paraphrase": text, "label": label}
            rows.append(json.dumps(pair | {"operator": operator.symbol}, ensure_ascii=False) + "\n")
    if not rows:
        told = "; ".join(reasons.values())
        raise ValueError(f"{args.bank}: no operator applies to any question; to the first one not {told}")
    with atomic(out) as temporary:
        temporary.write_text("".join(rows), encoding="utf-8")
    told = ", ".join(f"{operator.symbol} {counts[operator.symbol]:,}" for operator in operators)
    print(f"{len(rows):,} pairs of {len(problems):,} questions ({told}): {out}")
    for reason, count in sorted(without.items()):
        print(f"{count:,} without a {reason}")
    return 0


def _texts(args: argparse.Namespace) -> dict[str, str]:
    """Distinct texts of the questions in English -> id of the first that has it.

    Raises:
        ValueError: There are none.
    """
    from tqnet.questions.paraphrase_pairs import read_pairs

    if args.pairs:
        texts = english_texts((pair.original, pair.id, None) for pair in read_pairs(args.bank))
    else:
        bank = read_bank(args)
        texts = english_texts(zip(bank.column("stem"), bank.ids, bank.column("language"), strict=True))
    if not texts:
        raise ValueError(f"{args.bank}: no question with an English text")
    return texts


def _operators(args: argparse.Namespace, problems: Sequence[Problem]) -> list[Operator]:
    """Those that are asked for; a line says which of them lack what they need.

    Raises:
        ValueError: None is left.
    """
    from tqnet.paraphrase.operators import Operator, evaluation_operators, training_operators
    from tqnet.paraphrase.rewrites import MODEL_OPERATORS, Rewrites
    from tqnet.paraphrase.test_operators import WordWeights

    asked = list(dict.fromkeys(symbol for name in args.operators for symbol in _GROUPS.get(name, (name,))))
    with naming("--rewrites"):
        rewrites = Rewrites.load(args.rewrites) if args.rewrites else None
    given = {name: rewrites.operator(name) if rewrites else None for name in MODEL_OPERATORS}
    weights = WordWeights.fit([problem.text for problem in problems]) if "f_c" in asked else None
    shorten = _phrase_deletion(args, problems) if "f5" in asked else None
    known = [
        *training_operators(shorten, given["back-translation"], given["lossy-paraphrase"]),
        *evaluation_operators(weights, paraphrase=given["paraphrase"]),
    ]
    if reconstructed := given["reconstruction"]:
        known.append(Operator("reconstruction", "f_b", "positive", reconstructed))
    found = {operator.symbol: operator for operator in known}
    if lacking := [symbol for symbol in asked if symbol not in found]:
        source = f"{args.rewrites} has none of them" if args.rewrites else "--rewrites: not given"
        print(f"left out: {', '.join(lacking)}; {source}")
    if not set(asked) & found.keys():
        raise ValueError("--operators: none is left")
    return [found[symbol] for symbol in asked if symbol in found]


def _phrase_deletion(args: argparse.Namespace, problems: Sequence[Problem]) -> Rewrite:
    """f5 with all questions' phrases encoded at once."""
    from tqnet.evaluation.sources import open_source
    from tqnet.libraries import precision
    from tqnet.paraphrase.negatives import NO_PHRASES
    from tqnet.paraphrase.precompute import LookUp, without_important_phrases
    from tqnet.paraphrase.training import as_questions

    model = open_source(args.encoder)
    how = {"batch_size": args.batch_size, "device": args.device, "precision": precision(args.precision, args.device)}

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(as_questions(texts), **how)

    return LookUp(dict(without_important_phrases(problems, encode, shows_progress=True)), NO_PHRASES)


def _paraphrases(
    problem: Problem, operators: Sequence[Operator], every: bool, rng: np.random.Generator
) -> tuple[list[tuple[Operator, str]], dict[str, str]]:
    """Operators and their texts, one for each label or for each operator; and what there is none of, with the reasons
    of the operators that do not apply.
    """
    from tqnet.paraphrase.operators import first_that_applies, select
    from tqnet.paraphrase.problem import NotApplicable

    kinds = [(label, select(operators, label)) for label in ("positive", "negative")]
    asked = [(f"text by {one.symbol}", [one]) for one in operators] if every else kinds
    made: list[tuple[Operator, str]] = []
    lacking: dict[str, str] = {}
    for name, of in asked:
        if not of:
            continue
        try:
            text, symbol = first_that_applies(problem, of, rng)
        except NotApplicable as reasons:
            lacking[name] = str(reasons)
            continue
        made.append((next(one for one in of if one.symbol == symbol), text))
    return made, lacking
