"""Finding the numbers of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers.chinese import find_chinese
from tqnet.text.numbers.number import LONGEST, Kind, Number, find_clock_times, find_dates
from tqnet.text.numbers.words import SCALES, find_spelled

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d*\.\d+|\d+)"
#: What "$ 1 , 036.70" is where a text was taken apart at its marks.
_TAKEN_APART = r"(?:(?<=[$£€₹]\s)\d{1,3}(?:\s,\s\d{3})+(?:\.\d+)?)"
#: Units written to a number without a space; one letter only where no calculation goes on behind it.
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
    """The numbers of a text in their order, none within another; of its LaTeX formulas, those that are but a number."""
    found: list[Number] = []
    formulas = formula_character_spans(text)
    taken = bytearray(len(text))  # 1 where a number stands
    for number in _candidates(text):
        formula = _formula_at(number.start, formulas)
        if formula:
            if text[slice(*formula)].strip("$()\\ ") != text[slice(*number.span)]:
                continue
            number = replace(number, start=formula[0], end=formula[1])
        if not any(taken[slice(*number.span)]):
            taken[slice(*number.span)] = b"\1" * (number.end - number.start)
            found.append(number if formula else _with_sign(text, number))
    return _joined(text, sorted(found, key=lambda number: number.start))


def _formula_at(place: int, formulas: list[Span]) -> Span | None:
    """The formula that a character is in."""
    begun = bisect_right(formulas, place, key=lambda span: span[0])
    return formulas[begun - 1] if begun and place < formulas[begun - 1][1] else None


def _candidates(text: str) -> Iterator[Number]:
    """Of two that overlap, the one that comes first here is meant."""
    yield from find_clock_times(text)
    yield from find_dates(text)
    for match in _NUMBER.finditer(text):
        number = _of_digits(match) if len(match[0]) <= LONGEST else None
        if number is not None:
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
    """With the percent or the currency that stands at it."""
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
    """Numbers of two parts made one: "2 and a half", "5(1/4)", "five dollars and ten cents"."""
    joined = numbers[:1]
    for number in numbers[1:]:
        last = joined[-1]
        between = text[last.end : number.start]
        cents = _CENTS.match(text, number.end)
        if _in_parentheses(text, last, number):
            joined[-1] = replace(last, end=number.end + 1, value=last.value + number.value, kind=Kind.FRACTION)
        elif _is_part(number) and last.kind is Kind.WHOLE and not last.sign and _AND_A_PART.fullmatch(between):
            joined[-1] = replace(last, end=number.end, value=last.value + number.value, kind=Kind.FRACTION)
        elif cents and number.value < 100 and _DOLLARS_AND.fullmatch(between):
            value = last.value + number.value / 100
            joined[-1] = replace(last, end=number.end, value=value, kind=Kind.DECIMAL, sign="$", after=len(cents[0]))
        else:
            joined.append(number)
    return joined


def _in_parentheses(text: str, whole: Number, part: Number) -> bool:
    """Whether two numbers are a mixed one as textbooks in plain text have it: 5(1/4)."""
    is_part = part.kind is Kind.FRACTION and part.value < 1 and not part.spelled
    is_whole = whole.kind is Kind.WHOLE and not whole.spelled and not whole.sign
    return is_part and is_whole and text[whole.end : part.start] == "(" and text[part.end : part.end + 1] == ")"


def _is_part(number: Number) -> bool:
    return number.spelled and number.kind is Kind.FRACTION and number.value < 1
