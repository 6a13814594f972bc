"""An equation as a tree of binary operators, kept in prefix order (Polish notation).

``("*", "-", "n1", "n2", "3.14")`` is (n1 - n2) * 3.14: a subtree is a slice that begins at its root.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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


# MathQA's annotated formulas, "divide(multiply(n0, const_100), n1)", as equations of plain operators.
#
# Tan et al. (2021) adapt MathQA so; what has no plain operators (a floor, a sine, a permutation) is reported.


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


# Equations as data sets have them, read into prefix order: infix, prefix, and MathQA's nested operations.


#: Longer than any equation of a word problem.
_LONGEST = 500

_PARSING_TOKEN = re.compile(
    r"\s*(?:(?P<mixed>\d+)?\(\s*(?P<over>\d+)\s*/\s*(?P<under>\d+)\s*\)|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?P<percent>%)?"
    r"|(?P<quantity>[nN]_?\d+)|(?P<operator>\*\*|[-+*/^()\[\]{}×÷·−]))"
)
_SAME = {"**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "[": "(", "{": "(", "]": ")", "}": ")"}
_PREFIX = re.compile(r"\s*[-+*/^](?:\s+\S+){2,}\s*")
_NESTED = re.compile(r"\s*[a-z_]+\(")


def parse_equation(text: str) -> Prefix:
    """An equation in prefix order; ``x=`` before it is dropped, a fraction in parentheses, "(1/6)", is one number.

    Read are infix notation, "x=(n1-25%)*3.14", prefix notation with spaces, "- 5.0 n2", and nested operations,
    "divide(n0,const_100)" (`tqnet.text.equations`).

    Raises:
        EquationError: It is malformed; says where.
    """
    if len(text) > _LONGEST:
        raise EquationError(f"longer than {_LONGEST} characters")
    if _NESTED.match(text):
        return plain_formula(text)
    text = re.sub(r"^\s*[a-zA-Z]\s*=|=\s*[a-zA-Z]\s*$", "", text)
    if _PREFIX.fullmatch(text):
        return _checked(tuple(_parsing_plain(token) for token in text.split()))
    return _Infix(_parsing_tokens(text), text).whole()


def _checked(prefix: Prefix) -> Prefix:
    for token in prefix:
        if token not in OPERATORS and not re.fullmatch(r"\d+(?:\.\d+)?%?|\d+/\d+|n\d+", token):
            raise EquationError(f"{token!r} is neither a number nor an operator")
    ends(prefix)
    return prefix


def _parsing_plain(token: str) -> str:
    """ "5.0" as "5", "N_3" as "n3"."""
    if re.fullmatch(r"\d+\.0+", token):
        return token.partition(".")[0]
    return re.sub(r"^(?:[nN]_?|number)(?=\d+$)", "n", token)


def _parsing_tokens(text: str) -> list[str]:
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _PARSING_TOKEN.match(text, place)
        if match is None:
            raise EquationError(f"{text!r}: cannot be read from {text[place:].strip()[:20]!r} on")
        place = match.end()
        if match["under"]:
            if not int(match["under"]):
                raise EquationError(f"{text!r}: a fraction over zero")
            over = int(match["over"]) + int(match["mixed"] or 0) * int(match["under"])
            tokens.append(f"{over}/{match['under']}")
        elif match["number"]:
            number = match["number"].replace(",", "")
            tokens.append(_parsing_plain("0" * number.startswith(".") + number) + (match["percent"] or ""))
        elif match["quantity"]:
            tokens.append(_parsing_plain(match["quantity"]))
        else:
            tokens.append(_SAME.get(match["operator"], match["operator"]))
    return tokens


class _Infix:
    """Precedence climbing: each operator takes what binds tighter behind it."""

    def __init__(self, tokens: Sequence[str], text: str):
        self.tokens, self.text, self.place, self.depth = tokens, text, 0, 0

    def whole(self) -> Prefix:
        found = self.expression(1)
        if self.place < len(self.tokens):
            raise EquationError(f"{self.text!r}: {self.tokens[self.place]!r} has no place")
        return found

    def expression(self, least: int) -> Prefix:
        left = self.operand(least)
        while (operator := self.next) in _BINDS and _BINDS[operator] >= least:
            self.place += 1
            # Of powers the right one comes first.
            right = self.expression(_BINDS[operator] + (operator != "^"))
            left = (operator, *left, *right)
        return left

    def operand(self, least: int) -> Prefix:
        token = self.next
        self.place += 1
        if token == "(":
            self.depth += 1
            if self.depth > _DEEPEST:
                raise EquationError(f"{self.text[:20]!r}...: nested too deep")
            inner = self.expression(1)
            self.depth -= 1
            if self.next != ")":
                raise EquationError(f"{self.text!r}: a parenthesis is not closed")
            self.place += 1
            return inner
        if token == "-" and self.next != "-":  # there are binary operators alone
            # A sign reaches over a product, "-2*3", but not beyond an operator before it that binds tighter, "8/-2*3".
            return ("-", "0", *self.expression(max(least, _BINDS["*"])))
        if not token or token in (")", *OPERATORS):
            raise EquationError(f"{self.text!r}: an operand is missing" + (f" before {token!r}" if token else ""))
        return (token,)

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""
