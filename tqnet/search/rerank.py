"""Re-rank candidates for a student, by difficulty, curriculum, kind and variety (FSE, "Re-rank Module")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from tqnet.questions import Question
from tqnet.questions.pairs import RELATIONS, Classify
from tqnet.search.records import query_words
from tqnet.search.retrieval import Candidate, jaccard


class Place(NamedTuple):
    """When a concept is taught; later places compare as greater."""

    semester: int
    section: int


@dataclass(frozen=True)
class Curriculum:
    """Sections in the order of teaching.

    Attributes:
        places: Concept, a path with ``/``, -> its place.
        semesters: Names, in order.
    """

    places: dict[str, Place]
    semesters: tuple[str, ...]

    @classmethod
    def load(cls, path: Path) -> Curriculum:
        """Read YAML with the semesters in order, each with the list of its concepts in order::

            Grade 8, autumn: [Algebra/Equations, Algebra/Inequalities]
            Grade 8, spring: [Geometry/Triangles]

        A concept stands for its descendants too.

        Raises:
            FileNotFoundError: The file is missing.
            ValueError: It is malformed, or names a concept twice.
        """
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such curriculum")
        try:
            semesters: Any = OmegaConf.to_container(OmegaConf.load(path))
        except (OmegaConfBaseException, YAMLError) as error:
            raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
        if not isinstance(semesters, dict) or not all(isinstance(concepts, list) for concepts in semesters.values()):
            raise ValueError(f"{path}: expected semesters, each with the list of its concepts")
        places: dict[str, Place] = {}
        for number, (semester, concepts) in enumerate(semesters.items()):
            for concept in concepts:
                if not isinstance(concept, str) or not concept:
                    raise ValueError(f"{path}: {semester}: {concept!r} is not a concept")
                if concept in places:
                    raise ValueError(f"{path}: {semester}: {concept} is there twice")
                places[concept] = Place(number, len(places))
        return cls(places, tuple(map(str, semesters)))

    def place_of(self, concept: str) -> Place | None:
        """Return the place of a concept, or of its nearest ancestor; None if neither has one."""
        parts = concept.split("/")
        above = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self.places[name] for name in above if name in self.places), None)

    def needs(self, question: Question) -> Place | None:
        """Return the latest place of a question's concepts; None if none has one."""
        places = (self.place_of("/".join(path)) for path in question.knowledge)
        return max((place for place in places if place is not None), default=None)


STUDENTS = ("strong", "weak")
STAGES = ("practice", "review")
PREFERENCES = ("variant", "similar")


@dataclass(frozen=True)
class Reranked:
    """Kept candidates in order, and dropped ones with the reason as the last of their notes."""

    candidates: list[Candidate]
    dropped: list[Candidate]


#: Candidates, each with True if it is kept.
_Judged = list[tuple[Candidate, bool]]


