"""``tqnet search``: similar questions from an index."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_backend_argument, add_model_arguments
from tqnet.commands.index import encoder_of, open_index, open_model
from tqnet.commands.options import whole_number
from tqnet.commands.ranking import add_rank_arguments, add_rerank_arguments, rank_of, rerank_of

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.questions import Question
    from tqnet.search.index import Index
    from tqnet.search.ranking import Rank
    from tqnet.search.searcher import Answer, Searcher


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "search",
        help="find similar questions in an index",
        description="The query is a text, figures, or both; a question of the index; or each question of a file.",
    )
    parser.add_argument("index", metavar="INDEX", help="that tqnet index has made")
    parser.add_argument("--text", help="of the query: a stem with LaTeX formulas")
    parser.add_argument("--image", nargs="+", default=[], metavar="FILE", help="figures of the query")
    parser.add_argument("--id", metavar="ID", help="the query is this question of the index")
    parser.add_argument("--queries", metavar="BANK", help="a bank, of which every question is a query")
    parser.add_argument("-k", type=whole_number(1), default=5, help="how many are shown (5)")
    parser.add_argument("--candidates", type=whole_number(1), default=100, help="how many are recalled (100)")
    parser.add_argument(
        "--filter",
        nargs="+",
        action="extend",
        default=[],
        metavar="CONDITION",
        help="'difficulty<=3', 'type=choice|blank', 'concept=Algebra/Equations'; several hold together. Fields: id, "
        "concept, difficulty, type, language, source, figures",
    )
    parser.add_argument("--by", choices=("text", "vector", "both"), default="both", help="what finds candidates (both)")
    add_merging_argument(parser)
    parser.add_argument("--json", action="store_true", help="one object for each query, one on a line")
    parser.add_argument("--model", metavar="DIR", help="where the index's model lies now, if it has moved")
    add_model_arguments(parser)
    add_backend_argument(parser)
    add_rank_arguments(parser)
    add_rerank_arguments(parser)
    parser.set_defaults(run=run)


def add_merging_argument(parser: argparse.ArgumentParser) -> None:
    """``--merging``."""
    parser.add_argument(
        "--merging",
        choices=("score", "halves"),
        default="score",
        help="of what text and vectors find, the best by the score of both; or FSE's rule: what both have found, then "
        "half of the rest from each (score)",
    )


#: Characters of a question that are shown.
_SHOWN = 240


def run(args: argparse.Namespace) -> int:
    from tqnet.libraries import quiet
    from tqnet.search.records import read_filter
    from tqnet.search.retrieval import SOURCES
    from tqnet.search.searcher import Searcher

    quiet()
    if sum(map(bool, (args.text or args.image, args.id, args.queries))) != 1:
        raise ValueError("the query is one of --text and --image, --id, or --queries")
    where = [read_filter(condition) for condition in args.filter]
    by = SOURCES if args.by == "both" else (args.by,)
    rerank = rerank_of(args)
    index = open_index(args.index)
    rank = rank_of(args, index)
    if args.id is not None:
        searcher = Searcher(index, rank=rank, merging=args.merging)
        queries = iter([searcher.by_id(args.id)])
    else:
        questions = _given(args)
        searcher = (
            open_searcher(index, args, rank) if "vector" in by else Searcher(index, rank=rank, merging=args.merging)
        )
        queries = searcher.queries(questions, by)
    told: set[str] = set()
    for query in queries:
        answer = searcher.answer(query, args.k, where, by=by, candidates=args.candidates, rerank=rerank)
        for note in answer.notes:
            if note not in told:
                print(f"tqnet: {note}", file=sys.stderr)
        told.update(answer.notes)
        print(_json(answer) if args.json else _text(answer, args.queries is not None))
    return 0


def open_searcher(index: Index, args: argparse.Namespace, rank: Rank | None = None) -> Searcher:
    """A searcher with the model of the index, under ``--model`` and the arguments of `add_model_arguments`."""
    from tqnet.search.searcher import Searcher

    model = open_model(index, args, one_at_a_time=True)
    encode, reads_figures = encoder_of(model, args), model.config.reads_images
    return Searcher(index, encode, reads_figures=reads_figures, rank=rank, merging=args.merging)


def _given(args: argparse.Namespace) -> list[Question]:
    from tqnet.questions import load_bank
    from tqnet.search.searcher import typed_question

    if args.queries:
        return list(load_bank(args.queries))
    for image in args.image:
        if not Path(image).is_file():
            raise FileNotFoundError(f"--image {image}: no such file")
    typed = typed_question(args.text or "", [str(Path(image).absolute()) for image in args.image])
    return [replace(typed, difficulty=args.difficulty)]


def _json(answer: Answer) -> str:
    import json

    from tqnet.search.searcher import TYPED, shown

    query = answer.query.question
    found = {
        "query": query.stem if query.id == TYPED else query.id,
        "results": [shown(candidate) for candidate in answer.candidates],
        "notes": list(answer.notes),
        "dropped": [{"id": one.question.id, "why": one.why} for one in answer.dropped],
    }
    return json.dumps(found, ensure_ascii=False)


def _text(answer: Answer, named: bool) -> str:
    query = answer.query.question
    lines = [f"{query.id}: {_shown(query)}"] if named else []
    for place, one in enumerate(answer.candidates, 1):
        lines += [f"{place:>3}  {one.question.id}  {one.why}", f"     {_shown(one.question)}"]
    reasons = Counter(one.notes[-1].partition(" (")[0] for one in answer.dropped)
    lines += [] if answer.candidates else ["nothing found"]
    lines += [f"{count} {reason}" for reason, count in reasons.most_common()]
    return "\n".join([*lines, *([""] if named else [])])


def _shown(question: Question) -> str:
    """Text and number of figures in a line or two."""
    from tqnet.text.sentences import excerpt

    figures = f"[{len(question.images)} figure{'s' * (len(question.images) > 1)}] " if question.images else ""
    return figures + excerpt(question.content, _SHOWN)
