"""``tqnet search``: similar questions from an index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_model_arguments, whole_number
from tqnet.commands.index import encoder_of, open_index, open_model

if TYPE_CHECKING:
    import numpy as np

    from tqnet.cli import Subparsers
    from tqnet.questions import Question
    from tqnet.search.index import Index
    from tqnet.search.recall import Candidate


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
    parser.add_argument("--json", action="store_true", help="one object for each query, one on a line")
    parser.add_argument("--model", metavar="DIR", help="where the index's model lies now, if it has moved")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


#: Characters of a question that are shown.
_SHOWN = 240

#: Id of a query that is typed: no question of the index is left out for it.
_TYPED = "(query)"


@dataclass(frozen=True)
class _Query:
    question: Question
    vector: np.ndarray | None


def run(args: argparse.Namespace) -> int:
    from tqnet.libraries import quiet
    from tqnet.search.filters import read_filter
    from tqnet.search.recall import Recall

    quiet()
    if sum(map(bool, (args.text or args.image, args.id, args.queries))) != 1:
        raise ValueError("the query is one of --text and --image, --id, or --queries")
    where = [read_filter(condition) for condition in args.filter]
    index = open_index(args.index)
    recall = Recall(index.engine)
    sources = ("text", "vector") if args.by == "both" else (args.by,)
    for query in _queries(args, index):
        n = max(args.candidates, args.k)
        found = recall(query.question, query.vector, n, where, by=sources)[: args.k]
        print(_json(query.question, found) if args.json else _text(query.question, found, args.queries is not None))
    return 0


def _queries(args: argparse.Namespace, index: Index) -> Iterator[_Query]:
    if args.id is not None:
        yield _of_index(index, args.id)
        return
    questions = _given(args)
    if args.by == "text":
        if args.image and not args.text:
            raise ValueError("--image: figures have no text to be searched by; leave --by text out")
        yield from (_Query(question, None) for question in questions)
        return
    from tqnet.search.records import unit

    model = open_model(index, args.model)
    if args.image and not model.config.reads_images:
        if not args.text:
            raise ValueError("--image: the model of this index reads no figures; give a --text")
        print("tqnet: --image: the model of this index reads no figures: the text alone is searched", file=sys.stderr)
    vectors = unit(encoder_of(model, args)(questions))
    yield from map(_Query, questions, vectors)


def _of_index(index: Index, id: str) -> _Query:
    import numpy as np

    from tqnet.search.records import question_of

    found = index.engine.get([id]).to_pylist()
    if not found:
        raise ValueError(f"--id: the index has no question {id!r}")
    return _Query(question_of(found[0]["question"], found[0]["images"]), np.array(found[0]["vector"], dtype=np.float32))


def _given(args: argparse.Namespace) -> list[Question]:
    from tqnet.questions import load_bank
    from tqnet.questions.reading import read_question

    if args.queries:
        return list(load_bank(args.queries))
    for image in args.image:
        if not Path(image).is_file():
            raise FileNotFoundError(f"--image {image}: no such file")
    text = (args.text or "").strip()
    if not text and not args.image:
        raise ValueError("--text: is empty")
    images = [str(Path(image).absolute()) for image in args.image]
    # A bank's question has a stem; a query may be a figure alone.
    query = read_question({"id": _TYPED, "stem": text or "-", "images": images})
    return [query if text else replace(query, stem="")]


def _json(query: Question, found: list[Candidate]) -> str:
    import json

    results = [
        {
            "id": one.question.id,
            "score": round(one.score, 6),
            "cosine": one.cosine,
            "words": one.words,
            **{name: getattr(one.question, name) for name in ("stem", "options", "difficulty", "type", "knowledge")},
            "figures": len(one.question.images),
        }
        for one in found
    ]
    return json.dumps({"query": query.stem if query.id == _TYPED else query.id, "results": results}, ensure_ascii=False)


def _text(query: Question, found: list[Candidate], named: bool) -> str:
    lines = [f"{query.id}: {_shown(query)}"] if named else []
    for place, one in enumerate(found, 1):
        lines += [f"{place:>3}  {one.question.id}  {one.score:.3f}  {one.why}", f"     {_shown(one.question)}"]
    return "\n".join([*lines, *([] if found else ["nothing found"]), *([""] if named else [])])


def _shown(question: Question) -> str:
    """Text and number of figures in a line or two."""
    from tqnet.text.readable import readable

    figures = f"[{len(question.images)} figure{'s' * (len(question.images) > 1)}] " if question.images else ""
    text = figures + " ".join(readable(question.content).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
