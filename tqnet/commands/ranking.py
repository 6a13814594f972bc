"""Ranking and re-ranking, as commands are told them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.options import number, whole_number

if TYPE_CHECKING:
    import numpy as np

    from tqnet.questions import Question
    from tqnet.questions.pairs import Classify
    from tqnet.search.index import Index
    from tqnet.search.ranker import CrossEncoder
    from tqnet.search.ranking import Rank
    from tqnet.search.rerank import Rerank

#: In place of a ranker's folder: the order that rankers start from, and that of recall.
BY_EVIDENCE, BY_RECALL = "evidence", "none"


def add_rank_arguments(parser: argparse.ArgumentParser) -> None:
    """``--ranker`` and how long it may take."""
    group = parser.add_argument_group("ranking")
    group.add_argument(
        "--ranker",
        default=BY_EVIDENCE,
        metavar="DIR",
        help=f"what orders what is recalled: a model of finetune/ranker.py; {BY_EVIDENCE!r} (the default): vectors, "
        f"runs of characters and concepts, without a model; or {BY_RECALL!r}, which leaves the order of recall",
    )
    group.add_argument(
        "--rank-first",
        type=whole_number(1),
        default=20,
        metavar="N",
        help="the model reads so many, by the evidence (20)",
    )
    group.add_argument(
        "--deadline",
        type=number(0),
        metavar="SECONDS",
        help="that a ranker may take; past it the order of recall is kept",
    )


def add_rerank_arguments(parser: argparse.ArgumentParser) -> None:
    """For whom the answer is."""
    group = parser.add_argument_group("re-ranking")
    group.add_argument("--student", choices=("strong", "weak"), help="as hard or harder; as hard or easier")
    group.add_argument("--difficulty", type=number(), metavar="D", help="of a query that is typed")
    group.add_argument("--tolerance", type=number(0), metavar="D", help="difficulties so near are equal (0)")
    group.add_argument(
        "--stage", choices=("practice", "review"), help="nothing beyond the current section; beyond the semester"
    )
    group.add_argument("--curriculum", metavar="FILE", help="YAML: semesters, each with its concepts, all in order")
    group.add_argument("--section", metavar="CONCEPT", help="the current one; by default the query's latest")
    group.add_argument("--prefer", choices=("variant", "similar"), help="which comes first; duplicates are left out")
    add_pairs_model(group)
    group.add_argument(
        "--diversity", type=number(0, 1), default=0.0, metavar="SHARE", help="0 to 1: put repetitions back (0)"
    )


def add_pairs_model(parser: argparse._ActionsContainer) -> None:
    """``--pairs-model``."""
    parser.add_argument("--pairs-model", metavar="DIR", help="model of finetune/pairs.py, which tells --prefer's kinds")


def classify_of(args: argparse.Namespace) -> Classify | None:
    """The classifier of pairs; None without ``--pairs-model``."""
    if not args.pairs_model:
        return None
    from tqnet.modeling.encode import accelerator
    from tqnet.modeling.pairs import PairClassifier

    return PairClassifier.from_pretrained(args.pairs_model).to(args.device or accelerator() or "cpu").classify


def rank_of(args: argparse.Namespace, index: Index) -> Rank | None:
    """The ranking stage of searches in ``index``; None with ``--ranker none``.

    Raises:
        ValueError: The ranker was trained for another index.
    """
    if args.ranker == BY_RECALL:
        return None
    from tqnet.search.ranking import Rank

    if args.ranker == BY_EVIDENCE:
        return Rank()
    from tqnet.libraries import precision

    cross = load_ranker(args.ranker, index, args.device)
    chosen = precision(args.precision, args.device)

    def score(query: Question, candidates: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        return cross.probabilities([(query, one) for one in candidates], evidence, args.batch_size, chosen)

    return Rank(score, args.rank_first, args.deadline)


def load_ranker(folder: str | Path, index: Index, device: str | None) -> CrossEncoder:
    """A model of finetune/ranker.py for searches in ``index``.

    Raises:
        FileNotFoundError: ``folder`` has none.
        ValueError: It was trained beside vectors of another model.
    """
    from tqnet.search.ranker import CrossEncoder

    cross = CrossEncoder.from_pretrained(folder, device)
    if None not in (cross.searched_by, index.manifest.digest) and cross.searched_by != index.manifest.digest:
        raise ValueError(
            f"{folder}: trained beside vectors of another model (files {cross.searched_by}) than those of "
            f"{index.folder} (files {index.manifest.digest}); train it with index={index.folder}"
        )
    return cross


def rerank_of(args: argparse.Namespace) -> Rerank | None:
    """The re-ranking stage; None where nothing of it is asked for.

    Raises:
        ValueError: What is said is of no use without what is not.
    """
    for name, without in (
        ("difficulty", "student"),
        ("tolerance", "student"),
        ("curriculum", "stage"),
        ("section", "stage"),
        ("pairs_model", "prefer"),
    ):
        if getattr(args, name) is not None and getattr(args, without) is None:
            raise ValueError(f"--{name.replace('_', '-')}: of no use without --{without}")
    if not (args.student or args.stage or args.prefer or args.diversity):
        return None
    from tqnet.search.rerank import Curriculum, Rerank

    return Rerank(
        student=args.student,
        tolerance=args.tolerance or 0.0,
        stage=args.stage,
        curriculum=Curriculum.load(Path(args.curriculum)) if args.curriculum else None,
        section=args.section,
        prefer=args.prefer,
        classify=classify_of(args),
        diversity=args.diversity,
    )
