"""The units of a text, "km", "kilometres", "km/h", "sq ft", "$": length, time, weight, speed, money, area, volume."""

from tqnet.augment.paraphrase.units.find import Form, Unit, find_units
from tqnet.augment.paraphrase.units.names import REPLACEABLE, abbreviation, in_words, similar_units, size

__all__ = ["REPLACEABLE", "Form", "Unit", "abbreviation", "find_units", "in_words", "similar_units", "size"]
