"""Words without which a text says another thing: "at least", "not", a clause with "if".

Who rewords a question may say them otherwise, so they are looked for only where a paraphrase is the original with words
left out, and nothing else was done.
"""

from __future__ import annotations

from collections.abc import Sequence

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.asked import left_out, words_of
from tqnet.paraphrase.difference import Change, Difference, Part

#: Without one of them, a text says another thing.
_BOUNDS = frozenset(("not", "never", "no", "without", "except", "unless", "least", "most", "each", "every"))
#: So does one without a clause of theirs, which has so many words that say something.
_CONDITIONS = frozenset(("if", "only", "provided", "given", "remaining", "rest"))
#: So does a question, but not a story: "she went out when it rained".
_CONDITIONS_OF_QUESTIONS = frozenset(("when", "so", "such", "all"))
_WORDS = 2


def deleted_conditions(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each row of words that was left out and bounds what is told, where nothing else was done to the text."""
    start, end = original.question or (0, 0)
    return [
        Difference(Part.WORD, Change.LOST, " ".join(token.text for token in row))
        for row in left_out(words_of(original, None), words_of(paraphrase, None))
        if _bounds(row, is_asked=start <= row[0].idx < end)
    ]


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
