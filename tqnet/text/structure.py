r"""The structure of formulas: operator trees with numbers and names as holes.

``2x+3=11`` and ``5y+1=16`` have one structure, ``(= (+ # (* # v)) #)``; their parts are shared with ``2x+3>11``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.latex import SPELT_FUNCTIONS
from tqnet.text.normal import normal_formula

_SIGNS = r"= < > : \leq \geq \neq \approx \equiv \sim \in \to \rightarrow \perp \parallel"
_RELATIONS = frozenset(_SIGNS.split())
_FUNCTIONS = frozenset(f"\\{name}" for name in SPELT_FUNCTIONS)
_GREEK = re.compile(r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|psi|omega|pi)")
_CLOSING = {"(": ")", "[": "]", r"\{": r"\}", "{": "}"}


def structure(text: str) -> Counter[str]:
    """Return the parts of the structure of a text's formulas, each an operator with its arguments, and how often."""
    parts: Counter[str] = Counter()
    for segment in segments(text):
        if segment.is_formula:
            parts.update(_parts(segment.body))
    return parts


@lru_cache(maxsize=2**14)  # formulas recur
def _parts(formula: str) -> tuple[str, ...]:
    tokens = [token for token in formula_tokens(normal_formula(formula)) if token not in (r"\,", "&")]
    reader = _Reader(tokens)
    try:
        while reader.at < len(tokens):
            reader.relation()
            reader.at += 1  # a bracket without a partner
    except RecursionError:
        return ()
    return tuple(reader.parts)


class _Reader:
    """Reads a formula by the precedence of its operators and notes every part of its tree."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.at = tokens, 0
        self.parts: list[str] = []

    @property
    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _node(self, operator: str, arguments: Iterable[str]) -> str:
        part = f"({operator} {' '.join(arguments)})"
        self.parts.append(part)
        return part

    def relation(self) -> str:
        sides = [self._sum()]
        sign = ""
        while self._next in _RELATIONS or self._next == ",":
            sign = self._take()
            sides.append(self._sum())
        return self._node(sign, sides) if sign else sides[0]

    def _sum(self) -> str:
        terms = []
        while True:
            is_negative = self._next in ("-", r"\pm", r"\mp")
            if is_negative or self._next == "+":
                self.at += 1
            product = self._product()
            terms.append(f"-{product}" if is_negative else product)
            if self._next not in ("+", "-", r"\pm", r"\mp"):
                break
        return self._node("+", sorted(terms)) if len(terms) > 1 else terms[0]

    def _product(self, *, of_function: bool = False) -> str:
        factors = []
        while not (of_function and self._next in _FUNCTIONS) and (factor := self._power()):
            factors.append(factor)
            if self._next in (r"\times", r"\cdot", r"\div", "/", "!"):
                factors += [self._take()] if self._next in (r"\div", "/", "!") else []
                self.at += self._next in (r"\times", r"\cdot")
        if not factors:
            return ""
        return self._node("*", sorted(factors)) if len(factors) > 1 else factors[0]

    def _power(self) -> str:
        base = self._atom()
        while base and self._next in ("^", "_"):
            mark = self._take()
            script = self._group() if self._next == "{" else self._atom()
            base = base if mark == "_" and base == "v" else self._node(mark, (base, script))
        return base

    def _group(self) -> str:
        opening = self._take()
        inner = self.relation() if self._next != _CLOSING[opening] else ""
        while self._next and self._next != _CLOSING[opening] and self._next not in (")", "]"):  # [0, 1) is one
            self.at += 1
        self.at += 1
        return inner

    def _atom(self) -> str:
        token = self._next
        if not token or token in _RELATIONS or token in (",", "+", "-", r"\pm", r"\mp", "}", ")", "]", r"\}", "^", "_"):
            return ""
        if token in _CLOSING:
            return self._group()
        self.at += 1
        if token[0].isdigit():
            return "#"
        if (len(token) == 1 and token.isalpha()) or _GREEK.fullmatch(token):
            return "v"
        if token in (r"\frac", r"\binom"):
            return self._node(token[1:], [self._group() if self._next == "{" else "" for _ in range(2)])
        if token == r"\sqrt":
            degree = [self._group()] if self._next == "[" else []
            return self._node("sqrt", [*degree, self._group() if self._next == "{" else self._atom()])
        if token in _FUNCTIONS:
            scripts = []
            while self._next in ("^", "_"):
                self.at += 1
                scripts.append(self._group() if self._next == "{" else self._atom())
            argument = self._group() if self._next in ("(", "[") else self._product(of_function=True)
            return self._node(token[1:], [*scripts, argument])
        return token
