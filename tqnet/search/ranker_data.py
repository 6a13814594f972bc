"""Pairs of a query and a candidate for the ranking stage (FSE, "Dataset")."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from tqnet.evaluation.ranking import Bm25Ranker, VectorRanker
from tqnet.files import atomic
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import fit_square, open_figure
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.index import Index
from tqnet.search.ranking import FEATURES, WEIGHTS, character_runs, in_common, words_of
from tqnet.search.retrieval import CANDIDATES, NEAREST, TEXT_WEIGHT, Votes
from tqnet.training.data import Batch, Item, QuestionViews

# Which labels of pairs are to be believed (confident learning, Northcutt et al. 2021; FSE, "Confidence Learning").


def check_installed() -> None:
    """ImportError where cleanlab is missing."""
    if find_spec("cleanlab") is None:
        raise ImportError("folds: confident learning needs the package cleanlab: pip install 'tqnet[rank]'")


def confident(similar: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Whose label stays, by the joint distribution of given and true labels.

    From each kind of pair as many are pruned as are estimated to be labelled wrongly, those that the model doubts most.

    Args:
        similar: bool [p], the labels.
        probability: [p], that a pair is similar, from a model that was trained without it.

    Returns:
        bool [p].
    """
    from cleanlab.filter import find_label_issues

    if similar.all() or not similar.any():  # of one kind nothing can be confused
        return np.ones(len(similar), dtype=bool)
    odds = np.stack([1 - probability, probability], axis=1).astype(np.float64)
    return ~find_label_issues(similar.astype(int), odds, filter_by="prune_by_noise_rate", n_jobs=1)


# What recall searches a bank by, where there need be no index of it.


