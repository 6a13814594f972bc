r"""The tokens of a text's formulas with their roles: variable, number, word or other.

``\max`` is one token and does not contain a variable x; the ``2`` of ``a_2`` is part of a name; ``5cm``, ``\text{if}``
and ``\hspace{1cm}`` contain words, not products.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

from tqnet.text.formulas import formula_spans, segments


class Role(Enum):
    """Role of a token; a WORD is part of a word, a unit, a length or a set's name."""

    VARIABLE = auto()
    NUMBER = auto()
    WORD = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a formula: ``text[start:end]`` of the surrounding text.

    Attributes:
        script: ``^`` or ``_`` for a part of an exponent or a subscript (the outermost of several).
    """

    text: str
    start: int
    end: int
    role: Role = Role.OTHER
    script: str = ""


#: A formula, token by token.
Formula = tuple[Token, ...]

_GREEK = r"""
    \alpha \beta \gamma \delta \epsilon \varepsilon \zeta \eta \theta \vartheta \iota \kappa \lambda \mu \nu \xi \rho
    \sigma \tau \phi \varphi \chi \psi \omega
"""
#: Greek letters except \pi, which is a number.
GREEK = frozenset(_GREEK.split())
#: Letters that stand for numbers: Euler's and the imaginary unit.
_CONSTANTS = frozenset("ei")

_ACCENTS = r"""
    \vec \hat \bar \dot \ddot \tilde \overline \underline \widehat \widetilde \overrightarrow \boldsymbol \bm
"""
#: Commands whose argument is a name: \vec x, \overline{AB}.
ACCENTS = frozenset(_ACCENTS.split())
_FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac", r"\cfrac", r"\binom", r"\dbinom")
_WORDS = r"""
    \text \textbf \textit \textrm \textsf \mathrm \mathbf \mathit \mathsf \mathbb \mathcal \mathfrak \mathscr \mbox
    \hbox \operatorname \color \hspace \vspace \label \ref \tag \begin \end \unit \si