@dataclass(frozen=True)
class Rerank:
    """The re-rank stage; None or 0 switches a part off.

    A candidate without a difficulty, or without a concept of the curriculum, is kept and gets a note.

    Attributes:
        student: A ``strong`` one gets questions at least as hard as the query, a ``weak`` one at most as hard.
        tolerance: Largest difference of difficulties that count as equal.
        stage: ``practice`` drops what is beyond the current section, ``review`` what is beyond the semester.
        section: The current one; by default the latest that the query needs.
        prefer: Put every ``variant`` of the query first, as in the paper, or every ``similar`` question; then the other
            kind, then unrelated ones, each in the order of ranking. Duplicates of the query are dropped.
        classify: Tells these kinds apart.
        diversity: From 0 to 1, how much a question is moved back for words that it shares with those before it (maximal
            marginal relevance, Carbonell and Goldstein 1998).
    """

    student: str | None = None
    tolerance: float = 0.0
    stage: str | None = None
    curriculum: Curriculum | None = None
    section: str | None = None
    classify: Classify | None = None
    prefer: str | None = None
    diversity: float = 0.0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("student", self.student, STUDENTS),
            ("stage", self.stage, STAGES),
            ("prefer", self.prefer, PREFERENCES),
        ):
            if value is not None and value not in known:
                raise ValueError(f"{name}: {value!r} is none of {', '.join(known)}")
        if self.stage and self.curriculum is None:
            raise ValueError("stage: needs a curriculum")
        if self.section and self.curriculum and self.curriculum.place_of(self.section) is None:
            raise ValueError(f"section: the curriculum has no {self.section!r}")
        if self.prefer and self.classify is None:
            raise ValueError("prefer: needs a classifier of pairs")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance: {self.tolerance} is not in [0, inf)")
        if not 0 <= self.diversity <= 1:
            raise ValueError(f"diversity: {self.diversity} is not in [0, 1]")

    def __call__(self, query: Question, candidates: Sequence[Candidate]) -> Reranked:
        """Re-rank ``candidates``, best first."""
        kept, dropped = list(candidates), []
        for step in (self._by_difficulty, self._by_stage, self._by_kind):  # the most expensive last
            judged = step(query, kept)
            kept = [candidate for candidate, fits in judged if fits]
            dropped += [candidate for candidate, fits in judged if not fits]
        return Reranked(self._varied(kept), dropped)

    def _by_kind(self, query: Question, candidates: list[Candidate]) -> _Judged:
        if self.prefer is None or self.classify is None or not candidates:
            return [(candidate, True) for candidate in candidates]
        chances = self.classify(query, [candidate.question for candidate in candidates])
        order = [self.prefer, *(kind for kind in PREFERENCES if kind != self.prefer)]
        judged, rank = [], []
        for candidate, chance in zip(candidates, chances, strict=True):
            kind = RELATIONS[int(chance.argmax())]
            note = "dropped: duplicate of the query" if kind == "duplicate" else f"{kind} {chance.max():.2f}"
            judged.append((_noted(candidate, note), kind != "duplicate"))
            rank.append(order.index(kind) if kind in order else len(order))
        return [judged[place] for place in np.argsort(rank, kind="stable")]

    def _by_difficulty(self, query: Question, candidates: list[Candidate]) -> _Judged:
        if self.student is None:
            return [(candidate, True) for candidate in candidates]
        if query.difficulty is None:
            return [(_noted(candidate, "difficulty of the query unknown"), True) for candidate in candidates]
        return [self._difficult(candidate, query.difficulty) for candidate in candidates]

    def _difficult(self, candidate: Candidate, wanted: float) -> tuple[Candidate, bool]:
        difficulty = candidate.question.difficulty
        if difficulty is None:
            return _noted(candidate, "difficulty unknown"), True
        harder = difficulty - wanted
        if self.student == "strong" and harder < -self.tolerance:
            return _noted(candidate, f"dropped: easier than the query ({difficulty:g} < {wanted:g})"), False
        if self.student == "weak" and harder > self.tolerance:
            return _noted(candidate, f"dropped: harder than the query ({difficulty:g} > {wanted:g})"), False
        return candidate, True

    def _by_stage(self, query: Question, candidates: list[Candidate]) -> _Judged:
        if self.stage is None or self.curriculum is None:
            return [(candidate, True) for candidate in candidates]
        now = self.curriculum.place_of(self.section) if self.section else self.curriculum.needs(query)
        if now is None:
            return [(_noted(candidate, "current section unknown"), True) for candidate in candidates]
        return [self._taught(candidate, self.curriculum, now) for candidate in candidates]

    def _taught(self, candidate: Candidate, curriculum: Curriculum, now: Place) -> tuple[Candidate, bool]:
        needed = curriculum.needs(candidate.question)
        if needed is None:
            return _noted(candidate, "not in the curriculum"), True
        if self.stage == "practice" and needed > now:
            return _noted(candidate, "dropped: beyond the current section"), False
        if self.stage == "review" and needed.semester > now.semester:
            semester = curriculum.semesters[needed.semester]
            return _noted(candidate, f"dropped: beyond the current semester ({semester})"), False
        return candidate, True

    def _varied(self, candidates: list[Candidate]) -> list[Candidate]:
        """Choose repeatedly the best by place, less the words that it shares with those chosen."""
        if not self.diversity or len(candidates) < 3:
            return candidates
        words = [set(query_words(candidate.question)["stem"]) for candidate in candidates]
        merit = 1 - np.arange(len(candidates)) / len(candidates)
        shared = np.zeros(len(candidates))
        left, order = list(range(len(candidates))), []
        while left:
            best = max(left, key=lambda at: ((1 - self.diversity) * merit[at] - self.diversity * shared[at], -at))
            left.remove(best)
            order.append(best)
            for at in left:
                shared[at] = max(shared[at], jaccard(words[at], words[best]))
        return [
            _noted(candidates[at], "moved back for variety") if place > at and shared[at] > 0.5 else candidates[at]
            for place, at in enumerate(order)
        ]


def _noted(candidate: Candidate, note: str) -> Candidate:
    return replace(candidate, notes=(*candidate.notes, note))
