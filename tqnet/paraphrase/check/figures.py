"""What a figure has by its name: the six faces of a cube, the four sides of a square."""

from __future__ import annotations

import re

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: Of each figure how many of what it has.
_PARTS = {
    "cube": {"face": 6, "side": 6, "edge": 12, "vertex": 8, "vertice": 8, "corner": 8},
    "triangle": {"side": 3, "angle": 3, "vertex": 3, "vertice": 3, "corner": 3},
    "square": {"side": 4, "angle": 4, "vertex": 4, "vertice": 4, "corner": 4},
    "rectangle": {"side": 4, "angle": 4, "corner": 4},
    "rhombus": {"side": 4},
    "pentagon": {"side": 5},
    "hexagon": {"side": 6},
    "octagon": {"side": 8},
}
_FIGURE = re.compile(rf"\b({'|'.join(_PARTS)})s?\b", re.IGNORECASE)
_PART_BEHIND = re.compile(r"\s+(?:(?:equal|whole|square)\s+)?([a-z]+?)s?\b", re.IGNORECASE)


class Figures:
    """Those that a text names."""

    def __init__(self, problem: Problem):
        self._text = problem.text
        self._names = {match[1].lower() for match in _FIGURE.finditer(problem.text)}

    def has(self, number: Number, others: Figures) -> bool:
        """Whether a number of another text says how many sides, faces or corners a figure of both has."""
        part = _PART_BEHIND.match(others._text, number.end)
        known = self._names & others._names
        return part is not None and any(_PARTS[name].get(part[1].lower()) == number.value for name in known)
