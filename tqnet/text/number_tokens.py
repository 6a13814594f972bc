"""Numbers as tokens: a solver reads where they are and of what kind, not their values.

"买5个，用去(1/4)，剩25%" becomes "买[NUM]个，用去([FRACTION])，剩[PERCENT]";
a spelt number keeps its words: "two [NUM]".
"""

from __future__ import annotations

from tqnet.text.numbers import Kind, Number, find_numbers

NUMBER, FRACTION, PERCENT = "[NUM]", "[FRACTION]", "[PERCENT]"
NUMBER_TOKENS = (NUMBER, FRACTION, PERCENT)

#: Spelt out, these are no quantities: "the third day".
_NO_QUANTITY = (Kind.ORDINAL, Kind.DATE, Kind.CLOCK)


def quantities(text: str) -> list[Number]:
    """Numbers of a text that an equation may use, in their order: digits, and words that count or measure."""
    return [number for number in find_numbers(text) if not (number.spelled and number.kind in _NO_QUANTITY)]


def with_number_tokens(text: str) -> str:
    """``text`` with a token for each of its `quantities`."""
    parts, end = [], 0
    for quantity in quantities(text):
        token = PERCENT if quantity.sign == "%" else FRACTION if quantity.kind is Kind.FRACTION else NUMBER
        if quantity.spelled:
            parts += [text[end : quantity.end], f" {token} "]
        else:
            parts += [text[end : quantity.start], token]
        end = quantity.end + (quantity.after if quantity.sign == "%" and not quantity.spelled else 0)
    return "".join([*parts, text[end:]])
