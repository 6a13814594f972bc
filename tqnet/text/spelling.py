r"""How a formula is spelt for a tokenizer: one space between tokens, typography dropped, case kept.

``$\displaystyle 2x=\dfrac{AB}{3}$`` becomes ``2 x = \frac { 𝐴 𝐵 } { 3 }``: an English word piece
tokenizer would otherwise read ``2x`` and ``AB`` as words and, if it lower-cases, lose that ``AB`` is not
``ab``. Capitals become the mathematical italic letters of Unicode, which no normalizer folds and which
the vocabulary holds as tokens of their own (see :mod:`tqnet.text.vocabulary`).
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from tqnet.text.formulas import formula_tokens, segments

_LOOKS = r"""
    \displaystyle \textstyle \scriptstyle \limits \nolimits \left \right \rm \bf \it
    \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \, \; \: \> \! \quad \qquad
"""
#: Commands that change how a formula looks and not what it says.
TYPOGRAPHIC = frozenset(_LOOKS.split()) | {"\\ "}

#: Commands that mean the same as another one.
SYNONYMS = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\le": r"\leq", r"\ge": r"\geq"}
SYNONYMS |= {r"\lt": "<", r"\gt": ">", r"\ne": r"\neq", r"\to": r"\rightarrow", r"\dbinom": r"\binom"}

_WORDS = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|operatorname\*?|mbox|hbox)\s*\{([^{}]*)\}")

#: A .. Z -> U+1D434 .. U+1D44D (mathematical italic capitals).
CAPITALS = {letter: chr(0x1D434 + i) for i, letter in enumerate(string.ascii_uppercase)}


@lru_cache(maxsize=2**14)
def spell_formula(formula: str) -> str:
    """Tokens of one formula (without its delimiters), separated by single spaces.

    The same formulas come again and again within a bank; each is parsed once.
    """
    spelt = []
    for token in formula_tokens(formula):
        if token in TYPOGRAPHIC:
            continue
        if words := _WORDS.fullmatch(token):
            spelt += _spell_words(token, words[1].strip())
        else:
            spelt.append(CAPITALS.get(token) or SYNONYMS.get(token, token))
    return " ".join(spelt)


def _spell_words(token: str, words: str) -> list[str]:
    r"""Words as they are; but the capitals of ``\mathbf{A}`` and ``\mathrm{ABC}`` are letters of a formula."""
    if token.startswith(r"\math") and set(words) <= CAPITALS.keys():
        return [CAPITALS[letter] for letter in words]
    return [words]


def spell(text: str) -> str:
    """``text`` with every formula spelt out and its delimiters dropped; prose is left as it is."""
    if "$" not in text and "\\" not in text:
        return text
    return "".join(
        f" {spell_formula(segment.body)} " if segment.is_formula else segment.body for segment in segments(text)
    )
