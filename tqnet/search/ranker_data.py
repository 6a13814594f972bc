"""Labelled pairs of query and candidate for training the ranker (FSE, "Dataset"), and batches of its tasks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from tqnet.evaluation.ranking import Bm25Ranker, Ranker, VectorRanker
from tqnet.files import atomic
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.background import Words
from tqnet.search.index import Index
from tqnet.search.ranking import FEATURES, WEIGHTS, features_of, search_text
from tqnet.search.records import table_vectors
from tqnet.search.retrieval import CANDIDATES, TEXT_WEIGHT
from tqnet.training.data import Batch, Item, QuestionViews


def check_installed() -> None:
    """Raise ImportError if cleanlab is missing."""
    if find_spec("cleanlab") is None:
        raise ImportError("folds: confident learning needs the package cleanlab: pip install 'tqnet[rank]'")


def confident(similar: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return a mask of labels to keep, bool [p] (confident learning, Northcutt et al. 2021; FSE).

    The joint distribution of given and true labels estimates how many of each kind are wrong; that many are pruned, the
    least likely first.

    Args:
        similar: Labels, bool [p].
        probability: Probability that a pair is similar, [p], by a model trained without it.
    """
    from cleanlab.filter import find_label_issues

    if similar.all() or not similar.any():  # labels of one kind cannot be confused
        return np.ones(len(similar), dtype=bool)
    odds = np.stack([1 - probability, probability], axis=1).astype(np.float64)
    return ~find_label_issues(similar.astype(int), odds, filter_by="prune_by_noise_rate", n_jobs=1)


