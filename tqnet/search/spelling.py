"""Misspelt words of typed queries, corrected by the words of the bank (`tqnet.search.background`)."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA, Prefix

from tqnet.search.background import Words, latin_words
from tqnet.text.sentences import SENTENCE_ENDS, cuts

#: Least letters of a word for a change of places ("teh"), for any edit, and for two.
_SWAP, _EDIT, _TWO = 3, 4, 8

#: How frequent a correction must be, as a share of the most frequent word's questions: after one edit and after two;
#: for words that are often names or have many neighbours: those with a capital or so few letters; for `_SWAP` letters.
_AFTER_ONE, _AFTER_TWO, _RISKY, _SWAPPED = 0.0003, 0.003, 0.005, 0.1
_SHORT = 5

#: Questions that must have a correction.
_LEAST = 2

#: Unknown words of a text that are corrected. If there are more, or more than a few and than known words, it is in
#: another language, or no text.
_MOST_UNKNOWN, _FEW_UNKNOWN = 10, 2

#: A word with another ending is no error: the bank just lacks this form.
_ENDING = re.compile("(?:e?s|e?d|e?rs?|ings?|ly|al|y|ie[sd]|ions?)?")


def corrected(text: str, counts: Words) -> str:
    """Return ``text`` with its misspelt words as the bank spells them, formulas and names inside a sentence untouched.

    A correction is within one edit, or two of a long word: an insertion, deletion, substitution or exchange of
    neighbours (optimal string alignment). The fewest edits win, then an exchange, then the most frequent word.

    Args:
        counts: Of the bank; no word that it has is changed.
    """
    words = list(latin_words(text))
    unknown = [word for word in words if len(word[0]) >= _SWAP and word[0].lower() not in counts]
    few = min(_MOST_UNKNOWN, max(_FEW_UNKNOWN, len(words) - len(unknown)))
    if not counts or not unknown or len(unknown) > few:
        return text
    firsts, all_capital = _sentence_starts(text, words), all(word[0].isupper() for word in words)
    least = max(_LEAST, _AFTER_ONE * counts.most)
    choices = [choice for choice, count in counts.items() if count >= least]
    pieces, written = [], 0
    for word in unknown:
        may_be_name = not (word[0].islower() or all_capital)
        is_argument = text.endswith("{", 0, word.start())  # of a command
        if is_argument or (may_be_name and word.start() not in firsts):
            continue
        if correction := _correction(word[0].lower(), counts, choices, may_be_name):
            written_as = str.upper if word[0].isupper() else str.capitalize if word[0][0].isupper() else str
            pieces += [text[written : word.start()], written_as(correction)]
            written = word.end()
    return "".join((*pieces, text[written:]))


def _sentence_starts(text: str, words: Sequence[re.Match[str]]) -> set[int]:
    """Return where the words begin that are the first of a sentence."""
    starts = [word.start() for word in words]
    ends = (0, *(end for _, end in cuts(text, 0, len(text), SENTENCE_ENDS)))
    return {starts[at] for end in ends if (at := bisect_left(starts, end)) < len(starts)}


def _correction(word: str, counts: Words, choices: Sequence[str], is_risky: bool) -> str | None:
    """Return the best of ``choices``; None if it is too rare, or no correction.

    A rare word wins over a frequent one that is further away: "slove" is not "slope" where "solve" is rare.
    """
    near = process.extract(word, choices, scorer=OSA.distance, score_cutoff=1 + (len(word) >= _TWO), limit=None)
    ranked = [(int(edits), sorted(choice) != sorted(word), -counts[choice], choice) for choice, edits, _ in near]
    if not ranked:
        return None
    edits, *_, best = min(ranked)
    is_frequent = counts[best] >= counts.most * _least_share(word, best, edits, is_risky)
    return best if is_frequent and not _is_form(word, best) else None


def _least_share(word: str, choice: str, edits: int, is_risky: bool) -> float:
    """Return how frequent a correction must be, as a share of the most frequent word's questions."""
    if len(word) < _EDIT:
        return _SWAPPED if sorted(word) == sorted(choice) else math.inf
    if edits == 2 and word[0] != choice[0]:  # a prefix rather: "unreasonable" is not "reasonable"
        return math.inf
    if is_risky or len(word) <= _SHORT:
        return _RISKY
    return _AFTER_ONE if edits == 1 else _AFTER_TWO


def _is_form(word: str, choice: str) -> bool:
    """Return True if the two differ in their endings alone, or one continues the other ("momentum", "moment")."""
    common = Prefix.similarity(word, choice)
    rest, other = word[common:], choice[common:]
    is_longer = not (rest and other) and len(rest + other) > 1
    return is_longer or all(map(_ENDING.fullmatch, (rest, other)))
