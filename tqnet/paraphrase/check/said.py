"""Values that a text has without a number: two in "a pair of dice", "doubled" and "pipes A and B".

Nothing of this need be there, so no text loses it; but a number is not lost, and none is new, where the other text says
so in other words, more often than the first one does besides the number.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import Protocol, Self

from tqnet.paraphrase.check.amounts import Amounts
from tqnet.paraphrase.check.clock import TimesOfDay
from tqnet.paraphrase.check.coins import Coins
from tqnet.paraphrase.check.days import NamedDays
from tqnet.paraphrase.check.dice import Dice
from tqnet.paraphrase.check.difference import LATEX_FRACTION, latex_fraction
from tqnet.paraphrase.check.even import Even
from tqnet.paraphrase.check.figures import Figures
from tqnet.paraphrase.check.inverses import Inverses
from tqnet.paraphrase.check.listed import Listed
from tqnet.paraphrase.check.negatives import Negatives
from tqnet.paraphrase.check.percents import Percents
from tqnet.paraphrase.check.ranges import Ranges
from tqnet.paraphrase.check.ratios import Ratios
from tqnet.paraphrase.check.shares import Shares, parts
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.text.formulas import formula_character_spans
from tqnet.text.numbers import LONGEST, Number

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


class Reading(Protocol):
    """What one text says of its numbers in some other form, for comparison with the same of another text."""

    def __init__(self, problem: Problem): ...

    def has(self, number: Number, others: Self) -> bool:
        """Whether this text says what a number of another one says."""
        ...


_READINGS: tuple[type[Reading], ...] = (
    TimesOfDay,
    Negatives,
    Ranges,
    Shares,
    Percents,
    Ratios,
    Inverses,
    Dice,
    Figures,
    NamedDays,
    Coins,
    Even,
)


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
            or any(one.has(number, other) for one, other in zip(self._readings, others._readings, strict=True))
            or (not others.amounts.measures(number) and self._listed.has(number, others._listed))
        )

    @cached_property
    def _listed(self) -> Listed:
        return Listed(self.problem)

    @cached_property
    def _readings(self) -> tuple[Reading, ...]:
        return tuple(reading(self.problem) for reading in _READINGS)

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
        written = [digits for span in formula_character_spans(text) for digits in _DIGITS.findall(text, *span)]
        found.update(Fraction(digits) for digits in written if len(digits) <= LONGEST)
        found.update(value for (start, _), value in parts(text) if start not in numbers)
        fractions = (latex_fraction(match) for match in LATEX_FRACTION.finditer(text))
        found.update(value for value in fractions if value is not None)
        return found

    @cached_property
    def coefficients(self) -> dict[Fraction, str]:
        """Digits outside of numbers and formulas: those of "3x"."""
        text = self.problem.text
        known = Covered(sorted([*formula_character_spans(text), *(number.outer for number in self.problem.numbers)]))
        found = (match for match in _DIGITS.finditer(text) if match.start() not in known and len(match[0]) <= LONGEST)
        return {Fraction(match[0]): match[0] for match in found}

    def reads(self, value: Fraction) -> bool:
        """Whether a value stands anywhere here."""
        return self._values[value] > 0 or value in self.coefficients or value in self._numbers

    @cached_property
    def _numbers(self) -> set[Fraction]:
        return {abs(number.value) for number in self.problem.numbers}
