"""Numbers in Chinese characters: 二十五, 三分之二, 百分之八, 三点五, 第三, 一半, and single ones that count, 两只."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from tqnet.text.numbers.number import LONGEST, Kind, Number

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}

_DIGIT = "[零〇一二两三四五六七八九]"
_RUN = "[零〇一二两三四五六七八九十百千万亿]+"
#: Counted or measured after a single character; 一 is an article more often than a number.
_COUNTED = (
    "(?:个|只|条|本|张|支|枝|件|人|名|位|辆|台|头|匹|棵|朵|盒|箱|袋|包|瓶|杯|块|片|把|双|对|套|排|行|列|组|队|班|次|遍|倍|"
    "天|年(?!级)|月|周|小时|分钟|秒|点|元|角(?!形|星)|分(?!之)|米|千米|厘米|分米|毫米|公里|吨|千克|克|斤|公斤|升|毫升|平方|立方|"
    "层|楼|页|道|题|种|筐|桶|车|间|根|段|份|户|家)"
)
_NUMBER = re.compile(
    rf"百分之(?P<percent>{_RUN}(?:点{_DIGIT}+)?)"
    rf"|(?:(?P<whole>{_RUN})又)?(?P<under>{_RUN})分之(?P<over>{_RUN})"
    rf"|(?P<point>{_RUN})点(?P<decimals>{_DIGIT}+)(?!十?分)"
    rf"|第(?P<ordinal>{_RUN})"
    rf"|(?P<half>一半)"
    rf"|(?<![数第])(?P<run>[一二两三四五六七八九十]{_RUN})"
    rf"|(?<![数第十百千万几])(?P<single>[二两三四五六七八九十])(?={_COUNTED})"
)
#: 千 begins a unit: 五千克 is five kilograms.
_KILO = re.compile("千(?=[克米瓦])|百(?=分)")


def find_chinese(text: str) -> Iterator[Number]:
    """Yield numbers in Chinese characters in order."""
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= LONGEST and (number := _read(text, match)) is not None:
            yield number


def _read(text: str, match: re.Match[str]) -> Number | None:
    groups, (start, end) = match.groupdict(), match.span()
    if groups["percent"]:
        whole, _, decimals = groups["percent"].partition("点")
        value = _decimal(whole, decimals)
        return None if value is None else Number(start, end, value, Kind.DECIMAL, True, sign="%")
    if groups["under"]:
        under, over, whole_part = (_cardinal(groups[name] or "零") for name in ("under", "over", "whole"))
        if not under or over is None or whole_part is None:
            return None
        return Number(start, end, whole_part + Fraction(over, under), Kind.FRACTION, True)
    if groups["decimals"]:
        value = _decimal(groups["point"], groups["decimals"])
        return None if value is None else Number(start, end, value, Kind.DECIMAL, True)
    if groups["half"]:
        return Number(start, end, Fraction(1, 2), Kind.FRACTION, True)
    kind = Kind.ORDINAL if groups["ordinal"] else Kind.WHOLE
    digits = groups["ordinal"] or groups["run"] or groups["single"]
    if digits[1:] and _KILO.match(text, end - 1):
        digits, end = digits[:-1], end - 1
        if digits == "一":
            return None
    cardinal = _cardinal(digits)
    return None if cardinal is None else Number(start, end, Fraction(cardinal), kind, True)


def _decimal(whole: str, decimals: str) -> Fraction | None:
    cardinal = _cardinal(whole)
    if cardinal is None:
        return None
    places = "".join(str(_DIGITS[character]) for character in decimals)
    return cardinal + Fraction(int(places or 0), 10 ** len(places))


def _cardinal(characters: str) -> int | None:
    """Read 三百零五 as 305 and 一九九八 as 1998; None for 三三两, which is not a number.

    NOTE: `cn2an` reads 三三两 as 332 and rejects 百; the checks would still have to be written here.
    """
    if all(character in _DIGITS for character in characters):
        if len(characters) == 2 or "两" in characters[1:]:  # 三五 (个): some, three to five
            return None
        return int("".join(str(_DIGITS[character]) for character in characters))
    total = section = 0
    digit: int | None = None
    for character in characters:
        if character in _DIGITS:
            if digit:
                return None  # adjacent digits in a number with 十, 百 and the like
            digit = _DIGITS[character]
        elif character in _SCALES:
            section += (1 if digit is None else digit) * _SCALES[character]
            digit = None
        else:
            total = (total + section + (digit or 0)) * _MYRIADS[character]
            section, digit = 0, None
    if digit and characters[-2:-1] and characters[-2] in "百千万":  # 三百五 is 350
        digit *= {"百": 10, "千": 100, "万": 1000}[characters[-2]]
    return total + section + (digit or 0)
