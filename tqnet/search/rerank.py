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
        places: Concept, as a path with ``/`` -> its place.
        semesters: Names of the semesters, in order.
    """

    places: dict[str, Place]
    semesters: tuple[str, ...]

    @classmethod
    def load(cls, path: Path) -> Curriculum:
        """Read YAML with the semesters in order, each with the list of its concepts in order::

            Grade 8, autumn: [Algebra/Equations, Algebra/Inequalities]
            Grade 8, spring: [Geometry/Triangles]

        A concept also stands for its descendants.

        Raises:
            FileNotFoundError: The file is missing.
            ValueError: The file is malformed, or names a concept twice.
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
                    raise ValueError(f"{path}: {semester}: {concept} occurs twice")
                places[concept] = Place(number, len(places))
        return cls(places, tuple(map(str, semesters)))

    def place_of(self, concept: str) -> Place | None:
        """Return the place of a concept, or of its nearest ancestor; None if there is none."""
        parts = concept.split("/")
        above = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self.places[name] for name in above if name in self.places), None)

    def needs(self, question: Question) -> Place | None:
        """Return the latest place of a question's concepts; None if there is none."""
        places = (self.place_of("/".join(path)) for path in question.knowledge)
        return max((place for place in places if place is not None), default=None)


#: Settings with a choice, and their values.
CHOICES = {"student": ("strong", "weak"), "stage": ("practice", "review"), "prefer": ("variant", "similar")}

#: Prefix of the note on a dropped candidate.
_DROPPED = "dropped: "


class Reranked(NamedTuple):
    """Kept candidates in order, and dropped ones with the reason as their last note."""

    candidates: list[Candidate]
    dropped: list[Candidate]


@dataclass(frozen=True)
class Rerank:
    """The re-rank stage; None or 0 switches a part off.

    A candidate without a difficulty, or without a concept of the curriculum, is kept and gets a note.

    Attributes:
        student: A ``strong`` student gets questions at least as hard as the query, a ``weak`` one at most as hard.
        tolerance: Maximum difference of difficulties that count as equal.
        stage: ``practice`` drops questions beyond the current section, ``review`` those beyond the semester.
        section: Current section; by default the latest that the query needs.
        prefer: Put every ``variant`` of the query first, as in the paper, or every ``similar`` question; then the other
            kind, then unrelated ones, each in the order of ranking. Duplicates of the query are dropped.
        classify: Classifier of these kinds.
        diversity: How much to penalize a question for words that it shares with those before it, from 0 to 1 (maximal
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
        for name, known in CHOICES.items():
            if getattr(self, name) not in (None, *known):
                raise ValueError(f"{name}: {getattr(self, name)!r} is not one of {', '.join(known)}")
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
        for remark in (self._on_difficulty, self._on_stage):
            notes = [remark(query, candidate.question) for candidate in kept]
            noted = list(map(_noted, kept, notes))
            kept = [candidate for candidate, note in zip(noted, notes, strict=True) if not note.startswith(_DROPPED)]
            dropped += [candidate for candidate, note in zip(noted, notes, strict=True) if note.startswith(_DROPPED)]
        if self.prefer and self.classify and kept:  # the most expensive last
            chances = self.classify(query, [candidate.question for candidate in kept])
            kinds = [RELATIONS[relation] for relation in chances.argmax(1)]
            order = (self.prefer, *CHOICES["prefer"], "unrelated", "duplicate")
            by_kind: dict[str, list[Candidate]] = {kind: [] for kind in order}
            for candidate, kind, chance in zip(kept, kinds, chances.max(1), strict=True):
                note = f"{_DROPPED}duplicate of the query" if kind == "duplicate" else f"{kind} {chance:.2f}"
                by_kind[kind].append(_noted(candidate, note))
            dropped += by_kind.pop("duplicate")
            kept = [candidate for group in by_kind.values() for candidate in group]
        return Reranked(self._varied(kept), dropped)

    def _on_difficulty(self, query: Question, question: Question) -> str:
        if self.student is None or query.difficulty is None:  # `Searcher.answer` adds a note
            return ""
        if question.difficulty is None:
            return "difficulty unknown"
        harder = question.difficulty - query.difficulty
        if self.student == "strong" and harder < -self.tolerance:
            return f"{_DROPPED}easier than the query ({question.difficulty:g} < {query.difficulty:g})"
        if self.student == "weak" and harder > self.tolerance:
            return f"{_DROPPED}harder than the query ({question.difficulty:g} > {query.difficulty:g})"
        return ""

    def _on_stage(self, query: Question, question: Question) -> str:
        if self.stage is None or self.curriculum is None:
            return ""
        now = self.curriculum.place_of(self.section) if self.section else self.curriculum.needs(query)
        needed = self.curriculum.needs(question)
        if now is None:
            return "current section unknown"
        if needed is None:
            return "not in the curriculum"
        if self.stage == "practice" and needed > now:
            return f"{_DROPPED}beyond the current section"
        if self.stage == "review" and needed.semester > now.semester:
            return f"{_DROPPED}beyond the current semester ({self.curriculum.semesters[needed.semester]})"
        return ""

    def _varied(self, candidates: list[Candidate]) -> list[Candidate]:
        """Repeatedly choose the best candidate by rank, minus the words that it shares with those already chosen."""
        if not self.diversity or len(candidates) < 3:
            return candidates
        words = [set(query_words(candidate.question)["stem"]) for candidate in candidates]
        merit = 1 - np.arange(len(candidates)) / len(candidates)
        shared = np.zeros(len(candidates))
        remaining = list(range(len(candidates)))
        varied: list[Candidate] = []
        while remaining:
            best = max(remaining, key=lambda at: ((1 - self.diversity) * merit[at] - self.diversity * shared[at], -at))
            remaining.remove(best)
            moved_back = len(varied) > best and shared[best] > 0.5
            varied.append(_noted(candidates[best], "moved back for variety") if moved_back else candidates[best])
            for at in remaining:
                shared[at] = max(shared[at], jaccard(words[at], words[best]))
        return varied


def _noted(candidate: Candidate, note: str) -> Candidate:
    return replace(candidate, notes=(*candidate.notes, note)) if note else candidate
