"""The numbers of a text: digits or words, whole, decimal, fractions, ordinals, money, percent, dates and clock times.

"25" and "twenty-five", "3/4" and "0.75", "1,000" and "1000", "two dozen" and "24", 二十五 and "25" have one value each.
Digits within a name are not numbers: x2, 2x, H2O.

A solver reads where numbers are and their kinds, not their values: "买5个，用去(1/4)，剩25%" becomes
"买[NUM]个，用去([FRACTION])，剩[PERCENT]". A number in words keeps its words: "two [NUM]".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tqnet.text.formulas import formula_character_spans
from tqnet.text.numbers.chinese import find_chinese
from tqnet.text.numbers.number import LONGEST, Kind, Number, find_clock_times, find_dates
from tqnet.text.numbers.words import CARDINALS, SCALES, find_spelled

__all__ = [
    "CARDINALS",
    "LONGEST",
    "NUMBER_TOKENS",
    "Kind",
    "Number",
    "find_numbers",
    "quantities",
    "with_number_tokens",
]

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d*\.\d+|\d+)"
#: "$ 1 , 036.70" in a tokenized text.
_TAKEN_APART = r"(?:(?<=[$£€₹]\s)\d{1,3}(?:\s,\s\d{3})+(?:\.\d+)?)"
#: Units directly after a number; one-letter units only where no calculation follows.
_GLUED = (
    r"(?:[kcmd]?m\^?[23²³]|[kcmd]m|[km]g|lbs?|oz|ft|yds?|mi|in|ml|mins?|hrs?|secs?|km?ph|mph|k?wh?|[gmk]b|cents?)\b"
    r"|[mgslh](?![\w'’]|\s*[=+*^(×-])"
)
_NUMBER = re.compile(
    r"(?:(?<![\w^\\.])(?<!\d[.,])(?<!(?-i:[A-Z])-)(?<!\^\s)|(?<=\dx)|(?<=\brs\.))"
    r"(?P<minus>(?<![\w)\]])(?<![\d)\]]\s)(?<!\b[a-z]\s)(?<![-−–])[-−–])?"
    r"(?:(?P<mixed>\d{1,3})(?:\s|-)(?=\d+\s?/))?"
    rf"(?:(?P<over>\d+)\s?/\s?(?P<under>\d+)(?:(?:st|nd|rd|th)\b)?|(?P<plain>{_TAKEN_APART}|{_DIGITS})(?P<ordinal>(?:st|nd|rd|th)\b)?)"
    rf"(?P<scale>\s+(?:{'|'.join(SCALES)})\b)?"
    rf"(?:(?![\w^])|(?={_GLUED}|x\d))(?![.,]\d)(?!\s?/\s?\d)",
    re.IGNORECASE | re.ASCII,
)
_CURRENCY = {"rs": "₹", "usd": "$"}
_MONEY_BEFORE = re.compile(r"(?P<sign>[$£€¥₹]|\b(?:rs|usd)\b)(?:\s?\.)?\s?$", re.IGNORECASE)
_MONEY_AFTER = re.compile(r"\s?(?P<sign>[£€¢₹]|\$(?!\s?\d))")
_PERCENT = re.compile(r"\s?%|[\s-]+per\s?cent(?:age)?\b", re.IGNORECASE)
_DOLLARS_AND = re.compile(r"\s+dollars?\s+(?:and\s+)?", re.IGNORECASE)
_CENTS = re.compile(r"\s+cents?\b", re.IGNORECASE)
_AND_A_PART = re.compile(r"\s+and\s+(?:an?\s+)?", re.IGNORECASE)


def find_numbers(text: str) -> list[Number]:
    """Return the non-overlapping numbers of a text in order; LaTeX formulas only if they are just a number."""
    numbers: list[Number] = []
    formulas = formula_character_spans(text)
    taken = bytearray(len(text))  # 1 inside a number
    for number in _candidates(text):
        begun = bisect_right(formulas, number.start, key=lambda span: span[0])
        formula = formulas[begun - 1] if begun and number.start < formulas[begun - 1][1] else None
        if formula:
            if text[slice(*formula)].strip("$()\\ ") != text[slice(*number.span)]:
                continue
            number = replace(number, start=formula[0], end=formula[1])
        if not any(taken[slice(*number.span)]):
            taken[slice(*number.span)] = b"\1" * (number.end - number.start)
            numbers.append(number if formula else _with_sign(text, number))
    return _joined(text, sorted(numbers, key=lambda number: number.start))


def _candidates(text: str) -> Iterator[Number]:
    """Yield numbers; of two that overlap, the first counts."""
    yield from find_clock_times(text)
    yield from find_dates(text)
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= LONGEST and (number := _of_digits(match)):
            yield number
    yield from find_spelled(text)
    yield from find_chinese(text)


def _of_digits(match: re.Match[str]) -> Number | None:
    kind = Kind.WHOLE
    if match["over"]:
        if not int(match["under"]) or (match["mixed"] and int(match["over"]) >= int(match["under"])):
            return None
        value, kind = Fraction(int(match["over"]), int(match["under"])) + int(match["mixed"] or 0), Kind.FRACTION
    else:
        digits = re.sub(r"[\s,]", "", match["plain"])
        value = Fraction(digits)
        kind = Kind.ORDINAL if match["ordinal"] else Kind.DECIMAL if "." in digits else Kind.WHOLE
    if match["scale"]:
        value *= SCALES[match["scale"].strip().lower()]
    return Number(match.start(), match.end(), -value if match["minus"] else value, kind)


def _with_sign(text: str, number: Number) -> Number:
    """Add the percent or currency sign next to a number."""
    if number.kind in (Kind.CLOCK, Kind.DATE, Kind.ORDINAL, Kind.MULTIPLE):
        return number
    if percent := _PERCENT.match(text, number.end):
        return replace(number, sign="%", after=len(percent[0]))
    if number.spelled:
        return number
    if money := _MONEY_BEFORE.search(text, max(0, number.start - 6), number.start):
        return replace(number, sign=_CURRENCY.get(money["sign"].lower(), money["sign"]), before=len(money[0]))
    if money := _MONEY_AFTER.match(text, number.end):
        return replace(number, sign=money["sign"], after=len(money[0]))
    return number


def _joined(text: str, numbers: list[Number]) -> list[Number]:
    """Join numbers of two parts: "2 and a half", "5(1/4)", "five dollars and ten cents"."""
    joined = numbers[:1]
    for number in numbers[1:]:
        last = joined[-1]
        between = text[last.end : number.start]
        cents = _CENTS.match(text, number.end)
        is_part = number.kind is Kind.FRACTION and number.value < 1 and last.kind is Kind.WHOLE and not last.sign
        if (
            is_part
            and not number.spelled
            and not last.spelled
            and between == "("
            and text[number.end : number.end + 1] == ")"
        ):
            joined[-1] = replace(last, end=number.end + 1, value=last.value + number.value, kind=Kind.FRACTION)
        elif is_part and number.spelled and _AND_A_PART.fullmatch(between):
            joined[-1] = replace(last, end=number.end, value=last.value + number.value, kind=Kind.FRACTION)
        elif cents and number.value < 100 and _DOLLARS_AND.fullmatch(between):
            value = last.value + number.value / 100
            joined[-1] = replace(last, end=number.end, value=value, kind=Kind.DECIMAL, sign="$", after=len(cents[0]))
        else:
            joined.append(number)
    return joined


NUMBER, FRACTION, PERCENT = "[NUM]", "[FRACTION]", "[PERCENT]"
NUMBER_TOKENS = (NUMBER, FRACTION, PERCENT)

#: Spelt out, these count nothing: "the third day".
_NO_QUANTITY = (Kind.ORDINAL, Kind.DATE, Kind.CLOCK)


def quantities(text: str) -> list[Number]:
    """Return the numbers of a text that an equation may use, in order: digits, and words that count or measure."""
    return [number for number in find_numbers(text) if not (number.spelled and number.kind in _NO_QUANTITY)]


def with_number_tokens(text: str) -> str:
    """Return ``text`` with a token for each of its `quantities`."""
    parts, position = [], 0
    for quantity in quantities(text):
        token = PERCENT if quantity.sign == "%" else FRACTION if quantity.kind is Kind.FRACTION else NUMBER
        if quantity.spelled:
            parts += [text[position : quantity.end], f" {token} "]
        else:
            parts += [text[position : quantity.start], token]
        position = quantity.end + (quantity.after if quantity.sign == "%" and not quantity.spelled else 0)
    return "".join([*parts, text[position:]])
