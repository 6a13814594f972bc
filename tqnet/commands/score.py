"""``tqnet score``: whether rewritten questions still ask the same, and what they lost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments
from tqnet.commands.english import add_language_model_argument, english_parser
from tqnet.commands.options import number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.paraphrase import ParaphraseScore
    from tqnet.questions.paraphrase_pairs import ParaphrasePair


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "score",
        help="tell whether a rewritten question still asks the same",
        description="The cosine of two questions' vectors, and what was lost or changed: numbers, units, entities, "
        "words, formulas, sentences, the question itself. Valid is a pair with a score above the threshold and the "
        "same numbers, units and names, whose words have not changed places, and that asks something.",
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="the original and its paraphrase")
    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="a trained model, or a text encoder as it comes: minilm, encoder:NAME",
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="score those of a .csv or .jsonl file: original, paraphrase and, if known, label",
    )
    parser.add_argument("--threshold", type=number(-1, 1), help="a score above it is valid; by default the paper's")
    parser.add_argument("--out", metavar="FILE", help="write one JSON object for each pair here, one on a line")
    parser.add_argument("--json", action="store_true", help="print them")
    parser.add_argument("--no-explain", action="store_true", help="scores alone, as fast as encoding")
    add_language_model_argument(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.files import atomic
    from tqnet.libraries import quiet
    from tqnet.paraphrase import ParaphraseScorer
    from tqnet.paraphrase.evaluation import THRESHOLD

    quiet()
    if args.threshold is None:
        args.threshold = THRESHOLD
    pairs = _pairs(args)
    out = output_file(args.out) if args.out else None
    explain = not args.no_explain
    scorer = ParaphraseScorer(
        args.model,
        explain=explain,
        language_model=english_parser(args) if explain and args.language_model else None,
        batch_size=args.batch_size,
        device=args.device,
        precision=args.precision,
    )
    scores = scorer.score(pairs, show_progress=bool(args.pairs))
    records = [_record(pair, found, args) for pair, found in zip(pairs, scores, strict=True)]
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    if out is not None:
        with atomic(out) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if args.json:
        print("\n".join(lines))
        return 0
    if not args.pairs:
        print(_verdict(scores[0], args.threshold))
        return 0
    if out is None:
        print(_table(pairs, scores, args.threshold))
    valid = sum(found.checked > args.threshold for found in scores)
    same = ", nothing that changes what is asked" if scorer.explainer else ""
    where = f": {out}" if out is not None else ""
    print(f"{len(pairs):,} pairs, {valid:,} valid (score above {args.threshold:g}{same}){where}")
    return 0


def _pairs(args: argparse.Namespace) -> list[ParaphrasePair]:
    from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_pairs

    if args.pairs and args.texts:
        raise ValueError("two texts or --pairs, not both")
    if args.pairs:
        return read_pairs(args.pairs)
    if len(args.texts) != 2:
        raise ValueError(f"the original and its paraphrase are needed, or --pairs; got {len(args.texts)} texts")
    original, paraphrase = args.texts
    return [ParaphrasePair(original, paraphrase, None, "1")]


def _record(pair: ParaphrasePair, found: ParaphraseScore, args: argparse.Namespace) -> dict[str, Any]:
    known = {"id": pair.id} if args.pairs else {}
    label = {} if pair.label is None else {"label": pair.label}
    return known | found.to_dict() | {"valid": found.checked > args.threshold} | label


def _verdict(found: ParaphraseScore, threshold: float) -> str:
    if found.score <= threshold:
        said = f"invalid, not above {threshold:g}"
    elif found.checked <= threshold:
        said = "invalid by what was lost or changed"
    else:
        said = f"valid, above {threshold:g}"
    looked = (
        "" if found.differences is None else f"\n{found.explanation or 'nothing lost or changed that was looked for'}"
    )
    return f"{found.score:.3f} ({said}){looked}"


def _table(pairs: Sequence[ParaphrasePair], scores: Sequence[ParaphraseScore], threshold: float) -> str:
    """The explanation last, whatever its length."""
    width = max(len("pair"), *(len(pair.id) for pair in pairs))
    rows = [("pair", "score", "", "label", "lost or changed" if scores[0].differences is not None else "")]
    for pair, found in zip(pairs, scores, strict=True):
        said = "valid" if found.checked > threshold else "invalid"
        label = "" if pair.label is None else str(pair.label)
        rows.append((pair.id, f"{found.score:.3f}", said, label, found.explanation))
    labelled = any(pair.label is not None for pair in pairs)
    return "\n".join(
        f"{name:<{width}}  {score:>6}  {said:<7}  {f'{label:<5}  ' if labelled else ''}{explanation}".rstrip()
        for name, score, said, label, explanation in rows
    )