"""
#: Command -> number of its arguments, which contain no variables.
_OPAQUE = dict.fromkeys(_WORDS.split(), 1) | {r"\textcolor": 2, r"\rule": 2, r"\SI": 2}
#: Command -> number of its arguments.
ARITY = _OPAQUE | dict.fromkeys((*_FRACTIONS, r"\stackrel", r"\overset", r"\underset"), 2)
ARITY |= dict.fromkeys((*ACCENTS, r"\sqrt", r"\boxed", r"\underbrace", r"\overbrace", r"\phantom"), 1)

_STARTS = r"""
    + - = < > ( [ { , ; : & \pm \mp \times \cdot \leq \le \geq \ge \leqslant \geqslant \lt \gt \neq \ne \equiv \approx
    \sim \to \rightarrow \Rightarrow \iff \in \cup \cap \left \quad \qquad \, \; \\ \{ \lfloor \lceil \langle ^ _
"""
#: Tokens after which a term begins: a sign that follows one belongs to the term.
TERM_STARTS = frozenset(_STARTS.split())

_UNITS = """
    m cm mm dm km g kg mg t s ms h min L mL ml A V W J N K C Hz kW kJ Pa mol ft in lb oz rad mph kph mi yd
"""
UNIT_NAMES = frozenset(_UNITS.split())
#: Functions often spelt without a backslash; "sinx" is a function and a variable.
SPELT_FUNCTIONS = (
    *("arcsin", "arccos", "arctan", "sin", "cos", "tan", "cot", "sec", "csc"),
    *("log", "ln", "exp", "max", "min", "lim"),
)
_PRODUCTS = ("abcd", "xyzw", "uvw", "pqr", "mnp", "rst")
_NUMBER = re.compile(r"\d*\.?\d+")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lr]?)")


@lru_cache(maxsize=256)  # several strategies parse the same text
def parse_formulas(text: str) -> tuple[Formula, ...]:
    """Return the formulas of ``text`` in order, as tokens with roles and positions."""
    if "$" not in text and "\\" not in text:
        return ()
    return tuple(_with_roles(spans) for spans in formula_spans(text))


@lru_cache(maxsize=256)
def prose(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans (start, end) of ``text`` outside formulas."""
    return tuple((segment.start, segment.end) for segment in segments(text) if not segment.is_formula)


def text_at(formula: Formula, at: int) -> str:
    """Return the text of token ``at``, or an empty string outside the formula."""
    return formula[at].text if 0 <= at < len(formula) else ""


def argument_end(formula: Formula, at: int) -> int:
    """Return the index after the argument that begins at ``at``: a group, a command with arguments, or a token."""
    if at >= len(formula):
        return at
    if formula[at].text == "{":
        return group_end(formula, at)
    end = at + 1
    for _ in range(ARITY.get(formula[at].text, 0)):
        end = argument_end(formula, _after_option(formula, end))
    return end


def group_end(formula: Formula, at: int) -> int:
    """Return the index after the bracket that closes the one at ``at``, or the end of the formula."""
    opening = formula[at].text
    closing = {"{": "}", "(": ")", "[": "]"}[opening]
    depth = 0
    for place in range(at, len(formula)):
        depth += (formula[place].text == opening) - (formula[place].text == closing)
        if not depth:
            return place + 1
    return len(formula)


def bare_arguments(formula: Formula) -> set[int]:
    """Return the indices of arguments without braces: of a command, an exponent, a subscript."""
    places: set[int] = set()
    for at, token in enumerate(formula):
        end = at + 1
        for _ in range(1 if token.text in ("^", "_") else ARITY.get(token.text, 0)):
            end = _after_option(formula, end)
            if text_at(formula, end) not in ("", "{"):
                places.add(end)
            end = argument_end(formula, end)
    return places


def call(formula: Formula, at: int) -> tuple[int, int] | None:
    r"""Return the span of the arguments in parentheses after the name at ``at``: f(x), f''(x), f^{-1}\left(x\right)."""
    opening = at + 1
    while text_at(formula, opening) in ("'", "^"):
        opening = argument_end(formula, opening + 1) if formula[opening].text == "^" else opening + 1
    while _SIZES.fullmatch(text_at(formula, opening)):
        opening += 1
    return (opening + 1, group_end(formula, opening) - 1) if text_at(formula, opening) == "(" else None


def is_part_of_number(formula: Formula, at: int) -> bool:
    r"""Return True if the number at ``at`` belongs to another one, 1,000 or 10{,}000, or begins with zeros: 007."""
    digits = formula[at].text
    return _continues(formula, at) or _continued(formula, at) or (digits[0] == "0" and digits[1:2] not in ("", "."))


def _continued(formula: Formula, at: int) -> bool:
    """Return True if exactly three digits follow, after a thousands separator or a space."""
    if not formula[at].text.isdecimal() or len(formula[at].text) > 3:
        return False
    place = at + 1
    while text_at(formula, place) in ("{", ",", "}", r"\,", r"\!") and formula[place].start == formula[place - 1].end:
        place += 1
    if place >= len(formula) or formula[place].role is not Role.NUMBER:
        return False
    gap = formula[place].start - formula[place - 1].end
    following = formula[place]
    return len(following.text) == 3 and following.script == formula[at].script and gap == (1 if place == at + 1 else 0)


def _continues(formula: Formula, at: int) -> bool:
    before = range(at - 1, max(-1, at - 5), -1)
    number = next((place for place in before if formula[place].role is Role.NUMBER), None)
    return number is not None and len(formula[at].text) == 3 and _continued(formula, number)


def _after_option(formula: Formula, at: int) -> int:
    r"""Return the index after the [3] of \sqrt[3]{x}."""
    if text_at(formula, at - 1) == r"\sqrt" and text_at(formula, at) == "[":
        return group_end(formula, at)
    return at


def _with_roles(spans: list[tuple[str, int]]) -> Formula:
    tokens = tuple(Token(text, start, start + len(text)) for text, start in _split_numbers(spans))
    scripts, words = _scripts(tokens), _words(tokens)
    placed = []
    for at, token in enumerate(tokens):
        is_name = token.text in GREEK or (_is_letter(token) and token.text not in _CONSTANTS)
        other = Role.NUMBER if _NUMBER.fullmatch(token.text) else Role.VARIABLE if is_name else Role.OTHER
        role = Role.WORD if at in words else other
        placed.append(Token(token.text, token.start, token.end, role, scripts.get(at, "")))
    return tuple(placed)


def _split_numbers(spans: list[tuple[str, int]]) -> list[tuple[str, int]]:
    r"""Return tokens with .5 as one number, and the digits of \frac12 as two."""
    tokens: list[tuple[str, int]] = []
    for text, start in spans:
        if not text[0].isdecimal():
            tokens.append((text, start))
        elif tokens and tokens[-1][0] in _FRACTIONS and text.isdecimal() and len(text) > 1:
            tokens += [(text[0], start), (text[1], start + 1)] + ([(text[2:], start + 2)] if text[2:] else [])
        elif len(tokens) > 1 and tokens[-1] == (".", start - 1) and not tokens[-2][0].isdecimal():
            tokens[-1] = ("." + text, start - 1)
        else:
            tokens.append((text, start))
    return tokens


def _is_letter(token: Token) -> bool:
    return len(token.text) == 1 and token.text.isascii() and token.text.isalpha()


def _scripts(tokens: Formula) -> dict[int, str]:
    """Return index of a token in a script -> ``^`` or ``_``."""
    scripts: dict[int, str] = {}
    covered = 0
    for at, token in enumerate(tokens):
        if token.text in ("^", "_") and at >= covered:  # inside another script, the outer one counts
            covered = argument_end(tokens, at + 1)
            scripts.update(dict.fromkeys(range(at + 1, covered), token.text))
    return scripts


def _words(tokens: Formula) -> set[int]:
    """Return the indices of words, units, lengths, column specifications and the d of differentials."""
    places: set[int] = set()
    covered = 0  # inside the argument of another command, tokens already count as its words
    for at, token in enumerate(tokens):
        if at < covered:
            continue
        arguments = 1 if token.text.startswith((r"\begin{array", r"\begin{tabular")) else _OPAQUE.get(token.text, 0)
        covered = at + 1
        for _ in range(arguments):
            covered = argument_end(tokens, covered)
        places.update(range(at + 1, covered))
    runs = _letter_runs(tokens)
    # A mere quantity: 9.8 m/s^2.
    measures = all(_is_letter(token) or _NUMBER.fullmatch(token.text) or token.text in "/^{}.,-" for token in tokens)
    # Differentials: the dx of an integral, the dy or d of \frac{dy}{dx} or \frac{d}{dx}.
    integrates = any(token.text.endswith("int") and token.text.startswith("\\") for token in tokens)
    divides = any(token.text in _FRACTIONS for token in tokens)
    for start, end in runs:
        letters = "".join(token.text for token in tokens[start:end])
        if spelt := next((name for name in SPELT_FUNCTIONS if letters.startswith(name)), ""):
            places.update(range(start, start + len(spelt)))
        elif _is_unit(tokens, start, letters, measures, places) or _is_word(letters):
            places.update(range(start, end))
        elif letters in ("d", f"d{letters[-1]}") and (integrates or (divides and _is_enclosed(tokens, start, end))):
            places.add(start)
    return places


def _letter_runs(tokens: Formula) -> list[tuple[int, int]]:
    """Return the spans of adjacent letters without spaces."""
    cuts = [0]
    for at, (before, after) in enumerate(pairwise(tokens), 1):
        if not (_is_letter(before) and _is_letter(after) and before.end == after.start):
            cuts.append(at)
    return [(start, end) for start, end in pairwise([*cuts, len(tokens)]) if tokens and _is_letter(tokens[start])]


def _is_unit(tokens: Formula, start: int, letters: str, measures: bool, words: set[int]) -> bool:
    """Return True for a unit: after a number, 5cm, or per another unit, km/h; one letter only in a mere quantity."""
    if not start or letters not in UNIT_NAMES:
        return False
    if text_at(tokens, start - 1) == "/" and start - 2 in words:
        return True
    return _NUMBER.fullmatch(tokens[start - 1].text) is not None and (len(letters) > 1 or measures)


def _is_word(letters: str) -> bool:
    """Return True if three or more letters are a word ("num", "Area"), not a product ("xyz", "axy", "Bxy")."""
    if len(letters) < 3 or letters.isupper():
        return False
    if any(letters in product for product in _PRODUCTS):
        return False
    small = letters[1:] if letters[0].isupper() else letters
    ordered = all(first < second for first, second in pairwise(small))
    return not (ordered and len(letters) < 5 and set("xyz") & set(small) and not set("eiou") & set(small))


def _is_enclosed(tokens: Formula, start: int, end: int) -> bool:
    return text_at(tokens, start - 1) == "{" and text_at(tokens, end) == "}"
