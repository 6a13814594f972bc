"""Numbers as tokens: a solver reads where they are and of what kind, not which.

"买5个，用去(1/4)，剩25%" becomes "买[NUM]个，用去([FRACTION])，剩[PERCENT]". A number in words keeps them: "two [NUM]".
"""

from __future__ import annotations

from tqnet.text.numbers import find_numbers
from tqnet.text.numbers.number import Kind, Number

NUMBER, FRACTION, PERCENT = "[NUM]", "[FRACTION]", "[PERCENT]"
NUMBER_TOKENS = (NUMBER, FRACTION, PERCENT)

#: Spelt out, these count nothing: "the third day".
_NO_QUANTITY = (Kind.ORDINAL, Kind.DATE, Kind.CLOCK)


def quantities(text: str) -> list[Number]:
    """Numbers of a text that an equation may use, in their order: digits, and words that count or measure."""
    return [number for number in find_numbers(text) if not (number.spelled and number.kind in _NO_QUANTITY)]


def with_number_tokens(text: str) -> str:
    """``text`` with a token for each of its `quantities`."""
    parts, behind = [], 0
    for quantity in quantities(text):
        token = PERCENT if quantity.sign == "%" else FRACTION if quantity.kind is Kind.FRACTION else NUMBER
        if quantity.spelled:
            parts += [text[behind : quantity.end], f" {token} "]
        else:
            parts += [text[behind : quantity.start], token]
        behind = quantity.end + (quantity.after if quantity.sign == "%" and not quantity.spelled else 0)
    return "".join([*parts, text[behind:]])
