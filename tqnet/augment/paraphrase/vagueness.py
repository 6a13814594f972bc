"""Numbers that give way to "some", "a few", "many", "a lot of", or nothing (ParaQD, f8)."""

from __future__ import annotations

import re

import numpy as np

from tqnet.augment.paraphrase.agreement import capital_of, is_calculated
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.spans import rewrite, with_article
from tqnet.augment.paraphrase.units import in_words
from tqnet.augment.paraphrase.units.names import money_name
from tqnet.text.numbers import Kind, Number
from tqnet.text.spans import Span

_PLENTY = "a lot of"
_VAGUE = ("some", "a few", "many", _PLENTY, "")
#: How many numbers at most.
_MOST = 2
#: These count nothing: they are only left out.
_NO_COUNT = (Kind.ORDINAL, Kind.MULTIPLE)
_DETERMINER = re.compile(
    r"(?:\b(?:the|his|her|its|their|our|your|my|these|those|all|only|other|first|last|next|past|another|every)|['’]s)\s+$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_OF = re.compile(r"\s+of\b")
_AS = re.compile(r"\s+(?:as|an?|the|that|this|of\s+(?:that|this|it)\b)\b")
_HYPHEN = re.compile(r"\s?-\s?(?=[A-Za-z]{2})")
_NEXT_WORD = re.compile(r"\s*[-\s]\s*(?P<word>\w+)")
#: Behind a determiner: "his few days"; "his some days" says nobody.
_DETERMINED = {"some": "few", "a few": "few", "many": "many", _PLENTY: "many"}


def make_numbers_vague(problem: Problem, rng: np.random.Generator) -> str:
    """One or two numbers become one vague word, or are left out: "5 apples" to "some apples" (f8)."""
    numbers = [number for number in problem.numbers if _counts(problem.text, number)]
    if not numbers:
        raise NotApplicable("there are no numbers but dates and times" if problem.numbers else "there are no numbers")
    vague = _VAGUE[rng.integers(len(_VAGUE))]
    count = int(rng.integers(1, min(_MOST, len(numbers)) + 1))
    changes: dict[Span, str] = {}
    for at in rng.choice(len(numbers), count, replace=False):
        changes |= _without(problem, numbers[at], vague)
    return rewrite(problem.text, changes)


def _counts(text: str, number: Number) -> bool:
    """Whether a text can do without it: not dates and times, nor "the first of ..."."""
    is_name = number.kind is Kind.ORDINAL and _OF.match(text, number.end) is not None
    return number.kind not in (Kind.DATE, Kind.CLOCK) and not is_name


def _without(problem: Problem, number: Number, vague: str) -> dict[Span, str]:
    """What becomes of a number; money and percent stay by name: "some dollars"."""
    text, (start, end) = problem.text, number.outer
    article = _ARTICLE.search(text, max(0, start - 4), start)
    vague, noun = _fitting(problem, number, vague), _noun(number, plural=not article)
    if not noun and (of := _OF.match(text, end)) and vague in ("", _PLENTY):
        end = of.end()  # "48 of her friends" to "a lot of her friends"
    new = " ".join(filter(None, (vague, noun)))
    if new:
        begin = article.start() if article and vague else start
        space = " " if text[end : end + 1].isalpha() else ""  # 5km
        return {(begin, end): capital_of(problem, begin, new) + space}
    if article and (word := _NEXT_WORD.match(text, end)):  # "an 8 foot ladder" to "a foot ladder"
        span, new = with_article(text, start, word.end(), word["word"])
        return {span: new}
    hyphen = _HYPHEN.match(text, end)
    return {(start, hyphen.end() if hyphen else end): ""}


def _fitting(problem: Problem, number: Number, vague: str) -> str:
    """``vague``, or what its neighbours allow instead: "his few days", "gave many", "a page book"."""
    text, (start, end) = problem.text, number.outer
    uncounted = number.kind in _NO_COUNT or (number.kind is Kind.FRACTION and _AS.match(text, end))
    single = abs(number.value) == 1 and vague != "some"
    if not vague or uncounted or single or _HYPHEN.match(text, end) or is_calculated(text, number):
        return ""
    if _ARTICLE.search(text, max(0, start - 4), start):
        return "some"
    if _DETERMINER.search(text, max(0, start - 10), start):
        return _DETERMINED[vague]
    if vague == _PLENTY and number.sign == "%":
        return "many"
    is_followed = number.sign or _OF.match(text, end) or _counts_something(problem, end)
    return vague if vague != _PLENTY or is_followed else "a lot"


def _noun(number: Number, plural: bool) -> str:
    if not number.sign:
        return ""
    return "percent" if number.sign == "%" else in_words(money_name(number.sign), plural)


def _counts_something(problem: Problem, place: int) -> bool:
    """Whether a noun, or what leads to one, follows."""
    token = problem.doc.char_span(place, place + 2, alignment_mode="expand")
    after = next((t for t in problem.doc[token.start :] if t.idx >= place and not t.is_space), None) if token else None
    return after is not None and after.pos_ in ("NOUN", "PROPN", "ADJ", "SYM")
