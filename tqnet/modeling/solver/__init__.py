"""Word problems to equations: a goal-driven tree decoder on a text encoder (mwp-cl, BERT-TD; Xie and Sun 2019)."""

from tqnet.modeling.solver.solver import Solution, WordProblemSolver, load_solver

__all__ = ["Solution", "WordProblemSolver", "load_solver"]
