"""How far questions are from one another in the knowledge hierarchy (QuesCo, Eq. 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tqnet.questions.knowledge import KnowledgeHierarchy
from tqnet.questions.question import KnowledgePath

IntArray = npt.NDArray[np.integer]


class KnowledgeDistance:
    """KH-distances between the questions of a bank: L - u + 1, u the level of the deepest concept that they share.

    Of a question with several paths, any of them may share it; a level that a path does not reach is shared by none.
    L + 1: they share nothing; L + 2: one of them has no concept, so that nothing is known.

    Questions of the same concepts are alike here: distances are computed between sets of concepts, and looked up.

    Attributes:
        depth: L, the length of the longest path.
        set_of: int [n], number of each question's set of concepts; 0 is that of none.
    """

    def __init__(self, knowledge: Sequence[tuple[KnowledgePath, ...]]):
        hierarchy = KnowledgeHierarchy(list(knowledge))
        self.depth = hierarchy.depth
        numbers: dict[tuple[int, ...], int] = {(): 0}
        self.set_of = np.array([numbers.setdefault(concepts, len(numbers)) for concepts in hierarchy.questions], int)
        self._above = [self._prefixes(hierarchy, concepts) for concepts in numbers]
        under: dict[KnowledgePath, list[int]] = defaultdict(list)
        for number, concepts in enumerate(self._above):
            for concept in concepts:
                under[concept].append(number)
        self._under = {concept: np.array(sets) for concept, sets in under.items()}
        self._row = lru_cache(maxsize=1024)(self._compute_row)

    def __call__(self, first: IntArray, second: IntArray) -> npt.NDArray[np.int16]:
        """[b, k], from each of the questions ``first`` [b] to each of the questions ``second`` [k]."""
        return self.rows(first)[:, self.set_of[second]]

    def rows(self, questions: IntArray) -> npt.NDArray[np.int16]:
        """[b, sets], from each of these questions to every set of concepts."""
        rows = [self._row(number) for number in self.set_of[questions].tolist()]
        return np.stack(rows) if rows else np.empty((0, len(self._above)), dtype=np.int16)

    def _compute_row(self, number: int) -> npt.NDArray[np.int16]:
        row = np.full(len(self._above), self.depth + 1 if number else self.depth + 2, dtype=np.int16)
        row[0] = self.depth + 2
        for concept in self._above[number]:  # coarse before fine
            row[self._under[concept]] = self.depth - len(concept) + 1
        return row

    @staticmethod
    def _prefixes(hierarchy: KnowledgeHierarchy, concepts: tuple[int, ...]) -> list[KnowledgePath]:
        paths = (hierarchy.concepts[concept] for concept in concepts)
        return sorted({path[:level] for path in paths for level in range(1, len(path) + 1)}, key=len)