class Sources:
    """Retrieve from a bank without an index, by the texts and ``vectors`` ``[n, width]`` of its questions."""

    def __init__(self, bank: QuestionBank, vectors: np.ndarray):
        self._bank = bank
        self._text = Bm25Ranker([question.content for question in bank], bank.ids)
        self._vector = VectorRanker(vectors, bank.ids)
        self._concepts = [question.knowledge for question in bank].__getitem__
        self._text_of = cache(lambda number: search_text(bank[number]))
        self._words = Words.of(map(self._text_of, range(len(bank))))

    def candidates(self, query: int, count: int) -> list[int]:
        """Return the ``count`` candidates of a question that a ranker reads, by likeness.

        NOTE: BM25 is on plain words, where an index has normalized formulas. The query's concepts are not used, unlike
        in ``tqnet search --id``: where they define similarity, nothing would be left to rank.
        """
        retrieved = self._retrieved(query, max(count, CANDIDATES))
        likeness = self.features(np.full(len(retrieved), query), retrieved) @ WEIGHTS
        return retrieved[np.argsort(-likeness, kind="stable")][:count].tolist()

    def _retrieved(self, query: int, count: int = CANDIDATES) -> np.ndarray:
        cosines, words = self._scores(self._vector, query), self._scores(self._text, query)
        words[query] = 0.0
        order = np.argsort(-(cosines + TEXT_WEIGHT * words / (words.max() or 1.0)), kind="stable")
        return order[order != query][:count]

    def features(self, query: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """Return features of pairs, float32 ``[p, 5]``, as :func:`tqnet.search.ranking.pair_features` does."""
        features = np.zeros((len(query), len(FEATURES)), dtype=np.float32)
        for number in np.unique(query).tolist():
            rows = np.flatnonzero(query == number)
            # As in a search, retrieved questions vote for concepts.
            voters, places = np.unique(np.append(candidate[rows], self._retrieved(number)), return_inverse=True)
            texts, concepts = list(map(self._text_of, voters)), list(map(self._concepts, voters))
            cosines = self._scores(self._vector, number)[voters]
            alike = features_of(self._text_of(number), texts, cosines, concepts, self._words)
            features[rows] = alike[places[: len(rows)]]
        return features

    def _scores(self, source: Ranker, number: int) -> np.ndarray:
        return source.scores(np.array([number]), np.arange(len(self._bank)))[0]


class SourcesOfBanks:
    """Make the `Sources` of banks that share questions; ``encode`` is called once per question."""

    def __init__(self, encode: Callable[[QuestionBank], np.ndarray]):
        self._encode = encode
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(self, bank: QuestionBank) -> Sources:
        new = bank.select([place for place, id in enumerate(bank.ids) if id not in self._vectors])
        if len(new):
            self._vectors |= dict(zip(new.ids, self._encode(new), strict=True))
        return Sources(bank, np.stack([self._vectors[id] for id in bank.ids]))


def vectors_of_index(folder: Path, bank: QuestionBank) -> np.ndarray:
    """Return the vectors of the questions of ``bank`` in an index, ``[n, width]``; ValueError if any is missing."""
    table = Index(folder).engine.get(bank.ids, ["vector"])
    known = set(table["id"].to_pylist())
    if missing := [id for id in bank.ids if id not in known]:
        raise ValueError(f"{folder} has no question {missing[0]!r} ({len(missing):,} are missing)")
    return table_vectors(table)


@dataclass(frozen=True)
class ExercisePairs:
    """Labelled pairs of questions of a bank.

    Attributes:
        query, candidate: Indices of the questions, int64 ``[p]``.
        similar: Labels, bool ``[p]``.
        kind: Origin of each pair: ``similar``, ``retrieved``, ``concept``, ``random``, ``judged``.
        features: float32 ``[p, 5]`` (`tqnet.search.ranking.FEATURES`).
    """

    query: np.ndarray
    candidate: np.ndarray
    similar: np.ndarray
    kind: tuple[str, ...]
    features: np.ndarray

    def __len__(self) -> int:
        return len(self.query)

    def select(self, rows: np.ndarray) -> ExercisePairs:
        """Select pairs by ``rows``, indices or a mask."""
        kind = tuple(np.asarray(self.kind, dtype=object)[rows])
        return ExercisePairs(self.query[rows], self.candidate[rows], self.similar[rows], kind, self.features[rows])

    def questions(self, bank: QuestionBank) -> list[tuple[Question, Question]]:
        """Return query and candidate of each pair."""
        ends = zip(self.query.tolist(), self.candidate.tolist(), strict=True)
        return [(bank[query], bank[candidate]) for query, candidate in ends]

    def with_noise(self, share: float, seed: int) -> ExercisePairs:
        """Flip a random share of the labels."""
        wrong = np.random.default_rng(seed).permutation(len(self))[: round(share * len(self))]
        similar = self.similar.copy()
        similar[wrong] = ~similar[wrong]
        return replace(self, similar=similar)

    def folds(self, count: int, seed: int) -> np.ndarray:
        """Draw one of ``count`` folds for each pair, int [p]; pairs of one query share a fold."""
        queries, place = np.unique(self.query, return_inverse=True)
        return (np.random.default_rng(seed).permutation(len(queries)) % count)[place]

    def save(self, path: Path, bank: QuestionBank) -> None:
        """Write lines of JSON: ids of query (``a``) and candidate (``b``), ``similar``, ``kind``, features."""
        ids, columns = bank.ids, (self.query, self.candidate, self.similar, self.kind, self.features.tolist())
        with atomic(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
            for query, candidate, similar, kind, features in zip(*columns, strict=True):
                record = {"a": ids[query], "b": ids[candidate], "similar": int(similar), "kind": kind}
                record |= dict(zip(FEATURES, features, strict=True))
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path, bank: QuestionBank) -> ExercisePairs:
        """Read a file written by :meth:`save` for the same bank; KeyError if an earlier version wrote it."""
        numbers = {id: number for number, id in enumerate(bank.ids)}
        with path.open(encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        query, candidate = (np.array([numbers[row[end]] for row in rows], dtype=int) for end in ("a", "b"))
        similar = np.array([row["similar"] for row in rows], dtype=bool)
        features = np.array([[row[name] for name in FEATURES] for row in rows], dtype=np.float32)
        return cls(query, candidate, similar, tuple(row["kind"] for row in rows), features)


def made_exercise_pairs(
    bank: QuestionBank, similarity: Similarity, sources: Sources, queries: np.ndarray, counts: dict[str, int], seed: int
) -> ExercisePairs:
    """Make pairs of ``queries`` with questions of the bank, labelled by ``similarity``.

    Args:
        sources: Sources to retrieve candidates from.
        counts: Kind -> number of candidates per query: the first ``retrieved`` ones; further ``similar`` ones;
            dissimilar ones of the same finest ``concept``, and at ``random``. A candidate counts once, and not if the
            reverse pair exists, so that no fold has seen the pairs that it judges.
    """
    rng = np.random.default_rng(seed)
    by_concept = questions_of_concepts(bank)
    kinds: dict[tuple[int, int], str] = {}
    labels: list[bool] = []
    for query in queries.tolist():
        neighbours = similarity.neighbours(query)
        others = [number for path in bank[query].knowledge for number in by_concept[path]]
        candidates_by_kind = {
            "retrieved": sources.candidates(query, counts["retrieved"]),
            "similar": rng.permutation(neighbours)[: counts["similar"]].tolist(),
            "concept": dissimilar(others, query, neighbours, counts["concept"], rng),
            "random": dissimilar(np.arange(len(bank)), query, neighbours, counts["random"], rng),
        }
        similar = set(neighbours.tolist())
        for kind, candidates in candidates_by_kind.items():
            for candidate in candidates:
                if (candidate, query) not in kinds and (query, candidate) not in kinds:
                    kinds[query, candidate] = kind
                    labels.append(candidate in similar)
    query, candidate = np.array(list(kinds), dtype=int).reshape(-1, 2).T
    features = sources.features(query, candidate)
    return ExercisePairs(query, candidate, np.array(labels, dtype=bool), tuple(kinds.values()), features)


def dissimilar(
    pool: Sequence[int] | np.ndarray, query: int, neighbours: np.ndarray, count: int, rng: np.random.Generator
) -> list[int]:
    """Draw up to ``count`` questions of ``pool`` that are neither the query nor similar to it."""
    drawn = rng.permutation(np.unique(np.asarray(pool, dtype=int)))
    return drawn[~np.isin(drawn, neighbours) & (drawn != query)][:count].tolist()


def questions_of_concepts(bank: QuestionBank) -> dict[tuple[str, ...], list[int]]:
    """Return concept -> indices of its questions."""
    numbers: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, paths in enumerate(bank.column("knowledge")):
        for path in paths:
            numbers[path].append(number)
    return numbers


#: Tasks of a pair (FSE, "Discovering New Tasks"): are the questions similar (stems and options), do their analyses
#: match, does an analysis belong to a stem?
TASKS = ("questions", "analyses", "analysis")


class _Row(NamedTuple):
    """The two texts that a task reads, their figures, and the features ``[5]``."""

    task: str
    first: str
    second: str
    label: bool
    images: list[str]
    features: np.ndarray = np.zeros(len(FEATURES), dtype=np.float32)


class RankerViews(QuestionViews):
    """Pairs for a DataLoader: for each task of a pair, both texts as one.

    A batch's ``index`` holds indices of pairs; its inputs have a row for each task of each pair, and ``extras`` has for
    each row its ``pair`` (index in the batch), ``task`` (index in `TASKS`), ``label``, float, and ``features``
    ``[rows, 5]``, 0 except for the first task.

    Args:
        analyses: Also train the tasks that read analyses (FSE's T2 and T3), where there are any.
            NOTE: for T3, where the paper has both, a pair has a positive or a negative, drawn in every epoch; and
            negatives of similar pairs are chosen by ``similarity``, whatever the noise in the labels.
        length: Maximum number of tokens of a pair.
    """

    def __init__(
        self,
        pairs: ExercisePairs,
        bank: QuestionBank,
        similarity: Similarity,
        processor: TQNetProcessor,
        seed: int,
        length: int,
        analyses: bool = True,
        workers: int = 0,
        read_images: bool = True,
    ):
        super().__init__(bank, processor, seed, workers=workers, read_images=read_images)
        self.pairs, self.similarity, self.length, self.analyses = pairs, similarity, length, analyses
        self._analysed = np.array([bool(text) for text in bank.column("analysis")], dtype=bool)
        self._by_concept = questions_of_concepts(bank) if analyses else {}

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, item: Item) -> tuple[Item, list[_Row]]:  # type: ignore[override]
        epoch, number, _ = item
        ends = int(self.pairs.query[number]), int(self.pairs.candidate[number])
        query, candidate = (self.bank[end] for end in ends)
        similar = bool(self.pairs.similar[number])
        features = self.pairs.features[number]
        images = self._images(query, candidate)
        rows = [_Row("questions", query.content, candidate.content, similar, images, features)]
        if self.analyses and query.analysis:
            if candidate.analysis:
                rows.append(_Row("analyses", query.analysis, candidate.analysis, similar, []))
            rng = np.random.default_rng([self.seed, epoch, number])
            if rng.random() < 0.5:
                rows.append(_Row("analysis", query.content, query.analysis, True, self._images(query)))
            elif wrong := candidate.analysis if not similar else self._wrong_analysis(ends[0], rng):
                rows.append(_Row("analysis", query.content, wrong, False, self._images(query)))
        return item, rows

    def _images(self, query: Question, candidate: Question | None = None) -> list[str]:
        if not self.read_images:
            return []
        return self.processor.join_images(query.images, candidate.images if candidate else ())

    def _wrong_analysis(self, query: int, rng: np.random.Generator) -> str | None:
        """Draw the analysis of a dissimilar question of the same concept; a similar one's might fit."""
        others = [n for path in self.bank[query].knowledge for n in self._by_concept[path] if self._analysed[n]]
        drawn = dissimilar(others, query, self.similarity.neighbours(query), 1, rng)
        return self.bank[drawn[0]].analysis if drawn else None

    def collate(self, rows: list[tuple[Item, list[_Row]]]) -> Batch:  # type: ignore[override]
        """Pack the rows of :meth:`__getitem__`."""
        fit = self.processor.image_processor.fit
        flat = [(place, row) for place, (_, pair_rows) in enumerate(rows) for row in pair_rows]
        first, second = (self.processor.tokenize([getattr(row, end) for _, row in flat]) for end in ("first", "second"))
        ids = [self.processor.join(a, b, self.length) for a, b in zip(first, second, strict=True)]
        figures = [[fit(self.processor.open_figure(path)) for path in row.images] for _, row in flat]
        extras = {
            "pair": torch.tensor([place for place, _ in flat]),
            "task": torch.tensor([TASKS.index(row.task) for _, row in flat]),
            "label": torch.tensor([float(row.label) for _, row in flat]),
            "features": torch.tensor(np.stack([row.features for _, row in flat])),
        }
        index = torch.tensor([number for (_, number, _), _ in rows])
        return Batch(index, [dict(self.processor.pack(ids, figures))], extras)

    def ids(self, index: torch.Tensor) -> list[str]:
        """Return the ids of both questions of the pairs of a batch."""
        ends = ((self.pairs.query[i], self.pairs.candidate[i]) for i in index.tolist())
        return [" and ".join(self.bank[int(end)].id for end in pair) for pair in ends]
