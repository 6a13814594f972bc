"""Formulas as a terminal can show them."""

from __future__ import annotations

from functools import cache

from pylatexenc.latex2text import LatexNodes2Text

from tqnet.text.formulas import segments


def readable(text: str) -> str:
    r"""``text`` with its formulas in Unicode: ``$\frac{1}{2} \leq x^2$`` is ``1/2 ≤ x^2``."""
    return "".join(_formula(segment.body) if segment.is_formula else segment.body for segment in segments(text))


def _formula(body: str) -> str:
    try:
        return _reader().latex_to_text(body).strip()
    except (ValueError, IndexError, RecursionError):  # half a formula stays as it is
        return body


@cache
def _reader() -> LatexNodes2Text:
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)
