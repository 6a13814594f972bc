"""Numbers as tokens: a solver is told where they are and of what kind, not which.

"买5个，用去(1/4)，剩25%" becomes "买[NUM]个，用去([FRACTION])，剩[PERCENT]"; a number in words keeps them, "two [NUM]".
"""

from __future__ import annotations

from tqnet.text.numbers import Kind, Number, find_numbers

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
    for number in quantities(text):
        token = PERCENT if number.sign == "%" else FRACTION if number.kind is Kind.FRACTION else NUMBER
        if number.spelled:
            parts += [text[behind : number.end], f" {token} "]
        else:
            parts += [text[behind : number.start], token]
        behind = number.end + (number.after if number.sign == "%" and not number.spelled else 0)
    return "".join([*parts, text[behind:]])
