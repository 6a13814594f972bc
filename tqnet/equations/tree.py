"""An equation as a tree of binary operators, kept in prefix order (Polish notation).

``("*", "-", "n1", "n2", "3.14")`` is (n1 - n2) * 3.14: a subtree is a slice that begins at its root.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

#: In the order of a decoder's output.
OPERATORS = ("+", "-", "*", "/", "^")
#: How tightly they bind.
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}
_COMMUTES = "+*"

#: Two values are the same that differ by no more, absolutely or by this share of the larger one.
TOLERANCE = Fraction(1, 10_000)
#: Powers beyond are no answer to a word problem, and would fill the memory.
_LARGEST_EXPONENT = 64
_LONGEST_NUMBER = 1000  # bits, so that every value is a float too

#: Operators, numbers ("3.14", "1/6", "25%") and quantities ("n1") in prefix order.
Prefix = tuple[str, ...]


class EquationError(ValueError):
    """An equation that cannot be read or has no value; the message says why."""


def ends(prefix: Prefix) -> list[int]:
    """Of each node the place behind its subtree: ``prefix[i : ends[i]]`` is the subtree at ``i``.

    Raises:
        EquationError: It is not one whole tree.
    """
    count = len(prefix)
    behind = [count + 1] * count  # beyond the end: of what is not whole
    for place in range(count - 1, -1, -1):
        behind[place] = place + 1
        for _ in range(2 if prefix[place] in OPERATORS else 0):
            root = behind[place]
            behind[place] = behind[root] if root < count else count + 1
    if not prefix or behind[0] != count:
        raise EquationError(f"{' '.join(prefix) or 'nothing'}: not one whole equation")
    return behind


def operands(prefix: Prefix, behind: Sequence[int], place: int) -> tuple[int, int]:
    """Roots of the left and the right operand of the operator at ``place``, told the :func:`ends`."""
    return place + 1, behind[place + 1]


def evaluate(prefix: Prefix, values: Mapping[str, Fraction] | None = None) -> Fraction:
    """The value, in exact arithmetic; a root or another power that is not rational is rounded as a float is.

    Args:
        values: Of the quantities.

    Raises:
        EquationError: A division by zero, a power without a value, or a quantity that has none.
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
        found = left / right
    elif operator == "^":
        found = _power(left, right)
    else:
        found = left + right if operator == "+" else left - right if operator == "-" else left * right
    return _bounded(found)


def _bounded(found: Fraction) -> Fraction:
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > _LONGEST_NUMBER:
        raise EquationError("the value has too many digits")
    return found


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if not base and exponent < 0:
        raise EquationError(f"0 is raised to {_shown(exponent)}")
    if abs(exponent) > _LARGEST_EXPONENT:
        raise EquationError(f"{_shown(base)} is raised to {_shown(exponent)}")
    if exponent.denominator == 1:
        return Fraction(base ** int(exponent))
    if base < 0:
        raise EquationError(f"{_shown(base)} is raised to {_shown(exponent)}")
    try:
        return Fraction(math.pow(base, exponent)).limit_denominator(10**12)
    except OverflowError as error:
        raise EquationError(f"{_shown(base)} is raised to {_shown(exponent)}") from error


@lru_cache(maxsize=65536)
def number(token: str) -> Fraction:
    """The value of "3.14", "1/6" or "25%".

    Raises:
        EquationError: It is no number.
    """
    try:
        return Fraction(token.removesuffix("%")) / (100 if token.endswith("%") else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise EquationError(f"{token!r} is no number") from error


def same_value(first: Fraction, second: Fraction) -> bool:
    """Whether two answers are equal but for rounding (`TOLERANCE`)."""
    return abs(first - second) <= TOLERANCE * max(Fraction(1), abs(first), abs(second))


def infix(prefix: Prefix) -> str:
    """As it is written: "(n1 - n2) * 3.14"; a number that is a fraction is "(1/6)".

    Read again, it is the same tree, but for a division of two whole numbers that has to stand in parentheses,
    "n1 / (1 / 6)": it is read as one number, of the same value.
    """
    stack: list[tuple[str, int]] = []  # text, and how tightly it binds
    for token in reversed(prefix):
        if token not in OPERATORS:
            stack.append((f"({token})" if "/" in token else token, 9))
            continue
        (left, of_left), (right, of_right), own = stack.pop(), stack.pop(), _BINDS[token]
        # Of two that bind alike the left one comes first, but of powers the right one.
        left = f"({left})" if of_left < own + (token == "^") else left
        right = f"({right})" if of_right <= own - (token == "^") else right
        stack.append((f"{left}^{right}" if token == "^" else f"{left} {token} {right}", own))
    return stack[0][0]


def pattern(prefix: Prefix) -> str:
    """The structure: any number or quantity is equal to any other (mwp-cl, Section 4.1)."""
    return " ".join(token if token in OPERATORS else "n" for token in prefix)


def prototype(prefix: Prefix) -> str:
    """The prototype equation, its quantities numbered anew in their order in the equation, in infix notation.

    "n3 / n1" and "n2 / n1" are one prototype: which of a text's numbers do not matter is the narrative's affair.
    """
    names: dict[str, str] = {}
    for token in prefix:
        if token.startswith("n"):
            names.setdefault(token, f"n{len(names) + 1}")
    return infix(tuple(names.get(token, token) for token in prefix))


def commutative(prefix: Prefix) -> Prefix:
    """One form for all orders of the operands of + and *, however they are nested; - and / keep theirs."""

    def terms(place: int, operator: str) -> list[Prefix]:
        """Operands of a run of one commutative operator."""
        if prefix[place] != operator:
            return [form(place)]
        left, right = operands(prefix, behind, place)
        return terms(left, operator) + terms(right, operator)

    def form(place: int) -> Prefix:
        token = prefix[place]
        if token not in OPERATORS:
            return (token,)
        if token in _COMMUTES:
            first, *others = sorted(terms(place, token))
            for other in others:
                first = (token, *first, *other)
            return first
        left, right = operands(prefix, behind, place)
        return (token, *form(left), *form(right))

    behind = ends(prefix)
    return form(0)


def drawn(prefix: Prefix) -> str:
    """The tree as lines of text, a node a line."""
    lines: list[str] = []
    behind = ends(prefix)

    def draw(place: int, before: str, own: str) -> None:
        lines.append(own + prefix[place])
        if prefix[place] in OPERATORS:
            left, right = operands(prefix, behind, place)
            draw(left, before + "│  ", before + "├─ ")
            draw(right, before + "   ", before + "└─ ")

    draw(0, "", "")
    return "\n".join(lines)


def written(value: Fraction) -> str:
    """A value as people write it: whole, or as a decimal number; where that does not end soon, as a fraction too."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded = f"{float(value):.6g}"
    return rounded if Fraction(rounded) == value else f"{value.numerator}/{value.denominator} = {rounded}"


def _shown(value: Fraction) -> str:
    return f"{float(value):g}" if max(abs(value.numerator), value.denominator) < 10**300 else "a large number"
