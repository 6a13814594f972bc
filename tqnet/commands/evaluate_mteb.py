"""``tqnet evaluate mteb``: a trained model on tasks of mteb, and on similar questions of a bank as one of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, cast

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_results
from tqnet.commands.similarity import add_similarity_arguments, similarity_of


def add(tasks: Any) -> None:
    parser = tasks.add_parser(
        "mteb",
        help="as a model of mteb: similar questions of a bank, and any of its tasks by name",
        description="Needs pip install 'tqnet[mteb]'. Tasks by name are fetched by mteb, which needs a network.",
    )
    parser.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net")
    parser.add_argument("--bank", help="a folder with questions.*, or such a file: similar questions are a task")
    parser.add_argument("--split", default="test", help="whose questions are the queries (test); all: of every split")
    add_similarity_arguments(parser)
    parser.add_argument("--k", type=whole_number(1), default=5, help="the k of P@k (5)")
    parser.add_argument("--tasks", nargs="+", default=[], metavar="NAME", help="tasks of mteb: NFCorpus, STS12, ...")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="gets results.json, results.md, and mteb's own files below mteb/"
    )
    add_error_arguments(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.evaluation.table import Table
    from tqnet.libraries import precision, quiet

    if not (args.bank or args.tasks):
        raise ValueError("--bank or --tasks: nothing to measure")
    quiet()
    import mteb

    from tqnet.hub.mteb import TQNetEncoder, similar_questions

    tasks: list[Any] = []
    facts = {"command": command(args), "mteb": mteb.__version__}
    encoder = TQNetEncoder(args.model, device=args.device, precision=precision(args.precision, args.device))
    if args.bank:
        bank = read_bank(args)
        split = None if args.split == "all" else args.split
        figures = encoder.encoder.config.reads_images
        tasks.append(similar_questions(bank, similarity_of(args, bank), split, args.k, figures))
        facts["bank"] = f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}"
    for name in args.tasks:
        try:
            tasks.append(mteb.get_task(name))
        except KeyError as error:
            raise ValueError(f"--tasks: {error.args[0] if error.args else name}") from None
    out = Path(args.out)
    result = mteb.evaluate(
        cast(Any, encoder),  # its protocols are of another signature than its own base class
        tasks,
        encode_kwargs={"batch_size": args.batch_size},
        cache=mteb.ResultCache(out / "mteb"),
        overwrite_strategy="always",  # results of another bank may have the same name
        co2_tracker=False,
    )
    scores = {one.task_name: _main_scores(one, task) for one, task in zip(result.task_results, tasks, strict=True)}
    rows = tuple((task, metric, f"{score:.4f}") for task, of in scores.items() for metric, score in of.items())
    table = Table("mteb", ("task", "metric", "score"), rows)
    write_results(out, facts, {"mteb": scores}, table.markdown())
    print(table.text())
    return 0


def _main_scores(result: Any, task: Any) -> dict[str, float]:
    """Split, and subset where there are several, with the task's main metric -> score; of a bank also R and nDCG."""
    found: dict[str, float] = {}
    metric = task.metadata.main_score
    names = [metric]
    if metric.startswith("precision_at_"):
        names += [f"{other}_at_{metric.rpartition('_')[2]}" for other in ("recall", "ndcg")]
    for split, subsets in result.scores.items():
        for scores in subsets:
            where = split if len(subsets) == 1 else f"{split} {scores['hf_subset']}"
            found |= {f"{where}: {name}": float(scores[name]) for name in names}
    return found
