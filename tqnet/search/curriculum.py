"""In which order concepts are taught, and in which semester."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from tqnet.questions import Question


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
