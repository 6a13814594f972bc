"""``tqnet evaluate``: similar questions, knowledge points, and a whole training's stages in one report."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands import (
    evaluate_concepts,
    evaluate_mteb,
    evaluate_pairs,
    evaluate_paraphrase,
    evaluate_predict,
    evaluate_ranking,
    evaluate_recall,
    evaluate_solver,
)
from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_results
from tqnet.commands.similarity import add_doubles_argument, add_similarity_arguments, doubles_of, similarity_of

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.evaluation import StageResult
    from tqnet.evaluation.stages import Tasks
    from tqnet.questions import KnowledgeHierarchy, QuestionBank, Similarity
    from tqnet.questions.pairs import ScoredPairs

_START = "encoder:minilm"
_START_NAME = "start encoder"


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("evaluate", help="measure a model on similar questions and knowledge points")
    tasks = parser.add_subparsers(required=True, metavar="TASK")
    _add_similar(tasks)
    _add_probe(tasks)
    _add_difficulty(tasks)
    _add_agreement(tasks)
    evaluate_concepts.add(tasks)
    _add_stages(tasks)
    evaluate_recall.add(tasks)
    evaluate_ranking.add(tasks)
    evaluate_pairs.add(tasks)
    evaluate_paraphrase.add(tasks)
    evaluate_mteb.add(tasks)
    evaluate_predict.add(tasks)
    evaluate_solver.add(tasks)


def _add_similar(tasks: Any) -> None:
    parser = tasks.add_parser("similar", help="P@k, MRR, recall, nDCG of similar-question search")
    _add_one_model(parser, "TF-IDF, BM25 and the start encoder")
    _add_bank(parser)
    _add_search(parser)
    parser.set_defaults(run=run_similar)


def _add_probe(tasks: Any) -> None:
    parser = tasks.add_parser("probe", help="linear probe for knowledge points, per level of the hierarchy")
    _add_one_model(parser, "TF-IDF and the start encoder")
    _add_bank(parser)
    parser.set_defaults(run=run_probe)


def _add_difficulty(tasks: Any) -> None:
    parser = tasks.add_parser("difficulty", help="linear regression for difficulty: MAE, RMSE, PCC, DOA")
    _add_one_model(parser, "TF-IDF and the start encoder")
    _add_bank(parser)
    parser.set_defaults(run=run_difficulty)


def _add_agreement(tasks: Any) -> None:
    parser = tasks.add_parser(
        "agreement", help="correlation of similarities with a judge's, or with groups and the knowledge hierarchy"
    )
    _add_one_model(parser, "TF-IDF and the start encoder")
    _add_bank(parser)
    parser.add_argument("--split", default="test", help="whose questions are paired (test); all: of every split")
    parser.add_argument(
        "--pairs",
        help="file of pairs with scores, of which those within the split count; by default groups and concepts",
    )
    parser.add_argument("--plot", type=_picture, metavar="FILE", help="draw similarity by rank: .svg or .png")
    parser.set_defaults(run=run_agreement)


def _add_stages(tasks: Any) -> None:
    parser = tasks.add_parser("stages", help="all tasks for several models: table, JSON and an HTML report")
    parser.add_argument(
        "stages",
        nargs="+",
        metavar="NAME=SOURCE",
        help="SOURCE: a model folder, tfidf, bm25, or encoder:NAME for a text encoder as it comes",
    )
    _add_bank(parser)
    _add_search(parser)
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md, report.html")
    parser.add_argument("--title", default="Question vectors, stage by stage")
    parser.set_defaults(run=run_stages)


def _add_one_model(parser: argparse.ArgumentParser, baselines: str) -> None:
    parser.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net")
    parser.add_argument("--name", default="model", help="what the model is called in table and picture (model)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-baselines", action="store_true", help=f"leave out {baselines}")
    parser.add_argument("--start", metavar="SOURCE", help=f"what the model is compared with ({_START})")
    parser.add_argument(
        "--vectors", metavar="DIR", help="keep vectors here, and take those that are here (tqnet bench has OUT/vectors)"
    )


def _add_bank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bank", required=True, help="the corpus: a folder with questions.*, or such a file")
    parser.add_argument("--seed", type=whole_number(0), default=0)
    add_doubles_argument(parser)
    parser.add_argument(
        "--show",
        default="all",
        metavar="WHAT",
        help="what is read of a question: all (the default), text, figures, or shuffled: with those of another one",
    )
    add_error_arguments(parser)
    add_model_arguments(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", default="test", help="whose questions are the queries (test); all: of every split")
    add_similarity_arguments(parser)
    parser.add_argument("--k", type=whole_number(1), default=5, help="the k of P@k (5)")


def _picture(path: str) -> str:
    if Path(path).suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"{path}: pictures are .svg or .png")
    return path


def run_similar(args: argparse.Namespace) -> int:
    bank = read_bank(args)
    baselines = {"TF-IDF": "tfidf", "BM25": "bm25", _START_NAME: args.start or _START}
    return _run_one_model(args, _tasks(args, bank, similarity=similarity_of(args, bank)), baselines)


def run_probe(args: argparse.Namespace) -> int:
    bank = read_bank(args)
    baselines = {"TF-IDF": "tfidf", _START_NAME: args.start or _START}
    return _run_one_model(args, _tasks(args, bank, hierarchy=_hierarchy(bank)), baselines)


def run_difficulty(args: argparse.Namespace) -> int:
    baselines = {"TF-IDF": "tfidf", _START_NAME: args.start or _START}
    return _run_one_model(args, _tasks(args, read_bank(args), difficulty=True), baselines)


def run_agreement(args: argparse.Namespace) -> int:
    from tqnet.questions.pairs import read_pairs

    bank = read_bank(args)
    judged = read_pairs(args.pairs, bank, on_error=args.on_error) if args.pairs else None
    baselines = {"TF-IDF": "tfidf", _START_NAME: args.start or _START}
    return _run_one_model(args, _tasks(args, bank, agreement=True, judged=judged), baselines)


def _run_one_model(args: argparse.Namespace, tasks: Tasks, baselines: dict[str, str]) -> int:
    import json

    from tqnet.evaluation import render, to_dict

    tasks.check()
    stages = {**({} if args.no_baselines else baselines), args.name: args.model}
    # The encoder that nobody asked for by name may be missing; one that was named may not.
    cache = Path(args.vectors) if args.vectors else None
    results, _ = _measure(args, stages, tasks, optional=None if args.start else _START_NAME, cache=cache)
    print(json.dumps(to_dict(results), indent=2, ensure_ascii=False) if args.json else render(results))
    if getattr(args, "plot", None):
        _plot(Path(args.plot), results)
    return 0


def _plot(path: Path, results: dict[str, StageResult]) -> None:
    from tqnet.evaluation.plots import similarity_by_rank
    from tqnet.files import atomic

    found = {name: stage.agreement for name, stage in results.items() if stage.agreement}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_bytes(similarity_by_rank(found, fmt="png" if path.suffix == ".png" else "svg"))
    print(f"picture: {path}", file=sys.stderr)


def run_stages(args: argparse.Namespace) -> int:
    from tqnet.evaluation import render, to_dict, write_report
    from tqnet.evaluation.stages import parse_stages, provenance, training_logs

    stages = parse_stages(args.stages)
    bank, logs, out = read_bank(args), training_logs(stages), Path(args.out)
    tasks = _what_there_is(_tasks(args, bank, similarity=similarity_of(args, bank), hierarchy=_hierarchy(bank)))
    out.mkdir(parents=True, exist_ok=True)  # where it cannot be, before anything is encoded
    results, vectors = _measure(args, stages, tasks, cache=out / "vectors")
    facts = provenance(command(args), bank, logs)
    write_results(out, facts, {"stages": to_dict(results)}, render(results, markdown=True))
    report = write_report(
        out / "report.html",
        results,
        tasks.bank,
        title=args.title,
        vectors=vectors,
        metrics_files=logs,
        facts=facts,
        seed=args.seed,
    )
    print(render(results))
    print(f"report: {report}")
    return 0


def _what_there_is(tasks: Tasks) -> Tasks:
    """Leave out, and say so, the tasks that the bank is not labelled for; without any labels, fail.

    Difficulties, which few banks have, and ranks of pairs are left out without a word.
    """
    from tqnet.evaluation.difficulty import has_difficulties

    tasks = replace(tasks, difficulty=has_difficulties(tasks.bank, tasks.seed))
    try:
        tasks.check_probe()
    except ValueError as error:
        print(f"tqnet: knowledge points left out: {error}", file=sys.stderr)
        tasks = replace(tasks, hierarchy=None)
    related = tasks.similarity is not None and tasks.similarity.has_similar.any()
    if related or (tasks.hierarchy is None and not tasks.difficulty):
        tasks.check_similar()
    else:
        print("tqnet: similar questions left out: no question is similar to any other", file=sys.stderr)
        tasks = replace(tasks, similarity=None)
    ranked = replace(tasks, agreement=True)
    return ranked if ranked.has_ranks else tasks


def _measure(
    args: argparse.Namespace,
    stages: dict[str, str],
    tasks: Tasks,
    optional: str | None = None,
    cache: Path | None = None,
) -> tuple[dict[str, StageResult], dict[str, Any]]:
    """What each stage scores, in order, and the vectors of the models.

    The stage ``optional`` is left out with a line on stderr where its encoder cannot be had. Encoders as they
    come read no more of a text than the trained models do, so that both are compared on the same words.
    """
    from tqnet.evaluation.sources import Encoding, SourceError, shortest_length, source_notes, source_vectors
    from tqnet.evaluation.stages import LEXICAL
    from tqnet.libraries import precision, quiet

    quiet()
    length = shortest_length(source for source in stages.values() if source not in LEXICAL)
    encoding = Encoding(args.batch_size, args.device, precision(args.precision, args.device), length)
    results, vectors = {}, {}
    for name, source in stages.items():
        if source in LEXICAL:
            results[name] = tasks.measure_lexical(source)
            continue
        print(f"{name}: {source}", file=sys.stderr)
        try:
            vectors[name] = source_vectors(source, tasks.bank, encoding, cache)
        except SourceError as error:
            if name != optional:
                raise
            print(f"tqnet: {name} left out: {error}", file=sys.stderr)
            continue
        results[name] = tasks.measure_vectors(vectors[name], *source_notes(source))
    return results, vectors


def _tasks(
    args: argparse.Namespace,
    bank: QuestionBank,
    similarity: Similarity | None = None,
    hierarchy: KnowledgeHierarchy | None = None,
    difficulty: bool = False,
    agreement: bool = False,
    judged: ScoredPairs | None = None,
) -> Tasks:
    from tqnet.evaluation.stages import Tasks

    tasks = Tasks(bank, hierarchy=hierarchy, difficulty=difficulty, agreement=agreement, judged=judged, seed=args.seed)
    if similarity is not None or agreement:
        tasks = replace(tasks, split=None if args.split == "all" else args.split)
    if similarity is not None:
        tasks = replace(tasks, similarity=similarity, k=args.k)
    tasks = tasks.showing(args.show)
    return tasks.without(doubles_of(bank)) if args.without_doubles else tasks


def _hierarchy(bank: QuestionBank) -> KnowledgeHierarchy:
    from tqnet.questions import KnowledgeHierarchy

    return KnowledgeHierarchy.from_bank(bank)
