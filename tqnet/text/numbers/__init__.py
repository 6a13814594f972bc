"""The numbers of a text: digits or words, whole, decimal, fractions, ordinals, money, percent, dates and clock times.

"25" and "twenty-five", "3/4" and "0.75", "1,000" and "1000", "two dozen" and "24", 二十五 and "25" have one value each.
Digits within a name are no number: x2, 2x, H2O.
"""

from tqnet.text.numbers.find import find_numbers
from tqnet.text.numbers.number import LONGEST, Kind, Number
from tqnet.text.numbers.words import CARDINALS

__all__ = ["CARDINALS", "LONGEST", "Kind", "Number", "find_numbers"]
