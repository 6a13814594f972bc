"""Whether two questions with nearly the same text are the same, judged by each difference, not by what they share.

"Find P(S)." and "Find P(E)." after the same long lead-in share nearly all their words. So the texts are aligned, and
each difference must be harmless: the same words in another spelling, inflection or typesetting, or words added to a
statement that are not a condition. Nothing may be added to what is asked.

NOTE: nor may a word of a statement be replaced by another, though a car may as well be a truck: only knowledge tells
this from "simple" interest that turns "compound". The rule would rather miss a duplicate than hide a question.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import NamedTuple

from tqnet.questions.near_duplicates import folded_tokens
from tqnet.questions.question import Question
from tqnet.questions.traits import ASIDE
from tqnet.text.formulas import segments
from tqnet.text.normal import normal_formula
from tqnet.text.numbers import find_numbers
from tqnet.text.replacements import ASKING, NAMES, OTHERS, SILENT, TELLING, WORDINGS
from tqnet.text.sentences import SENTENCE_ENDS, cuts

#: A Chinese question may be one clause of a long sentence.
_ENDS = re.compile(rf"{SENTENCE_ENDS.pattern}|\n|[，；]")
_ASKS = re.compile(
    r"[?？求几谁哪]|多少|什么|_{2}|\\uline|[(（][~\s]*[)）]"
    rf"|^\s*(?:\(?(?:[a-z]|[ivx]+)\)|[a-z]\.\s|(?:{'|'.join(ASKING)})\b)",
    re.IGNORECASE,
)
_TABLE_ROW = re.compile(r"\s\|(?:\s|$)")
_SIGN = re.compile(r"(?<![\w)])[-−](?=\d)")
#: "Anna's", "his or her", "on-board".
_NEEDLESS = re.compile(r"['’]s\b|\bor (?=(?:s?he|her|him|his)\b)|(?<=[a-z])-(?=[a-z])", re.IGNORECASE)
#: Marks of prose that matter; others are typography.
_MARKS = frozenset("=<>≤≥≠+−×÷|/^")
_INFLECTED = re.compile(r"(?<=...)(?:ing|ed|es|s|d|e)$")
#: Shorter words are often one letter apart: "books", "boots".
_LEAST_MISTYPED = 6


class _Token(NamedTuple):
    text: str
    asked: bool


def says_the_same(first: Question, second: Question) -> bool:
    """Return True if questions with nearly the same text differ in nothing that could change the answer."""
    # Sorted, since an alignment depends on the order.
    left, right = sorted(_tokens(question.stem, question.options) for question in (first, second))
    words, others = ([token.text for token in tokens] for tokens in (left, right))
    if _figures(words) != _figures(others):  # quick: most candidates are one template with other numbers
        return False
    changes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return all(kind == "equal" or _is_harmless(left, right, (i, j, k, m)) for kind, i, j, k, m in changes)


def _is_harmless(left: Sequence[_Token], right: Sequence[_Token], places: tuple[int, int, int, int]) -> bool:
    i, j, k, m = places
    if i == j or k == m:
        before = (left[:i] if i < j else right[:k])[-1:]
        is_unit = any(token.text[-1].isdigit() for token in before)  # 1/3 of a rope is not 1/3 m
        return not is_unit and not any(token.asked or _tells(token.text) for token in (*left[i:j], *right[k:m]))
    words, others = [token.text for token in left[i:j]], [token.text for token in right[k:m]]
    if "".join(words) == "".join(others):
        return "".join(words).isalpha()
    return len(words) == len(others) and all(map(_is_one_word, words, others))


def _figures(words: Sequence[str]) -> Counter[str]:
    """Return numbers, signs and LaTeX commands: never harmless, whatever is next to them."""
    return Counter(word for word in words if not word.isalpha())


@lru_cache(maxsize=2_000)  # the pairs of a question come one after another
def _tokens(stem: str, options: tuple[str, ...]) -> tuple[_Token, ...]:
    """Return what matters in a question: all words but `SILENT` ones, and formulas; options in one order."""
    tokens = [_Token(text, asked) for words, asked in _sentences(stem) for text in words]
    choices = sorted([*_words(option)] for option in options)
    return (*tokens, *(_Token(text, True) for choice in choices for text in choice))


def _sentences(text: str) -> list[tuple[list[str], bool]]:
    """Return the words of each sentence, and whether it asks: its form says so, or it is the last but for tables."""
    ends = [end for _, end in cuts(text, 0, len(text), _ENDS)]
    parts = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    words = [[*_words(part)] for part in parts]
    last = max((at for at, part in enumerate(parts) if words[at] and not _TABLE_ROW.search(part)), default=-1)
    return [
        (sentence, at == last or _ASKS.search(part) is not None)
        for at, (sentence, part) in enumerate(zip(words, parts, strict=True))
    ]


def _words(text: str) -> Iterator[str]:
    for part in segments(text):
        if part.is_formula:
            yield from (token.replace(",", "") or token for token in _read(f"${normal_formula(part.body)}$"))
        else:
            yield from _prose(unicodedata.normalize("NFKC", ASIDE.sub(" ", part.body)))


def _prose(text: str) -> Iterator[str]:
    end = 0
    for phrase in OTHERS.find(text):
        yield from _plain_words(text[end : phrase.start])
        yield f"{phrase.line}|{phrase.sense}"  # not a word, so that it matters
        end = phrase.end
    yield from _plain_words(text[end:])


def _plain_words(text: str) -> Iterator[str]:
    for phrase in reversed(WORDINGS.find(text)):
        if phrase.line not in _names():
            text = text[: phrase.start] + WORDINGS.lines[phrase.line][0][0] + text[phrase.end :]
    for token in _read(_SIGN.sub(" − ", _NEEDLESS.sub("", text)).replace("%", " percent ")):
        if token not in _silent() and (token[0].isalnum() or token[1:].isalpha() or token in _MARKS):
            yield token.replace(",", "")


def _read(text: str) -> list[str]:
    return folded_tokens(text, fold_numbers=False)


@cache
def _names() -> frozenset[int]:
    """Return the lines of names, which are interchangeable only if all names of a text change."""
    names = {name for some in NAMES.values() for name in some}
    return frozenset(at for at, senses in enumerate(WORDINGS.lines) if names.intersection(senses[0]))


@cache
def _silent() -> frozenset[str]:
    """Return `SILENT` and the words that begin what stands for silent words alone: "find the" for "what is the"."""
    silent = set(SILENT)
    for (phrases,) in WORDINGS.lines:
        remaining = [[word for word in phrase.split() if word not in silent] for phrase in phrases]
        if [] in remaining:
            heads = (words for words, phrase in zip(remaining, phrases, strict=True) if words == phrase.split()[:1])
            silent.update(word for (word,) in heads if not _tells_number(word))
    return frozenset(silent)


def _tells(word: str) -> bool:
    """Return True for words of conditions and logic, adverbs, signs, numbers, and names of a single letter."""
    is_name = len(word) == 1 and not "\u3400" <= word <= "\uffff"  # Chinese; capitals of formulas lie above
    return is_name or word in TELLING or word.endswith("ly") or not word.isalpha() or _tells_number(word)


def _tells_number(word: str) -> bool:
    return any(map(str.isdigit, word)) or (word.isascii() and bool(find_numbers(word)))


def _is_one_word(word: str, other: str) -> bool:
    """Return True if two words differ by inflection or by one mistyped letter that is not the first."""
    if word == other or not (word.isalpha() and other.isalpha()) or _tells_number(word) or _tells_number(other):
        return word == other
    return _INFLECTED.sub("", word) == _INFLECTED.sub("", other) or _is_mistyped(word, other)


def _is_mistyped(word: str, other: str) -> bool:
    if max(len(word), len(other)) < _LEAST_MISTYPED or word[0] != other[0] or word[-3:] == "th" or other[-3:] == "th":
        return False
    before = next(
        (at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other))
    )
    word, other = word[before:], other[before:]
    swapped = word[:2] == other[1::-1] and word[2:] == other[2:]
    return swapped or word[1:] == other[1:] or word[1:] == other or word == other[1:]
