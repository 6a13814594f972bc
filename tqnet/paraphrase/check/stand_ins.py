"""Words that stand in the place of a thing or a unit: "A train leaves Lyon. How many stay on the ship?", "5 xyz".

Which nouns mean the same, only a list knows (`nouns`). So looked at are sentences that are the same but for a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spacy.tokens import Token

from tqnet.paraphrase.check.alike import AlikeSentences
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma, lemmas
from tqnet.paraphrase.check.nouns import may_be_called
from tqnet.paraphrase.check.units import reads
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.units import spellings

#: So many letters at the beginning of a word that is misspelt.
_LETTERS = 3


def stand_ins(original: Problem, paraphrase: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Nouns in whose place one stands of which nothing was told, while the paraphrase goes on to speak of them."""
    words = [pair for sentence in alike if len(sentence.moved) == 1 for pair in sentence.pairs]
    if not words:
        return []
    before, after = _nouns(original), _nouns(paraphrase)
    mentions, left = Counter(lemmas(original.doc)), Counter(lemmas(paraphrase.doc))
    told = {token.lower_ for token in original.doc} | set(mentions)
    found = []
    for was, became in words:
        old, new = before.get(was.lower()), after.get(became.lower())
        if old is None or new is None or {new.lower_, lemma(new)} & told:
            continue
        is_left = 0 < left[lemma(old)] < mentions[lemma(old)]
        if is_left and not may_be_called(lemma(old), lemma(new)):
            found.append(Difference(Part.ENTITY, Change.INCONSISTENT, old.text, new.text))
    return found


def replaced_units(original: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Units of numbers in whose place stands what is no unit, in a sentence that is the same around it."""
    units = {original.text[unit.start : unit.end].strip().lower(): unit.name for unit in original.units if unit.number}
    words = (pair for sentence in alike for pair in sentence.lone_pairs)
    return [
        Difference(Part.UNIT, Change.CHANGED, old, new)
        for old, new in words
        if old.isalpha() and new.isalpha() and _is_no_longer_a_unit(units.get(old.lower()), old.lower(), new.lower())
    ]


def _is_no_longer_a_unit(name: str | None, old: str, new: str) -> bool:
    """Whether a word stands for a unit that is not but misspelt, as "quartz" is."""
    if name is None or new in spellings() or reads(name, new) or old[:_LETTERS] == new[:_LETTERS]:
        return False
    return not may_be_called(old.removesuffix("s"), new.removesuffix("s"))  # cups and mugs


def _nouns(problem: Problem) -> dict[str, Token]:
    """By how they are written; what is a unit is left to the units."""
    return {
        token.lower_: token
        for token in problem.doc
        if token.pos_ == "NOUN" and token.is_alpha and token.lower_ not in spellings()
    }
