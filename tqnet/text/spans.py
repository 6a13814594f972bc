"""Places in a text, and where its formulas are."""

from __future__ import annotations

import re

from tqnet.text.formulas import segments

#: ``text[start:end]``, as (start, end).
Span = tuple[int, int]

_SPACED_MONEY = re.compile(r"\$(\s+)(\d[\d.,]*)")
_CENTS = re.compile(r"\$(?=\.\d)")


def unspaced_money(text: str) -> str:
    """``text`` with "$ 5 " as "$5 " and "$.5" as "0.5", so that no dollar sign is taken for a formula's.

    Every place keeps its number.
    """
    return _CENTS.sub("0", _SPACED_MONEY.sub(r"$\2\1", text))


def formula_spans(text: str) -> list[Span]:
    """Where LaTeX formulas are; money is none."""
    return [(part.start, part.end) for part in segments(unspaced_money(text)) if part.is_formula]
