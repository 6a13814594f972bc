"""Contrastive triples of word problems: p, one of a like pattern, one that is easily confused (mwp-cl, Section 4.1).

Found by an index over the patterns of all subtrees, in a time by the number of nodes, not of pairs of problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tqnet.text.equations import OPERATORS, Prefix, ends, pattern

POSITIVES = ("subtree", "either", "same")
NEGATIVES = ("hard", "random")


class Triple(NamedTuple):
    """Places of three problems, and the node of ``positive`` at which its subtree has the pattern of ``problem``.

    Attributes:
        own_node: Of ``problem``: its root, but for a positive whose whole tree is one of its subtrees.
    """

    problem: int
    positive: int
    node: int
    negative: int
    own_node: int = 0


class Triples:
    """Draws triples among problems.

    A positive has the problem's whole pattern, in which any leaf is equal to any leaf, as its tree or one of its
    subtrees; a negative has as many nodes and other operators.

    Args:
        equations: Of all problems, in prefix order.
        languages: Of each problem; if given, positives come from another language and negatives from its own
            (mwp-cl, Section 5.1, multilingual).
        positives: ``subtree``, the paper's; ``either`` also takes problems whose whole tree is a subtree of the
            problem's; ``same``, those of the same whole tree alone (Table 4, "Same").
        negatives: ``hard``, the paper's; ``random``, any problem of another pattern (Table 4, "Rand").
    """

    def __init__(
        self,
        equations: Sequence[Prefix],
        languages: Sequence[str | None] | None = None,
        positives: str = "subtree",
        negatives: str = "hard",
    ):
        self.languages, self.positives, self.negatives = languages, positives, negatives
        self._patterns = [pattern(equation) for equation in equations]
        self._operators = [_operators(equation) for equation in equations]
        self._sizes = [len(equation) for equation in equations]
        self._subtrees = [_subtrees(equation) for equation in equations]
        # Pattern -> language -> (problem, node), of all subtrees; of whole trees the node is 0.
        self._having: dict[str, dict[str | None, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
        # Number of nodes -> language -> operators -> problems.
        self._sized: dict[int, dict[str | None, dict[str, list[int]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for place, subtrees in enumerate(self._subtrees):
            language = self._language(place)
            for own, node in subtrees:
                self._having[own][language].append((place, node))
            self._sized[self._sizes[place]][language][self._operators[place]].append(place)
        self._all: dict[str | None, np.ndarray] = {
            language: np.array([place for place in range(len(equations)) if self._language(place) == language])
            for language in {self._language(place) for place in range(len(equations))}
        }
        # Language -> number of patterns.
        self._kinds = {language: len({self._patterns[place] for place in own}) for language, own in self._all.items()}

    @property
    def problems(self) -> list[int]:
        """Those that have both a positive and a negative; one whose solution is a single number has none."""
        return [place for place in range(len(self._patterns)) if self._has_triple(place)]

    def draw(self, problem: int, rng: np.random.Generator) -> Triple:
        """A triple of one of `problems`, each positive and each negative as likely as the others."""
        own, positive, node = self._draw_positive(problem, rng)
        return Triple(problem, positive, node, self._draw_negative(problem, rng), own)

    def _language(self, place: int) -> str | None:
        return None if self.languages is None else self.languages[place]

    def _others(self, place: int) -> list[str | None]:
        """Languages that positives come from."""
        return [None] if self.languages is None else [other for other in self._all if other != self.languages[place]]

    def _has_triple(self, place: int) -> bool:
        if not self._operators[place]:
            return False
        like = sum(len(self._like(place, other, own)) for other in self._others(place) for own in self._own(place))
        itself = 1 if self.languages is None else 0  # it has its whole pattern once, and is no subtree of its own
        return like > itself and self._has_negative(place)

    def _own(self, place: int) -> list[tuple[str, int]]:
        """Patterns of the problem, with their nodes, that a positive may have."""
        whole = [(self._patterns[place], 0)]
        if self.positives != "either":
            return whole
        return whole + [(own, node) for own, node in self._subtrees[place] if node]

    def _like(self, place: int, language: str | None, own: tuple[str, int]) -> Sequence[tuple[int, int]]:
        having = self._having[own[0]].get(language, [])
        if self.positives == "same" or own[1]:  # a subtree of the problem is to be the whole of the other
            return [(other, node) for other, node in having if node == 0]
        return having

    def _draw_positive(self, problem: int, rng: np.random.Generator) -> tuple[int, int, int]:
        pools = [
            (own[1], pool)
            for other in self._others(problem)
            for own in self._own(problem)
            if (pool := self._like(problem, other, own))
        ]
        shares = np.array([len(pool) for _, pool in pools], dtype=float)
        while True:
            own, pool = pools[int(rng.choice(len(pools), p=shares / shares.sum()))]
            positive, node = pool[int(rng.integers(len(pool)))]
            if positive != problem:
                return own, positive, node

    def _has_negative(self, place: int) -> bool:
        if self.negatives == "random":
            return self._kinds[self._language(place)] > 1
        return bool(self._unlike(place))

    def _unlike(self, place: int) -> list[list[int]]:
        """Problems of as many nodes and other operators, by their operators."""
        sized = self._sized[self._sizes[place]][self._language(place)]
        return [places for operators, places in sized.items() if operators != self._operators[place]]

    def _draw_negative(self, problem: int, rng: np.random.Generator) -> int:
        if self.negatives == "random":
            everyone = self._all[self._language(problem)]
            while self._patterns[drawn := int(rng.choice(everyone))] == self._patterns[problem]:
                pass
            return drawn
        pools = self._unlike(problem)
        place = int(rng.integers(sum(map(len, pools))))
        for pool in pools:
            if place < len(pool):
                return pool[place]
            place -= len(pool)
        raise IndexError(f"problem {problem} has no negative")


def _operators(equation: Prefix) -> str:
    """Operators with their counts, in whatever places: what "different operator types" goes by."""
    counts = Counter(token for token in equation if token in OPERATORS)
    return "".join(operator * counts[operator] for operator in OPERATORS)


def _subtrees(equation: Prefix) -> list[tuple[str, int]]:
    """Patterns of the subtrees that have an operator, with their roots."""
    behind = ends(equation)
    return [(pattern(equation[root : behind[root]]), root) for root, token in enumerate(equation) if token in OPERATORS]
