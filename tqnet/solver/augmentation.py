"""Augmentation of word problems, assumed to keep their answers; the numbers of the equation follow to their new places.

QuesCo's structure augmentation shuffles and repeats conditions. A distractor is a condition of another problem, with a
number that the answer does not need, as in part of SVAMP (Patel et al. 2021).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from tqnet.augment.clauses import Level, conditions, separate_sentences
from tqnet.augment.strategies import apply_strategies, strategy_names
from tqnet.config import Share, settings
from tqnet.questions import Question
from tqnet.solver.problems import WordProblem, values_of
from tqnet.text.equations import OPERATORS, Prefix, number
from tqnet.text.sentences import SENTENCE_ENDS, cuts
from tqnet.text.vocabulary import is_chinese

#: Conditions among which the most similar one becomes the distractor.
_DRAWN = 100
#: Words of more than this share of the problems, and of more than this many, say nothing about what is asked for.
_FREQUENT, _FEWEST = 0.05, 20
_ENDS = tuple(".!?。！？．")
_QUOTES = (("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"))


@settings
class ProblemAugmentConfig:
    """Augmentation of word problems."""

    strategies: list[Literal["structure", "shuffle", "repeat"]] = field(default_factory=list)
    """QuesCo's augmentations of structure: shuffle parallel conditions or questions, repeat a condition, or structure
    for both."""
    probability: Share = 0.3
    """Probability of each strategy, every time a problem is seen."""
    distract: Share = 0.0
    """Share of problems to put a condition of another problem into, anew every time, with other numbers and without
    the rarer words of the last sentence, which asks."""


class _Condition(NamedTuple):
    """A sentence with numbers: the row number of its problem, its text, its token ids, and the numbers."""

    problem: int
    text: str
    words: frozenset[int]
    values: frozenset[Fraction]


class ProblemAugmentation:
    """Draws a problem's text and equation.

    Args:
        questions, problems: Those of the training, in the same order.
        tokenize: (texts) -> their token ids, to compare problems with distractors.
        most: Maximum number of quantities per problem (`Alphabet.most`).
        form: (equation) -> the form to learn.
    """

    def __init__(
        self,
        config: ProblemAugmentConfig,
        questions: Sequence[Question],
        problems: Sequence[WordProblem],
        tokenize: Callable[[Sequence[str]], list[list[int]]],
        most: int,
        form: Callable[[Prefix], Prefix] = tuple,
    ):
        self.config, self.questions, self.problems, self.most, self.form = config, questions, problems, most, form
        self.strategies = strategy_names(config.strategies)
        self._conditions: defaultdict[tuple[str | None, bool], list[_Condition]] = defaultdict(list)
        if not config.distract:
            return
        self._words = list(map(frozenset, tokenize([question.content for question in questions])))
        counts = Counter(chain.from_iterable(self._words))
        frequent = {word for word, count in counts.items() if count > max(_FEWEST, _FREQUENT * len(questions))}
        frequent.update(tokenize(["1"])[0])  # special tokens, and the mark of a number
        self._asked = [frozenset(words) - frequent for words in tokenize([_last_sentence(q.stem) for q in questions])]
        for place, question in enumerate(questions):
            for text in _separate_conditions(question.stem):
                condition = _Condition(place, text, frozenset(tokenize([text])[0]), frozenset(values_of(text)))
                self._conditions[_language(question)].append(condition)

    def __call__(self, place: int, rng: np.random.Generator) -> tuple[str, WordProblem]:
        """Augment the problem at ``place``; where a number of it would be lost, it stays as it is."""
        question, problem = self.questions[place], self.problems[place]
        changed = apply_strategies(question, self.strategies, self.config.probability, rng)
        if self.config.distract and rng.random() < self.config.distract:
            changed = self._distract(place, changed, rng)
        renumbered = renumber(problem, values_of(changed.content)[: self.most])
        if changed is question or renumbered is None:
            return question.content, problem
        return changed.content, replace(renumbered, equation=self.form(renumbered.equation))

    def _distract(self, place: int, question: Question, rng: np.random.Generator) -> Question:
        """Insert, of some conditions that may be drawn, the one that shares most of its words with the problem."""
        pool, problem, words = self._conditions[_language(question)], self.problems[place], self._words[place]
        constants = (number(token) for token in problem.equation if token not in OPERATORS and token[0] != "n")
        needed = {*problem.values, *constants}
        drawn = [pool[row] for row in rng.integers(len(pool), size=_DRAWN).tolist()] if pool else []
        apt = [
            condition
            for condition in drawn
            if condition.problem != place
            and condition.values.isdisjoint(needed)
            and condition.words.isdisjoint(self._asked[place])
            and not condition.words <= words  # it would say the same with another number
        ]
        if not apt:
            return question
        best = max(apt, key=lambda condition: len(condition.words & words) / len(condition.words))
        return replace(question, stem=_inserted(question.stem, best.text, rng))


def _language(question: Question) -> tuple[str | None, bool]:
    return question.language, is_chinese(question.stem)


def _last_sentence(stem: str) -> str:
    marks = [end for _, end in cuts(stem, 0, len(stem), SENTENCE_ENDS) if stem[end:].strip()]
    return stem[marks[-1] :] if marks else stem


def _separate_conditions(stem: str) -> list[str]:
    """Return the sentences of a stem that stand alone and state a number, without their marks."""
    clauses = [clause for group in conditions(stem) for clause in group if clause.level is Level.SENTENCE]
    texts = [stem[clause.start : clause.end] for clause in clauses]
    return [text for text in texts if values_of(text) and _ends_quotes(text)]


def _inserted(stem: str, condition: str, rng: np.random.Generator) -> str:
    """Put a condition before the text or before another sentence that stands alone."""
    starts = [clause.start for clause in separate_sentences(stem)]
    starts = [0, *(start for start in starts if stem[:start].rstrip().endswith(_ENDS) and _ends_quotes(stem[:start]))]
    start = starts[rng.integers(len(starts))]
    return f"{stem[:start]}{condition}{'。' if is_chinese(stem) else '. '}{stem[start:]}"


def _ends_quotes(text: str) -> bool:
    """Return whether every quotation that begins in a text ends there; apostrophes end none."""
    return text.count('"') % 2 == 0 and all(text.count(first) <= text.count(last) for first, last in _QUOTES)


def renumber(problem: WordProblem, values: Sequence[Fraction]) -> WordProblem | None:
    """Return the problem with the numbers of another text, in which each has its value; None if one is missing.

    The i-th mention of a value becomes its i-th mention in the other text.
    """
    places: defaultdict[Fraction, list[int]] = defaultdict(list)
    for place, value in enumerate(values, start=1):
        places[value].append(place)
    names: dict[str, str] = {}
    for place, value in enumerate(problem.values, start=1):
        if not places[value]:
            return None
        names[f"n{place}"] = f"n{places[value].pop(0)}"
    return WordProblem(tuple(values), tuple(names.get(token, token) for token in problem.equation))
