"""Evaluate retrieval (FSE, Table 1, R@100, Eq. 7), and the gain in precision by ranking (FSE, Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from tqdm import tqdm

from tqnet.evaluation.metrics import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    bootstrap_interval,
    gain_text,
    precision_at_k,
)
from tqnet.evaluation.table import NOTHING, Table
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.background import Words
from tqnet.search.engine import SearchEngine
from tqnet.search.ranking import FEATURES, WEIGHTS, likeness, pair_features
from tqnet.search.records import record_question
from tqnet.search.retrieval import CANDIDATES, SOURCES, Candidate, Retriever

#: The k of P@k.
FIRST = (1, 3, 5)


@dataclass(frozen=True)
class Way:
    """A way to retrieve: the sources, how they are merged, and whether the query's concepts are known or guessed."""

    name: str
    by: tuple[str, ...] = SOURCES
    concepts: bool = False
    merging: str = "score"
    text_weight: float | None = None
    guess: bool = False


BY_SCORE = Way("both, by score")

#: Ways for queries with text and figures only.
WAYS = (
    Way("exact text", ("text",)),
    Way("vectors", ("vector",)),
    Way("both, in halves", merging="halves"),
    BY_SCORE,
    Way("both, concepts guessed", guess=True),
)

#: Further ways for queries with concepts, unless similarity is defined by concepts.
KNOWN = (
    Way("exact text, concepts known", ("text",), concepts=True),
    Way("both, concepts known", concepts=True),
)


def weighted(weights: Iterable[float], way: Way = BY_SCORE) -> tuple[Way, ...]:
    """Return ``way`` with each of the text weights, without repetitions."""
    named = {f"{way.name}, text {weight:g}": weight for weight in weights}
    return tuple(replace(way, name=name, text_weight=weight) for name, weight in named.items())


def index_bank(engine: SearchEngine) -> QuestionBank:
    """Return the questions of an index, in order of id."""
    rows = [row for table in engine.scan(["id", "question", "images"]) for row in table.to_pylist()]
    return QuestionBank.from_questions(map(record_question, sorted(rows, key=lambda row: row["id"])))


def similar_queries(
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    without: Collection[int] = (),
    least: int = 1,
    limit: int | None = None,
    seed: int = 0,
) -> list[int]:
    """Return the indices of questions in a split, or in all, with at least ``least`` similar ones, except ``without``.

    Args:
        limit: Number of questions to draw; by default all.

    Raises:
        ValueError: There are none.
    """
    in_split = [number for number, name in enumerate(bank.column("split")) if split in (None, name)]
    queries = [number for number in in_split if number not in without and len(similarity.neighbours(number)) >= least]
    if not queries:
        subject = "no question" if split is None else f"no question of split {split!r}"
        similar = "a similar one" if least == 1 else f"{least} similar ones"
        raise ValueError(f"{subject} has {similar}; --pairs or --similar-level define which are similar")
    return np.sort(np.random.default_rng(seed).permutation(queries)[:limit]).tolist()


@dataclass(frozen=True)
class RetrievedQuery:
    """A query with its candidates in the order of retrieval.

    Attributes:
        similar: Mask of the candidates that are similar to the query, ``[candidates]``.
        relevant: Number of similar questions in the whole bank.
        group: Group of the query, for the bootstrap.
    """

    query: Question
    candidates: list[Candidate]
    similar: BoolArray
    relevant: int
    group: int


def retrieve_candidates(
    engine: SearchEngine, bank: QuestionBank, similarity: Similarity, queries: Sequence[int], way: Way, n: int
) -> list[RetrievedQuery]:
    """Retrieve ``n`` candidates for each query, including its duplicates: groups of similar questions may contain them.

    Args:
        bank: The questions of the index (:func:`index_bank`), to which ``similarity`` refers.
        queries: Indices of questions.
    """
    numbers = {id: number for number, id in enumerate(bank.ids)}
    retrieve = Retriever(engine, way.merging, way.text_weight, way.guess)
    retrieved = []
    for number in tqdm(queries, unit=" queries", desc=way.name, disable=None):
        query = bank[number] if way.concepts else replace(bank[number], knowledge=())
        vector = np.array(engine.get([query.id], ["vector"])["vector"][0].as_py(), dtype=np.float32)
        candidates = retrieve(query, vector, n, by=way.by, duplicates=True)
        places = np.array([numbers[candidate.question.id] for candidate in candidates], dtype=np.int64)
        neighbours, group = similarity.neighbours(number), int(similarity.groups[number])
        retrieved.append(RetrievedQuery(query, candidates, np.isin(places, neighbours), len(neighbours), group))
    return retrieved


@dataclass(frozen=True)
class OrderScores:
    """P@k of every query with five similar questions.

    Attributes:
        precision: k -> P@k of each query, ``[queries]``.
        groups: Groups of the queries, for the bootstrap.
    """

    precision: dict[int, FloatArray]
    groups: IntArray

    def interval(self, k: int, over: OrderScores | None = None) -> Interval:
        """Return the 95 % interval of P@k, or of its gain over another order, resampling groups."""
        return bootstrap_interval(self.precision[k] - (over.precision[k] if over else 0.0), self.groups)


