"""MathQA's annotated formulas, "divide(multiply(n0, const_100), n1)", as equations of plain operators.

Tan et al. (2021) adapt MathQA so; what has no plain operators (a floor, a sine, a permutation) is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tqnet.equations.tree import EquationError, Prefix

_TOKEN = re.compile(r"\s*([a-z_]+(?=\()|[a-z]+_[\w.]+|n\d+|-?\d+(?:\.\d+)?|[(),])")
_DEEPEST = 50


def _plain(operator: str) -> Callable[..., Prefix]:
    return lambda a, b: (operator, *a, *b)


_PI: Prefix = ("3.1416",)
_ONE: Prefix = ("1",)
_TWO: Prefix = ("2",)
_HALF: Prefix = ("0.5",)

#: Operation -> how it is said in plain ones.
_OPERATIONS: dict[str, Callable[..., Prefix]] = {
    "add": _plain("+"),
    "subtract": _plain("-"),
    "multiply": _plain("*"),
    "divide": _plain("/"),
    "speed": _plain("/"),
    "power": _plain("^"),
    "negate": lambda a: ("-", "0", *a),
    "inverse": lambda a: ("/", "1", *a),
    "sqrt": lambda a: ("^", *a, *_HALF),
    "square_area": lambda a: ("^", *a, *_TWO),
    "square_perimeter": lambda a: ("*", "4", *a),
    "square_edge_by_area": lambda a: ("^", *a, *_HALF),
    "square_edge_by_perimeter": lambda a: ("/", *a, "4"),
    "rectangle_area": _plain("*"),
    "rectangle_perimeter": lambda a, b: ("*", "2", "+", *a, *b),
    "triangle_area": lambda a, b: ("/", "*", *a, *b, "2"),
    "rhombus_area": lambda a, b: ("/", "*", *a, *b, "2"),
    "circle_area": lambda a: ("*", *_PI, "^", *a, *_TWO),
    "circumface": lambda a: ("*", "*", "2", *_PI, *a),
    "volume_cube": lambda a: ("^", *a, "3"),
    "surface_cube": lambda a: ("*", "6", "^", *a, *_TWO),
    "volume_rectangular_prism": lambda a, b, c: ("*", "*", *a, *b, *c),
    "volume_cylinder": lambda a, b: ("*", "*", *_PI, "^", *a, *_TWO, *b),
    "original_price_before_gain": lambda a, b: ("/", *b, "+", "1", "/", *a, "100"),
    "original_price_before_loss": lambda a, b: ("/", *b, "-", "1", "/", *a, "100"),
}


def plain_formula(formula: str) -> Prefix:
    """The last of a formula's operations in plain operators, in prefix order; its ``n0`` is ``n1`` here.

    Raises:
        EquationError: It is malformed, or an operation has no plain operators.
    """
    tokens = _tokens(formula.strip().rstrip("|"))
    found = _read(tokens, formula, 0)
    if rest := next(tokens, ""):
        raise EquationError(f"{formula!r}: {rest!r} has no place")
    return found


def _tokens(formula: str) -> Iterator[str]:
    place = 0
    while place < len(formula):
        match = _TOKEN.match(formula, place)
        if match is None:
            raise EquationError(f"{formula!r}: cannot be read from {formula[place:][:20]!r} on")
        place = match.end()
        yield match[1]


def _read(tokens: Iterator[str], formula: str, depth: int, token: str | None = None) -> Prefix:
    token = next(tokens, "") if token is None else token
    if depth > _DEEPEST:
        raise EquationError(f"{formula[:40]!r}...: nested too deep")
    if re.fullmatch(r"n\d+", token):
        return (f"n{int(token[1:]) + 1}",)
    if token.startswith("const_"):
        return (_constant(token, formula),)
    if re.fullmatch(r"\d+(?:\.\d+)?", token):
        return (token,)
    if token not in _OPERATIONS:
        raise EquationError(f"{formula!r}: {token!r} has no plain operators")
    if next(tokens, "") != "(":
        raise EquationError(f"{formula!r}: {token} has no operands")
    given = []
    while True:
        given.append(_read(tokens, formula, depth + 1))
        mark = next(tokens, "")
        if mark == ")":
            break
        if mark != ",":
            raise EquationError(f"{formula!r}: a parenthesis is not closed")
    try:
        return _OPERATIONS[token](*given)
    except TypeError as error:
        raise EquationError(f"{formula!r}: {token} with {len(given)} operands") from error


def _constant(token: str, formula: str) -> str:
    """ "const_0_25" is 0.25."""
    name = token.removeprefix("const_")
    if name == "pi":
        return _PI[0]
    plain = name.replace("_", ".", 1)
    if not re.fullmatch(r"\d+(?:\.\d+)?", plain):
        raise EquationError(f"{formula!r}: {token!r} is no constant")
    return plain.removesuffix(".0")
