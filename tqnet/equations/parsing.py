"""Equations as data sets have them, read into prefix order: infix, prefix, and MathQA's nested operations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tqnet.equations.mathqa import plain_formula
from tqnet.equations.tree import OPERATORS, EquationError, Prefix, ends

#: Longer than any equation of a word problem.
_LONGEST = 500
_DEEPEST = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<mixed>\d+)?\(\s*(?P<over>\d+)\s*/\s*(?P<under>\d+)\s*\)|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?P<percent>%)?"
    r"|(?P<quantity>[nN]_?\d+)|(?P<operator>\*\*|[-+*/^()\[\]{}×÷·−]))"
)
_SAME = {"**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "[": "(", "{": "(", "]": ")", "}": ")"}
_PREFIX = re.compile(r"\s*[-+*/^](?:\s+\S+){2,}\s*")
_NESTED = re.compile(r"\s*[a-z_]+\(")
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}


def parse_equation(text: str) -> Prefix:
    """An equation in prefix order; ``x=`` before it is dropped, a fraction in parentheses, "(1/6)", is one number.

    Read are infix notation, "x=(n1-25%)*3.14", prefix notation with spaces, "- 5.0 n2", and nested operations,
    "divide(n0,const_100)" (`tqnet.equations.mathqa`).

    Raises:
        EquationError: It is malformed; says where.
    """
    if len(text) > _LONGEST:
        raise EquationError(f"longer than {_LONGEST} characters")
    if _NESTED.match(text):
        return plain_formula(text)
    text = re.sub(r"^\s*[a-zA-Z]\s*=|=\s*[a-zA-Z]\s*$", "", text)
    if _PREFIX.fullmatch(text):
        return _checked(tuple(_plain(token) for token in text.split()))
    return _Infix(_tokens(text), text).whole()


def _checked(prefix: Prefix) -> Prefix:
    for token in prefix:
        if token not in OPERATORS and not re.fullmatch(r"\d+(?:\.\d+)?%?|\d+/\d+|n\d+", token):
            raise EquationError(f"{token!r} is neither a number nor an operator")
    ends(prefix)
    return prefix


def _plain(token: str) -> str:
    """ "5.0" as "5", "N_3" as "n3"."""
    if re.fullmatch(r"\d+\.0+", token):
        return token.partition(".")[0]
    return re.sub(r"^(?:[nN]_?|number)(?=\d+$)", "n", token)


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
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
            tokens.append(_plain("0" * number.startswith(".") + number) + (match["percent"] or ""))
        elif match["quantity"]:
            tokens.append(_plain(match["quantity"]))
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
