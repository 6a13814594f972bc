"""Correction of misspelt words in typed queries, by the words of the bank (`tqnet.search.background`)."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA, Prefix

from tqnet.search.background import Words, latin_words
from tqnet.text.sentences import SENTENCE_ENDS, cuts

#: Minimum number of letters of a word for a swap ("teh"), for any edit, and for two edits.
_SWAP, _EDIT, _TWO = 3, 4, 8

#: Minimum frequency of a correction, as a share of the most frequent word's: after one edit and after two; for words
#: that are often names or have many neighbours: with a capital or at most `_SHORT` letters; for `_SWAP` letters.
_AFTER_ONE, _AFTER_TWO, _RISKY, _SWAPPED = 0.0003, 0.003, 0.005, 0.1
_SHORT = 5

#: Minimum number of questions with a correction.
_MIN_QUESTIONS = 2

#: Maximum number of unknown words in a text, and number up to which they may outnumber the known ones. Beyond, it is in
#: another language, or not a text, and stays as it is.
_MAX_UNKNOWN, _FEW_UNKNOWN = 10, 2

#: A word with another ending is not an error: the bank just lacks this form.
_ENDING = re.compile("(?:e?s|e?d|e?rs?|ings?|ly|al|y|ie[sd]|ions?)?")


def corrected(text: str, counts: Words) -> str:
    """Return ``text`` with misspelt words corrected by the bank's words; formulas and names inside a sentence stay.

    A correction is within one edit, or two for a long word: an insertion, deletion, substitution or swap of neighbours
    (optimal string alignment). The fewest edits win, then a swap, then the most frequent word.

    Args:
        counts: Words of the bank, none of which is changed.
    """
    words = list(latin_words(text))
    unknown = [word for word in words if len(word[0]) >= _SWAP and word[0].lower() not in counts]
    few = min(_MAX_UNKNOWN, max(_FEW_UNKNOWN, len(words) - len(unknown)))
    if not counts or not unknown or len(unknown) > few:
        return text
    firsts, all_capital = _sentence_starts(text, words), all(word[0].isupper() for word in words)
    minimum = max(_MIN_QUESTIONS, _AFTER_ONE * counts.most)
    choices = [choice for choice, count in counts.items() if count >= minimum]
    pieces, written = [], 0
    for word in unknown:
        may_be_name = not (word[0].islower() or all_capital)
        is_argument = text.endswith("{", 0, word.start())  # of a LaTeX command
        if is_argument or (may_be_name and word.start() not in firsts):
            continue
        if correction := _correction(word[0].lower(), counts, choices, may_be_name):
            written_as = str.upper if word[0].isupper() else str.capitalize if word[0][0].isupper() else str
            pieces += [text[written : word.start()], written_as(correction)]
            written = word.end()
    return "".join((*pieces, text[written:]))


def _sentence_starts(text: str, words: Sequence[re.Match[str]]) -> set[int]:
    """Return the positions of words that begin a sentence."""
    starts = [word.start() for word in words]
    ends = (0, *(end for _, end in cuts(text, 0, len(text), SENTENCE_ENDS)))
    return {starts[at] for end in ends if (at := bisect_left(starts, end)) < len(starts)}


def _correction(word: str, counts: Words, choices: Sequence[str], is_risky: bool) -> str | None:
    """Return the best of ``choices``; None if it is too rare, or not a correction.

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
    """Return the minimum frequency of a correction, as a share of the most frequent word's."""
    if len(word) < _EDIT:
        return _SWAPPED if sorted(word) == sorted(choice) else math.inf
    if edits == 2 and word[0] != choice[0]:  # probably a prefix: "unreasonable" is not "reasonable"
        return math.inf
    if is_risky or len(word) <= _SHORT:
        return _RISKY
    return _AFTER_ONE if edits == 1 else _AFTER_TWO


def _is_form(word: str, choice: str) -> bool:
    """Return True if the two differ only in their endings, or one continues the other ("momentum", "moment")."""
    common = Prefix.similarity(word, choice)
    rest, other = word[common:], choice[common:]
    is_longer = not (rest and other) and len(rest + other) > 1
    return is_longer or all(map(_ENDING.fullmatch, (rest, other)))
