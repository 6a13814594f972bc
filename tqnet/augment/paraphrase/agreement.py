"""What a number and its unit make of the words around them."""

from __future__ import annotations

import re

from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.units import Unit
from tqnet.text.numbers import Kind, Number

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
