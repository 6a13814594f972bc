"""Contrastive triples of word problems: p, one of a like pattern, one that is easily confused (mwp-cl, Section 4.1).

Found by an index over the patterns of all subtrees, in time linear in the number of nodes.
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
    """Places of three problems, and the nodes at which ``positive`` and ``problem`` have the same pattern.

    Attributes:
        anchor_node: Of ``problem``: its root, but for a positive whose whole tree is one of its subtrees.
    """

    problem: int
    positive: int
    node: int
    negative: int
    anchor_node: int = 0


class Triples:
    """Draws triples among problems.

    A positive has the problem's whole pattern, in which any leaf is equal to any leaf, as its tree or one of its
    subtrees; a negative has as many nodes and other operators.

    Args:
        equations: Of all problems, in prefix order.
        languages: Of each problem; if given, positives are from another language and negatives from the problem's
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
        count = len(equations)
        self.multilingual, self.positives, self.negatives = languages is not None, positives, negatives
        self._languages: list[str | None] = [None] * count if languages is None else list(languages)
        self._patterns = [pattern(equation) for equation in equations]
        self._operators = [_operators(equation) for equation in equations]
        self._sizes = [len(equation) for equation in equations]
        self._subtrees = [_subtrees(equation) for equation in equations]
        # Pattern -> language -> (problem, node), of all subtrees; of whole trees the node is 0.
        self._with_pattern: dict[str, dict[str | None, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
        # (Number of nodes, language) -> operators -> problems.
        self._sized: dict[tuple[int, str | None], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        members: dict[str | None, list[int]] = defaultdict(list)
        for place, language in enumerate(self._languages):
            members[language].append(place)
            for subtree, node in self._subtrees[place]:
                self._with_pattern[subtree][language].append((place, node))
            self._sized[self._sizes[place], language][self._operators[place]].append(place)
        self._members = {language: np.array(places) for language, places in members.items()}
        self._pattern_counts = {
            language: len({self._patterns[place] for place in places}) for language, places in members.items()
        }

    @property
    def problems(self) -> list[int]:
        """Problems that have both a positive and a negative; one whose solution is a single number has none."""
        return [place for place in range(len(self._patterns)) if self._has_triple(place)]

    def draw(self, problem: int, rng: np.random.Generator) -> Triple:
        """Draw a triple of one of `problems`, each positive and each negative as likely as the others."""
        anchor_node, positive, node = self._draw_positive(problem, rng)
        return Triple(problem, positive, node, self._draw_negative(problem, rng), anchor_node)

    def _has_triple(self, place: int) -> bool:
        if not self._operators[place]:
            return False
        candidates = sum(len(pool) for _, pool in self._positive_pools(place))
        itself = 0 if self.multilingual else 1  # it has its whole pattern once, and is no subtree of itself
        if self.negatives == "random":
            has_negative = self._pattern_counts[self._languages[place]] > 1
        else:
            has_negative = bool(self._negative_pools(place))
        return candidates > itself and has_negative

    def _positive_pools(self, place: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Nodes of the problem, and the (problem, node) pairs that have the pattern of each; none is empty."""
        others = [language for language in self._members if language != self._languages[place]]
        languages = others if self.multilingual else [None]
        anchors = [(self._patterns[place], 0)]
        if self.positives == "either":
            anchors += [(subtree, node) for subtree, node in self._subtrees[place] if node]
        pools = []
        for language in languages:
            for anchor, anchor_node in anchors:
                pool = self._with_pattern[anchor].get(language, [])
                if self.positives == "same" or anchor_node:  # a subtree of the problem must be the other's whole tree
                    pool = [(other, node) for other, node in pool if node == 0]
                if pool:
                    pools.append((anchor_node, pool))
        return pools

    def _draw_positive(self, problem: int, rng: np.random.Generator) -> tuple[int, int, int]:
        pools = self._positive_pools(problem)
        shares = np.array([len(pool) for _, pool in pools], dtype=float)
        while True:
            anchor_node, pool = pools[int(rng.choice(len(pools), p=shares / shares.sum()))]
            positive, node = pool[int(rng.integers(len(pool)))]
            if positive != problem:
                return anchor_node, positive, node

    def _negative_pools(self, place: int) -> list[list[int]]:
        """Problems of as many nodes and other operators, by their operators."""
        sized = self._sized[self._sizes[place], self._languages[place]]
        return [places for operators, places in sized.items() if operators != self._operators[place]]

    def _draw_negative(self, problem: int, rng: np.random.Generator) -> int:
        if self.negatives == "random":
            candidates = self._members[self._languages[problem]]
            while self._patterns[drawn := int(rng.choice(candidates))] == self._patterns[problem]:
                pass
            return drawn
        pools = self._negative_pools(problem)
        place = int(rng.integers(sum(map(len, pools))))
        for pool in pools:
            if place < len(pool):
                return pool[place]
            place -= len(pool)
        raise IndexError(f"problem {problem} has no negative")


def _operators(equation: Prefix) -> str:
    """Operators with their counts, in any order: the paper's "operator types"."""
    counts = Counter(token for token in equation if token in OPERATORS)
    return "".join(operator * counts[operator] for operator in OPERATORS)


def _subtrees(equation: Prefix) -> list[tuple[str, int]]:
    """Patterns of the subtrees that have an operator, with their roots."""
    after = ends(equation)
    return [(pattern(equation[root : after[root]]), root) for root, token in enumerate(equation) if token in OPERATORS]
