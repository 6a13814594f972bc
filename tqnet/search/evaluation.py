"""How many of a question's similar ones the recall stage finds (FSE, Table 1, R@100, Eq. 7)."""

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
from tqnet.search.ranking import EVIDENCE, WEIGHTS, evidence, likeness
from tqnet.search.records import question_of
from tqnet.search.retrieval import CANDIDATES, SOURCES, Recall

#: The first k of the order by which candidates are handed on.
FIRST = (1, 3, 5)


@dataclass(frozen=True)
class Way:
    """One way to recall: by which sources, how they are merged, and whether the concepts of the query are known, or
    guessed by the nearest."""

    name: str
    by: tuple[str, ...] = SOURCES
    concepts: bool = False
    merging: str = "score"
    text_weight: float | None = None
    guess: bool = False


BY_SCORE = Way("both, by score")

#: Of a query of which no more is known than what it says and shows.
WAYS = (
    Way("exact text", ("text",)),
    Way("vectors", ("vector",)),
    Way("both, in halves", merging="halves"),
    BY_SCORE,
    Way("both, concepts guessed", guess=True),
)

#: Beside them, of one whose concepts are known too, where these do not say by themselves what is similar.
KNOWN = (
    Way("exact text, concepts known", ("text",), concepts=True),
    Way("both, concepts known", concepts=True),
)


def weighted(weights: Iterable[float], way: Way = BY_SCORE) -> tuple[Way, ...]:
    """A way with each of these weights of the text, equal ones once."""
    named = {f"{way.name}, text {weight:g}": weight for weight in weights}
    return tuple(replace(way, name=name, text_weight=weight) for name, weight in named.items())


@dataclass(frozen=True)
class RecallScores:
    """What one way finds.

    Attributes:
        recall: R@n of each query with a similar question, ``[queries]``.
        precision: k -> P@k of the queries with five similar ones and more.
        groups: Of the queries of ``recall``, and of those of ``precision``, for the bootstrap.
    """

    recall: FloatArray
    precision: dict[int, FloatArray]
    groups: tuple[IntArray, IntArray]

    @property
    def interval(self) -> Interval:
        """95 % of the mean recall, by group."""
        return bootstrap_interval(self.recall, self.groups[0])


def index_bank(engine: SearchEngine) -> QuestionBank:
    """The questions of an index, in order of id."""
    rows = [row for table in engine.scan(["id", "question", "images"]) for row in table.to_pylist()]
    rows.sort(key=lambda row: row["id"])
    return QuestionBank.from_questions(question_of(row["question"], row["images"]) for row in rows)


def evaluate_recall(
    engine: SearchEngine,
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    n: int = 100,
    ways: Sequence[Way] = WAYS,
    without: Collection[int] = (),
) -> dict[str, RecallScores]:
    """Each way's recall of the questions of ``split``, searched in the whole index.

    Duplicates are not removed here: who put questions into one group may have put doubles into it.

    Args:
        bank: The questions of the index (:func:`index_bank`); ``similarity`` is between them.
        without: Numbers of questions that are not asked, but may be found.

    Raises:
        ValueError: No question of the split is similar to any other.
    """
    asked = similar_queries(bank, similarity, split, without)
    ids = bank.ids
    place = {id: at for at, id in enumerate(ids)}
    recalls = [Recall(engine, way.merging, way.text_weight, way.guess) for way in ways]
    similar = [set(map(int, similarity.neighbours(at))) - {at} for at in asked]
    hits: dict[str, list[BoolArray]] = {way.name: [] for way in ways}
    for at, relevant in zip(tqdm(asked, unit=" queries", disable=None), similar, strict=True):
        vector = np.array(engine.get([ids[at]])["vector"][0].as_py(), dtype=np.float32)
        for way, recall in zip(ways, recalls, strict=True):
            query = bank[at] if way.concepts else replace(bank[at], knowledge=())
            found = recall(query, vector, n, by=way.by, duplicates=True)
            row = np.zeros(n, dtype=bool)
            row[: len(found)] = [place[one.question.id] in relevant for one in found]
            hits[way.name].append(row)
    relevant_counts = np.array([len(of) for of in similar])
    groups = similarity.groups[np.array(asked)]
    return {name: _scores(np.stack(rows), relevant_counts, groups) for name, rows in hits.items()}


