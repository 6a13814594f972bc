"""Equations of word problems: read, as trees in prefix order, evaluated exactly, and compared (mwp-cl, Section 4)."""

from tqnet.equations.parsing import parse_equation
from tqnet.equations.problems import Alphabet, WordProblem, read_problem
from tqnet.equations.tree import OPERATORS, EquationError, Prefix, evaluate, infix, same_value

__all__ = [
    "OPERATORS",
    "Alphabet",
    "EquationError",
    "Prefix",
    "WordProblem",
    "evaluate",
    "infix",
    "parse_equation",
    "read_problem",
    "same_value",
]
