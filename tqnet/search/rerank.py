"""What of a ranking serves this student now (FSE, "Re-rank Module")."""

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

# In which order concepts are taught, and in which semester.


class Place(NamedTuple):
    """Where something is taught; a later place compares as greater."""

    semester: int
    section: int


@dataclass(frozen=True)
class Curriculum:
    """Sections in the order of teaching.

    Attributes:
        places: Concept, a path with ``/``, -> where it is taught.
        semesters: Their names, in order.
    """

    places: dict[str, Place]
    semesters: tuple[str, ...]

    @classmethod
    def load(cls, path: Path) -> Curriculum:
        """From YAML: semesters in order, each a name with the list of its concepts in order::

            Grade 8, autumn: [Algebra/Equations, Algebra/Inequalities]
            Grade 8, spring: [Geometry/Triangles]

        A concept stands for those below it too.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: It is not of that form, or names a concept twice.
        """
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such curriculum")
        try:
            semesters: Any = OmegaConf.to_container(OmegaConf.load(path))
        except (OmegaConfBaseException, YAMLError) as error:
            raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
        if not isinstance(semesters, dict) or not all(isinstance(of, list) for of in semesters.values()):
            raise ValueError(f"{path}: expected semesters, each with the list of its concepts")
        places: dict[str, Place] = {}
        for number, (semester, concepts) in enumerate(semesters.items()):
            for concept in concepts:
                if not isinstance(concept, str) or not concept:
                    raise ValueError(f"{path}: {semester}: {concept!r} is no concept")
                if concept in places:
                    raise ValueError(f"{path}: {semester}: {concept} is there twice")
                places[concept] = Place(number, len(places))
        return cls(places, tuple(map(str, semesters)))

    def place_of(self, concept: str) -> Place | None:
        """Where a concept is taught, or else the nearest one above it; None where neither is."""
        parts = concept.split("/")
        above = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self.places[name] for name in above if name in self.places), None)

    def needs(self, question: Question) -> Place | None:
        """The latest place that a question needs; None where none of its concepts is taught."""
        places = (self.place_of("/".join(path)) for path in question.knowledge)
        return max((place for place in places if place is not None), default=None)


STUDENTS = ("strong", "weak")
STAGES = ("practice", "review")
PREFERENCES = ("variant", "similar")


@dataclass(frozen=True)
class Reranked:
    """What is left, and what is not.

    Attributes:
        candidates: In order, each with notes.
        dropped: With the reason as the last of its notes.
    """

    candidates: list[Candidate]
    dropped: list[Candidate]


