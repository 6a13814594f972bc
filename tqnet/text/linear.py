r"""The linear format of formulas, as in calculators, Word's equation editor and Unicode, written as LaTeX.

``(x²-9)/(x+3)`` is ``\\frac{x^2-9}{x+3}``, ``√(x+5)`` and ``sqrt(x+5)`` are ``\\sqrt{x+5}``, ``lim x->0`` is
``\\lim_{x\\to 0}``; LaTeX stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tqnet.text.latex import SPELT_FUNCTIONS
from tqnet.text.normal import SIGNS
from tqnet.text.symbols import symbol

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵃᵇᵐᵗ"
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₙᵢⱼₖₘₜ"
#: Character -> its plain form; Chinese marks stay, as they end a formula.
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "！，：；？"}
_WIDE |= dict(zip(map(ord, "\u3000【】〖〗﹣−–⋅∗"), " ()⟦⟧---·*", strict=True))
_SHORT_FUNCTIONS = ("sin", "cos", "tan", "log", "ln")
#: What follows a factor without a sign in print: ``5*x`` is 5x. Not a bar, which may close another.
_JUXTAPOSED = frozenset({"word", "sign", "open", "root"})
_TOKEN = re.compile(
    rf"(?P<space>\s+)"
    r"|(?P<command>\\[A-Za-z]+|\\[{}%,;!: ])"
    r"|(?P<scientific>\d+(?:\.\d+)?[eE][-+]?\d{1,4}(?![A-Za-z\d]|\.\d))"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?|(?<!\d)\.\d+)"
    rf"|(?P<sup>[{_SUPERSCRIPTS}]+)|(?P<sub>[{_SUBSCRIPTS}]+)"
    rf"|(?P<word>(?:{'|'.join(_SHORT_FUNCTIONS)})(?=[xyzuvnABC](?![A-Za-z]))|[A-Za-z]+)"  # sinx
    r"|(?P<fraction>[¼-¾⅐-⅞])"
    r"|(?P<relation><=|>=|!=|<>|==|=>|<->|[-—]{1,2}>|//|[=<>≤≥≠≈≡≅∼∽∝→⇒⇔∈∉⊂⊆∥⊥⩽⩾])"
    r"|(?P<root>[√∛∜])"
    r"|(?P<large>[∫∬∮∑∏])"
    r"|(?P<prefix>[∠△▲⊙∂∇¬∀∃])"
    r"|(?P<operator>\+-|\*\*|[-+*/÷×·±∓∪∩^_┬:])"
    r"|(?P<postfix>[°'′″!%])"
    r"|(?P<open>[(\[{⟦├])|(?P<close>[)\]}⟧┤])"
    r"|(?P<sign>[∞∅πΑ-Ωα-ωϕϑ…ℂℕℚℝℤ])"
    r"|(?P<silent>[\u2061-\u2064])|(?P<bar>\|)|(?P<matrix>[■█])|(?P<mark>[,&@▒])"
    r"|(?P<prose>.)",
    re.DOTALL,
)
_RELATIONS = {
    "<=": r"\leq ", ">=": r"\geq ", "!=": r"\neq ", "<>": r"\neq ", "==": "=", "=>": r"\Rightarrow ",
    "<->": r"\leftrightarrow ", "//": r"\parallel ", "∽": r"\sim ", "≅": r"\cong ", "⊂": r"\subset ",
}  # fmt: skip
_OPERATORS = {"**": "^", "+-": r"\pm ", "┬": "_"}
_SIGNS = {"%": r"\%", "′": "'", "″": "''", "▲": r"\triangle ", "⊙": r"\odot ", "°": r"^\circ ", "▒": ""}
_GREEK = "alpha beta gamma delta epsilon theta lambda mu rho sigma tau phi psi omega pi"
NAMES = {
    "infinity": r"\infty", "inf": r"\infty", "infty": r"\infty", "oo": r"\infty", "asin": r"\arcsin",
    "acos": r"\arccos", "atan": r"\arctan", "degrees": r"^\circ", "deg": r"^\circ",
    **{name: f"\\{name}" for name in _GREEK.split()},
}  # fmt: skip
#: Also words of prose: functions only where a bracket or a script follows.
LARGE = {"sum": r"\sum", "prod": r"\prod", "int": r"\int", "integral": r"\int"}
ROOTS = {"sqrt": "", "root": "", "cbrt": "3", "√": "", "∛": "3", "∜": "4"}
FUNCTIONS = frozenset((*SPELT_FUNCTIONS, "sinh", "cosh", "tanh", "lg", "gcd", "lcm", "det", "arg"))


#: The x between two numbers, ``3 x 4`` or ``3x10``.
_TIMES = re.compile(r"(?:(?<=\d )x(?= \d)|(?<![A-Za-z]\d)(?<=\d)x(?=\d))")


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def read_tokens(prose: str) -> list[Token]:
    """Split a text into tokens; full-width characters are read as their plain forms."""
    plain = _TIMES.sub("×", prose.translate(_WIDE))
    return [Token(match.lastgroup or "", match[0], *match.span()) for match in _TOKEN.finditer(plain)]


_END = Token("end", "", 0, 0)

#: Kinds of tokens that multiply what follows, and commands that do not.
_JOINED = frozenset(["number", "word", "close", "sup", "sub", "sign", "fraction", "postfix"])
_LIMITS = (r"\lim", r"\int", r"\sum", r"\prod")
#: Kinds that are not operands.
_NO_OPERAND = frozenset(["space", "operator", "relation", "sup", "sub", "close", "end"])


@dataclass
class _Item:
    """A piece of LaTeX.

    Attributes:
        inner: Contents of the brackets of a group.
        joins: True for a factor in a product with the item before.
        is_number: True for a plain number.
    """

    latex: str
    inner: str | None = None
    joins: bool = False
    is_number: bool = False


def _sign(text: str) -> str:
    return text if text.isascii() else SIGNS.get(ord(text)) or f"{symbol(text)} "


def _bare(items: Sequence[_Item]) -> str:
    """Join items, dropping brackets around a single one."""
    if len(items) == 1 and items[0].inner is not None:
        return items[0].inner.strip()
    latex = re.sub(r"(\\[A-Za-z]+)\s+(?![A-Za-z])", r"\1", "".join(item.latex for item in items))
    return re.sub(r"\s+", " ", latex).strip()


class Parser:
    """Writes the tokens of a formula as LaTeX, from left to right."""

    def __init__(self, tokens: Sequence[Token]):
        self._tokens = [token for token in tokens if token.kind != "silent"]
        self._at = 0
        self._bars = self._paired_bars()  # opening -> closing
        self._closing_bars = set(self._bars.values())

    @property
    def is_done(self) -> bool:
        return self._at == len(self._tokens)

    def formula(self) -> str:
        """Return everything up to a closing bracket or bar, which is not consumed, or to the end."""
        items: list[_Item] = []
        while self._next.kind not in ("close", "end") and not self._is_closing_bar():
            items += self._items(items)
        return _bare([_Item(""), *items])

    def _paired_bars(self) -> dict[int, int]:
        opened: list[list[int]] = [[]]  # a list for each open bracket
        pairs: dict[int, int] = {}
        for at, token in enumerate(self._tokens):
            if token.kind == "open":
                opened.append([])
            elif token.kind == "close" and len(opened) > 1:
                opened.pop()
            elif token.kind == "bar" and opened[-1]:
                pairs[opened[-1].pop()] = at
            elif token.kind == "bar":
                opened[-1].append(at)
        return pairs

    def _is_closing_bar(self) -> bool:
        return self._next.kind == "bar" and self._at in self._closing_bars

    @property
    def _next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    @property
    def _last(self) -> Token:
        return self._tokens[self._at - 1] if self._at else _END

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip_space(self) -> None:
        while self._next.kind == "space":
            self._at += 1

    def _items(self, items: list[_Item]) -> list[_Item]:
        """Read a sign, a script, or the factors of an operand; a quotient takes its numerator from ``items``."""
        before, token = self._last, self._next
        if token.kind == "space":
            self._take()
            return []
        if token.kind in ("sup", "sub") or token.text in ("^", "**", "_", "┬"):
            return [self._script()]
        if token.text == "/" and items:
            return [self._quotient(items)]
        if token.text == "*":
            self._take()
            self._skip_space()
            return [] if self._next.kind in _JUXTAPOSED else [_Item(r"\times ")]
        if token.kind == "operator":
            return [_Item(_OPERATORS.get(self._take().text) or _sign(token.text))]
        if token.kind == "relation":
            is_arrow = self._take().text[0] in "-—" and token.text[-1] == ">"
            return [_Item(r"\to " if is_arrow else _RELATIONS.get(token.text) or _sign(token.text))]
        joins = before.kind in _JOINED and not (items and items[-1].latex.startswith(_LIMITS))
        factors = self._factors()
        return [replace(factor, joins=joins or place > 0) for place, factor in enumerate(factors)]

    def _script(self) -> _Item:
        """Read ``²``, ``^2``, ``^(n+1)``, ``_1`` and the like."""
        token = self._take()
        mark = "_" if token.kind == "sub" or token.text in ("_", "┬") else "^"
        if token.kind in ("sup", "sub"):
            script = unicodedata.normalize("NFKC", token.text).replace("−", "-")
        else:
            self._skip_space()
            script = self._signed()
        is_single = len(script) == 1 or re.fullmatch(r"\\[A-Za-z]+", script)
        return _Item(f"{mark}{script}" if is_single else f"{mark}{{{script}}}", joins=True)

    def _signed(self) -> str:
        """Read an argument: a group without its brackets, or a number, name or function, perhaps with a sign."""
        sign = self._take().text if self._next.text in ("-", "+") else ""
        return sign + _bare(self._factors())

    def _quotient(self, items: list[_Item]) -> _Item:
        """Read a denominator; the product before it is the numerator."""
        self._take()
        self._skip_space()
        first = len(items) - 1
        while first > 0 and items[first].joins:
            first -= 1
        numerator, items[first:] = items[first:], []
        under = self._factors()
        is_half = len(numerator) == 1 and numerator[0].is_number and bool(under) and under[0].is_number
        # 1/2x is half of x, but x/2y
        while self._next.kind in ("sup", "sub", "sign") or self._next.text in ("^", "!"):
            under += self._items(under)
        while not is_half and (self._next.kind in ("word", "sup", "sub", "sign") or self._next.text in ("^", "!")):
            under += self._items(under)
        return _Item(f"\\frac{{{_bare(numerator)}}}{{{_bare(under)}}}")

    def _factors(self) -> list[_Item]:
        """Read one operand: a number, letters, a group, or a function with its argument; [] if there is none."""
        token, before = self._next, self._last
        if token.kind in _NO_OPERAND:
            return []
        self._take()
        if token.kind == "open":
            is_set = token.text == "{" and before.kind != "command" and before.text not in ("^", "_", "}", "┬")
            return [self._group(r"\{" if is_set else token.text)]
        if token.kind == "number":
            return [_Item(f"0{token.text}" if token.text[0] == "." else token.text, is_number=True)]
        if token.kind == "scientific":
            mantissa, exponent = re.split("[eE]", token.text)
            return [_Item(f"{mantissa}\\times 10^{{{int(exponent)}}}")]
        if token.kind == "fraction":
            over, _, under = unicodedata.normalize("NFKC", token.text).partition("⁄")
            return [_Item(f"\\frac{{{over}}}{{{under}}}")]
        if token.text in ROOTS:
            return [self._root(ROOTS[token.text])]
        if token.kind == "matrix":
            return [self._matrix()]
        if token.kind == "word":
            return self._word(token)
        if token.kind == "command":
            return [_Item(f"{token.text} ")]
        if token.kind == "bar" and self._at - 1 in self._bars:
            inner = self.formula()
            closing = self._take().text if self._next.kind == "bar" else ""
            return [_Item(f"|{inner}{closing}")]
        return [_Item(_SIGNS[token.text] if token.text in _SIGNS else _sign(token.text))]

    def _word(self, token: Token) -> list[_Item]:
        word = token.text
        if word == "lim":
            return [self._limit()]
        if word in NAMES or word in LARGE:
            return [_Item(f"{NAMES.get(word) or LARGE[word]} ")]
        if word == "abs":
            return [_Item(f"|{_bare(self._factors())}|")]
        if word in FUNCTIONS:
            return [self._function(word)]
        if len(word) == 1 and self._next.kind == "number" and token.end == self._next.start:  # x1
            return [_Item(f"{word}_{{{self._take().text}}}")]
        return [_Item(letter) for letter in word]

    def _function(self, name: str) -> _Item:
        """Read a function with its scripts and, if one follows directly, its argument in brackets."""
        latex = f"\\{name}" if name != "lcm" else r"\operatorname{lcm}"
        while self._next.kind in ("sup", "sub") or self._next.text in ("^", "_"):
            latex += self._script().latex
        if name == "log" and self._next.kind == "number":  # log2 8, log10(100)
            number = self._take().text
            self._skip_space()
            has_base = self._next.kind in ("number", "word", "open")
            latex += f"_{{{number}}}" if has_base else f" {number}"
        if self._next.text in ("(", "⟦"):
            return _Item(f"{latex} {self._factors()[0].latex}")
        return _Item(f"{latex} {_bare([_Item(''), *self._argument()])}")

    def _argument(self) -> list[_Item]:
        """Read ``3x`` of ``sin 3x/x``: numbers and names side by side."""
        start = self._at
        self._skip_space()
        items: list[_Item] = []
        while self._is_factor() or (items and (self._next.kind in ("sup", "sub") or self._next.text == "^")):
            items += self._items(items)
        if not items:
            self._at = start
        return items

    def _is_factor(self) -> bool:
        is_name = self._next.kind == "word" and self._next.text not in FUNCTIONS and self._next.text not in LARGE
        return is_name or self._next.kind in ("number", "sign", "fraction")

    def _limit(self) -> _Item:
        """Read ``lim x->0``, ``lim (x→0)`` and ``lim_(x->0)``."""
        self._skip_space()
        start = self._at
        if self._next.text in ("_", "┬"):
            self._take()
            self._skip_space()
            return _Item(f"\\lim_{{{self._signed()}}} ")
        approach = ""
        if self._next.text == "(":
            approach = _bare(self._factors())
        elif self._next.kind == "word" and len(self._next.text) == 1:
            variable = self._take().text
            self._skip_space()
            arrow = self._items([])[0].latex if self._next.kind == "relation" else ""
            self._skip_space()
            approach = f"{variable}{arrow}{self._signed()}"
        if re.search(r"\\(?:to|rightarrow)(?![A-Za-z])", approach):
            return _Item(f"\\lim_{{{approach}}} ")
        self._at = start
        return _Item(r"\lim ")

    def _root(self, degree: str) -> _Item:
        self._skip_space()
        inner = self._signed()
        if "&" in inner:  # Word: √(3&x)
            degree, _, inner = inner.partition("&")
        return _Item(f"\\sqrt{f'[{degree.strip()}]' if degree else ''}{{{inner.strip()}}}")

    def _group(self, opening: str) -> _Item:
        inner = self.formula()
        closing = self._take().text if self._next.kind == "close" else ""
        if opening in "⟦├":  # brackets of Word that are not shown
            return _Item(inner, inner)
        if opening == "{":  # LaTeX's
            return _Item(f"{{{inner}}}", inner)
        closing = r"\}" if closing == "}" else closing
        return _Item(f"{opening}{inner}{closing}", inner if opening == "(" else None)

    def _matrix(self) -> _Item:
        """Read Word's ``■(a&b@c&d)``."""
        rows = _bare(self._factors()).replace("@", r" \\ ")
        return _Item(rf"\begin{{matrix}} {rows} \end{{matrix}}")
