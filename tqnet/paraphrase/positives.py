"""Operators after which a question asks the same: same sentence, numbers in words, units in full (ParaQD, f2 to f4)."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from num2words import num2words

from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import rewrite
from tqnet.paraphrase.units import Form, Unit, in_words, money_name
from tqnet.text.formulas import Span
from tqnet.text.numbers import Kind, Number

# What a number and its unit make of the words around them.


_ONE_BEFORE = re.compile(r"(?:\b(?:per|an?|each|every|one|half)|/)\s*$", re.IGNORECASE)
_HYPHEN_BEHIND = re.compile(r"\s?-\s?[a-z]{2}", re.IGNORECASE)
_ARTICLE_BEFORE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_SIGN_BEFORE = re.compile(r"(?:[=+*×^|<>≤≥≠÷]|[\d)]\s?[:/–−-]|\b[a-z]\s[/–−-]|(?:^|\s)[–−-]\s)\s?$", re.IGNORECASE)
_SIGN_AFTER = re.compile(r"\s?(?:[=+*×^|<>≤≥≠÷]|:\s?\d|[/–−-]\s?[\d(\[]|x\s?\d|[–−-]\s[a-z]\b)", re.IGNORECASE)
_SENTENCE_BEGINS = re.compile(r"(?:^|[.?!]\s)\s*$")


def is_plural(problem: Problem, unit: Unit) -> bool:
    """Whether a unit is to be in the plural: "5 metres", but "1 metre", "per metre", "a 5 metre walk"."""
    if unit.number is None:
        return _ONE_BEFORE.search(problem.text, 0, unit.start) is None
    number = unit.number
    if abs(number.value) == 1 or (number.kind is Kind.FRACTION and abs(number.value) < 1):
        return False
    return not is_attributive(problem, number, max(unit.end, number.end))


def is_attributive(problem: Problem, number: Number, end: int) -> bool:
    """Whether a quantity that ends at ``end`` tells what kind of thing follows: "a 5 km walk", "the $5 discount"."""
    text, (start, _) = problem.text, number.outer
    if _ARTICLE_BEFORE.search(text, max(0, start - 4), start) or is_hyphened(text, number.end):
        return True
    token = problem.doc.char_span(start, end, alignment_mode="expand")
    if (
        token is None
        or not token.start
        or token.end >= len(problem.doc)
        or text[token.end_char : token.end_char + 1] != " "
    ):
        return False
    before, after = problem.doc[token.start - 1], problem.doc[token.end]
    return before.tag_ in ("DT", "PRP$", "POS", "CD") and after.tag_ in ("NN", "NNS")


def is_hyphened(text: str, place: int) -> bool:
    """Whether a word is joined to what ends here: "120-page", or "120 - page" where a text was taken apart."""
    return _HYPHEN_BEHIND.match(text, place) is not None


def is_calculated(text: str, number: Number) -> bool:
    """Whether a number is part of a calculation, a ratio or a range: "3 : 4", "2 x + 5 = 7", "10 x 12"."""
    start, end = number.outer
    return bool(_SIGN_BEFORE.search(text, max(0, start - 4), start) or _SIGN_AFTER.match(text, end))


def capital_of(problem: Problem, place: int, words: str) -> str:
    """``words`` with a capital where they begin a sentence of a text that has capitals."""
    begins = _SENTENCE_BEGINS.search(problem.text, max(0, place - 4), place) if place else True
    return words[:1].upper() + words[1:] if begins and any(map(str.isupper, problem.text)) else words


# Numbers written out: "25%" as "twenty-five percent", "$5.25" as "five dollars and twenty-five cents".


_LEADING = re.compile(r"\$?\s*(?P<minus>[-−–])?(?P<digits>\d[\d,\s]*(?<!\s)(?:\.\d+)?|\.\d+)(?P<rest>\D*)$")
#: Longer ones are no quantities, and nobody would read them out.
_DIGITS = 13


def spelled_out(text: str, number: Number) -> str | None:
    """The words for a number in digits, without its sign; None where it is better left: 007, a date, a time of day.

    ``num2words`` knows no fractions: they are put together of its cardinals and ordinals.
    """
    if number.spelled or number.kind in (Kind.DATE, Kind.CLOCK, Kind.MULTIPLE):
        return None
    written = text[number.start : number.end]
    if len(re.sub(r"\D", "", written)) > _DIGITS:
        return None
    if number.kind is Kind.ORDINAL:
        return _words(str(number.value), "ordinal")
    if "/" in written:
        return _fraction(number.value, written)
    leading = _LEADING.match(written.rstrip("$"))
    if not leading or re.match(r"0\d", leading["digits"]):
        return None
    words = _words(re.sub(r"[,\s]", "", leading["digits"]), "cardinal")
    return ("minus " if leading["minus"] else "") + words + leading["rest"]


def dollars_and_cents(value: Fraction, unit: str, units: str) -> str | None:
    """ "five dollars and twenty-five cents" where the amount has exactly two decimals, else None."""
    cents = value * 100
    if cents.denominator != 1 or value.denominator == 1 or value < 1:
        return None
    whole, rest = divmod(int(cents), 100)
    amount = f"{_words(str(whole), 'cardinal')} {unit if whole == 1 else units}"
    return f"{amount} and {_words(str(rest), 'cardinal')} {'cent' if rest == 1 else 'cents'}"


def _fraction(value: Fraction, written: str) -> str | None:
    whole, over, under = re.fullmatch(
        r"[-−–]?(?:(\d+)[\s-]+)?(\d+)\s?/\s?(\d+)(?:st|nd|rd|th)?", written.strip("$ ")
    ).groups()  # type: ignore[union-attr]
    if int(under) == 1 or value < 0:
        return None
    if int(under) >= 100:
        part = f"{_words(over, 'cardinal')} over {_words(under, 'cardinal')}"
        return None if whole else part
    name = "half" if int(under) == 2 else _words(under, "ordinal")
    plural = "" if int(over) == 1 else "s"
    part = f"{_words(over, 'cardinal')} {'halve' if plural and name == 'half' else name}{plural}"
    return f"{_words(whole, 'cardinal')} and {part}" if whole else part


@lru_cache(10_000)
def _words(number: str, to: str) -> str:
    return str(num2words(Decimal(number) if "." in number else int(number), to=to)).replace(",", "")


_AMERICAN = re.compile(r"(?:met|lit)er")


def same_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """The text itself: dropout makes of it another view (f2)."""
    if not problem.text.strip():
        raise NotApplicable("there is no text")
    return problem.text


def numbers_to_words(problem: Problem, rng: np.random.Generator) -> str:
    """Every number in words, with its percent or currency (f3); dates, times of day and calculations stay."""
    changes: dict[Span, str] = {}
    for number in problem.numbers:
        if not is_calculated(problem.text, number):
            changes |= _spelled(problem, number)
    if not changes:
        raise NotApplicable("there are no numbers in digits" if problem.numbers else "there are no numbers")
    return rewrite(problem.text, changes)


def _spelled(problem: Problem, number: Number) -> dict[Span, str]:
    text, (start, end) = problem.text, number.outer
    words = spelled_out(text, number)
    if words is None:
        return {}
    if number.sign == "%":
        words += " percent"
    elif number.sign and not is_named(problem, number):
        words = _money(problem, number, words)
    if text[end : end + 1].isalpha():  # 5km
        words += " "
    return {(start, end): capital_of(problem, start, words)}


def _money(problem: Problem, number: Number, words: str) -> str:
    name = money_name(number.sign)
    one, many = in_words(name, plural=False), in_words(name, plural=True)
    attributive = is_attributive(problem, number, number.outer[1])
    amount = None if attributive or name not in ("dollar", "euro") else dollars_and_cents(number.value, one, many)
    return amount or f"{words} {one if attributive or number.value == 1 else many}"


def expand_units(problem: Problem, rng: np.random.Generator) -> str:
    """Every abbreviated unit in full, and money by its name: "20 km/h" to "20 kilometres per hour" (f4)."""
    changes: dict[Span, str] = {}
    for unit in problem.units:
        changes |= _expanded(problem, unit)
    if not changes:
        raise NotApplicable("there are no abbreviated units" if problem.units else "there are no units")
    return rewrite(problem.text, changes)


def _expanded(problem: Problem, unit: Unit) -> dict[Span, str]:
    if unit.form not in (Form.ABBREVIATED, Form.SIGN):
        return {}
    words = in_words(unit.name, is_plural(problem, unit), is_american(problem.text))
    if unit.form is Form.SIGN and unit.number and is_named(problem, unit.number):
        return {}
    if unit.number is None or unit.start >= unit.number.end:
        glued = problem.text[unit.start - 1 : unit.start].isdigit()
        return {(unit.start, unit.end): f" {words}" if glued else words}
    return {(unit.start, unit.number.end): f"{written(problem.text, unit.number)} {words}"}


def written(text: str, number: Number) -> str:
    """A number as it stands there, put together where it was taken apart: "1 , 036.70"."""
    return text[number.start : number.end].replace(" , ", ",")


def is_named(problem: Problem, number: Number) -> bool:
    """Whether money has its name behind it beside its sign: "$5 dollars"."""
    place = number.outer[1]
    return any(
        unit.dimension == "Currency" and unit.form is Form.WORD and place < unit.start <= place + 2
        for unit in problem.units
    )


def is_american(text: str) -> bool:
    """Whether a text writes "meter" and "liter"."""
    return _AMERICAN.search(text) is not None
