"""``tqnet evaluate``: similar questions, knowledge points, and a whole training's stages in one report."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.evaluation import StageResult
    from tqnet.evaluation.stages import Encoding
    from tqnet.questions import QuestionBank, Similarity

_START = "encoder:minilm"


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("evaluate", help="measure a model on similar questions and knowledge points")
    tasks = parser.add_subparsers(required=True, metavar="TASK")
    _add_similar(tasks)
    _add_probe(tasks)
    _add_stages(tasks)


def _add_similar(tasks: Any) -> None:
    parser = tasks.add_parser("similar", help="P@k, MRR, recall, nDCG of similar-question search")
    _add_common(parser, one_model=True)
    parser.add_argument("--no-baselines", action="store_true", help="leave out TF-IDF, BM25 and the start encoder")
    parser.add_argument("--start", default=_START, metavar="SOURCE", help=f"what the model is compared with ({_START})")
    parser.set_defaults(run=run_similar)


def _add_probe(tasks: Any) -> None:
    parser = tasks.add_parser("probe", help="linear probe for knowledge points, per level of the hierarchy")
    _add_common(parser, one_model=True)
    parser.set_defaults(run=run_probe)


def _add_stages(tasks: Any) -> None:
    parser = tasks.add_parser("stages", help="both tasks for several models: table, JSON and an HTML report")
    _add_common(parser, one_model=False)
    parser.add_argument(
        "stages",
        nargs="+",
        metavar="NAME=SOURCE",
        help="SOURCE: a model folder, tfidf, bm25, or encoder:NAME for a text encoder as it comes",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md, report.html")
    parser.add_argument("--title", default="Question vectors, stage by stage")
    parser.set_defaults(run=run_stages)


def _add_common(parser: argparse.ArgumentParser, one_model: bool) -> None:
    if one_model:
        parser.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net")
        parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--bank", required=True, help="the corpus: a folder with questions.*, or such a file")
    parser.add_argument("--split", default="test", help="whose questions are the queries (test)")
    parser.add_argument("--pairs", help="file of similar pairs; by default questions of one group are similar")
    parser.add_argument("--k", type=int, default=5, help="the k of P@k (5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty records")
    add_model_arguments(parser)


def run_similar(args: argparse.Namespace) -> int:
    stages = {"model": args.model}
    if not args.no_baselines:
        stages = {"TF-IDF": "tfidf", "BM25": "bm25", "start encoder": args.start, **stages}
    _print(_measure(args, stages, probe=False), args.json)
    return 0


def run_probe(args: argparse.Namespace) -> int:
    _print(_measure(args, {"model": args.model}, similar=False), args.json)
    return 0


def run_stages(args: argparse.Namespace) -> int:
    import json

    from tqnet.evaluation import render, to_dict, write_report
    from tqnet.evaluation.stages import parse_stages, provenance, training_logs
    from tqnet.files import atomic

    stages = parse_stages(args.stages)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    bank, logs = _bank(args), training_logs(stages)
    vectors: dict[str, Any] = {}
    results = _measure(args, stages, cache=out / "vectors", vectors=vectors)
    facts = provenance("tqnet " + shlex.join(sys.argv[1:]), bank, logs)
    with atomic(out / "results.json") as temporary:
        document = {"made_by": facts, "stages": to_dict(results)}
        temporary.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic(out / "results.md") as temporary:
        lines = [f"- {name}: `{fact}`" for name, fact in facts.items()]
        temporary.write_text("\n".join((*lines, "", render(results, markdown=True))), encoding="utf-8")
    report = write_report(
        out / "report.html",
        results,
        bank,
        title=args.title,
        vectors=vectors,
        metrics_files=logs,
        facts=facts,
        seed=args.seed,
    )
    print(render(results))
    print(f"report: {report}")
    return 0


def _measure(
    args: argparse.Namespace,
    stages: dict[str, str],
    similar: bool = True,
    probe: bool = True,
    cache: Path | None = None,
    vectors: dict[str, Any] | None = None,
) -> dict[str, StageResult]:
    """What each stage scores, in order; ``vectors`` takes in those of the models."""
    from tqnet.evaluation.stages import LEXICAL, measure_lexical, measure_vectors, stage_vectors
    from tqnet.libraries import quiet
    from tqnet.questions import KnowledgeHierarchy

    quiet()
    bank = _bank(args)
    similarity = _similarity(args, bank)
    hierarchy = KnowledgeHierarchy.from_bank(bank) if probe else None
    results = {}
    for name, source in stages.items():
        if source in LEXICAL:
            results[name] = measure_lexical(source, bank, similarity, args.split, args.k)
            continue
        print(f"{name}: {source}", file=sys.stderr)
        encoded = stage_vectors(name, source, bank, _encoding(args), cache)
        if vectors is not None:
            vectors[name] = encoded
        results[name] = measure_vectors(
            encoded, bank, similarity if similar else None, hierarchy, args.split, args.k, args.seed
        )
    return results


def _bank(args: argparse.Namespace) -> QuestionBank:
    from tqnet.questions import QuestionBank

    return QuestionBank.load(args.bank, on_error=args.on_error)


def _similarity(args: argparse.Namespace, bank: QuestionBank) -> Similarity:
    from tqnet.questions import Similarity

    return Similarity.from_pairs(args.pairs, bank) if args.pairs else Similarity.from_groups(bank)


def _encoding(args: argparse.Namespace) -> Encoding:
    from tqnet.evaluation.stages import Encoding
    from tqnet.libraries import precision

    return Encoding(args.batch_size, args.device, precision(args.precision))


def _print(results: dict[str, StageResult], as_json: bool) -> None:
    import json

    from tqnet.evaluation import render, to_dict

    print(json.dumps(to_dict(results), indent=2, ensure_ascii=False) if as_json else render(results))
