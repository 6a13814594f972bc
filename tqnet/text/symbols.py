"""The LaTeX of single characters.

It comes from the table that latex2mathml uses in the other direction (Milde's ``unimathsymbols``); of several commands
for a character, the first is the usual one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from latex2mathml.symbols_parser import SYMBOLS

#: A space in a formula; ``\ `` would lose its end when a formula is trimmed.
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
    "∙": r"\cdot", "•": r"\bullet", "ⅆ": "d", "ⅇ": "e", "ⅈ": "i", "ⅉ": "j",
    "⟨": r"\langle", "⟩": r"\rangle", "〈": r"\langle", "〉": r"\rangle", "≅": r"\cong", "▱": r"\parallelogram",
}  # fmt: skip

#: A letter or digit needs a space after these: a command, a script of one sign.
_ENDS_OPEN = re.compile(r"\\[A-Za-z]+$|[_^]\w$")
_SPECIAL = re.compile(r"[\\{}$&#^_%~]")


@cache
def _commands() -> dict[str, str]:
    commands: dict[str, str] = {}
    for command, code in SYMBOLS.items():
        if command.startswith("\\"):
            commands.setdefault(chr(int(code, 16)), command)
    return commands | _USUAL


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
    """Return the LaTeX of the characters of a text."""
    return join(map(symbol, text))


def join(pieces: Iterable[str]) -> str:
    r"""Join pieces of LaTeX, with a space where one would run into the next (``\alpha x``, ``x^2 y``)."""
    latex = ""
    for piece in pieces:
        if piece and piece[0].isalnum() and _ENDS_OPEN.search(latex[-40:]):
            latex += " "
        latex += piece
    return latex


def text_command(text: str) -> str:
    r"""Return ``\text{..}`` of a text, with special characters escaped."""
    special = {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}
    return rf"\text{{{_SPECIAL.sub(lambda m: special.get(m[0], chr(92) + m[0]), text)}}}"
