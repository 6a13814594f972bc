"""Sentences of two texts that are the same but for a word or two.

Who rewords a question writes a sentence anew. Where only a word is another one, the word was put there: nothing else
of the sentence can say what it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tqnet.paraphrase.problem import Problem
from tqnet.text.formulas import Span

#: So few words of a sentence may be others, with so many that are not for each.
_MOVED, _SAME = 2, 2
#: Of words that change sides of an "and" together.
_PHRASE = 12
#: Exercise sheets have more sentences, too many to compare each with each.
_SENTENCES = 30
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_JOINED = ("and", "or", ",", "&", "with")


@dataclass(frozen=True)
class AlikeSentences:
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
    def pairs(self) -> list[tuple[str, str]]:
        """Words that are not the same, with those in their places."""
        return [(self.before[place], self.after[place]) for place in self.moved]

    @property
    def lone_pairs(self) -> list[tuple[str, str]]:
        """Those with the same words on both sides."""
        moved = set(self.moved)
        lone = (place for place in self.moved if not {place - 1, place + 1} & moved)
        return [(self.before[place], self.after[place]) for place in lone]

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


def alike_sentences(original: Problem, paraphrase: Problem) -> list[AlikeSentences]:
    """Each sentence of the original with the one of the paraphrase that is most like it, if it is much like it."""
    if max(len(original.sentences), len(paraphrase.sentences)) > _SENTENCES:
        return []
    found = []
    own = [words_of(original.text, span) for span in original.sentences]
    told = {tuple(map(str.lower, words)) for words in own}
    others = [words_of(paraphrase.text, span) for span in paraphrase.sentences]
    changed = [words for words in others if tuple(map(str.lower, words)) not in told]
    kept = {tuple(map(str.lower, words)) for words in others}
    for before in own:
        candidates = [before] if tuple(map(str.lower, before)) in kept else changed
        pairs = [AlikeSentences(before, after) for after in candidates if len(after) == len(before)]
        best = min(pairs, key=lambda one: len(one.moved), default=None)
        if best is not None and len(best.moved) <= min(_MOVED, len(before) // (_SAME + 1)):
            found.append(best)
    return found


def words_of(text: str, span: Span) -> list[str]:
    """Without the mark that ends a sentence."""
    words: Sequence[str] = _WORD.findall(text, *span)
    return list(words[:-1] if words and words[-1] in ".?!" else words)
