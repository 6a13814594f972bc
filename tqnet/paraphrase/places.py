"""Words that stand in other words' places: "Ann gave Tom" for "Tom gave Ann", "perimeter" for "area".

Who rewords a question puts synonyms, which nothing here knows. So looked at are sentences that are the same but for one
or two words, and only these are named: a word of the original where another one of its words was, and an opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from spacy.lang.en.stop_words import STOP_WORDS

from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.units.names import spellings
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.paraphrase.opposites import are_opposites
from tqnet.text.spans import Span

#: So few words of a sentence may be others, with so many that are not for each.
_MOVED, _SAME = 2, 2
#: Of words that change sides of an "and" together.
_PHRASE = 12
#: Exercise sheets have more sentences, too many to compare each with each.
_SENTENCES = 30
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_JOINED = ("and", "or", ",", "&", "with")


@dataclass(frozen=True)
class _Alike:
    """Two sentences of as many words, most of them the same.

    Attributes:
        before, after: The words, as they are written.
    """

    before: list[str]
    after: list[str]

    @cached_property
    def moved(self) -> list[int]:
        """Places of words that are not the same."""
        both = enumerate(zip(self.before, self.after, strict=True))
        return [place for place, (old, new) in both if old.lower() != new.lower()]

    @property
    def stayed(self) -> set[str]:
        return {word.lower() for place, word in enumerate(self.before) if place not in self.moved}

    @property
    def is_turned_round(self) -> bool:
        """Whether phrases stand on either side of an "and", and it does not matter on which: "x + y and x - y"."""
        if len(self.moved) != _MOVED:
            return False
        first, second = self.moved
        words = [word.lower() for word in self.before]
        if (words[first], words[second]) != (self.after[second].lower(), self.after[first].lower()):
            return False
        many = second - first - 1
        turned = [word.lower() for word in self.after]
        return 0 < many <= _PHRASE and any(
            words[joint - many : joint] == turned[joint + 1 : joint + 1 + many]
            for joint in range(max(first + 1, many), second)
            if words[joint] in _JOINED or (words[joint] == "to" and words[joint - many - 1 : joint - many] == ["from"])
        )


def exchanged_words(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each word with the one in its place.

    Names that changed places in all sentences are the same question: a word must also stand where it stood.
    """
    if max(len(original.sentences), len(paraphrase.sentences)) > _SENTENCES:
        return []
    sentences = list(_alike(original, paraphrase))
    in_both = _vocabulary(original) & _vocabulary(paraphrase)
    stayed = {word for sentence in sentences for word in sentence.stayed}
    found = []
    for sentence in sentences:
        pairs = [(sentence.before[place], sentence.after[place]) for place in sentence.moved]
        if sentence.is_turned_round:
            continue
        if all(are_opposites(*pair) for pair in pairs):
            found += [Difference(Part.WORD, Change.CHANGED, *pair) for pair in pairs]
        elif all(_exchanged(*pair, in_both, stayed) for pair in pairs):
            found += [Difference(Part.WORD, Change.EXCHANGED, *pair) for pair in pairs]
    return found


def _alike(original: Problem, paraphrase: Problem) -> Iterator[_Alike]:
    """Each sentence of the original with the one of the paraphrase that is most like it, if it is much like it."""
    own = [_words(original.text, span) for span in original.sentences]
    told = {tuple(map(str.lower, words)) for words in own}
    others = [_words(paraphrase.text, span) for span in paraphrase.sentences]
    changed = [words for words in others if tuple(map(str.lower, words)) not in told]
    kept = {tuple(map(str.lower, words)) for words in others}
    for before in own:
        found = [_Alike(before, after) for after in changed if len(after) == len(before)]
        best = min(found, key=lambda one: len(one.moved), default=None)
        if tuple(map(str.lower, before)) in kept:
            best = _Alike(before, before)
        if best is not None and len(best.moved) <= min(_MOVED, len(before) // (_SAME + 1)):
            yield best


def _words(text: str, span: Span) -> list[str]:
    """Without the mark that ends a sentence."""
    words: Sequence[str] = _WORD.findall(text, *span)
    return list(words[:-1] if words and words[-1] in ".?!" else words)


def _vocabulary(problem: Problem) -> set[str]:
    return {word.lower() for word in _words(problem.text, (0, len(problem.text)))}


def _exchanged(old: str, new: str, in_both: set[str], stayed: set[str]) -> bool:
    units = [spellings().get(word) for word in (old, new)]
    if units[0] and units[1] and units[0].name == units[1].name:
        return False
    pair = {old.lower(), new.lower()}
    return pair <= in_both and bool(pair & stayed) and all(one.isalpha() and one not in STOP_WORDS for one in pair)
