"""What a query is about, as far as the questions nearest to it say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

#: So many of the nearest say it, each by this power of its cosine.
NEAREST, _POWER = 10, 10

#: A path from the coarsest level.
Concept = tuple[str, ...]
#: What stands for a question: its id, or its place among others.
Key = TypeVar("Key", bound=Hashable)


class Votes(Generic[Key]):
    """Those of the nearest for their concepts.

    Args:
        cosines: With the query, of at least the nearest.
        concepts: Of a question.
    """

    def __init__(self, cosines: Mapping[Key, float], concepts: Callable[[Key], Collection[Concept]]):
        nearest = sorted(cosines, key=lambda one: -cosines[one])[:NEAREST]
        self._concepts = concepts
        self._votes = {one: max(cosines[one], 0.0) ** _POWER for one in nearest}
        self._all = sum(self._votes.values())
        self._of_concept: dict[Concept, float] = defaultdict(float)
        for one, vote in self._votes.items():
            for concept in concepts(one):
                self._of_concept[concept] += vote

    def foremost(self, count: int) -> list[Concept]:
        """The concepts with the most votes, at most ``count``."""
        found = [concept for concept, votes in self._of_concept.items() if votes > 0]
        return sorted(found, key=lambda concept: -self._of_concept[concept])[:count]

    def share(self, candidate: Key) -> float:
        """Of the others' votes, those for the foremost of a candidate's concepts, 0 to 1."""
        own = self._votes.get(candidate, 0.0)
        others = self._all - own
        foremost = max((self._of_concept.get(concept, 0.0) for concept in self._concepts(candidate)), default=own) - own
        return max(0.0, foremost / others) if others > 0 else 0.0
