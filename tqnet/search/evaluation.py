"""Evaluate retrieval (FSE, Table 1, R@100, Eq. 7), and what ranking adds to its precision (FSE, Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from tqdm import tqdm

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, bootstrap_interval, precision_at_k
from tqnet.evaluation.table import NOTHING, Table
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.engine import SearchEngine
from tqnet.search.ranking import FEATURES, WEIGHTS, likeness, pair_features
from tqnet.search.records import question_of
from tqnet.search.retrieval import CANDIDATES, SOURCES, Retriever

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

#: For queries of which only text and figures are known.
WAYS = (
    Way("exact text", ("text",)),
    Way("vectors", ("vector",)),
    Way("both, in halves", merging="halves"),
    BY_SCORE,
    Way("both, concepts guessed", guess=True),
)

#: Also for queries with concepts, unless similarity is defined by these.
KNOWN = (
    Way("exact text, concepts known", ("text",), concepts=True),
    Way("both, concepts known", concepts=True),
)


def weighted(weights: Iterable[float], way: Way = BY_SCORE) -> tuple[Way, ...]:
    """Return ``way`` with each of these text weights, without repetitions."""
    named = {f"{way.name}, text {weight:g}": weight for weight in weights}
    return tuple(replace(way, name=name, text_weight=weight) for name, weight in named.items())


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of one way.

    Attributes:
        recall: R@n of each query with a similar question, ``[queries]``.
        precision: k -> P@k of the queries with at least five similar ones.
        groups: Of the queries of ``recall``, and of ``precision``, for the bootstrap.
    """

    recall: FloatArray
    precision: dict[int, FloatArray]
    groups: tuple[IntArray, IntArray]

    @property
    def interval(self) -> Interval:
        """95 % interval of the mean recall, by group."""
        return bootstrap_interval(self.recall, self.groups[0])


def index_bank(engine: SearchEngine) -> QuestionBank:
    """Return the questions of an index, in order of id."""
    rows = [row for table in engine.scan(["id", "question", "images"]) for row in table.to_pylist()]
    rows.sort(key=lambda row: row["id"])
    return QuestionBank.from_questions(question_of(row["question"], row["images"]) for row in rows)


def evaluate_retrieval(
    engine: SearchEngine,
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    n: int = 100,
    ways: Sequence[Way] = WAYS,
    without: Collection[int] = (),
) -> dict[str, RetrievalScores]:
    """Score the retrieval of the questions of ``split`` in the whole index, for each way.

    Duplicates are not removed: groups of similar questions may contain them.

    Args:
        bank: The questions of the index (:func:`index_bank`), which ``similarity`` is about.
        without: Numbers of questions that are no queries, but may be retrieved.

    Raises:
        ValueError: No question of the split is similar to any other.
    """
    queries = similar_queries(bank, similarity, split, without)
    numbers = {id: number for number, id in enumerate(bank.ids)}
    retrievers = [Retriever(engine, way.merging, way.text_weight, way.guess) for way in ways]
    similar = [set(map(int, similarity.neighbours(query))) - {query} for query in queries]
    hits: dict[str, list[BoolArray]] = {way.name: [] for way in ways}
    for number, relevant in zip(tqdm(queries, unit=" queries", disable=None), similar, strict=True):
        vector = _vector(engine, bank, number)
        for way, retrieve in zip(ways, retrievers, strict=True):
            query = bank[number] if way.concepts else replace(bank[number], knowledge=())
            candidates = retrieve(query, vector, n, by=way.by, duplicates=True)
            row = np.zeros(n, dtype=bool)
            row[: len(candidates)] = [numbers[candidate.question.id] in relevant for candidate in candidates]
            hits[way.name].append(row)
    counts, groups = np.array(list(map(len, similar))), similarity.groups[np.array(queries)]
    enough = counts >= max(FIRST)
    return {
        name: RetrievalScores(
            np.sum(rows, axis=1) / counts, _precision(np.array(rows)[enough], counts[enough]), (groups, groups[enough])
        )
        for name, rows in hits.items()
    }


def _vector(engine: SearchEngine, bank: QuestionBank, number: int) -> FloatArray:
    return np.array(engine.get([bank.ids[number]])["vector"][0].as_py(), dtype=np.float32)


