r"""Names of a question that are no variables: of functions, sets of numbers, transposes and binomials."""

from __future__ import annotations

from collections.abc import Iterable

from tqnet.text.latex import Formula, Role, call, text_at

#: Letters that name a function where a parenthesis follows them: f(x), P(A).
_FUNCTIONS = frozenset("fghFGHPED") | {r"\varphi", r"\phi", r"\psi"}
_SETS = frozenset("RNZQC")
_MEMBERSHIP = frozenset((r"\in", r"\notin", r"\subset", r"\subseteq", r"\to", r"\rightarrow"))
#: Numbers of choices: C_5^2, A_5^2.
_CHOICES = frozenset("CAP")


def spared_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Letters that are such a name in one of these formulas."""
    return frozenset(
        token.text
        for formula in parts
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE and _is_spared(formula, at)
    )


def function_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Letters that name a function in one of these formulas."""
    return frozenset(
        token.text for formula in parts for at, token in enumerate(formula) if _names_function(formula, at)
    )


def _is_spared(formula: Formula, at: int) -> bool:
    name = formula[at].text
    if _names_function(formula, at):
        return True
    if name in _SETS and text_at(formula, at - 1) in _MEMBERSHIP:
        return True
    if name in _CHOICES and text_at(formula, at + 1) in ("_", "^"):
        scripts = [token for token in formula[at + 2 : at + 9] if token.script]
        marks = {token.script for token in scripts}
        return marks == {"_", "^"} and all(token.role is Role.NUMBER or token.text in "{}" for token in scripts[:6])
    return name == "T" and text_at(formula, at - 1) == "^"


def _names_function(formula: Formula, at: int) -> bool:
    return formula[at].text in _FUNCTIONS and (call(formula, at) is not None or text_at(formula, at + 1) == "'")
