"""Equations of word problems: trees of binary operators in prefix order (Polish notation).

``("*", "-", "n1", "n2", "3.14")`` is (n1 - n2) * 3.14: a subtree is a slice that begins at its root. `parse_equation`
reads the notations of data sets: infix, prefix, and MathQA's nested operations.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

#: Operators in the order of a decoder's output.
OPERATORS = ("+", "-", "*", "/", "^")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}

#: Maximum difference of equal values, absolute or relative to the larger one.
TOLERANCE = Fraction(1, 10_000)
#: Maximum exponent; larger powers are not answers to word problems, and would fill the memory.
_MAX_EXPONENT = 64
_MAX_BITS = 1000  # of a numerator or denominator, so that every value fits a float
_MAX_LENGTH, _MAX_DEPTH = 500, 50  # length of an equation's text, and its nesting

#: Operators, numbers ("3.14", "1/6", "25%") and quantities ("n1") in prefix order.
Prefix = tuple[str, ...]


class EquationError(ValueError):
    """An equation that cannot be parsed or has no value; the message says why."""


def ends(prefix: Prefix) -> list[int]:
    """Return the end of each node's subtree: ``prefix[i : ends[i]]`` is the subtree at ``i``.

    Raises:
        EquationError: The tokens do not form exactly one tree.
    """
    count = len(prefix)
    stops = [count + 1] * count  # past the end where a subtree is incomplete
    for place in range(count - 1, -1, -1):
        stops[place] = place + 1
        for _ in range(2 if prefix[place] in OPERATORS else 0):
            root = stops[place]
            stops[place] = stops[root] if root < count else count + 1
    if not prefix or stops[0] != count:
        raise EquationError(f"{' '.join(prefix) or 'nothing'}: not one complete equation")
    return stops


def operands(prefix: Prefix, stops: Sequence[int], place: int) -> tuple[int, int]:
    """Return the roots of the left and right operand of the operator at ``place``; ``stops`` are the :func:`ends`."""
    return place + 1, stops[place + 1]


def evaluate(prefix: Prefix, values: Mapping[str, Fraction] | None = None) -> Fraction:
    """Return the value in exact arithmetic; irrational powers are rounded to a float.

    Args:
        values: Values of the quantities.

    Raises:
        EquationError: Division by zero, an undefined or huge power, or an unknown quantity.
    """
    values, stack = values or {}, list[Fraction]()
    for token in reversed(prefix):
        if token not in OPERATORS:
            stack.append(values[token] if token in values else number(token))
        elif len(stack) < 2:
            raise EquationError(f"{' '.join(prefix)}: an operator lacks an operand")
        else:
            stack.append(_apply(token, stack.pop(), stack.pop()))
    if len(stack) != 1:
        raise EquationError(f"{' '.join(prefix) or 'nothing'}: not one equation")
    return _bounded(stack[0])


def _apply(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator == "/":
        if not right:
            raise EquationError(f"{_shown(left)} is divided by zero")
        return _bounded(left / right)
    if operator == "^":
        return _bounded(_power(left, right))
    return _bounded(left + right if operator == "+" else left - right if operator == "-" else left * right)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise EquationError("the value has too many digits")
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    whole = exponent.denominator == 1
    if (base or exponent >= 0) and abs(exponent) <= _MAX_EXPONENT and (whole or base >= 0):
        with suppress(OverflowError):
            return base ** int(exponent) if whole else Fraction(math.pow(base, exponent)).limit_denominator(10**12)
    raise EquationError(f"{_shown(base)} is raised to {_shown(exponent)}")


@lru_cache(maxsize=65536)
def number(token: str) -> Fraction:
    """Return the value of "3.14", "1/6" or "25%"; raise EquationError for anything else."""
    try:
        return Fraction(token.removesuffix("%")) / (100 if token.endswith("%") else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise EquationError(f"{token!r} is not a number") from error


def same_value(first: Fraction, second: Fraction) -> bool:
    """Return True if two answers are equal up to rounding (`TOLERANCE`)."""
    return abs(first - second) <= TOLERANCE * max(Fraction(1), abs(first), abs(second))


def infix(prefix: Prefix) -> str:
    """Return infix notation, "(n1 - n2) * 3.14"; fractions are written "(1/6)".

    Parsing it gives the same tree, except that a parenthesised division of whole numbers, "n1 / (1 / 6)", is read as
    one number of the same value.
    """
    stack: list[tuple[str, int]] = []  # text and precedence
    for token in reversed(prefix):
        if token not in OPERATORS:
            stack.append((f"({token})" if "/" in token else token, 9))
            continue
        (left, left_precedence), (right, right_precedence), precedence = stack.pop(), stack.pop(), _PRECEDENCE[token]
        # Powers are right-associative.
        left = f"({left})" if left_precedence < precedence + (token == "^") else left
        right = f"({right})" if right_precedence <= precedence - (token == "^") else right
        stack.append((f"{left}^{right}" if token == "^" else f"{left} {token} {right}", precedence))
    return stack[0][0]


def pattern(prefix: Prefix) -> str:
    """Return the structure, with every number and quantity as "n" (mwp-cl, Section 4.1)."""
    return " ".join(token if token in OPERATORS else "n" for token in prefix)


def prototype(prefix: Prefix) -> str:
    """Return the prototype equation in infix notation, its quantities renumbered in order of appearance.

    "n3 / n1" and "n2 / n1" have one prototype: it does not matter which numbers of the text are used.
    """
    names: dict[str, str] = {}
    for token in prefix:
        if token.startswith("n"):
            names.setdefault(token, f"n{len(names) + 1}")
    return infix(tuple(names.get(token, token) for token in prefix))


def commutative(prefix: Prefix) -> Prefix:
    """Return a canonical form for all orders and nestings of the operands of + and *.

    Operands are sorted by pattern first, so that other names of the leaves leave every subtree in its place.
    """

    def terms(place: int, operator: str) -> list[Prefix]:
        """Return the operands of nested uses of one commutative operator."""
        if prefix[place] != operator:
            return [form(place)]
        left, right = operands(prefix, stops, place)
        return terms(left, operator) + terms(right, operator)

    def form(place: int) -> Prefix:
        token = prefix[place]
        if token not in OPERATORS:
            return (token,)
        if token in "+*":
            first, *others = sorted(terms(place, token), key=lambda term: (pattern(term), term))
            for other in others:
                first = (token, *first, *other)
            return first
        left, right = operands(prefix, stops, place)
        return (token, *form(left), *form(right))

    stops = ends(prefix)
    return form(0)


def drawn(prefix: Prefix) -> str:
    """Draw the tree as text, one node per line."""
    lines: list[str] = []
    stops = ends(prefix)

    def draw(place: int, before: str, branch: str) -> None:
        lines.append(branch + prefix[place])
        if prefix[place] in OPERATORS:
            left, right = operands(prefix, stops, place)
            draw(left, before + "│  ", before + "├─ ")
            draw(right, before + "   ", before + "└─ ")

    draw(0, "", "")
    return "\n".join(lines)


def written(value: Fraction) -> str:
    """Write a value as an integer or a decimal; a decimal that had to be rounded follows its fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded = f"{float(value):.6g}"
    return rounded if Fraction(rounded) == value else f"{value.numerator}/{value.denominator} = {rounded}"


