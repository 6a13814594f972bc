"""``tqnet predict``: knowledge points and difficulty of new questions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import number, whole_number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.questions import Question

#: Questions that are encoded and predicted before they are written.
_CHUNK = 1024


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "predict",
        help="predict knowledge points and difficulty of new questions",
        description="Of each question the likeliest concepts of every level with calibrated probabilities, a parent "
        "never below its child, and the difficulty with an interval, as far as the model's heads "
        "(python finetune/heads.py) have learnt them.",
    )
    parser.add_argument(
        "--model", required=True, metavar="DIR", help="a trained model with heads beside it, or a folder of heads"
    )
    parser.add_argument("--bank", help="the questions: a folder with questions.*, or a .jsonl or .parquet file")
    parser.add_argument("--text", help="a single question: a stem with LaTeX formulas")
    parser.add_argument("--image", nargs="+", default=[], metavar="FILE", help="figures of the single question")
    parser.add_argument("--out", metavar="FILE", help="write one JSON object for each question here, one on a line")
    parser.add_argument("--json", action="store_true", help="print them")
    parser.add_argument("-k", "--top", type=whole_number(1), default=3, help="concepts of each level (3)")
    parser.add_argument(
        "--levels", type=whole_number(1), nargs="+", default=[], metavar="N", help="of the hierarchy, 1 the coarsest"
    )
    parser.add_argument(
        "--coverage",
        type=number(0, 1, above=True),
        default=0.9,
        help="share of questions whose difficulty is to be within its interval (0.9)",
    )
    add_error_arguments(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.files import atomic
    from tqnet.libraries import quiet
    from tqnet.prediction.heads import check_levels, heads_of

    quiet()
    if bool(args.bank) == bool(args.text or args.image):
        raise ValueError("the questions are --bank, or a single one by --text and --image")
    if args.coverage >= 1:
        raise ValueError("--coverage: an interval that always holds is no interval; take less than 1")
    out = output_file(args.out) if args.out else None
    source, heads = heads_of(args.model)
    args.levels = check_levels(heads, args.levels)
    questions = read_bank(args) if args.bank else [_typed(args)]
    if heads.difficulty is not None and (why := heads.difficulty.why_no_interval(args.coverage)):
        print(f"tqnet: {why}", file=sys.stderr)
    records = _records(args, source, heads, questions)
    if out is None:
        for record in records:
            print(json.dumps(record, ensure_ascii=False) if args.json else _shown(record))
        return 0
    # Closed before an error is told: the last word is not the progress bar's.
    with closing(records), atomic(out) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for record in records:
            line = json.dumps(record, ensure_ascii=False)
            stream.write(line + "\n")
            if args.json:
                print(line)
    if not args.json:
        print(f"{len(questions):,} questions: {out}")
    return 0


def _typed(args: argparse.Namespace) -> Question:
    from tqnet.search.searcher import typed_question

    for image in args.image:
        if not Path(image).is_file():
            raise FileNotFoundError(f"--image {image}: no such file")
    return typed_question(args.text or "", [str(Path(image).absolute()) for image in args.image])


def _records(
    args: argparse.Namespace, source: str, heads: Any, questions: Any
) -> Generator[dict[str, Any], None, None]:
    """Of each question its id and what is predicted, in order; a bank's chunk by chunk, in bounded memory."""
    import numpy as np
    from tqdm import tqdm

    from tqnet.evaluation.sources import open_source
    from tqnet.libraries import precision
    from tqnet.prediction.heads import predict

    model = open_source(source)
    numbers = {"k": args.top, "levels": args.levels, "coverage": args.coverage}
    options = {
        "batch_size": args.batch_size,
        "device": args.device,
        "precision": precision(args.precision, args.device),
    }
    with tqdm(total=len(questions), unit=" questions", desc="predict", disable=not args.bank) as progress:
        for start in range(0, len(questions), _CHUNK):
            rows = range(start, min(start + _CHUNK, len(questions)))
            own = questions.select(np.array(rows)) if args.bank else questions
            found = predict(heads, model.encode(own, **options), [one.content for one in own], **numbers)
            for question, record in zip(own, found, strict=True):
                yield ({"id": question.id} if args.bank else {"text": question.stem}) | record
            progress.update(len(rows))


def _shown(record: dict[str, Any]) -> str:
    """In some lines: probability in per cent and path, a level beneath the other."""
    lines = [str(record["id"])] if "id" in record else []
    for level in record.get("knowledge", ()):
        lines.append(f"level {level['level']}")
        lines += [f"  {100 * one['probability']:5.1f} %  {' > '.join(one['path'])}" for one in level["concepts"]]
    difficulty = record.get("difficulty")
    if difficulty and difficulty["coverage"] is None:
        lines.append(f"difficulty {difficulty['value']:.2f}")
    elif difficulty:
        share = f"{100 * difficulty['coverage']:g} %"
        lines.append(
            f"difficulty {difficulty['value']:.2f}, with {share} between {difficulty['low']:.2f} "
            f"and {difficulty['high']:.2f}"
        )
    return "\n".join(lines)
