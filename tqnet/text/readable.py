"""Formulas as a terminal can show them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache

from pylatexenc.latex2text import LatexNodes2Text

from tqnet.text.formulas import segments
from tqnet.text.normal import normal_formula

_GROUP = r"\{([^{}]*)\}"
#: Commands whose groups hold no other group -> what they read as.
_INNERMOST: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"\\frac{_GROUP}{_GROUP}"), lambda of: f"{_operand(of[1])}/{_operand(of[2])}"),
    (re.compile(rf"\\binom{_GROUP}{_GROUP}"), lambda of: f"C({of[1]},{of[2]})"),
    (re.compile(rf"\\sqrt\[([^\]{{}}]*)\]{_GROUP}"), lambda of: f"root[{of[1]}]({of[2]})"),
    (re.compile(rf"\\sqrt{_GROUP}"), lambda of: f"√{_operand(of[1])}"),
    (re.compile(r"\^\{(\\circ|\*)\}"), lambda of: "°" if of[1] == r"\circ" else "*"),
    (re.compile(rf"([_^]){_GROUP}"), lambda of: f"{of[1]}{_operand(of[2])}"),
)
_SIMPLE = re.compile(r"\w+(?:\.\d+)?|\\[A-Za-z]+|")


def readable(text: str) -> str:
    r"""``text`` with its formulas in Unicode: ``$\frac{1}{2} \leq x^{n+1}$`` is ``1/2≤x^(n+1)``."""
    return "".join(_formula(segment.body) if segment.is_formula else segment.body for segment in segments(text))


def excerpt(text: str, most: int) -> str:
    """The beginning of a readable text, in one line of at most ``most`` characters."""
    line = " ".join(readable(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _formula(body: str) -> str:
    plain = normal_formula(body)
    before = ""
    while before != plain:
        before = plain
        for pattern, replaced in _INNERMOST:
            plain = pattern.sub(replaced, plain)
    try:
        return _reader().latex_to_text(plain.replace("%", r"\%")).strip()
    except Exception:  # of many kinds, for half a formula or a macro without its argument: it stays as it is
        return body


def _operand(text: str) -> str:
    """In brackets, unless it is one number or name."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"


@cache
def _reader() -> LatexNodes2Text:
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # a line for every macro without its argument
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)
