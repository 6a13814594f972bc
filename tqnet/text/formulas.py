"""The formulas of a text: where they are, and their tokens.

NOTE: one regular expression finds the delimiters rather than a LaTeX parser, since this runs for every question of a
bank of millions (0.02 ms per question; pylatexenc takes some 30 times as long). A test compares it with pylatexenc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A dollar before a digit is money and not a formula if the next dollar is before a digit, "$5 and $6", or in one of
# these cases; many authors write "$2 \times 3 $".
_OPENS = r"\$(?:[A-Za-z\\(+|\[{-]|\s[A-Za-z]\s?\$)"
_MONEY = (
    r"(?:"
    rf"(?=[^$\\]*\s(?:{_OPENS}|\$\d))[^$\\]*?(?:[A-Za-z]{{2}}|[.,;:?!]\s)"  # where a formula begins: "$5 or $x$"
    r"|(?=[^$\\]*\s\$)[^$\\]*?[.?!]\s+[A-Z][a-z]"  # in another sentence: "$5. She pays $ ____"
    rf"|(?=[^$\\]*{_OPENS})\d[\d.,]*\s*[\u3400-\u9fff][^$\\]*?[，。；：？！,;:]"  # "每支$3元，共$n$支"
    r")"
)
#: Environments that make formulas without delimiters.
_ENVIRONMENTS = (
    "align(?:ed|at|edat)?|array|[bBpvV]?matrix|cases|displaymath|eqnarray|equation|flalign|gather(?:ed)?|math|multline"
    "|split"
)
# A formula in the words of another, \text{ if $x>0$}: at most four in one that begins with a number, which may be
# money, so that a text of beginnings alone takes linear time.
_INNER = r"\\(?:text|mbox|hbox)[a-z]*\s*\{[^{}$]*\$[^{}$]*\$[^{}]*\}"
FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<dollars>(?:\\.|[^\\])+?)\$\$"
    rf"|(?<!\\)\$(?P<dollar>(?!\d)(?:{_INNER}|\\.|[^$\\])+?)\$"
    rf"|(?<!\\)\$(?!{_MONEY})(?P<number>\d(?:(?:\\.|[^$\\])*?{_INNER}){{0,4}}(?:\\.|[^$\\])*?)\$(?!\d)"
    # None holds another of its kind; otherwise, a text of openings only would take quadratic time.
    r"|(?<!\\)\\\((?P<round>(?:\\[^(]|[^\\])+?)\\\)"
    r"|(?<!\\)\\\[(?P<square>(?:\\[^\[]|[^\\])+?)\\\]"
    rf"|(?P<environment>\\begin\{{(?P<name>(?:{_ENVIRONMENTS})\*?)\}}(?:(?!\\begin\{{(?P=name)\}}).)+?\\end\{{(?P=name)\}})",
    re.DOTALL,
)

# Mask tokens of BERT and RoBERTa stay whole in a masked formula.
_MASK = r"\[MASK\]|<mask>"
# Commands whose argument is a word, not a product of variables.
_WORD_ARGUMENT = (
    r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|operatorname\*?|mbox|hbox|begin|end|label|ref)\s*\{(?:\\.|[^{}\\])*\}"
)
_TOKEN = re.compile(rf"{_MASK}|{_WORD_ARGUMENT}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S", re.DOTALL)
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\s\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a text: ``text[start:end]``; for a formula, ``body`` is the part between its delimiters."""

    body: str
    is_formula: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unit:
    """A word of prose, a Chinese character, or a token of formula number ``formula`` (None in prose)."""

    text: str
    formula: int | None
    spaced: bool
    """Whether white space precedes it."""


def segments(text: str) -> Iterator[Segment]:
    """Split ``text`` into prose and formulas; the segments cover the whole text."""
    position = 0
    for match in FORMULA.finditer(text):
        if match.start() > position:
            yield Segment(text[position : match.start()], False, position, match.start())
        yield Segment(match[match.lastgroup or 0], True, match.start(), match.end())
        position = match.end()
    if position < len(text):
        yield Segment(text[position:], False, position, len(text))


def formula_tokens(formula: str) -> list[str]:
    r"""Split a formula into commands, numbers, single letters and signs: ``2x+\frac12`` -> ``2 x + \frac 12``."""
    return _TOKEN.findall(formula)


def formula_spans(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the tokens of each formula of ``text`` with their positions in the text."""
    for segment in segments(text):
        if segment.is_formula:
            offset = segment.start + (segment.end - segment.start - len(segment.body)) // 2
            yield [(match[0], offset + match.start()) for match in _TOKEN.finditer(segment.body)]


def units(text: str) -> list[Unit]:
    """Split a text into the smallest parts that an augmentation may mask or cut between."""
    parts: list[Unit] = []
    for number, segment in enumerate(segments(text)):
        pattern = _TOKEN if segment.is_formula else _WORD
        for match in pattern.finditer(segment.body):
            before = segment.body[match.start() - 1 : match.start()]
            parts.append(Unit(match[0], number if segment.is_formula else None, before.isspace()))
    return parts


def join_units(parts: list[Unit]) -> str:
    """Join units into a text, each run of one formula's units in dollar signs."""
    pieces: list[str] = []
    current: int | None = None
    for unit in parts:
        if unit.formula != current:
            if current is not None:
                pieces.append("$ ")
            if unit.formula is not None:
                pieces.append(" $")
            current = unit.formula
        elif unit.spaced or current is not None:
            pieces.append(" ")
        pieces.append(unit.text)
    if current is not None:
        pieces.append("$")
    return "".join(pieces).strip()


#: ``text[start:end]`` as (start, end).
Span = tuple[int, int]

_SPACED_MONEY = re.compile(r"\$(\s+)(\d[\d.,]*)")
_CENTS = re.compile(r"\$(?=\.\d)")


def unspaced_money(text: str) -> str:
    """Write "$ 5 " as "$5 " and "$.5" as "0.5", so that no such dollar opens a formula; positions stay the same."""
    return _CENTS.sub("0", _SPACED_MONEY.sub(r"$\2\1", text))


def formula_character_spans(text: str) -> list[Span]:
    """Return the spans of the LaTeX formulas; money is not a formula."""
    return [(part.start, part.end) for part in segments(unspaced_money(text)) if part.is_formula]