@dataclass(frozen=True)
class Rerank:
    """The re-rank stage; whatever is None or 0 is switched off.

    A candidate that does not say its difficulty, or has no concept that the curriculum has, is kept and says so.

    Attributes:
        student: A ``strong`` one gets questions as hard as the query or harder, a ``weak`` one as hard or easier.
        tolerance: Difficulties that differ by no more count as the same.
        stage: In ``practice`` nothing is beyond the current section, in ``review`` nothing beyond the semester.
        curriculum: By which that is told.
        section: The current one; by default the latest that the query needs.
        prefer: Whether every ``variant`` of the query comes first, as in the paper, or every ``similar`` question; then
            the other kind, then what is unrelated, each in the order of ranking. Duplicates of the query are dropped.
        classify: Tells these kinds apart.
        diversity: From 0 to 1, how much a question is put back for what it shares with those before it (maximal
            marginal relevance, Carbonell and Goldstein 1998, by words in common).
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
            raise ValueError("stage: what is beyond it is told by a curriculum, and there is none")
        if self.section and self.curriculum and self.curriculum.place_of(self.section) is None:
            raise ValueError(f"section: the curriculum has no {self.section!r}")
        if self.prefer and self.classify is None:
            raise ValueError("prefer: kinds are told apart by a classifier of pairs, and there is none")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance: {self.tolerance} is not in [0, inf)")
        if not 0 <= self.diversity <= 1:
            raise ValueError(f"diversity: {self.diversity} is not in [0, 1]")

    def __call__(self, query: Question, candidates: Sequence[Candidate]) -> Reranked:
        """``candidates``, best first, as they serve ``query``."""
        kept, dropped = list(candidates), []
        for step in (self._by_difficulty, self._by_stage, self._by_kind):  # the dearest last
            judged = step(query, kept)
            kept = [one for one, fits in judged if fits]
            dropped += [one for one, fits in judged if not fits]
        return Reranked(self._varied(kept), dropped)

    def _by_kind(self, query: Question, candidates: list[Candidate]) -> list[tuple[Candidate, bool]]:
        if self.prefer is None or self.classify is None or not candidates:
            return [(one, True) for one in candidates]
        chances = self.classify(query, [one.question for one in candidates])
        judged = []
        for one, chance in zip(candidates, chances, strict=True):
            kind = RELATIONS[int(chance.argmax())]
            if kind == "duplicate":
                judged.append((noted(one, "dropped: duplicate of the query"), False))
            else:
                judged.append((noted(one, f"{kind} {chance.max():.2f}"), True))
        order = [self.prefer, *(kind for kind in PREFERENCES if kind != self.prefer)]
        kinds = [RELATIONS[place] for place in chances.argmax(1)]
        rank = [order.index(kind) if kind in order else len(order) for kind in kinds]
        return [judged[at] for at in sorted(range(len(judged)), key=rank.__getitem__)]

    def _by_difficulty(self, query: Question, candidates: list[Candidate]) -> list[tuple[Candidate, bool]]:
        if self.student is None:
            return [(one, True) for one in candidates]
        if query.difficulty is None:
            return [(noted(one, "difficulty of the query unknown"), True) for one in candidates]
        return [self._difficult(one, query.difficulty) for one in candidates]

    def _difficult(self, one: Candidate, wanted: float) -> tuple[Candidate, bool]:
        own = one.question.difficulty
        if own is None:
            return noted(one, "difficulty unknown"), True
        harder = own - wanted
        if self.student == "strong" and harder < -self.tolerance:
            return noted(one, f"dropped: easier than the query ({own:g} < {wanted:g})"), False
        if self.student == "weak" and harder > self.tolerance:
            return noted(one, f"dropped: harder than the query ({own:g} > {wanted:g})"), False
        return one, True

    def _by_stage(self, query: Question, candidates: list[Candidate]) -> list[tuple[Candidate, bool]]:
        if self.stage is None or self.curriculum is None:
            return [(one, True) for one in candidates]
        now = self.curriculum.place_of(self.section) if self.section else self.curriculum.needs(query)
        if now is None:
            return [(noted(one, "current section unknown"), True) for one in candidates]
        return [self._taught(one, self.curriculum, now) for one in candidates]

    def _taught(self, one: Candidate, curriculum: Curriculum, now: Place) -> tuple[Candidate, bool]:
        needed = curriculum.needs(one.question)
        if needed is None:
            return noted(one, "not in the curriculum"), True
        if self.stage == "practice" and needed > now:
            return noted(one, "dropped: beyond the current section"), False
        if self.stage == "review" and needed.semester > now.semester:
            when = curriculum.semesters[needed.semester]
            return noted(one, f"dropped: beyond the current semester ({when})"), False
        return one, True

    def _varied(self, candidates: list[Candidate]) -> list[Candidate]:
        """Each time the best of what is left, by place less what it shares with what was chosen."""
        if not self.diversity or len(candidates) < 3:
            return candidates
        words = [set(query_words(one.question)["stem"]) for one in candidates]
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
            noted(candidates[at], "put back for variety") if place > at and shared[at] > 0.5 else candidates[at]
            for place, at in enumerate(order)
        ]


def noted(one: Candidate, note: str) -> Candidate:
    """With one more note."""
    return replace(one, notes=(*one.notes, note))
