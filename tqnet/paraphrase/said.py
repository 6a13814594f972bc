"""Values that a text has without a number: two in "a pair of dice", "doubled" and "pipes A and B".

Nothing of this need be there, so no text loses it; but a number is not lost, and none is new, where the other text says
so in other words, more often than the first one does besides the number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.spans import Covered
from tqnet.paraphrase.amounts import Amounts
from tqnet.paraphrase.coins import COINS
from tqnet.paraphrase.counted import DEFINITE_BEFORE, counted_noun
from tqnet.paraphrase.days import NamedDays
from tqnet.paraphrase.difference import LATEX_FRACTION, latex_fraction
from tqnet.paraphrase.inverses import Inverses
from tqnet.paraphrase.percents import Percents
from tqnet.paraphrase.ranges import Ranges
from tqnet.paraphrase.ratios import Ratios
from tqnet.paraphrase.shares import Shares, parts
from tqnet.text.numbers import LONGEST, Kind, Number
from tqnet.text.spans import formula_spans

_WORTH = {
    Fraction(0): r"no|none|nothing|nobody|neither|without",
    Fraction(2): r"both|couples?|pairs?|doubl(?:es?|ed|ing)|twins?|twofold|either|neither|"
    r"one\b[^.?!]{0,99}\b(?:an)?other|an?\s+[a-z]+\b[^.?!]{0,99}\banother|part\b[^.?!]{0,99}\bthe\s+(?:rest|remainder)",
    Fraction(3): r"tripl(?:es?|ed|ing)|trebl(?:es?|ed|ing)|triplets?|threefold|thrice",
    Fraction(4): r"quadrupl(?:es?|ed|ing)|fourfold",
    Fraction(12): r"dozens?",
    Fraction(1, 2): r"hal(?:ves?|ved|ving|fway)|semi-?annual(?:ly)?",
    Fraction(1, 4): r"quarters?",
}
_IN_WORDS = {value: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for value, words in _WORTH.items()}
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
#: Taken whole or not at all: a long row has many readings as items and commas, and trying them all takes for ever.
_ITEM = r"(?>[A-Z][\w'’]*|[a-zA-Z]|\$[^$\s]+\$|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?)"
_ITEMS = re.compile(rf"(?<![\w$]){_ITEM}(?![\w$])")
#: "A and B", "Tom, Ann and Eve", "15, 18 and 22".
_LISTED = re.compile(rf"(?<![\w$]){_ITEM}(?:\s*,\s*{_ITEM})*\s*,?\s+(?:and|or|&)\s+{_ITEM}(?![\w$])")
#: What a row of names may be.
_PEOPLE = frozenset(("friend", "person", "people", "child", "kid", "boy", "girl", "student", "man", "woman", "player"))
_GAP = re.compile(r"\s*[,:(–-]?\s*(?:(?:namely|called|named)\s+)?", re.IGNORECASE)
_TWELVE = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HOUR = rf"(?P<hour>{'|'.join(_TWELVE)}|\d{{1,2}})"
_PAST = re.compile(rf"\b(?P<part>half|(?:a\s+)?quarter)\s+(?P<side>past|after|to|before)\s+{_HOUR}\b", re.IGNORECASE)
_NOON = re.compile(r"\b(?:noon|midday|midnight)\b", re.IGNORECASE)
_HALF_OF_DAY = re.compile(r"[ap]\s?\.?\s?m\b", re.IGNORECASE)
#: A sign, and no subtraction: "minus 5" but not "10 minus 5".
_MINUS = re.compile(r"(?:^|[(,:]\s*|(?<!\d)(?<!\b[a-z])\s)(?:minus|negative)\s+$", re.IGNORECASE)
_DIE = re.compile(
    r"\b(?:an?|the|each|both|one|two|three|\d|fair|standard|ordinary|unbiased)\s(?:die|dice)\b", re.IGNORECASE
)
_SIDED = re.compile(r"\b(?:sided|faced|sides|faces)\b", re.IGNORECASE)
_SIDES_OF_A_DIE = re.compile(r"[\s-]*(?:sided|faced)[\s,]+(?:[a-z]+\s+)?(?:die|dice)\b", re.IGNORECASE)
_SIDES_BEHIND = re.compile(r"\s+(?:equal\s+)?(?:sides|faces)\b", re.IGNORECASE)
_DIE_BEFORE = re.compile(r"\b(?:die|dice)\s+(?:(?:that\s+)?(?:has|have|having)|with)\s+$", re.IGNORECASE)
_DIVISIBLE_BEFORE = re.compile(r"\b(?:divisible\s+by|multiples?\s+of)\s+$", re.IGNORECASE)
_BELOW = re.compile(r"\bbelow\s+$", re.IGNORECASE)
_BELOW_ZERO = re.compile(r"[^\d.,;?!]*\bbelow\s+(?:zero|freezing)\b", re.IGNORECASE)


class Said:
    """What one text says besides its numbers."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.amounts = Amounts(problem)

    def has(self, number: Number, others: Said) -> bool:
        """Whether this text has a number of another one in other words or units."""
        return (
            self.amounts.has(number, others.amounts, as_often=abs(number.value) in self._numbers)
            or self._says(number, others)
            or self._has_time(number, others)
            or self._is_negative_in_words(number, others)
            or self._ranges.has(number, others._ranges)
            or self._shares.has(number, others._shares)
            or self._percents.has(number, others._percents)
            or self._ratios.has(number, others._ratios)
            or self._inverses.has(number, others._inverses)
            or self._has_sides_of_a_die(number, others)
            or self._days.has(number, others._days)
            or self._has_coin(number, others)
            or self._is_even(number, others)
            or _counts_what_is_listed(number, self, others)
        )

    def _says(self, number: Number, others: Said) -> bool:
        """Whether this text says a value more often than the other one does besides its numbers."""
        if number.sign == "%":
            share = number.value / 100
            return self._values[share] > others._values[share] or share in self.coefficients
        value = abs(number.value)
        return not number.sign and (self._values[value] > others._values[value] or value in self.coefficients)

    @cached_property
    def _values(self) -> Counter[Fraction]:
        text = self.problem.text
        numbers = Covered(number.outer for number in self.problem.numbers)
        found = Counter(
            {
                value: sum(word.start() not in numbers or word[0].endswith("other") for word in words.finditer(text))
                for value, words in _IN_WORDS.items()
            }
        )
        written = [digits for span in formula_spans(text) for digits in _DIGITS.findall(text, *span)]
        found.update(Fraction(digits) for digits in written if len(digits) <= LONGEST)
        found.update(value for (start, _), value in parts(text) if start not in numbers)
        fractions = (latex_fraction(match) for match in LATEX_FRACTION.finditer(text))
        found.update(value for value in fractions if value is not None)
        return found

    @cached_property
    def coefficients(self) -> dict[Fraction, str]:
        """Digits outside of numbers and formulas: those of "3x"."""
        text = self.problem.text
        known = Covered(sorted([*formula_spans(text), *(number.outer for number in self.problem.numbers)]))
        found = (match for match in _DIGITS.finditer(text) if match.start() not in known and len(match[0]) <= LONGEST)
        return {Fraction(match[0]): match[0] for match in found}

    def reads(self, value: Fraction) -> bool:
        """Whether a value stands anywhere here."""
        return self._values[value] > 0 or value in self.coefficients or value in self._numbers

    @cached_property
    def _numbers(self) -> set[Fraction]:
        return {abs(number.value) for number in self.problem.numbers}

    def _is_negative_in_words(self, number: Number, others: Said) -> bool:
        """Whether one text has "-5" and the other one "minus 5" or "5 degrees below zero"."""
        if not number.value and _BELOW.search(others.problem.text, max(0, number.start - 8), number.start):
            return bool(self._below_zero)
        if number.value < 0:
            return number.value in self._values_of_negated
        return others._negated.get(number) in self._below_zero

    @cached_property
    def _below_zero(self) -> set[Fraction]:
        return {number.value for number in self.problem.numbers if number.value < 0}

    @cached_property
    def _values_of_negated(self) -> set[Fraction]:
        return set(self._negated.values())

    @cached_property
    def _negated(self) -> dict[Number, Fraction]:
        """Numbers with a word for their sign -> their values with it."""
        text = self.problem.text
        return {
            number: -number.value
            for number in self.problem.numbers
            if _MINUS.search(text, max(0, number.outer[0] - 12), number.outer[0])
            or _BELOW_ZERO.match(text, number.end, number.end + 40)
        }

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.problem)

    @cached_property
    def _percents(self) -> Percents:
        return Percents(self.problem)

    @cached_property
    def _days(self) -> NamedDays:
        return NamedDays(self.problem)

    @cached_property
    def _ratios(self) -> Ratios:
        return Ratios(self.problem)

    @cached_property
    def _inverses(self) -> Inverses:
        return Inverses(self.problem)

    def _has_sides_of_a_die(self, number: Number, others: Said) -> bool:
        """Whether a "six-sided die" of another text is a die here, of which nothing else is told."""
        if number.value != 6 or not _are_sides_of_a_die(number, others.problem.text):
            return False
        return _DIE.search(self.problem.text) is not None and _SIDED.search(self.problem.text) is None

    def _has_coin(self, number: Number, others: Said) -> bool:
        """Whether "25 cents" of another text are a quarter here."""
        return number in others._cents and any(
            cents == number.value and coin in self._words for coin, cents in COINS.items()
        )

    @cached_property
    def _cents(self) -> set[Number | None]:
        return {unit.number for unit in self.problem.units if unit.name == "cent"}

    def _is_even(self, number: Number, others: Said) -> bool:
        """Whether what is "divisible by 2" in another text is even here."""
        if number.value != 2 or "even" not in self._words:
            return False
        return _DIVISIBLE_BEFORE.search(others.problem.text, max(0, number.start - 16), number.start) is not None

    @cached_property
    def _words(self) -> set[str]:
        return {token.lemma_.lower() for token in self.problem.doc}

    @cached_property
    def _ranges(self) -> Ranges:
        return Ranges(self.problem)

    @cached_property
    def _rows(self) -> dict[int, list[str]]:
        """Where names, labels or numbers stand in a row -> the items."""
        return {match.start(): _ITEMS.findall(match[0]) for match in _LISTED.finditer(self.problem.text)}

    @cached_property
    def rows_of_numbers(self) -> set[int]:
        """How many numbers stand in rows of three or more: the "three tests" of "72, 85 and 91"."""
        return {len(row) for row in self._rows.values() if len(row) > 2 and _are_numbers(row)}

    @cached_property
    def rows_of_names(self) -> set[int]:
        """How many names stand in rows of three or more: the "three friends" Ann, Tom and Eve."""
        return {len(row) for row in self._rows.values() if len(row) > 2 and all(item[0].isupper() for item in row)}

    @cached_property
    def listed_numbers(self) -> Covered:
        """Where rows of numbers stand."""
        rows = _LISTED.finditer(self.problem.text)
        return Covered(row.span() for row in rows if _are_numbers(_ITEMS.findall(row[0])))

    def lists(self, noun: Token, many: Fraction) -> bool:
        """Whether so many of a thing are named right behind it: "pipes A and B", "three numbers: 4, 7 and 9"."""
        text = self.problem.text
        return any(
            len(row) == many
            for token in self.problem.doc
            if token.lemma_ == noun.lemma_
            and (gap := _GAP.match(text, token.idx + len(token)))
            and (row := self._rows.get(gap.end()))
        )

    def has_both(self, noun: Token) -> bool:
        """Whether there are two of a thing here: "both numbers"."""
        before = ((token.nbor(-1), token) for token in self.problem.doc if token.i)
        return any(token.lemma_ == noun.lemma_ and word.lower_ == "both" for word, token in before)

    @cached_property
    def _spoken(self) -> list[tuple[int, int, Fraction]]:
        """Times of day in words, "half past eight", and where they stand."""
        found = []
        for match in _PAST.finditer(self.problem.text):
            word = match["hour"].lower()
            part = Fraction(1, 2) if match["part"].lower() == "half" else Fraction(1, 4)
            part = part if match["side"].lower() in ("past", "after") else -part
            hour = _TWELVE.index(word) + 1 if word in _TWELVE else int(word)
            found.append((*match.span(), hour + part))
        return found + [(*match.span(), Fraction(12)) for match in _NOON.finditer(self.problem.text)]

    @cached_property
    def _clock(self) -> tuple[set[Fraction], set[Fraction]]:
        """Hours, of twelve, that numbers may tell; and those of them that are not told by am or pm."""
        numbers = [one for one in self.problem.numbers if one.kind in (Kind.CLOCK, Kind.WHOLE) and not one.sign]
        spoken = {value % 12 for _, _, value in self._spoken}
        numbers = [one for one in numbers if one.kind is Kind.CLOCK or 0 < one.value <= 12]
        told = spoken | {number.value % 12 for number in numbers}
        return told, spoken | {number.value % 12 for number in numbers if not _tells_half(self.problem.text, number)}

    def _has_time(self, number: Number, others: Said) -> bool:
        """Whether a time of day stands here in another form: "half past three in the afternoon" for "3:30 pm"."""
        hours, open_hours = self._clock
        if number.kind is Kind.CLOCK:
            tells = _tells_half(others.problem.text, number)
            return number.value % 12 in (open_hours if tells else hours)
        clocks = {one.value % 12 for one in self.problem.numbers if one.kind is Kind.CLOCK}
        if any(start <= number.start < end and value % 12 in clocks for start, end, value in others._spoken):
            return True
        return number.kind is Kind.WHOLE and not number.sign and 0 < number.value <= 12 and number.value % 12 in clocks