def _shown(value: Fraction) -> str:
    return f"{float(value):g}" if max(abs(value.numerator), value.denominator) < 10**300 else "a large number"


def parse_equation(text: str) -> Prefix:
    """Parse an equation; a leading ``x=`` is dropped, and a fraction in parentheses, "(1/6)", is one number.

    Notations: infix, "x=(n1-25%)*3.14"; prefix with spaces, "- 5.0 n2"; nested operations, "divide(n0,const_100)".

    Raises:
        EquationError: The equation is malformed; the message says where.
    """
    if len(text) > _MAX_LENGTH:
        raise EquationError(f"longer than {_MAX_LENGTH} characters")
    if re.match(r"\s*[a-z_]+\(", text):
        return _parse_nested(text)
    text = re.sub(r"^\s*[a-zA-Z]\s*=|=\s*[a-zA-Z]\s*$", "", text)
    if not re.fullmatch(r"\s*[-+*/^](?:\s+\S+){2,}\s*", text):
        return _InfixParser(text).parse()
    prefix = tuple(map(_plain_operand, text.split()))
    for token in prefix:
        if token not in OPERATORS and not re.fullmatch(r"\d+(?:\.\d+)?%?|\d+/\d+|n\d+", token):
            raise EquationError(f"{token!r} is neither a number nor an operator")
    ends(prefix)
    return prefix


def _plain_operand(token: str) -> str:
    """Write "5.0" as "5" and "N_3" as "n3"."""
    if re.fullmatch(r"\d+\.0+", token):
        return token.partition(".")[0]
    return re.sub(r"^(?:[nN]_?|number)(?=\d+$)", "n", token)


