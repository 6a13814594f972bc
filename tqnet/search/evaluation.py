"""How many of a question's similar ones the recall stage finds (FSE, Table 1, R@100, Eq. 7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, bootstrap_interval, precision_at_k
from tqnet.evaluation.table import Table
from tqnet.questions import QuestionBank, Similarity
from tqnet.search.engine import SearchEngine
from tqnet.search.recall import SOURCES, Recall
from tqnet.search.records import question_of

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
