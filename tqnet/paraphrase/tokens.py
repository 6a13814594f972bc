"""Tokens shuffled, deleted, inserted and replaced: corruptions for a model to restore (ParaQD, f_b), operators of test
sets (f_c, f_d), and the paper's baselines, which take all their results for paraphrases (Section 4.3).

UDA replaces words that say little (Xie et al. 2020); SSMBA masks words and has a masked language model fill the gaps
(Ng et al. 2020). Neither knows about numbers and units, so both lose them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from tqnet.augment.formulas import edit
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import outside_formulas, rewrite
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.replacements import as_written

#: Number of tokens at the end that stay, as they tell what is asked (ParaQD, A.3).
_LAST = 3
#: Number of neighbouring tokens that are shuffled together.
_WINDOW = 3


def corrupt(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Move tokens by a place or two, delete, replace and insert them, ``share`` of them each; numbers, units, formulas
    and the last three tokens stay where they are (A.3).

    Inserted words come from the same text. A model that restores the text from this paraphrases it.
    """
    tokens = problem.tokens
    free = _free(problem)
    if len(free) < 2:
        raise NotApplicable("there are fewer than two words besides numbers, units and the end")
    words = [problem.text[start:end] for start, end in tokens]
    choices = [words[at] for at in free]
    for begin in np.flatnonzero(rng.random(len(free)) < share):  # a window in which neighbours change places
        window = free[begin : begin + _WINDOW]
        moved = [words[window[other]] for other in rng.permutation(len(window))]
        for place, word in zip(window, moved, strict=True):
            words[place] = word
    for at in free:
        drawn = rng.random()
        if drawn < share:
            words[at] = ""
        elif drawn < 2 * share:
            words[at] = choices[rng.integers(len(choices))]
        elif drawn < 3 * share:
            words[at] += f" {choices[rng.integers(len(choices))]}"
    changes = {token: word for token, word in zip(tokens, words, strict=True) if problem.text[slice(*token)] != word}
    return rewrite(problem.text, changes or {tokens[free[rng.integers(len(free))]]: ""})


def _free(problem: Problem) -> list[int]:
    """Return the indices of the words that may change: those between spaces or before a mark."""
    text = problem.text
    kept: list[Span] = [number.outer for number in problem.numbers]
    kept += [(unit.start, unit.end) for unit in problem.units] + formula_character_spans(text)
    return [
        at
        for at, (start, end) in enumerate(problem.tokens[:-_LAST])
        if text[start:end].isalpha()
        and (not start or text[start - 1].isspace())
        and (text[end].isspace() or text[end] in ".,;:?!")
        and not any(first < end and start < last for first, last in kept)
    ]


