"""Augmentations that ParaQD is compared with, which take all that they make for paraphrases (Section 4.3).

UDA replaces words that say little (Xie et al. 2020); SSMBA masks words and has a masked language model fill the gaps
(Ng et al. 2020). Both know nothing of numbers and units, and lose them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tqnet.augment.formulas import edit
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import outside_formulas
from tqnet.paraphrase.test_operators import WORD, WordWeights
from tqnet.text.formulas import Span
from tqnet.text.replacements import as_written

#: What a masked language model may guess: words and numbers.
_GAP = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class LightWords:
    """Replaces words of low TF-IDF by words that say little in the corpus (UDA, "TF-IDF word replacing").

    Attributes:
        weights: Of the corpus's words.
        counts: [words], how often the corpus has each of ``weights.words``.
        share: Of the words of a text that are replaced, in the mean.
    """

    weights: WordWeights
    counts: np.ndarray
    share: float

    @classmethod
    def fit(cls, texts: Sequence[str], share: float) -> LightWords:
        """By a corpus.

        Raises:
            ValueError: It has no words.
        """
        weights = WordWeights.fit(texts)
        counted = Counter(word.lower() for text in texts for word in WORD.findall(text))
        return cls(weights, np.array([counted[word] for word in weights.words]), share)

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        """Word i goes with probability min(p (C - tfidf_i) / Z, 1), C the largest, Z the mean of C - tfidf.

        One goes at least.

        Raises:
            NotApplicable: There are no words.
        """
        text, places = problem.text, outside_formulas(problem.text, WORD)
        if not places:
            raise NotApplicable("there are no words")
        tfidf = self.weights.of([text[start:end].lower() for start, end in places])
        light = tfidf.max() - tfidf
        chance = self.share * light / light.mean() if light.any() else np.full(len(places), self.share)
        gone = rng.random(len(places)) < chance
        if not gone.any():
            gone[rng.choice(len(places), p=chance / chance.sum())] = True
        taken = (place for place, out in zip(places, gone, strict=True) if out)
        return edit(text, {place: self._other(text[slice(*place)], rng) for place in taken})

    def _other(self, word: str, rng: np.random.Generator) -> str:
        drawn = np.searchsorted(self._cumulated, rng.random() * self._cumulated[-1], side="right")
        return as_written(self.weights.words[drawn], word)

    @cached_property
    def _cumulated(self) -> np.ndarray:
        """Of max S - S, the odds of each word, S its count times its inverse document frequency."""
        score = self.counts * np.array([self.weights.idf[word] for word in self.weights.words])
        odds = score.max() - score
        return np.cumsum(odds if odds.any() else np.ones(len(odds)))


#: Texts with gaps -> of each gap of each text: words, the most likely first, and their probabilities.
Fill = Callable[[Sequence[str]], Sequence[Sequence[tuple[Sequence[str], np.ndarray]]]]


def mask_and_refill(
    texts: Sequence[str], fill: Fill, gap: str, share: float, generators: Sequence[np.random.Generator]
) -> list[str]:
    """``share`` of the words and numbers of each text, one at least, are drawn anew from what a model guesses there.

    Formulas stay. NOTE: SSMBA leaves a tenth of the chosen words as they are and makes a tenth of them random ones;
    here all are masked.

    Args:
        gap: What marks a gap for ``fill``; a gap that is left out at the end of a long text keeps its word.
        generators: One for each text.
    """
    chosen = [_drawn(text, share, rng) for text, rng in zip(texts, generators, strict=True)]
    gapped = [edit(text, dict.fromkeys(places, gap)) for text, places in zip(texts, chosen, strict=True)]
    made = []
    for text, places, guesses, rng in zip(texts, chosen, fill(gapped), generators, strict=True):
        changes = {}
        for place, (words, probability) in zip(places, guesses, strict=False):
            word = words[rng.choice(len(words), p=probability)]
            changes[place] = as_written(word, text[slice(*place)])
        made.append(edit(text, changes))
    return made


def _drawn(text: str, share: float, rng: np.random.Generator) -> list[Span]:
    places = outside_formulas(text, _GAP)
    count = min(len(places), max(1, round(share * len(places))))
    return [places[at] for at in sorted(rng.choice(len(places), count, replace=False))] if places else []