class Sources:
    """What recall searches a bank by.

    Args:
        vectors: Of its questions, ``[n, width]``.
    """

    def __init__(self, bank: QuestionBank, vectors: np.ndarray):
        self._bank = bank
        self._text = Bm25Ranker([question.content for question in bank], bank.ids)
        self._vector = VectorRanker(vectors, bank.ids)
        self._knowledge = [question.knowledge for question in bank]
        self._runs: dict[int, dict[str, float]] = {}

    def candidates(self, query: int, count: int) -> list[int]:
        """The first ``count`` of what recall finds by its score, by the evidence, best first: what a ranker reads.

        NOTE: its text is BM25 of the words as they stand, where an index has formulas in one form. Nor does it look for
        the query's concepts, as a search for a question of the index does (``tqnet search --id``): where questions are
        similar that share them, nothing would be left to rank.
        """
        asked, everyone = np.array([query]), np.arange(len(self._bank))
        cosines, words = (source.scores(asked, everyone)[0] for source in (self._vector, self._text))
        words[query] = 0.0
        order = np.argsort(-(cosines + TEXT_WEIGHT * words / (words.max() or 1.0)), kind="stable")
        found = order[order != query][: max(count, CANDIDATES)]
        alike = self.evidence(np.full(len(found), query), found) @ WEIGHTS
        return found[np.argsort(-alike, kind="stable")][:count].tolist()

    def evidence(self, query: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """Of each candidate of its query, float32 ``[p, 3]``, equal to :func:`tqnet.search.ranking.evidence`."""
        found = np.zeros((len(query), len(FEATURES)), dtype=np.float32)
        for one in np.unique(query).tolist():
            rows = np.flatnonzero(query == one)
            others = candidate[rows].tolist()
            cosines = self._vector.scores(np.array([one]), np.arange(len(self._bank)))[0]
            cosines[one] = -1.0  # it does not say itself what it is about
            found[rows, 0] = cosines[others]
            found[rows, 1] = [in_common(self._of(one), self._of(other)) for other in others]
            nearest = {at: float(cosines[at]) for at in np.argsort(-cosines, kind="stable")[:NEAREST].tolist()}
            found[rows, 2] = list(map(Votes(nearest, self._knowledge.__getitem__).share, others))
        return found

    def _of(self, question: int) -> dict[str, float]:
        if question not in self._runs:
            self._runs[question] = character_runs(words_of(self._bank[question]))
        return self._runs[question]


class SourcesOfBanks:
    """`Sources` of banks that have questions in common: the vector of each is found once.

    Args:
        vectors: Of the questions of a bank, ``[n, width]``.
    """

    def __init__(self, vectors: Callable[[QuestionBank], np.ndarray]):
        self._found_by = vectors
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(self, bank: QuestionBank) -> Sources:
        new = bank.select([at for at, id in enumerate(bank.ids) if id not in self._vectors])
        if len(new):
            self._vectors |= dict(zip(new.ids, self._found_by(new), strict=True))
        return Sources(bank, np.stack([self._vectors[id] for id in bank.ids]))


def vectors_of_index(folder: Path, bank: QuestionBank) -> np.ndarray:
    """Those of the questions of ``bank``, ``[n, width]``.

    Raises:
        ValueError: The index lacks one.
    """
    engine = Index(folder).engine
    found = {row["id"]: row["vector"] for row in engine.get(bank.ids, ["id", "vector"]).to_pylist()}
    if missing := [id for id in bank.ids if id not in found]:
        raise ValueError(f"{folder} has no question {missing[0]!r} ({len(missing):,} are missing)")
    return np.array([found[id] for id in bank.ids], dtype=np.float32)


@dataclass(frozen=True)
class ExercisePairs:
    """Labelled pairs of questions of a bank.

    Attributes:
        query, candidate: Numbers of the questions, int64 ``[p]``.
        similar: bool ``[p]``.
        kind: How each pair was found: ``similar``, ``recalled``, ``concept``, ``random``, ``judged``.
        evidence: Of each candidate, float32 ``[p, 3]`` (`tqnet.search.ranking.FEATURES`).
    """

    query: np.ndarray
    candidate: np.ndarray
    similar: np.ndarray
    kind: tuple[str, ...]
    evidence: np.ndarray

    def __len__(self) -> int:
        return len(self.query)

    def select(self, rows: np.ndarray) -> ExercisePairs:
        """Those at ``rows``, numbers or a mask."""
        kind = tuple(np.asarray(self.kind, dtype=object)[rows])
        return ExercisePairs(self.query[rows], self.candidate[rows], self.similar[rows], kind, self.evidence[rows])

    def questions(self, bank: QuestionBank) -> list[tuple[Question, Question]]:
        """Query and candidate of each pair."""
        ends = zip(self.query.tolist(), self.candidate.tolist(), strict=True)
        return [(bank[query], bank[candidate]) for query, candidate in ends]

    def with_noise(self, share: float, seed: int) -> ExercisePairs:
        """With a share of the labels turned round, drawn at random."""
        rng = np.random.default_rng(seed)
        wrong = rng.permutation(len(self))[: round(share * len(self))]
        similar = self.similar.copy()
        similar[wrong] = ~similar[wrong]
        return replace(self, similar=similar)

    def folds(self, count: int, seed: int) -> np.ndarray:
        """int [p], a number below ``count`` for each pair; those of one query have the same."""
        queries, place = np.unique(self.query, return_inverse=True)
        return (np.random.default_rng(seed).permutation(len(queries)) % count)[place]

    def save(self, path: Path, bank: QuestionBank) -> None:
        """As lines of JSON: the ids ``a`` of the query and ``b`` of the candidate, ``similar``, ``kind``, evidence."""
        ids = bank.ids
        rows = zip(self.query, self.candidate, self.similar, self.kind, self.evidence.tolist(), strict=True)
        with atomic(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
            for query, candidate, similar, kind, evidence in rows:
                record = {"a": ids[query], "b": ids[candidate], "similar": int(similar), "kind": kind}
                record |= dict(zip(FEATURES, evidence, strict=True))
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path, bank: QuestionBank) -> ExercisePairs:
        """From a file that :meth:`save` wrote, of the same bank.

        Raises:
            KeyError: An earlier version wrote it.
        """
        place = {id: at for at, id in enumerate(bank.ids)}
        with path.open(encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        query, candidate = (np.array([place[row[end]] for row in rows], dtype=int) for end in ("a", "b"))
        similar = np.array([row["similar"] for row in rows], dtype=bool)
        evidence = np.array([[row[name] for name in FEATURES] for row in rows], dtype=np.float32)
        return cls(query, candidate, similar, tuple(row["kind"] for row in rows), evidence)


def made_pairs(
    bank: QuestionBank,
    similarity: Similarity,
    sources: Sources,
    queries: np.ndarray,
    counts: dict[str, int],
    seed: int,
) -> ExercisePairs:
    """Pairs of ``queries`` with questions of the bank, labelled by ``similarity``.

    Args:
        sources: Which recall candidates.
        counts: Of each kind, how many candidates a query has: the first that are ``recalled``; ``similar`` ones beside
            them; such of the same finest ``concept``, and at ``random``, that are not similar. A candidate counts once,
            and not where it was a query whose candidate is the query now: a fold shall not have seen what it is to
            judge.
    """
    rng = np.random.default_rng(seed)
    everyone, of_concept = np.arange(len(bank)), questions_of_concepts(bank)
    rows: list[tuple[int, int, bool, str]] = []
    made: set[tuple[int, int]] = set()
    for query in queries.tolist():
        neighbours = similarity.neighbours(query)
        others = [at for path in bank[query].knowledge for at in of_concept[path]]
        found = {
            "recalled": sources.candidates(query, counts["recalled"]),
            "similar": rng.permutation(neighbours)[: counts["similar"]].tolist(),
            "concept": dissimilar(others, query, neighbours, counts["concept"], rng),
            "random": dissimilar(everyone, query, neighbours, counts["random"], rng),
        }
        kinds: dict[int, str] = {}
        for kind, candidates in found.items():
            for candidate in candidates:
                if (candidate, query) not in made:
                    kinds.setdefault(candidate, kind)
        made |= {(query, candidate) for candidate in kinds}
        similar = set(neighbours.tolist())
        rows += [(query, candidate, candidate in similar, kind) for candidate, kind in kinds.items()]
    first, second, labels, names = zip(*rows, strict=True) if rows else ((), (), (), ())
    query, candidate = np.array(first, dtype=int), np.array(second, dtype=int)
    evidence = sources.evidence(query, candidate)
    return ExercisePairs(query, candidate, np.array(labels, dtype=bool), names, evidence)


def dissimilar(
    pool: Sequence[int] | np.ndarray, query: int, neighbours: np.ndarray, count: int, rng: np.random.Generator
) -> list[int]:
    """At random some of ``pool``, neither the query nor similar to it."""
    drawn = rng.permutation(np.unique(np.asarray(pool, dtype=int)))
    return drawn[~np.isin(drawn, neighbours) & (drawn != query)][:count].tolist()


def questions_of_concepts(bank: QuestionBank) -> dict[tuple[str, ...], list[int]]:
    """Concept -> numbers of the questions that have it."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, paths in enumerate(bank.column("knowledge")):
        for path in paths:
            found[path].append(at)
    return found


# What the ranking stage reads of a pair of exercises (FSE, "Discovering New Tasks").


#: Of a pair: are the questions similar (stems and options), do their analyses match, is an analysis that of a stem?
TASKS = ("questions", "analyses", "analysis")


class PairViews(QuestionViews):
    """Pairs as a DataLoader hands them out: for each task that a pair has, both texts as one.

    A batch's ``index`` are numbers of pairs; its inputs have a row for each task of each pair, and ``extras`` say of
    the row: its ``pair`` (place in the batch), ``task`` (number in `TASKS`), ``label``, float, and ``evidence``
    ``[rows, 3]``, 0 but for the first task: recall knows nothing of analyses.

    Args:
        analyses: Whether pairs have the tasks that read analyses, where there are any (FSE's T2 and T3).
            NOTE: of T3, where the paper has both, a pair has a positive or a negative, drawn anew in every epoch; and
            its negatives of similar pairs are chosen by ``similarity``, whatever the noise in the labels.
        length: Tokens of a pair.
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
        self._of_concept = questions_of_concepts(bank) if analyses else {}

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, item: Item) -> tuple[Item, list[_Row]]:  # type: ignore[override]
        epoch, number, _ = item
        ends = int(self.pairs.query[number]), int(self.pairs.candidate[number])
        query, candidate = (self.bank[end] for end in ends)
        similar = bool(self.pairs.similar[number])
        evidence = self.pairs.evidence[number]
        rows = [_Row("questions", query.content, candidate.content, similar, (query, candidate), evidence)]
        if self.analyses and query.analysis:
            if candidate.analysis:
                rows.append(_Row("analyses", query.analysis, candidate.analysis, similar))
            rng = np.random.default_rng([self.seed, epoch, number])
            if rng.random() < 0.5:
                rows.append(_Row("analysis", query.content, query.analysis, True, (query, None)))
            elif wrong := candidate.analysis if not similar else self._wrong_analysis(ends[0], rng):
                rows.append(_Row("analysis", query.content, wrong, False, (query, None)))
        return item, rows

    def _wrong_analysis(self, query: int, rng: np.random.Generator) -> str | None:
        """That of a question of the same concept: a similar one's might fit."""
        others = [at for path in self.bank[query].knowledge for at in self._of_concept[path] if self._analysed[at]]
        drawn = dissimilar(others, query, self.similarity.neighbours(query), 1, rng)
        return self.bank[drawn[0]].analysis if drawn else None

    def collate(self, rows: list[tuple[Item, list[_Row]]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`."""
        size = self.processor.image_processor.image_size
        flat = [(place, row) for place, (_, of) in enumerate(rows) for row in of]
        first = self.processor.tokenize([row.first for _, row in flat])
        second = self.processor.tokenize([row.second for _, row in flat])
        ids = [self.processor.join(a, b, self.length) for a, b in zip(first, second, strict=True)]
        figures = [[fit_square(open_figure(path), size) for path in self._paths(row)] for _, row in flat]
        extras = {
            "pair": torch.tensor([place for place, _ in flat]),
            "task": torch.tensor([TASKS.index(row.task) for _, row in flat]),
            "label": torch.tensor([float(row.label) for _, row in flat]),
            "evidence": torch.tensor(np.stack([row.evidence for _, row in flat])),
        }
        return Batch(
            torch.tensor([number for (_, number, _), _ in rows]), [dict(self.processor.pack(ids, figures))], extras
        )

    def _paths(self, row: _Row) -> list[str]:
        first, second = (question.images if question and self.read_images else () for question in row.of)
        return self.processor.join_images(first, second)

    def ids(self, index: torch.Tensor) -> list[str]:
        """Ids of both questions of the pairs of a batch."""
        ends = ((self.pairs.query[i], self.pairs.candidate[i]) for i in index.tolist())
        return [" and ".join(self.bank[int(end)].id for end in pair) for pair in ends]


@dataclass(frozen=True)
class _Row:
    """What one task reads of a pair.

    Attributes:
        of: The questions whose figures belong to the two texts.
        evidence: What recall finds the second by, ``[3]``.
    """

    task: str
    first: str
    second: str
    label: bool
    of: tuple[Question | None, Question | None] = (None, None)
    evidence: np.ndarray = field(default_factory=lambda: np.zeros(len(FEATURES), dtype=np.float32))
