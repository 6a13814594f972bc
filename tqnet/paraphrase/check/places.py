"""Words that stand in other words' places: "Ann gave Tom" for "Tom gave Ann", "perimeter" for "area".

Who rewords a question puts synonyms, which nothing here knows. So looked at are sentences that are the same but for one
or two words, and only these are named: a word of the original where another one of its words was, and an opposite.
"""

from __future__ import annotations

from collections.abc import Sequence

from spacy.lang.en.stop_words import STOP_WORDS

from tqnet.paraphrase.check.alike import AlikeSentences, words_of
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.opposites import are_opposites
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.units import spellings


def exchanged_words(original: Problem, paraphrase: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Each word with the one in its place.

    Names that changed places in all sentences are the same question: a word must also stand where it stood.
    """
    in_both = _vocabulary(original) & _vocabulary(paraphrase)
    stayed = {word for sentence in alike for word in sentence.stayed}
    found = []
    for sentence in alike:
        pairs = sentence.pairs
        if sentence.is_turned_round:
            continue
        if all(are_opposites(*pair) for pair in pairs):
            found += [Difference(Part.WORD, Change.CHANGED, *pair) for pair in pairs]
        elif all(_exchanged(*pair, in_both, stayed) for pair in pairs):
            found += [Difference(Part.WORD, Change.EXCHANGED, *pair) for pair in pairs]
    return found


def _vocabulary(problem: Problem) -> set[str]:
    return {word.lower() for word in words_of(problem.text, (0, len(problem.text)))}


def _exchanged(old: str, new: str, in_both: set[str], stayed: set[str]) -> bool:
    units = [spellings().get(word) for word in (old, new)]
    if units[0] and units[1] and units[0].name == units[1].name:
        return False
    pair = {old.lower(), new.lower()}
    return pair <= in_both and bool(pair & stayed) and all(one.isalpha() and one not in STOP_WORDS for one in pair)
