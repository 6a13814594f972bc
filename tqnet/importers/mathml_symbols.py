r"""Characters of MathML as LaTeX: ``≤`` is ``\leq``.

The table is the one that latex2mathml reads the other way (Milde's ``unimathsymbols``); of several commands for a
character, the first is the usual one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from latex2mathml.symbols_parser import SYMBOLS

#: A blank of a formula; a backslash and a blank would lose its end when a formula is trimmed.
SPACE = r"\;"

#: Corrections and additions to the table; invisible operators have no spelling.
_USUAL = {
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "", "\ufeff": "",
    "\u00a0": SPACE, "\u2002": SPACE, "\u2003": r"\quad", "\u2009": r"\,", "\u205f": r"\:", "\u200a": r"\,",
    "-": "-", "−": "-", "/": "/", "∕": "/", "*": "*", "'": "'", "′": "'", "″": "''", "‴": "'''", "|": "|", "<": "<",
    ">": ">", "°": r"^{\circ}", "·": r"\cdot", "⋅": r"\cdot", "△": r"\triangle", "▵": r"\triangle", "∥": r"\parallel",
    "∦": r"\nparallel", "∟": r"\angle", "‖": r"\|", "∣": r"\mid", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq",
    "→": r"\to", "…": r"\ldots", "∅": r"\emptyset", "□": r"\square", "%": r"\%", "#": r"\#", "&": r"\&", "$": r"\$",
    "_": r"\_", "{": r"\{", "}": r"\}", "\\": r"\backslash", "~": r"\sim", "^": r"\hat{}", "½": r"\frac{1}{2}",
    "⟨": r"\langle", "⟩": r"\rangle", "〈": r"\langle", "〉": r"\rangle", "≅": r"\cong", "▱": r"\parallelogram",
}  # fmt: skip

#: Names that LaTeX has a command for.
_FUNCTION_NAMES = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min sec sin sinh sup tan tanh Pr"
)
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())

#: Accent over a base -> its command.
OVER = {
    "¯": r"\overline", "‾": r"\overline", "―": r"\overline", "_": r"\overline", "→": r"\overrightarrow",
    "⃗": r"\vec", "⇀": r"\vec", "←": r"\overleftarrow", "↔": r"\overleftrightarrow", "^": r"\hat", "ˆ": r"\hat",
    "̂": r"\hat", "~": r"\tilde", "˜": r"\tilde", "˙": r"\dot", ".": r"\dot", "¨": r"\ddot", "⏞": r"\overbrace",
    "︷": r"\overbrace", "ˇ": r"\check", "´": r"\acute", "`": r"\grave", "˘": r"\breve", "⌢": r"\overset{\frown}",
    "⌒": r"\overset{\frown}", "⏜": r"\overset{\frown}", "︵": r"\overset{\frown}",
}  # fmt: skip
UNDER = dict.fromkeys("_―̲¯", r"\underline") | dict.fromkeys("⏟︸", r"\underbrace")
#: Operators that take their limits as scripts.
LARGE = frozenset("∑∏∐⋃⋂⋁⋀∫∬∭∮⨁⨂") | {"lim", "max", "min", "sup", "inf", "gcd", "limsup", "liminf"}
ARROWS = {"→": r"\xrightarrow", "⟶": r"\xrightarrow", "←": r"\xleftarrow", "⟵": r"\xleftarrow"}
VARIANTS = {
    "bold": r"\mathbf",
    "double-struck": r"\mathbb",
    "script": r"\mathcal",
    "fraktur": r"\mathfrak",
    "sans-serif": r"\mathsf",
    "monospace": r"\mathtt",
}
#: Fences of a table -> its environment.
FENCED_TABLES = {("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("|", "|"): "vmatrix", ("‖", "‖"): "Vmatrix"}
NOTATIONS = {
    "box": r"\boxed", "roundedbox": r"\boxed", "top": r"\overline", "bottom": r"\underline", "radical": r"\sqrt",
    "actuarial": r"\overline", "updiagonalstrike": r"\cancel", "downdiagonalstrike": r"\bcancel",
    "horizontalstrike": r"\cancel", "circle": r"\boxed", "longdiv": r"\overline", "vector": r"\vec",
}  # fmt: skip
#: A letter or digit needs a blank after these: a command, a script of one sign.
_ENDS_OPEN = re.compile(r"\\[A-Za-z]+$|[_^]\w$")
_SPECIAL = re.compile(r"[\\{}$&#^_%~]")


@cache
def _commands() -> dict[str, str]:
    found: dict[str, str] = {}
    for command, code in SYMBOLS.items():
        if command.startswith("\\"):
            found.setdefault(chr(int(code, 16)), command)
    return found | _USUAL


def symbol(character: str) -> str:
    """Return the LaTeX of one character; letters of mathematical alphabets are plain."""
    if character in _USUAL:
        return _USUAL[character]
    if "\U0001d400" <= character <= "\U0001d7ff":
        plain = unicodedata.normalize("NFKC", character)
        return symbol(plain) if plain != character else character
    if character.isascii():
        return character
    if command := _commands().get(character):
        return command
    return rf"\text{{{character}}}" if character.isalpha() else character


def symbols(text: str) -> str:
    """Return the LaTeX of each character in turn."""
    return join(map(symbol, text))


def join(pieces: Iterable[str]) -> str:
    r"""Join pieces of LaTeX, with a blank where one would run into the next (``\alpha x``, ``x^2 y``)."""
    whole = ""
    for piece in pieces:
        if piece and piece[0].isalnum() and _ENDS_OPEN.search(whole[-40:]):
            whole += " "
        whole += piece
    return whole


def text_command(text: str) -> str:
    r"""Return ``\text{..}`` of a text with its special characters escaped."""
    special = {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}
    return rf"\text{{{_SPECIAL.sub(lambda m: special.get(m[0], chr(92) + m[0]), text)}}}"