def similar_queries(
    bank: QuestionBank, similarity: Similarity, split: str | None, without: Collection[int] = ()
) -> list[int]:
    """Numbers of the questions of a split, or of all, that have a similar one; ``without`` are left out.

    Raises:
        ValueError: There are none.
    """
    splits = bank.column("split")
    chosen = (at for at, of in enumerate(splits) if split in (None, of) and at not in without)
    asked = [at for at in chosen if similarity.has_similar[at]]
    if not asked:
        who = "no question" if split is None else f"no question of split {split!r}"
        raise ValueError(f"{who} has a similar one; --pairs or --similar-level say which are")
    return asked


def _scores(hits: BoolArray, relevant: IntArray, groups: IntArray) -> RecallScores:
    enough = relevant >= max(FIRST)
    precision = {k: precision_at_k(hits[enough], relevant[enough], k)[0] for k in FIRST}
    return RecallScores(hits.sum(1) / relevant, precision, (groups, groups[enough]))


def recall_table(results: dict[str, RecallScores], n: int, title: str = "") -> Table:
    """A row for each way."""
    rows = []
    for name, scores in results.items():
        low, high = scores.interval
        means = [f"{values.mean():.3f}" if len(values) else "–" for values in scores.precision.values()]
        rows.append((name, f"{scores.recall.mean():.3f}", f"{low:.3f}–{high:.3f}", *means))
    first = next(iter(results.values()))
    notes = (
        f"R@{n} of {len(first.recall):,} questions with a similar one; P@k, in the order of recall, of the "
        f"{len(first.groups[1]):,} with five. Intervals are 95 %, by group.",
    )
    return Table(title, ("way", f"R@{n}", "95 % interval", *(f"P@{k}" for k in FIRST)), tuple(rows), notes)


# What the ranking stage is worth: precision of its order over that of recall (FSE, Table 2).


#: Name of the order that is there before any model ranks.
RECALL = "order of recall"

#: And of those of the evidence, one part after the other; the last is that which a ranker starts from.
ORDERS = {", ".join(EVIDENCE[:parts]): parts for parts in range(1, 1 + len(EVIDENCE))}
START = list(ORDERS)[-1]