_INFIX_TOKEN = re.compile(
    r"\s*(?:(?P<mixed>\d+)?\(\s*(?P<over>\d+)\s*/\s*(?P<under>\d+)\s*\)|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?P<percent>%)?"
    r"|(?P<quantity>[nN]_?\d+)|(?P<operator>\*\*|[-+*/^()\[\]{}×÷·−]))"
)
_SAME_OPERATOR = {"**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "[": "(", "{": "(", "]": ")", "}": ")"}


class _InfixParser:
    """Precedence climbing: each operator takes what binds tighter after it."""

    def __init__(self, text: str):
        self.text, self.place, self.depth = text, 0, 0
        self.tokens: list[str] = []
        end, start = len(text.rstrip()), 0
        while start < end:
            match = _INFIX_TOKEN.match(text, start, end)
            if match is None:
                raise EquationError(f"{text!r}: cannot be read from {text[start:].strip()[:20]!r} on")
            start = match.end()
            self.tokens.append(self._token(match))

    def _token(self, match: re.Match[str]) -> str:
        if under := match["under"]:
            if not int(under):
                raise EquationError(f"{self.text!r}: a fraction over zero")
            return f"{int(match['over']) + int(match['mixed'] or 0) * int(under)}/{under}"
        if number := match["number"]:
            digits = number.replace(",", "")
            return _plain_operand("0" * digits.startswith(".") + digits) + (match["percent"] or "")
        return _plain_operand(match["quantity"] or _SAME_OPERATOR.get(match["operator"], match["operator"]))

    def parse(self) -> Prefix:
        prefix = self._expression(1)
        if self._next:
            raise EquationError(f"{self.text!r}: unexpected {self._next!r}")
        return prefix

    def _expression(self, lowest: int) -> Prefix:
        left = self._operand(lowest)
        while (operator := self._next) in _PRECEDENCE and _PRECEDENCE[operator] >= lowest:
            self.place += 1
            # Powers are right-associative.
            right = self._expression(_PRECEDENCE[operator] + (operator != "^"))
            left = (operator, *left, *right)
        return left

    def _operand(self, lowest: int) -> Prefix:
        token = self._next
        self.place += 1
        if token == "(":
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise EquationError(f"{self.text[:20]!r}...: nested too deep")
            inner = self._expression(1)
            self.depth -= 1
            if self._next != ")":
                raise EquationError(f"{self.text!r}: a parenthesis is not closed")
            self.place += 1
            return inner
        if token == "-" and self._next != "-":
            # There are only binary operators. A sign covers a product, "-2*3", but not past an operator before it that
            # binds tighter, "8/-2*3".
            return ("-", "0", *self._expression(max(lowest, _PRECEDENCE["*"])))
        if not token or token in (")", *OPERATORS):
            raise EquationError(f"{self.text!r}: an operand is missing" + (f" before {token!r}" if token else ""))
        return (token,)

    @property
    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""


#: Operations of MathQA's annotated formulas, "divide(multiply(n0, const_100), n1)" -> prefix form of the operands a, b,
#: c in plain operators, as adapted by Tan et al. (2021). Others (a floor, a sine, a permutation) are errors.
_OPERATIONS = {
    "add": "+ a b",
    "subtract": "- a b",
    "multiply": "* a b",
    "divide": "/ a b",
    "speed": "/ a b",
    "power": "^ a b",
    "negate": "- 0 a",
    "inverse": "/ 1 a",
    "sqrt": "^ a 0.5",
    "square_area": "^ a 2",
    "square_perimeter": "* 4 a",
    "square_edge_by_area": "^ a 0.5",
    "square_edge_by_perimeter": "/ a 4",
    "rectangle_area": "* a b",
    "rectangle_perimeter": "* 2 + a b",
    "triangle_area": "/ * a b 2",
    "rhombus_area": "/ * a b 2",
    "circle_area": "* 3.1416 ^ a 2",
    "circumface": "* * 2 3.1416 a",
    "volume_cube": "^ a 3",
    "surface_cube": "* 6 ^ a 2",
    "volume_rectangular_prism": "* * a b c",
    "volume_cylinder": "* * 3.1416 ^ a 2 b",
    "original_price_before_gain": "/ b + 1 / a 100",
    "original_price_before_loss": "/ b - 1 / a 100",
}


def _parse_nested(formula: str) -> Prefix:
    """Parse MathQA's notation, which is Python's for calls; its ``n0`` is ``n1`` here."""
    source = re.sub(r"(const_\d+)\.(?=\d)", r"\1_", formula.strip().rstrip("|"))  # const_0.25 is not a Python name
    try:
        return _nested(ast.parse(source, mode="eval").body, formula, 0)
    except (SyntaxError, ValueError) as error:
        raise EquationError(f"{formula!r}: malformed") from error


def _nested(node: ast.expr, formula: str, depth: int) -> Prefix:
    if depth > _MAX_DEPTH:
        raise EquationError(f"{formula[:40]!r}...: nested too deep")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = node.func.id
        if name not in _OPERATIONS:
            raise EquationError(f"{formula!r}: {name!r} has no plain operators")
        form = _OPERATIONS[name].split()
        if len(node.args) != len(set(form) & set("abc")):
            raise EquationError(f"{formula!r}: {name} with {len(node.args)} operands")
        operands = dict(zip("abc", (_nested(operand, formula, depth + 1) for operand in node.args), strict=False))
        return tuple(leaf for token in form for leaf in operands.get(token, (token,)))
    token = ast.unparse(node)
    if token == "const_pi":
        return ("3.1416",)
    if quantity := re.fullmatch(r"n(\d+)", token):
        return (f"n{int(quantity[1]) + 1}",)
    if constant := re.fullmatch(r"const_(\d+(?:_\d+)?)", token):  # "const_0_25" is 0.25
        return (constant[1].replace("_", ".").removesuffix(".0"),)
    if re.fullmatch(r"\d+(?:\.\d+)?", token):
        return (token,)
    raise EquationError(f"{formula!r}: {token!r} has no plain operators")