def delete_words(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Delete each token with probability ``share``, at least one; at least one stays (Wei and Zou 2019; f_d)."""
    tokens = problem.tokens
    if len(tokens) < 2:
        raise NotApplicable("there are fewer than two tokens")
    deleted = rng.random(len(tokens)) < share
    if not deleted.any():
        deleted[rng.integers(len(tokens))] = True
    if deleted.all():
        deleted[rng.integers(len(tokens))] = False
    return rewrite(problem.text, {token: "" for token, out in zip(tokens, deleted, strict=True) if out})


#: Words that have a weight.
_WORD = re.compile(r"[^\W\d_]{2,}")


def _words(problem: Problem) -> tuple[list[Span], list[str]]:
    """Return the spans of words outside formulas, and the words; raise NotApplicable if there are none."""
    places = outside_formulas(problem.text, _WORD)
    if not places:
        raise NotApplicable("there are no words")
    return places, [problem.text[start:end] for start, end in places]


@dataclass(frozen=True)
class WordWeights:
    """TF-IDF weights of the vocabulary of a corpus; ``counts`` [words] is how often each word occurs."""

    idf: dict[str, float]
    words: tuple[str, ...]
    counts: np.ndarray

    @classmethod
    def fit(cls, texts: Sequence[str]) -> WordWeights:
        """Weigh words by how many of ``texts`` have them; raise ValueError if there are no words."""
        vectorizer = TfidfVectorizer(token_pattern=_WORD.pattern).fit(texts)
        words = tuple(map(str, vectorizer.get_feature_names_out()))
        counted = Counter(word.lower() for text in texts for word in _WORD.findall(text))
        idf = dict(zip(words, map(float, vectorizer.idf_), strict=True))
        return cls(idf, words, np.array([counted[word] for word in words]))

    def of(self, words: Sequence[str]) -> np.ndarray:
        """Return the TF-IDF of each word of a text, [n]; an unknown word weighs as much as the rarest."""
        lower = [word.lower() for word in words]
        counts, rarest = Counter(lower), max(self.idf.values())
        return np.array([counts[word] * self.idf.get(word, rarest) for word in lower])


def replace_heavy_words(problem: Problem, rng: np.random.Generator, weights: WordWeights, share: float = 0.15) -> str:
    """Replace ``share`` of the words, at least one, by random words; heavy words are likelier to go (f_c)."""
    places, words = _words(problem)
    heavy = weights.of(words)
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


@dataclass(frozen=True)
class LightWords:
    """Replaces words of low TF-IDF with words that say little in the corpus (UDA, "TF-IDF word replacing").

    Word i is replaced with probability min(p (C - tfidf_i) / Z, 1), where C is the largest TF-IDF, Z the mean of
    C - tfidf, and p is ``share``, the expected share of replaced words; at least one word is replaced.
    """

    weights: WordWeights
    share: float

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        places, words = _words(problem)
        tfidf = self.weights.of(words)
        light = tfidf.max() - tfidf
        chance = self.share * light / light.mean() if light.any() else np.full(len(places), self.share)
        replaced = rng.random(len(places)) < chance
        if not replaced.any():
            replaced[rng.choice(len(places), p=chance / chance.sum())] = True
        return edit(problem.text, {places[at]: self._other(words[at], rng) for at in np.flatnonzero(replaced)})

    def _other(self, word: str, rng: np.random.Generator) -> str:
        drawn = np.searchsorted(self._cumulated, rng.random() * self._cumulated[-1], side="right")
        return as_written(self.weights.words[drawn], word)

    @cached_property
    def _cumulated(self) -> np.ndarray:
        """Cumulative odds of the words, max S - S, where S is a word's count times its inverse document frequency."""
        score = self.weights.counts * np.array([self.weights.idf[word] for word in self.weights.words])
        odds = score.max() - score
        return np.cumsum(odds if odds.any() else np.ones(len(odds)))


#: Words and numbers, which a masked language model may guess.
_GAP = re.compile(r"[^\W_]+")
#: Texts with gaps -> for each gap of each text: words, the most likely first, and their probabilities.
Fill = Callable[[Sequence[str]], Sequence[Sequence[tuple[Sequence[str], np.ndarray]]]]


def mask_and_refill(
    texts: Sequence[str], fill: Fill, gap: str, share: float, generators: Sequence[np.random.Generator]
) -> list[str]:
    """Redraw ``share`` of the words and numbers of each text, at least one, from a model's guesses (SSMBA).

    Formulas stay; a ``gap`` for which ``fill`` has no guesses, at the end of a long text, keeps its word. NOTE: SSMBA
    leaves a tenth of the chosen words as they are and replaces a tenth with random ones; here all are masked.
    """
    chosen = [_drawn(text, share, rng) for text, rng in zip(texts, generators, strict=True)]
    gapped = [edit(text, dict.fromkeys(places, gap)) for text, places in zip(texts, chosen, strict=True)]
    refilled = []
    for text, places, guesses, rng in zip(texts, chosen, fill(gapped), generators, strict=True):
        changes = {}
        for place, (words, probability) in zip(places, guesses, strict=False):
            changes[place] = as_written(words[rng.choice(len(words), p=probability)], text[slice(*place)])
        refilled.append(edit(text, changes))
    return refilled


def _drawn(text: str, share: float, rng: np.random.Generator) -> list[Span]:
    places = outside_formulas(text, _GAP)
    count = min(len(places), max(1, round(share * len(places))))
    return [places[at] for at in sorted(rng.choice(len(places), count, replace=False))] if places else []