def _order_scores(queries: Sequence[RetrievedQuery], orders: Iterable[IntArray]) -> OrderScores:
    hits = np.zeros((len(queries), max(FIRST)), dtype=bool)
    for row, query, order in zip(hits, queries, orders, strict=True):
        similar = query.similar[order][: len(row)]
        row[: len(similar)] = similar
    relevant, groups = (np.array([getattr(query, name) for query in queries], int) for name in ("relevant", "group"))
    return OrderScores({k: precision_at_k(hits, relevant, k)[0] for k in FIRST}, groups)


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of a way.

    Attributes:
        recall: R@n of each query, ``[queries]``.
        groups: Groups of these queries, for the bootstrap.
        order: P@k of the queries with at least five similar questions, in the order of retrieval.
    """

    recall: FloatArray
    groups: IntArray
    order: OrderScores

    @property
    def interval(self) -> Interval:
        """95 % interval of the mean recall, resampling groups."""
        return bootstrap_interval(self.recall, self.groups)


def evaluate_retrieval(
    engine: SearchEngine,
    bank: QuestionBank,
    similarity: Similarity,
    queries: Sequence[int],
    ways: Sequence[Way] = WAYS,
    n: int = CANDIDATES,
) -> dict[str, RetrievalScores]:
    """Score the retrieval of ``queries`` (:func:`similar_queries`) from the whole index, for each way."""
    results = {}
    for way in ways:
        retrieved = retrieve_candidates(engine, bank, similarity, queries, way, n)
        recall = np.array([query.similar.sum() / query.relevant for query in retrieved])
        enough = [query for query in retrieved if query.relevant >= max(FIRST)]
        order = _order_scores(enough, (np.arange(len(query.candidates)) for query in enough))
        results[way.name] = RetrievalScores(recall, np.array([query.group for query in retrieved]), order)
    return results


def retrieval_table(results: dict[str, RetrievalScores], n: int) -> Table:
    """Return a table with a row for each way."""
    rows = []
    for name, scores in results.items():
        means = [f"{values.mean():.3f}" if len(values) else NOTHING for values in scores.order.precision.values()]
        rows.append((name, f"{scores.recall.mean():.3f}", str(scores.interval), *means))
    first = next(iter(results.values()))
    notes = (
        f"R@{n} of {len(first.recall):,} questions with a similar one; P@k, in the order of retrieval, of the "
        f"{len(first.order.groups):,} with five. Intervals are 95 %, by group.",
    )
    return Table("", ("way", f"R@{n}", "95 % interval", *(f"P@{k}" for k in FIRST)), tuple(rows), notes)


#: Name of the order before ranking.
RETRIEVED = "order of retrieval"

#: Name of the order by the first features -> number of features; a ranker starts from the last order.
ORDERS = {", ".join(FEATURES[:count]): count for count in range(1, 1 + len(FEATURES))}
START = list(ORDERS)[-1]

#: Pairs of query and candidate, and their features ``[pairs, 5]`` -> probability that each is similar, ``[pairs]``.
ScorePairs = Callable[[Sequence[tuple[Question, Question]], np.ndarray], np.ndarray]


def evaluate_ranking(
    queries: Sequence[RetrievedQuery], rankers: Mapping[str, ScorePairs], first: int = 20, words: Words | None = None
) -> dict[str, OrderScores]:
    """Score the order of retrieval, the orders by features, and each ranker's order of the ``first`` candidates.

    Raises:
        ValueError: A ranker has the name of another order.
    """
    if taken := {RETRIEVED, *ORDERS} & rankers.keys():
        raise ValueError(f"{min(taken)!r} is the name of another order")
    features = [pair_features(query.query, query.candidates, words) for query in queries]
    orders = {RETRIEVED: [np.arange(len(query.candidates)) for query in queries]}
    for name, count in ORDERS.items():
        orders[name] = [_descending(rows[:, :count] @ WEIGHTS[:count]) for rows in features]
    orders[START] = [
        _descending(likeness(query.query, query.candidates, rows))
        for query, rows in zip(queries, features, strict=True)
    ]
    read = [order[:first] for order in orders[START]]  # by all features, as in a search
    pairs = [
        (query.query, query.candidates[row].question) for query, rows in zip(queries, read, strict=True) for row in rows
    ]
    read_features = np.concatenate([matrix[rows] for matrix, rows in zip(features, read, strict=True)])
    ends = np.cumsum(list(map(len, read)))[:-1]
    for name, score in rankers.items():
        by_query = np.split(score(pairs, read_features), ends)
        orders[name] = [rows[_descending(scores)] for rows, scores in zip(read, by_query, strict=True)]
    return {name: _order_scores(queries, order) for name, order in orders.items()}


def _descending(scores: np.ndarray) -> IntArray:
    return np.argsort(-scores, kind="stable")


def ranking_table(results: Mapping[str, OrderScores], first: int) -> Table:
    """Return a table with a row for each order, and its gains over retrieval and over the previous row."""
    rows, k = [], max(FIRST)
    for before, name in pairwise(["", *results]):
        scores = results[name]
        means = (f"{scores.precision[k].mean():.3f}" for k in FIRST)
        gains = [NOTHING, NOTHING]
        for column, over in enumerate((results[RETRIEVED], results[before]) if before else ()):
            gain = float((scores.precision[k] - over.precision[k]).mean())
            gains[column] = gain_text(gain, scores.interval(k, over))
        rows.append((name, *means, str(scores.interval(k)), *gains))
    count = len(next(iter(results.values())).groups)
    header = ("order", *(f"P@{k}" for k in FIRST), "95 % interval", "P@5 over retrieval", "over the row above")
    notes = (
        f"{count:,} queries with five similar questions, each with {CANDIDATES} retrieved candidates, duplicates of "
        f"the query among them; rankers read the first {first} by likeness. Intervals are 95 %, by group.",
    )
    return Table("", header, tuple(rows), notes)