def _precision(hits: BoolArray, relevant: IntArray) -> dict[int, FloatArray]:
    return {k: precision_at_k(hits, relevant, k)[0] for k in FIRST}


def similar_queries(
    bank: QuestionBank, similarity: Similarity, split: str | None, without: Collection[int] = ()
) -> list[int]:
    """Return the numbers of the questions of a split, or of all, that have a similar one, except ``without``.

    Raises:
        ValueError: There are none.
    """
    in_split = [number for number, name in enumerate(bank.column("split")) if split in (None, name)]
    queries = [number for number in in_split if number not in without and similarity.has_similar[number]]
    if not queries:
        subject = "no question" if split is None else f"no question of split {split!r}"
        raise ValueError(f"{subject} has a similar one; --pairs or --similar-level define which are similar")
    return queries


def retrieval_table(results: dict[str, RetrievalScores], n: int, title: str = "") -> Table:
    """Return a table with a row for each way."""
    rows = []
    for name, scores in results.items():
        low, high = scores.interval
        means = [f"{values.mean():.3f}" if len(values) else "–" for values in scores.precision.values()]
        rows.append((name, f"{scores.recall.mean():.3f}", f"{low:.3f}–{high:.3f}", *means))
    first = next(iter(results.values()))
    notes = (
        f"R@{n} of {len(first.recall):,} questions with a similar one; P@k, in the order of retrieval, of the "
        f"{len(first.groups[1]):,} with five. Intervals are 95 %, by group.",
    )
    return Table(title, ("way", f"R@{n}", "95 % interval", *(f"P@{k}" for k in FIRST)), tuple(rows), notes)


#: Name of the order before ranking.
RETRIEVED = "order of retrieval"

#: Name of the order by the first features -> how many; a ranker starts from the last.
ORDERS = {", ".join(FEATURES[:count]): count for count in range(1, 1 + len(FEATURES))}
START = list(ORDERS)[-1]