#: Pairs of query and candidate, and their evidence ``[pairs, 3]`` -> the probability that each is similar, ``[pairs]``.
ScorePairs = Callable[[Sequence[tuple[Question, Question]], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Recalled:
    """A query with its candidates in the order of recall.

    Attributes:
        query: Number of the question in the bank; ``group`` is its.
        candidates: Numbers of the questions, and in ``similar`` which of them are similar to it.
        evidence: `tqnet.search.ranking.EVIDENCE` of each, ``[candidates, 3]``.
        likeness: What it comes to, ``[candidates]``.
        relevant: How many of the whole bank are.
    """

    query: int
    group: int
    candidates: IntArray
    similar: BoolArray
    evidence: np.ndarray
    likeness: np.ndarray
    relevant: int


@dataclass(frozen=True)
class RankingScores:
    """P@k of every query with five similar ones.

    Attributes:
        precision: k -> ``[queries]``.
        groups: Of the queries, for the bootstrap.
    """

    precision: dict[int, FloatArray]
    groups: IntArray

    def interval(self, k: int, over: RankingScores | None = None) -> Interval:
        """95 % of P@k, or of what it is over that of another order, by group."""
        return bootstrap_interval(self.precision[k] - (over.precision[k] if over else 0.0), self.groups)


def recalled(
    engine: SearchEngine,
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    limit: int | None = None,
    seed: int = 0,
    without: Collection[int] = (),
    concepts: bool = False,
) -> list[Recalled]:
    """The candidates of the questions of ``split`` that have five similar ones, by text and vectors.

    Args:
        bank: The questions of the index (:func:`tqnet.search.evaluation.index_bank`).
        limit: So many of the questions, at random.
        without: Numbers of questions that are not asked, but may be candidates.
        concepts: Whether those of the query are known, as ``tqnet search --id`` knows them. Where they say what is
            similar, nothing is left to rank.

    Raises:
        ValueError: No question of the split has five similar ones.
    """
    queries = similar_queries(bank, similarity, split, without)
    asked = [at for at in queries if len(similarity.neighbours(at)) >= max(FIRST)]
    if not asked:
        raise ValueError(f"no question of split {split!r} has {max(FIRST)} similar ones")
    chosen = np.sort(np.random.default_rng(seed).permutation(asked)[:limit])
    ids = bank.ids
    place = {id: at for at, id in enumerate(ids)}
    recall = Recall(engine)
    found = []
    for at in tqdm(chosen.tolist(), unit=" queries", desc="recall", disable=None):
        vector = np.array(engine.get([ids[at]])["vector"][0].as_py(), dtype=np.float32)
        query = bank[at] if concepts else replace(bank[at], knowledge=())
        candidates = recall(query, vector, CANDIDATES, duplicates=True)
        numbers = np.array([place[one.question.id] for one in candidates], dtype=np.int64)
        neighbours = similarity.neighbours(at)
        similar = np.isin(numbers, neighbours)
        found_by = evidence(query, candidates)
        alike = likeness(query, candidates, found_by)
        found.append(Recalled(at, int(similarity.groups[at]), numbers, similar, found_by, alike, len(neighbours)))
    return found


def evaluate_ranking(
    queries: Sequence[Recalled], bank: QuestionBank, rankers: Mapping[str, ScorePairs], first: int = 20
) -> dict[str, RankingScores]:
    """Of the order of recall, of the evidence, and of the order that each of ``rankers`` makes of its ``first``.

    Raises:
        ValueError: One has the name of what is there without it.
    """
    if taken := {RECALL, *ORDERS} & rankers.keys():
        raise ValueError(f"{min(taken)!r} is the name of what rankers are compared with")
    results = {RECALL: _ranking_evaluation_scores(queries, [np.arange(len(one.candidates)) for one in queries])}
    for name, parts in ORDERS.items():
        likely = (one.evidence[:, :parts] @ WEIGHTS[:parts] if name != START else one.likeness for one in queries)
        orders = [np.argsort(-alike, kind="stable") for alike in likely]
        results[name] = _ranking_evaluation_scores(queries, orders)
    read = [order[:first] for order in orders]  # by all of the evidence, as a search has them read
    asked = list(zip(queries, read, strict=True))
    pairs = [(bank[one.query], bank[int(at)]) for one, of in asked for at in one.candidates[of]]
    found_by = np.concatenate([one.evidence[of] for one, of in asked])
    ends = np.cumsum([len(of) for of in read])[:-1]
    for name, score in rankers.items():
        of_queries = zip(read, np.split(score(pairs, found_by), ends), strict=True)
        results[name] = _ranking_evaluation_scores(
            queries, [of[np.argsort(-scores, kind="stable")] for of, scores in of_queries]
        )
    return results


def _ranking_evaluation_scores(queries: Sequence[Recalled], orders: Sequence[IntArray]) -> RankingScores:
    hits = np.zeros((len(queries), max(FIRST)), dtype=bool)
    for row, one, order in zip(hits, queries, orders, strict=True):
        found = one.similar[order][: len(row)]
        row[: len(found)] = found
    relevant = np.array([one.relevant for one in queries])
    precision = {k: precision_at_k(hits, relevant, k)[0] for k in FIRST}
    return RankingScores(precision, np.array([one.group for one in queries]))


def ranking_table(results: Mapping[str, RankingScores], first: int, title: str = "") -> Table:
    """A row for each order; gains are over recall, and over the row before, as the parts of the method are added."""
    rows = []
    for before, name in pairwise(["", *results]):
        scores = results[name]
        low, high = scores.interval(max(FIRST))
        means = (f"{scores.precision[k].mean():.3f}" for k in FIRST)
        gains = (_gain(scores, results[of]) if before else NOTHING for of in (RECALL, before or RECALL))
        rows.append((name, *means, f"{low:.3f}–{high:.3f}", *gains))
    count = len(next(iter(results.values())).groups)
    header = ("order", *(f"P@{k}" for k in FIRST), "95 % interval", "P@5 over recall", "over the row above")
    notes = (
        f"{count:,} queries with five similar questions, each with {CANDIDATES} candidates of recall, duplicates of "
        f"the query among them; rankers read the first {first} by the evidence. Intervals are 95 %, by group.",
    )
    return Table(title, header, tuple(rows), notes)


def _gain(scores: RankingScores, over: RankingScores) -> str:
    k = max(FIRST)
    by = float((scores.precision[k] - over.precision[k]).mean())
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(by, *scores.interval(k, over))
