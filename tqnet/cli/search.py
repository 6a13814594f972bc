"""``tqnet search``: similar questions from an index."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.cli.groups import INDEX, EncodingOptions, typed_question
from tqnet.cli.index import IndexModelOptions, open_index
from tqnet.cli.options import Command, argument, count, number, option, switch

if TYPE_CHECKING:
    import numpy as np

    from tqnet.questions import Question
    from tqnet.questions.pairs import Classify
    from tqnet.search.index import Index
    from tqnet.search.ranker import CrossEncoder
    from tqnet.search.ranking import Rank
    from tqnet.search.rerank import Curriculum, Rerank
    from tqnet.search.searcher import Answer, Query, Searcher

#: Values of --ranker other than a folder: the order that rankers start from, and that of retrieval.
BY_FEATURES, BY_RETRIEVAL = "features", "none"

#: Maximum number of ids listed of the questions folded into a result.
_LISTED = 10

#: Maximum number of characters shown of a question.
_SHOWN = 240


@dataclass(frozen=True, kw_only=True)
class SearcherOptions(IndexModelOptions):
    merging: str = option(
        "how to merge results of text and vectors: by the score of both, or FSE's halves: results of both first, then "
        "half of the rest from each",
        default="score",
        choices=("score", "halves"),
    )

    floor: float | None = option(
        "leave out results of this likeness or less: 0 for unrelated texts, 1 for the same question; by default 0",
        type=number(),
        metavar="LIKENESS",
    )

    @property
    def chosen_floor(self) -> float:
        from tqnet.search.ranking import FLOOR

        return FLOOR if self.floor is None else self.floor

    def searcher(self, index: Index, rank: Rank | None = None) -> Searcher:
        """Make a searcher with the model of the index."""
        from tqnet.search.searcher import Searcher

        model = self.open_model(index, one_at_a_time=True)
        encode, reads_figures = partial(model.encode, **self.settings), model.config.reads_images
        return Searcher(index, encode, reads_figures=reads_figures, rank=rank, merging=self.merging)


@dataclass(frozen=True, kw_only=True)
class RankOptions(EncodingOptions):
    heading = "ranking"

    ranker: str = option(
        f"how to order candidates: by a model of finetune/ranker.py; {BY_FEATURES!r}: by vectors, words, formulas "
        f"and concepts, without a model; {BY_RETRIEVAL!r}: in the order of retrieval",
        default=BY_FEATURES,
        metavar="DIR",
    )
    rank_first: int = count("number of candidates that the model reads, chosen by features", default=20, metavar="N")
    deadline: float | None = option("maximum time to wait for the ranker", type=number(0), metavar="SECONDS")

    def rank(self, index: Index) -> Rank | None:
        """Make the ranking stage of searches in ``index``; None with ``--ranker none``."""
        if self.ranker == BY_RETRIEVAL:
            return None
        from tqnet.search.ranking import Rank

        if self.ranker == BY_FEATURES:
            return Rank()
        cross, precision = load_ranker(self.ranker, index, self.device), self.chosen_precision

        def score(query: Question, candidates: Sequence[Question], features: np.ndarray) -> np.ndarray:
            pairs = [(query, candidate) for candidate in candidates]
            return cross.probabilities(pairs, features, self.batch_size, precision)

        return Rank(score, self.rank_first, self.deadline)


def load_ranker(folder: str, index: Index, device: str | None) -> CrossEncoder:
    """Load a model of finetune/ranker.py for searches in ``index``.

    Raises:
        FileNotFoundError: ``folder`` holds no ranker.
        ValueError: The ranker was trained with vectors of another model.
    """
    from tqnet.search.ranker import CrossEncoder

    cross = CrossEncoder.from_pretrained(folder, device)
    if None not in (cross.searched_by, index.manifest.digest) and cross.searched_by != index.manifest.digest:
        raise ValueError(
            f"{folder}: trained with vectors of another model (files {cross.searched_by}) than {index.folder} has "
            f"(files {index.manifest.digest}); train it with index={index.folder}"
        )
    return cross


@dataclass(frozen=True, kw_only=True)
class PairsModelOptions(EncodingOptions):
    heading = "re-ranking"

    pairs_model: str | None = option("model of finetune/pairs.py that predicts the kinds of --prefer", metavar="DIR")
    curriculum: str | None = option("YAML file of semesters and their concepts, both in order", metavar="FILE")

    def classifier(self) -> Classify | None:
        if not self.pairs_model:
            return None
        from tqnet.modeling.pairs import PairClassifier

        return PairClassifier.from_pretrained(self.pairs_model).to(self.chosen_device).classify

    def load_curriculum(self) -> Curriculum | None:
        from tqnet.search.rerank import Curriculum

        return Curriculum.load(Path(self.curriculum)) if self.curriculum else None


#: Option of re-ranking -> the option that it needs.
_NEEDS = {
    "difficulty": "student",
    "tolerance": "student",
    "curriculum": "stage",
    "section": "stage",
    "pairs_model": "prefer",
}


@dataclass(frozen=True, kw_only=True)
class RerankOptions(PairsModelOptions):
    heading = "re-ranking for a student"

    student: str | None = option("strong: as hard or harder; weak: as hard or easier", choices=("strong", "weak"))
    difficulty: float | None = option("difficulty of a typed query", type=number(), metavar="D")
    tolerance: float | None = option(
        "difficulties that differ by at most this are equal; by default 0", type=number(0), metavar="D"
    )
    stage: str | None = option(
        "practice: nothing beyond the current section; review: nothing beyond the semester",
        choices=("practice", "review"),
    )
    section: str | None = option("current section; by default the query's latest", metavar="CONCEPT")
    prefer: str | None = option("kind to list first; duplicates are left out", choices=("variant", "similar"))
    diversity: float = option(
        "how far to move repetitions down, from 0 to 1", default=0.0, type=number(0, 1), metavar="SHARE"
    )

    def rerank(self) -> Rerank | None:
        """Make the re-ranking stage; None without its options, ValueError if an option lacks one that it needs."""
        for name, needed in _NEEDS.items():
            if getattr(self, name) is not None and getattr(self, needed) is None:
                raise ValueError(f"--{name.replace('_', '-')}: needs --{needed}")
        if not (self.student or self.stage or self.prefer or self.diversity):
            return None
        from tqnet.search.rerank import Rerank

        return Rerank(
            student=self.student,
            tolerance=self.tolerance or 0.0,
            stage=self.stage,
            curriculum=self.load_curriculum(),
            section=self.section,
            prefer=self.prefer,
            classify=self.classifier(),
            diversity=self.diversity,
        )


@dataclass(frozen=True, kw_only=True)
class Search(Command, SearcherOptions, RankOptions, RerankOptions, name="search"):
    """Find similar questions in an index.

    The query is a text, figures, or both; a question of the index; or each question of a bank.
    """

    index: str = argument(INDEX, metavar="INDEX")
    text: str | None = option("text of the query: a stem with LaTeX formulas")
    image: Sequence[str] = option("figures of the query", default=(), metavar="FILE")
    id: str | None = option("the query is this question of the index", metavar="ID")
    queries: str | None = option("a bank whose questions are the queries", metavar="BANK")
    k: int = count("number of results to show", "-k", default=5)
    candidates: int = count("number of candidates to retrieve", default=100)
    filter: Sequence[str] = option(
        "'difficulty<=3', 'type=choice|blank', 'concept=Algebra/Equations'; all conditions must hold. Fields: id, "
        "concept, difficulty, type, language, source, figures",
        default=(),
        nargs="+",
        action="extend",
        metavar="CONDITION",
    )
    by: str = option("what finds candidates", default="both", choices=("text", "vector", "both"))
    duplicates: str = option(
        "what to do with questions that repeat the query: list them first, leave them out, or list nothing else, "
        "regardless of filters",
        default="show",
        choices=("show", "hide", "only"),
    )
    exact_spelling: bool = switch("search for --text as typed, without correcting misspelt words")
    unfolded: bool = switch("do not fold questions that differ only in numbers or figures, or share their story")
    json: bool = switch("print one JSON object per line and query")

    def run(self) -> None:
        from tqnet.search.records import read_filter
        from tqnet.search.retrieval import SOURCES

        if sum(map(bool, (self.text or self.image, self.id, self.queries))) != 1:
            raise ValueError("the query is one of --text and --image, --id, or --queries")
        where = [read_filter(condition) for condition in self.filter]
        by = SOURCES if self.by == "both" else (self.by,)
        rerank = self.rerank()
        searcher, queries = self._open(by)
        printed: set[str] = set()
        for query in queries:
            answer = searcher.answer(
                query,
                self.k,
                where,
                by=by,
                candidates=self.candidates,
                rerank=rerank,
                duplicates=self.duplicates,
                fold=not self.unfolded,
                floor=self.chosen_floor,
            )
            for note in answer.notes:
                if note not in printed:
                    print(f"tqnet: {note}", file=sys.stderr)
            printed.update(answer.notes)
            print(_json(answer) if self.json else _text(answer, self.queries is not None))

    def _open(self, by: Sequence[str]) -> tuple[Searcher, Iterator[Query]]:
        from tqnet.questions import load_bank
        from tqnet.search.searcher import Searcher

        index = open_index(self.index)
        rank = self.rank(index)
        without_model = Searcher(index, rank=rank, merging=self.merging)
        if self.id is not None:
            return without_model, iter([without_model.by_id(self.id)])
        if self.queries:
            questions = list(load_bank(self.queries))
        else:
            questions = [replace(typed_question(self.text, self.image), difficulty=self.difficulty)]
        searcher = self.searcher(index, rank) if "vector" in by else without_model
        correct = not (self.queries or self.exact_spelling)
        return searcher, searcher.queries(questions, by, correct=correct)


def _json(answer: Answer) -> str:
    from tqnet.search.searcher import TYPED, known_view, shown

    query = answer.query.question
    record = {
        "query": query.stem if query.id == TYPED else query.id,
        "duplicates": [known_view(known) for known in answer.known],
        "results": [shown(candidate) for candidate in answer.candidates],
        "notes": list(answer.notes),
        "dropped": [{"id": dropped.question.id, "why": dropped.why} for dropped in answer.dropped],
    }
    return json.dumps(record, ensure_ascii=False)


def _text(answer: Answer, named: bool) -> str:
    query = answer.query.question
    lines = [f"{query.id}: {_excerpt(query)}"] if named else []
    for known in answer.known:
        differs = "; ".join(f"{ours or 'nothing'} -> {theirs or 'nothing'}" for ours, theirs in known.differs)
        lines += [f"  =  {known.question.id}  {known.relation}{f': {differs}' * bool(differs)}"]
        lines += [f"     {_excerpt(known.question)}"]
    for place, candidate in enumerate(answer.candidates, 1):
        lines += [f"{place:>3}  {candidate.question.id}  {candidate.why}", f"     {_excerpt(candidate.question)}"]
        if others := [other.question.id for other in candidate.folded]:
            ids = ", ".join(others[:_LISTED]) + ", .." * (len(others) > _LISTED)
            lines.append(f"     {len(others)} more like this: {ids}")
    reasons = Counter(dropped.notes[-1].partition(" (")[0] for dropped in answer.dropped)
    lines += [] if answer.candidates or answer.known else ["nothing found"]
    lines += [f"{count} {reason}" for reason, count in reasons.most_common()]
    return "\n".join([*lines, ""] if named else lines)


def _excerpt(question: Question) -> str:
    """Return the text and the number of figures, in one or two lines."""
    from tqnet.text.sentences import excerpt

    figures = f"[{len(question.images)} figure{'s' * (len(question.images) > 1)}] " if question.images else ""
    return figures + excerpt(question.content, _SHOWN)