#: Pairs of query and candidate, and their features ``[pairs, 3]`` -> probability that each is similar, ``[pairs]``.
ScorePairs = Callable[[Sequence[tuple[Question, Question]], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RetrievedQuery:
    """A query with its candidates in the order of retrieval.

    Attributes:
        query: Number of the question in the bank.
        group: Of the query.
        candidates: Numbers of the questions.
        similar: Which candidates are similar to the query, ``[candidates]``.
        features: `tqnet.search.ranking.FEATURES`, ``[candidates, 3]``.
        likeness: ``[candidates]``.
        relevant: Number of similar questions in the whole bank.
    """

    query: int
    group: int
    candidates: IntArray
    similar: BoolArray
    features: np.ndarray
    likeness: np.ndarray
    relevant: int


@dataclass(frozen=True)
class RankingScores:
    """P@k of every query with five similar questions.

    Attributes:
        precision: k -> ``[queries]``.
        groups: Of the queries, for the bootstrap.
    """

    precision: dict[int, FloatArray]
    groups: IntArray

    def interval(self, k: int, over: RankingScores | None = None) -> Interval:
        """Return the 95 % interval of P@k, or of its gain over another order, by group."""
        return bootstrap_interval(self.precision[k] - (over.precision[k] if over else 0.0), self.groups)


def retrieve_candidates(
    engine: SearchEngine,
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    limit: int | None = None,
    seed: int = 0,
    without: Collection[int] = (),
    concepts: bool = False,
) -> list[RetrievedQuery]:
    """Retrieve the candidates of the questions of ``split`` that have five similar ones, by text and vectors.

    Args:
        bank: The questions of the index (:func:`index_bank`).
        limit: Draw this many of the questions.
        without: Numbers of questions that are no queries, but may be candidates.
        concepts: Use the query's concepts, as ``tqnet search --id`` does. Where these define what is similar,
            nothing is left to rank.

    Raises:
        ValueError: No question of the split has five similar ones.
    """
    enough = [
        query
        for query in similar_queries(bank, similarity, split, without)
        if len(similarity.neighbours(query)) >= max(FIRST)
    ]
    if not enough:
        raise ValueError(f"no question of split {split!r} has {max(FIRST)} similar ones")
    chosen = np.sort(np.random.default_rng(seed).permutation(enough)[:limit])
    numbers = {id: number for number, id in enumerate(bank.ids)}
    retrieve = Retriever(engine)
    queries = []
    for number in tqdm(chosen.tolist(), unit=" queries", desc="retrieve", disable=None):
        query = bank[number] if concepts else replace(bank[number], knowledge=())
        candidates = retrieve(query, _vector(engine, bank, number), CANDIDATES, duplicates=True)
        places = np.array([numbers[candidate.question.id] for candidate in candidates], dtype=np.int64)
        neighbours, group = similarity.neighbours(number), int(similarity.groups[number])
        similar, features = np.isin(places, neighbours), pair_features(query, candidates)
        alike = likeness(query, candidates, features)
        queries.append(RetrievedQuery(number, group, places, similar, features, alike, len(neighbours)))
    return queries


def evaluate_ranking(
    queries: Sequence[RetrievedQuery], bank: QuestionBank, rankers: Mapping[str, ScorePairs], first: int = 20
) -> dict[str, RankingScores]:
    """Score the order of retrieval, the orders by features, and the order that each ranker gives the ``first``.

    Raises:
        ValueError: A ranker has the name of another order.
    """
    if taken := {RETRIEVED, *ORDERS} & rankers.keys():
        raise ValueError(f"{min(taken)!r} is the name of another order")
    results = {RETRIEVED: _ranking_scores(queries, [np.arange(len(query.candidates)) for query in queries])}
    for name, count in ORDERS.items():
        scores = (query.likeness if name == START else query.features[:, :count] @ WEIGHTS[:count] for query in queries)
        orders = [np.argsort(-of_query, kind="stable") for of_query in scores]
        results[name] = _ranking_scores(queries, orders)
    read = [order[:first] for order in orders]  # by all features, as in a search
    pairs = [
        (bank[query.query], bank[int(number)])
        for query, rows in zip(queries, read, strict=True)
        for number in query.candidates[rows]
    ]
    features = np.concatenate([query.features[rows] for query, rows in zip(queries, read, strict=True)])
    ends = np.cumsum(list(map(len, read)))[:-1]
    for name, score in rankers.items():
        ranked = zip(read, np.split(score(pairs, features), ends), strict=True)
        orders = [rows[np.argsort(-of_query, kind="stable")] for rows, of_query in ranked]
        results[name] = _ranking_scores(queries, orders)
    return results


def _ranking_scores(queries: Sequence[RetrievedQuery], orders: Sequence[IntArray]) -> RankingScores:
    hits = np.zeros((len(queries), max(FIRST)), dtype=bool)
    for row, query, order in zip(hits, queries, orders, strict=True):
        similar = query.similar[order][: len(row)]
        row[: len(similar)] = similar
    relevant = np.array([query.relevant for query in queries])
    return RankingScores(_precision(hits, relevant), np.array([query.group for query in queries]))


def ranking_table(results: Mapping[str, RankingScores], first: int, title: str = "") -> Table:
    """Return a table with a row for each order, and its gains over retrieval and over the row before."""
    rows, k = [], max(FIRST)
    for before, name in pairwise(["", *results]):
        scores = results[name]
        low, high = scores.interval(k)
        means = (f"{scores.precision[k].mean():.3f}" for k in FIRST)
        gains = [NOTHING, NOTHING]
        for column, over in enumerate((results[RETRIEVED], results[before]) if before else ()):
            gain = float((scores.precision[k] - over.precision[k]).mean())
            gains[column] = "{:+.3f} [{:+.3f}, {:+.3f}]".format(gain, *scores.interval(k, over))
        rows.append((name, *means, f"{low:.3f}–{high:.3f}", *gains))
    count = len(next(iter(results.values())).groups)
    header = ("order", *(f"P@{k}" for k in FIRST), "95 % interval", "P@5 over retrieval", "over the row above")
    notes = (
        f"{count:,} queries with five similar questions, each with {CANDIDATES} retrieved candidates, duplicates of "
        f"the query among them; rankers read the first {first} by likeness. Intervals are 95 %, by group.",
    )
    return Table(title, header, tuple(rows), notes)
