r"""Formulas as people type them in prose, without LaTeX: ``x^2-9``, ``√(x+5)``, ``∠ABC=60°``.

A stretch of text is a formula if it has a sign, function or script of mathematics with something to apply it to;
numbers in prose are not formulas. `tqnet.text.linear` says what a formula means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tqnet.text.formulas import Span, segments
from tqnet.text.latex import UNIT_NAMES
from tqnet.text.linear import FUNCTIONS, LARGE, NAMES, ROOTS, Parser, Token, read_tokens

#: Words of texts that name points by capitals.
_GEOMETRY = re.compile(
    r"angle|segment|circle|chord|tangent|parallel|perpendicular|polygon|quadrilateral|kite|rhombus|trapezoid|square|"
    r"similar|[∠△⊙∥⊥角圆线段形]",
    re.IGNORECASE,
)
_DIFFERENTIAL = re.compile(r"d[a-z]")
_WORDS = "am an as at be by do go he if in is it me my no of on or so to up us we vs ft oz pm"
#: Two-letter words that occur between numbers and signs in prose.
_SHORT_WORDS = frozenset(_WORDS.split())
#: Single letters that are words.
_ARTICLES = frozenset("aAIst")
_ORDINALS = frozenset(["st", "nd", "rd", "th"])
#: First character of the Chinese range.
_CHINESE = "\u2e80"

#: Kinds of tokens that make a formula of their neighbours.
_KINDS = "scientific relation root large prefix sup sub fraction sign matrix command"
_TELLING = frozenset(_KINDS.split())
#: Kinds that cannot begin, or end, a formula.
_NEVER_FIRST = frozenset(["space", "mark", "postfix", "sup", "sub"])
_NEVER_LAST = frozenset(["space", "mark", "operator", "relation", "prefix", "root", "matrix"])
_OPERANDS = frozenset(["number", "scientific", "word", "open", "close", "sup", "sub", "fraction", "sign"])
_SIGNS = frozenset(["operator", "relation"])

_NOTHING = Token("prose", "", 0, 0)

#: Maximum number of tokens of a formula: the numerator of 1/2/3/... is written once for each of its denominators.
_MAX_TOKENS = 1000


def with_formulas(text: str) -> str:
    """Return ``text`` with its formulas as LaTeX in dollars; LaTeX in delimiters stays as it is.

    ``Find x if (x²-9)/(x+3) = 1/2`` becomes ``Find $x$ if $\\frac{x^2-9}{x+3}=\\frac{1}{2}$``.
    """
    has_points = _GEOMETRY.search(text) is not None
    return "".join(
        text[part.start : part.end] if part.is_formula else _rewritten(part.body, has_points) for part in segments(text)
    )


def _rewritten(prose: str, has_points: bool) -> str:
    tokens = read_tokens(prose)
    pieces: list[str] = []
    written = 0
    for start, stop in _Finder(tokens, has_points).formulas():
        if stop - start > _MAX_TOKENS:
            continue
        parser = Parser(tokens[start:stop])
        try:
            latex = parser.formula()
        except RecursionError:  # hundreds of nested brackets
            continue
        if not parser.is_done:  # brackets that do not match
            continue
        pieces += [prose[written : tokens[start].start], f"${latex.strip()}$"]
        written = tokens[stop - 1].end
    return "".join((*pieces, prose[written:]))


class _Finder:
    """Finds the formulas among the tokens of prose."""

    def __init__(self, tokens: list[Token], has_points: bool):
        self._tokens, self._has_points = tokens, has_points
        self._belongs = [self._may_belong(at) for at in range(len(tokens))]
        self._partners: dict[int, int] = {}
        for start, stop in self._stretches():
            self._match_brackets(start, stop)

    def formulas(self) -> Iterator[Span]:
        """Yield the spans of the tokens that are formulas."""
        for start, stop in self._stretches():
            start, stop = self._trimmed(start, stop)
            if self._is_telling([token for token in self._tokens[start:stop] if token.kind != "space"]):
                yield start, stop
            else:
                yield from ((at, at + 1) for at in range(start, stop) if self._is_lone_name(at))

    def _token(self, at: int) -> Token:
        return self._tokens[at] if 0 <= at < len(self._tokens) else _NOTHING

    def _beyond_space(self, at: int, step: int) -> Token:
        return self._token(at + 2 * step) if self._token(at + step).kind == "space" else self._token(at + step)

    def _stretches(self) -> list[Span]:
        bounds = [at for at, (a, b) in enumerate(pairwise([False, *self._belongs, False])) if a != b]
        return list(zip(bounds[::2], bounds[1::2], strict=True))

    def _match_brackets(self, start: int, stop: int) -> None:
        """Record pairs of brackets; unpaired brackets and bars, and commas outside brackets, are prose."""
        opened: list[int] = []
        bars: list[int] = []
        for at in range(start, stop):
            token = self._tokens[at]
            if token.kind == "open":
                opened.append(at)
            elif token.kind == "close" and opened:
                begin = opened.pop()
                if all(inner.kind == "space" for inner in self._tokens[begin + 1 : at]):  # a blank to be filled in
                    self._belongs[begin : at + 1] = [False] * (at + 1 - begin)
                self._partners[begin] = at
            elif token.kind == "close" or (token.text == "," and not opened and not self._is_decimal(at)):
                self._belongs[at] = False
            elif token.kind == "bar" and not opened:
                bars.append(at)
        for at in (*opened, *(bars if len(bars) % 2 else ())):
            self._belongs[at] = False

    def _is_decimal(self, at: int) -> bool:
        """Return True for the comma of ``1,5``, but not for those of ``1,2,3``."""
        texts = [self._token(place).text for place in range(at - 2, at + 3)]
        return texts[1].isdecimal() and texts[3].isdecimal() and "," not in (texts[0], texts[4])

    def _may_belong(self, at: int) -> bool:
        token, before, after = self._tokens[at], self._token(at - 1), self._token(at + 1)
        if token.kind == "space":
            return "\n" not in token.text
        if token.kind == "matrix":
            return after.text == "("
        if token.text == ":":
            return before.kind in _OPERANDS and after.kind in _OPERANDS
        if token.text in ("'", "!"):  # a prime of a function, a factorial; otherwise marks of prose
            is_single = before.kind in ("close", "postfix") or (before.kind == "word" and len(before.text) == 1)
            return (is_single and after.kind != "word") or (before.kind == "number" and token.text == "!")
        if token.kind == "word":
            return not (self._is_unit(at) or self._is_option_letter(at)) and self._is_name(at)
        return token.kind != "prose"

    def _is_unit(self, at: int) -> bool:
        """Return True for the units of "5 km", "60 km/h" and "m/s"."""
        token, before = self._tokens[at], self._beyond_space(at, -1)
        if token.text not in UNIT_NAMES:
            return False
        if before.text == "/":
            return self._token(at - 2).text in UNIT_NAMES
        is_ratio = self._token(at + 1).text == "/" and self._token(at + 2).text in UNIT_NAMES
        return is_ratio or (before.kind == "number" and (before.end < token.start or len(token.text) > 1))

    def _is_option_letter(self, at: int) -> bool:
        """Return True for the letters of ``A. 3``, ``B) 4`` and ``(C) 5``."""
        text, before, after = self._tokens[at].text, self._token(at - 1), self._token(at + 1).text
        if len(text) > 1 or not text.isupper():
            return False
        in_brackets = before.text == "(" and self._token(at - 2).kind in ("space", "prose")
        return (in_brackets and after == ")") or (before.kind in ("space", "prose") and after in (".", ")"))

    def _is_name(self, at: int) -> bool:
        """Return True for a word that is a function, a name, or adjacent letters."""
        word, before, after = self._tokens[at].text, self._token(at - 1), self._token(at + 1)
        if "’" in (before.text, after.text) or before.text == "'":
            return False
        if word in LARGE or word == "abs":
            return after.kind == "sub" or after.text in ("_", "(", "^", "┬")
        if len(word) == 1 or word in FUNCTIONS or word in NAMES or word in ROOTS:
            return True
        neighbours = {before.kind, after.kind}
        if word.isupper() and len(word) <= 4:
            return self._has_points or bool(neighbours & {*_SIGNS, "prefix"})
        if before.kind == "number":
            return len(word) <= 3 and word not in UNIT_NAMES and word not in _ORDINALS
        if len(word) > 3 or not word.islower() or word in _SHORT_WORDS:
            return False
        kinds = {*_SIGNS, "sup", "sub"} | ({"open", "close"} if len(word) == 2 else set())
        is_chinese = min(before.text, after.text) > _CHINESE
        is_term = len(word) == 2 and self._is_between_signs(at)
        is_differential = _DIFFERENTIAL.fullmatch(word) is not None
        return is_chinese or is_term or is_differential or bool(neighbours & kinds)

    def _is_between_signs(self, at: int) -> bool:
        """Return True for the middle of "a + bx = c": signs, or the formula's ends, on both sides, ignoring spaces."""
        ends = [self._beyond_space(at, step) for step in (-1, 1)]
        signs = [end.kind in _SIGNS and end.text not in "-:/" for end in ends]
        return any(signs) and all(sign or end.kind == "prose" for sign, end in zip(signs, ends, strict=True))

    def _trimmed(self, start: int, stop: int) -> Span:
        """Strip tokens that cannot begin or end a formula, and brackets around all of it."""
        while start < stop:
            first, last = self._tokens[start], self._tokens[stop - 1]
            is_article = first.text in ("a", "A", "I") and self._token(start + 1).kind == "space"
            if first.kind in _NEVER_FIRST or first.text in "+*/×÷·^_:=":
                start += 1
            elif last.kind in _NEVER_LAST or last.text in FUNCTIONS:
                stop -= 1
            elif self._partners.get(start) == stop - 1 and not any(t.text == "," for t in self._tokens[start:stop]):
                start, stop = start + 1, stop - 1
            elif is_article and self._token(start + 2).kind not in _SIGNS:
                start += 1
            else:
                break
        return start, stop

    def _is_lone_name(self, at: int) -> bool:
        """Return True for a name in prose: ``x``, and ``AB`` in geometry."""
        text, before, after = self._tokens[at].text, self._token(at - 1).text, self._token(at + 1).text
        if self._tokens[at].kind != "word" or after in (")", "）"):
            return False
        if min(before or _CHINESE, after or _CHINESE) >= _CHINESE and (before or after):  # within Chinese
            return len(text) <= 3
        is_initial = after == "." and self._token(at + 2).kind == "word"  # e.g.
        is_name = len(text) == 1 or (self._has_points and text.isupper() and len(text) <= 4)
        return is_name and not is_initial and text not in _ARTICLES

    def _is_telling(self, run: list[Token]) -> bool:
        """Return True if a stretch is mathematics: a relation, a function, a sum of names, a product ``2x``."""
        kinds = {token.kind for token in run}
        if len(run) < 2:
            is_constant = bool(run) and run[0].text in NAMES and NAMES[run[0].text][1:] == run[0].text
            return bool(kinds & {"fraction", "sign", "command", "scientific"}) or is_constant
        if kinds & _TELLING or any(token.text in FUNCTIONS or token.text in ROOTS for token in run):
            return True
        operators = [token.text for token in run if token.kind == "operator"]
        if operators == ["/", "/"] and kinds == {"number", "operator"}:  # a date
            return False
        if set(operators) - {"-"} or (operators and ("word" in kinds or len(operators) > 1)):
            is_ratio = operators == ["/"] and all(len(token.text) <= 2 for token in run)  # dy/dx
            return is_ratio or "number" in kinds or bool(set(operators) - {"-", "/", ":"}) or len(run) > 3
        if any(token.text in ("°", "!") for token in run):
            return True
        adjacent = {(a.kind, b.kind) for a, b in pairwise(run) if a.end == b.start}
        has_comma = any(token.text == "," for token in run)
        is_indexed = any(a.text.islower() and len(a.text) == 1 and b.kind == "number" for a, b in pairwise(run))
        return (
            is_indexed
            or bool(adjacent & {("number", "word"), ("word", "open"), ("postfix", "open")})
            or (has_comma and run[0].kind == "open")
        )
