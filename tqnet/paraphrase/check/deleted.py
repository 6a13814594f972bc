"""Words without which a text says another thing, or nothing: "at least", "not", a clause with "if", the noun of "a".

Who rewords a question may say them otherwise, so they are looked for only where a paraphrase is the original with words
left out, and nothing else was done.
"""

from __future__ import annotations

from collections.abc import Sequence

from spacy.tokens import Token

from tqnet.paraphrase.check.asked import left_out, words_of
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.units import spellings

#: Without one of them, a text says another thing.
_BOUNDS = frozenset(("not", "never", "no", "without", "except", "unless", "least", "most", "each", "every"))
#: So does one without a clause of theirs, which has so many words that say something.
_CONDITIONS = frozenset(("if", "only", "provided", "given", "remaining", "rest"))
#: So does a question, but not a story: "she went out when it rained".
_CONDITIONS_OF_QUESTIONS = frozenset(("when", "so", "such", "all"))
_WORDS = 2
_ARTICLES = frozenset(("a", "an", "the", "every", "their", "its", "my", "our", "your"))
_OF_NOUNS = frozenset(("DET", "ADJ", "NOUN", "PROPN", "NUM", "PRON", "SYM"))


def deleted_conditions(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each row of words that was left out and bounds what is told, or leaves words without their noun, where nothing
    else was done to the text.
    """
    start, end = original.question or (0, 0)
    rows = left_out(words_of(original, None), words_of(paraphrase, None))
    gone = {token for row in rows for token in row}
    return [
        Difference(Part.WORD, Change.LOST, " ".join(token.text for token in row))
        for row in rows
        if _bounds(row, is_asked=start <= row[0].idx < end) or any(_is_missing(token, gone) for token in row)
    ]


def _is_missing(noun: Token, gone: set[Token]) -> bool:
    """Whether a noun has left words behind that need it: the "a" of "a state", the "of" of "of salt and water".

    A number needs none, "a class of 30". The word before it may have taken its place, "the average" of "the average
    score", and so may what comes next.
    """
    if noun.pos_ not in ("NOUN", "PROPN") or noun.lower_ in spellings():
        return False
    kept = [child for child in noun.children if child not in gone]
    if any(child.dep_ in ("amod", "compound", "nmod") for child in kept):
        return False
    if any(child.lower_ in _ARTICLES for child in kept):
        return True
    behind = next((token for token in noun.doc[noun.i + 1 :] if token not in gone), None)
    if behind is None or behind.i == len(noun.doc) - 1:  # a text that breaks off
        return False
    return noun.dep_ == "pobj" and noun.head not in gone and behind.pos_ not in _OF_NOUNS


def _bounds(row: Sequence[Token], is_asked: bool) -> bool:
    words = [token.lower_ for token in row]
    if "or" in words[:-1] and words[words.index("or") + 1] == "not":  # "whether or not"
        return False
    if not _BOUNDS.isdisjoint(words):
        return True
    if sum(not token.is_stop for token in row) < _WORDS:
        return False
    gives_some = any(token.lower_ == "some" and "dobj" in (token.dep_, token.head.dep_) for token in row)
    conditions = _CONDITIONS | _CONDITIONS_OF_QUESTIONS if is_asked else _CONDITIONS
    return gives_some or not conditions.isdisjoint(words)