def _are_sides_of_a_die(number: Number, text: str) -> bool:
    """Whether it is the six of "six-sided die" or "die with six sides"."""
    if _SIDES_OF_A_DIE.match(text, number.end):
        return True
    before = _DIE_BEFORE.search(text, max(0, number.start - 30), number.start)
    return before is not None and _SIDES_BEHIND.match(text, number.end) is not None


def _are_numbers(row: Sequence[str]) -> bool:
    return all(item[0].isdigit() for item in row)


def _tells_half(text: str, number: Number) -> bool:
    return number.kind is Kind.CLOCK and _HALF_OF_DAY.search(text, number.start, number.end) is not None


def _counts_what_is_listed(number: Number, said: Said, others: Said) -> bool:
    """Whether a number of another text says how many it or this text names, "two pipes, A and B", or is "the two"."""
    if number.kind is not Kind.WHOLE or number.sign or others.amounts.measures(number):
        return False
    text = others.problem.text
    if number.value == 2 and DEFINITE_BEFORE.search(text, max(0, number.start - 8), number.start):
        return True
    is_listed = number.start in others.listed_numbers
    if not is_listed and any(number.value in of.rows_of_numbers for of in (said, others)):
        return True
    noun = counted_noun(others.problem, number)
    if noun is not None and noun.lemma_ in _PEOPLE and any(number.value in of.rows_of_names for of in (said, others)):
        return True
    if noun is None:
        return False
    return (number.value == 2 and said.has_both(noun)) or any(of.lists(noun, number.value) for of in (said, others))
