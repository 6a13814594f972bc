"""Pairs of a query and a candidate for the ranking stage (FSE, "Dataset")."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tqnet.files import atomic
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.evidence import EVIDENCE
from tqnet.training.sources import Sources


@dataclass(frozen=True)
class ExercisePairs:
    """Labelled pairs of questions of a bank.

    Attributes:
        query, candidate: Numbers of the questions, int64 ``[p]``.
        similar: bool ``[p]``.
        kind: How each pair was found: ``similar``, ``recalled``, ``concept``, ``random``, ``judged``.
        evidence: Of each candidate, float32 ``[p, 3]`` (`tqnet.search.evidence.EVIDENCE`).
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
                record |= dict(zip(EVIDENCE, evidence, strict=True))
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
        evidence = np.array([[row[name] for name in EVIDENCE] for row in rows], dtype=np.float32)
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
