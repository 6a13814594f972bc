r"""Characters of MathML as LaTeX: ``≤`` is ``\leq``.

The table is the one that latex2mathml reads the other way (Milde's ``unimathsymbols``); of several commands for a
character, the first is the usual one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from latex2mathml.symbols_parser import SYMBOLS

#: What the table says otherwise than textbooks, or not at all. Invisible operators have no spelling.
_USUAL = {
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "", "\ufeff": "",
    "\u00a0": r"\ ", "\u2002": r"\ ", "\u2003": r"\quad", "\u2009": r"\,", "\u205f": r"\:", "\u200a": r"\,",
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

_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z]+$")
_OF_TEXT = re.compile(r"[\\{}$&#^_%~]")


@cache
def _commands() -> dict[str, str]:
    found: dict[str, str] = {}
    for command, code in SYMBOLS.items():
        if command.startswith("\\"):
            found.setdefault(chr(int(code, 16)), command)
    return found | _USUAL


def symbol(character: str) -> str:
    """LaTeX of one character; itself where LaTeX has it too; letters of mathematical alphabets are plain."""
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
    """LaTeX of each character in turn."""
    return join(map(symbol, text))


def join(pieces: object) -> str:
    r"""Pieces of LaTeX in a row; a blank where a command would run into a letter (``\alpha x``)."""
    whole = ""
    for piece in pieces:  # type: ignore[attr-defined]
        if piece and piece[0].isalpha() and _ENDS_IN_COMMAND.search(whole):
            whole += " "
        whole += piece
    return whole


def text_command(text: str) -> str:
    r"""``\text{..}`` of a text with its special characters escaped."""
    special = {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}
    return rf"\text{{{_OF_TEXT.sub(lambda m: special.get(m[0], chr(92) + m[0]), text)}}}"
