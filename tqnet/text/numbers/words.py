"""Numbers in words: "twenty-five", "one hundred and five", "two thirds", "half a dozen", "the third", "twice"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from tqnet.text.numbers.number import Kind, Number

_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
#: Words that multiply the number before them.
SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7}
SCALES |= {"billion": 10**9, "trillion": 10**12}
#: "zero", "one" to "nineteen", "twenty", "thirty" to "ninety".
CARDINALS = (*_ONES.split(), *_TENS)
_VALUES = {word: value for value, word in enumerate(_ONES.split())} | {"fourty": 40} | SCALES
_VALUES |= dict(zip(_TENS, range(20, 100, 10), strict=True))
_FIRST_ORDINALS = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth
"""
_ORDINALS = (
    {word: value for value, word in enumerate(_FIRST_ORDINALS.split(), start=1)}
    | {f"{tens[:-1]}ieth": _VALUES[tens] for tens in _TENS}
    | {"hundredth": 100, "thousandth": 1000, "millionth": 10**6}
)
#: In fractions: "three quarters", "twenty-five thirty-sixths".
_DENOMINATORS = {word: value for word, value in _ORDINALS.items() if value > 2} | {"half": 2, "quarter": 4}
_MULTIPLES = {"twice": 2, "double": 2, "thrice": 3, "triple": 3, "quadruple": 4}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_WORD = rf"(?:{_any_of(_VALUES)})(?![a-z])"
#: "One thousand, two hundred" is one number; "3.5 million, two hundred" are two.
_BEHIND_SCALE = "|".join(rf"(?<=[a-z]\s{scale})" for scale in ("thousand", "million", "billion", "trillion"))
_GROUP = rf"(?:{_BEHIND_SCALE}),\s+(?=(?:{_any_of(CARDINALS[1:10])})\s+hundred(?![a-z])(?!\s+of\b))"
#: "Of the one thousand, two hundred stayed" has two.
_OF_BEFORE = re.compile(r"(?:\bof\s+(?:the|these|those)|(?:^|[.?!]\s+)of)\s+$", re.IGNORECASE)
_CARDINAL = rf"{_WORD}(?:(?:\s?-\s?|\s+and\s+|\s+|{_GROUP}){_WORD})*"
_DENOMINATOR = rf"(?:(?:{_any_of(_TENS)})-)?(?:{_any_of(_DENOMINATORS)})s?|halves"
_ORDINAL = (
    rf"(?:{_WORD}\s+(?:hundred|million)th|{_WORD}\s+thousandth"
    rf"|(?:(?:{_WORD}[\s-]+)*(?:hundred|thousand)\s+(?:and\s+)?)?(?:(?:{_any_of(_TENS)})-)?(?:{_any_of(_ORDINALS)}))"
)
_DETERMINER = r"(?:the|his|her|its|their|our|your|my|this|that|every|each|[a-z]+['’]s)\s+(?:(?:very|next)\s+)?"
#: What follows a part of something: "a third of it", "a third as many", "three quarters full".
_IS_PART = (
    r"\s+(?:of|as\s+(?:much|many|long|old|large|big|far|fast|tall|heavy|high|wide)"
    r"|full|filled|empty|done|complete|finished)\b"
)
_SPELLED = re.compile(
    r"(?<![\w-])(?:"
    r"(?P<half_dozen>half\s+(?:a\s+)?dozen)"
    rf"|(?P<part>(?:an?|one)[\s-]+(?:{_any_of(_DENOMINATORS)}))(?={_IS_PART})"
    rf"|(?P<over>{_CARDINAL})(?:\s?[-–]\s?|\s+)(?P<under>{_DENOMINATOR})"
    rf"|(?P<dividend>{_CARDINAL})\s+over\s+(?P<divisor>{_CARDINAL})"
    rf"|(?P<point>{_CARDINAL})\s+point\s+(?P<decimals>{_WORD}(?:\s+{_WORD})*)"
    rf"|{_DETERMINER}(?P<ordinal>{_ORDINAL})|(?<!\ba\s)(?P<later>(?!first|second){_ORDINAL})(?=\s+[a-z])"
    rf"|(?P<cardinals>(?:an?\s+(?=(?:{_any_of(SCALES)})\b))?{_CARDINAL})"
    rf"|(?P<half>half)|(?P<multiple>{_any_of(_MULTIPLES)})"
    r")(?!\w)",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(rf"(?P<joint>\s+and\s+|\s?-\s?|\s+|{_GROUP}|)(?P<word>{_WORD})", re.IGNORECASE)
_MINUS = re.compile(
    r"(?:^|[.,:;(]\s*|\b(?:is|are|was|be|of|to|at|from|and|or|by|than|equals?|between|reads|below)\s+)"
    r"(?P<minus>(?:minus|negative)\s+)$",
    re.IGNORECASE,
)
#: "One" that stands for somebody or something rather than counts.
_PRONOUN_BEFORE = re.compile(
    r"\b(?:which|this|that|no|some|each|next|other|another|last|first|second|third|new|old|big|small|large|"
    r"larger|smaller|only|the)\s+$",
    re.IGNORECASE,
)
_PRONOUN_AFTER = re.compile(
    r"\s+(?:another|day,|must|can|could|should|would|may|has|picks|draws|who|that|which|is)\b", re.IGNORECASE
)
#: Quarters are parts only of something, or in a mixed number; otherwise they are coins.
_OF = re.compile(_IS_PART)
_HYPHEN = re.compile(r"\s?[-–]")
_NUMBER_AND = re.compile(rf"(?:\d|\b{_WORD})\s+and\s+$", re.IGNORECASE)


def find_spelled(text: str) -> Iterator[Number]:
    """Yield numbers in words in order; "second" only where it counts, "one" only where it is not a pronoun."""
    position = 0
    while match := _SPELLED.search(text, position):
        position = match.end()
        for number in _read(text, match):
            if not _is_pronoun(text, number):
                yield number
            position = number.end  # the rest of the match may be another number


def _read(text: str, match: re.Match[str]) -> Iterator[Number]:
    groups = match.groupdict()
    if groups["half_dozen"]:
        yield _spelled(match, "half_dozen", Fraction(6), Kind.WHOLE)
    elif groups["part"]:
        yield _spelled(match, "part", Fraction(1, _denominator(re.split(r"[\s-]+", groups["part"])[-1])), Kind.FRACTION)
    elif groups["under"]:
        yield from _fraction(text, match)
    elif groups["dividend"]:
        above, below = _cardinals(text, *match.span("dividend")), _cardinals(text, *match.span("divisor"))
        if len(above) == len(below) == 1 and below[0].value:
            yield Number(match.start(), match.end(), above[0].value / below[0].value, Kind.FRACTION, True)
        else:
            yield from above
    elif groups["decimals"]:
        yield from _decimal(text, match)
    elif groups["ordinal"] or groups["later"]:
        yield from _ordinal(text, match, "ordinal" if groups["ordinal"] else "later")
    elif groups["half"]:
        yield _spelled(match, "half", Fraction(1, 2), Kind.FRACTION)
    elif groups["multiple"]:
        yield _spelled(match, "multiple", Fraction(_MULTIPLES[groups["multiple"].casefold()]), Kind.MULTIPLE)
    else:
        yield from _cardinals(text, *match.span("cardinals"))


def _spelled(match: re.Match[str], group: str, value: Fraction, kind: Kind) -> Number:
    return Number(*match.span(group), value, kind, spelled=True)


def _fraction(text: str, match: re.Match[str]) -> Iterator[Number]:
    """Read "three quarters" as 3/4, or as three where it may be coins; numbers before the numerator stay separate."""
    *before, over = _cardinals(text, *match.span("over"))
    under, word = _denominator(match["under"]), match["under"].casefold()
    if before and 20 <= over.value < 100 and under < 10 and _HYPHEN.match(text, over.end):  # twenty-five thirty-sixths
        under += int(over.value)
        *before, over = before
    yield from before
    is_mixed = _NUMBER_AND.search(text, max(0, over.start - 40), over.start) is not None
    is_part = (
        over.value == 1 or (word.endswith("s") and word != "quarters") or _HYPHEN.match(text, over.end) or is_mixed
    )
    if is_part or _OF.match(text, match.end()):
        yield Number(over.start, match.end(), over.value / under, Kind.FRACTION, True)
    else:
        yield over


def _decimal(text: str, match: re.Match[str]) -> Iterator[Number]:
    whole = _cardinals(text, *match.span("point"))
    digits = [_VALUES[word.casefold()] for word in match["decimals"].split()]
    if len(whole) != 1 or max(digits) > 9:
        yield from whole
        return
    value = whole[0].value + Fraction(int("".join(map(str, digits))), 10 ** len(digits))
    yield _negated(text, Number(match.start("point"), match.end(), value, Kind.DECIMAL, True))


def _ordinal(text: str, match: re.Match[str], group: str) -> Iterator[Number]:
    *words, last = re.split(r"\s+and\s+|[\s-]+", match[group].casefold())
    if last == "second" and not words and not re.match(r"\s+[a-z]", text[match.end() :], re.IGNORECASE):
        return  # "each second."
    tens = _value_of(words)
    value = tens * _ORDINALS[last] if _ORDINALS[last] >= 100 and words else tens + _ORDINALS[last]
    yield _spelled(match, group, Fraction(value), Kind.ORDINAL)


def _denominator(word: str) -> int:
    *tens, last = word.casefold().split("-")
    return _value_of(tens) + _DENOMINATORS["half" if last == "halves" else last.removesuffix("s")]


def _value_of(words: list[str]) -> int:
    numbers = _cardinals(" ".join(words), 0, len(" ".join(words)))
    return int(sum(number.value for number in numbers))


def _cardinals(text: str, start: int, end: int) -> list[Number]:
    """Read a run of number words: "one hundred and five" is one number, "two three" are two."""
    numbers = list[Number]()
    article = re.compile(r"an?\s+", re.IGNORECASE).match(text, start, end)
    total = current = 0
    smallest, place = 10**15, article.end() if article else start
    last: str | None = None

    def close() -> None:
        if last is not None:
            numbers.append(Number(start, place, Fraction(total + current), Kind.WHOLE, True))

    follows_of = _OF_BEFORE.search(text, max(0, start - 12), start) is not None
    while match := _NEXT_WORD.match(text, place, end):
        word, joint = match["word"].casefold(), match["joint"]
        value = _VALUES[word]
        if (follows_of and "," in joint) or not _goes_on(last, word, joint, current, smallest):
            close()
            start, total, current, smallest, last = match.start("word"), 0, 0, 10**15, None
        if word not in SCALES:
            current += value
        elif value == 100:
            current = max(current, 1) * 100
        else:
            total, current, smallest = total + max(current, 1) * value, 0, value
        last, place = word, match.end()
    close()
    return [_negated(text, number) for number in numbers]


def _goes_on(last: str | None, word: str, joint: str, current: int, smallest: int) -> bool:
    """Return True if a word continues the number that ends in ``last``."""
    if last is None:
        return True
    value = _VALUES[word]
    if word in SCALES:
        multiplies = 0 < current < 100 and last != "hundred" if value == 100 else value < smallest and current > 0
        return "and" not in joint and multiplies
    if last in SCALES and last != "dozen":
        return value > 0
    return "and" not in joint and last in _TENS and 0 < value < 10


def _negated(text: str, number: Number) -> Number:
    """Include the "minus" before a number where it does not subtract: "is minus five", not "ten minus five"."""
    minus = _MINUS.search(text, max(0, number.start - 24), number.start)
    return Number(minus.start("minus"), number.end, -number.value, number.kind, True) if minus else number


def _is_pronoun(text: str, number: Number) -> bool:
    if text[number.start : number.end].casefold() != "one":
        return False
    before = _PRONOUN_BEFORE.search(text, max(0, number.start - 12), number.start)
    return before is not None or _PRONOUN_AFTER.match(text, number.end) is not None
