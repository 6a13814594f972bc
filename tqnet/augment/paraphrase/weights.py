"""Words of weight, by TF-IDF, replaced by any others (ParaQD, f_c)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.spans import outside_formulas, rewrite
from tqnet.text.replacements import as_written

#: What has a weight.
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class WordWeights:
    """What the words of some texts weigh.

    Attributes:
        idf: Word -> inverse document frequency, smoothed as scikit-learn does.
        words: The vocabulary.
        rarest: The weight of the rarest words.
    """

    idf: dict[str, float]
    words: tuple[str, ...]
    rarest: float

    @classmethod
    def fit(cls, texts: Sequence[str]) -> WordWeights:
        """Weights by how many of ``texts`` have a word.

        Raises:
            ValueError: The texts have no words.
        """
        vectorizer = TfidfVectorizer(token_pattern=WORD.pattern).fit(texts)
        words = tuple(map(str, vectorizer.get_feature_names_out()))
        idf = dict(zip(words, map(float, vectorizer.idf_), strict=True))
        return cls(idf, words, max(idf.values()))

    def of(self, words: Sequence[str]) -> np.ndarray:
        """TF-IDF of each word of a text, [n]; a word that no text had weighs as much as the rarest."""
        counts = Counter(words)
        return np.array([counts[word] * self.idf.get(word, self.rarest) for word in words])


def replace_heavy_words(problem: Problem, rng: np.random.Generator, weights: WordWeights, share: float = 0.15) -> str:
    """``share`` of the words, one at least, become any of the vocabulary, the heavier the more likely (f_c)."""
    places = outside_formulas(problem.text, WORD)
    if not places:
        raise NotApplicable("there are no words")
    words = [problem.text[start:end] for start, end in places]
    heavy = weights.of([word.lower() for word in words])
    heavy = heavy - heavy.min()
    count = min(max(1, round(share * len(places))), max(1, int(np.count_nonzero(heavy))))
    chosen = rng.choice(len(places), count, replace=False, p=heavy / heavy.sum() if heavy.any() else None)
    changes = {}
    for at in chosen:
        other = words[at].lower()
        while other == words[at].lower() and len(weights.words) > 1:
            other = weights.words[rng.integers(len(weights.words))]
        changes[places[at]] = as_written(other, words[at])
    return rewrite(problem.text, changes)
