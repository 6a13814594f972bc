"""Augmentation of word problems that keeps their answers.

QuesCo's strategies change the words, their order and that of the clauses; a distractor is a condition of another
problem, with a number that the answer does not need, as in part of SVAMP (Patel et al. 2021). The numbers of the
equation follow to their new places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from tqnet.augment.clauses import Level, conditions
from tqnet.augment.strategies import apply_strategies, strategy_names
from tqnet.config import Share, settings
from tqnet.questions import Question
from tqnet.solver.problems import WordProblem, values_of
from tqnet.text.equations import Prefix
from tqnet.text.sentences import SENTENCE_ENDS, cuts

#: Conditions among which the most similar one becomes the distractor.
_DRAWN = 100


@settings
class ProblemAugmentConfig:
    """Augmentation of word problems."""

    strategies: list[Literal["text", "swap", "delete", "rename", "structure", "shuffle", "repeat"]] = field(
        default_factory=list
    )
    """QuesCo's augmentations that keep the answer, by name (swap, delete, rename, shuffle, repeat) or group (text,
    structure)."""
    probability: Share = 0.3
    """Probability of each strategy, every time a problem is seen."""
    distract: Share = 0.0
    """Share of problems to put a condition of another problem into, anew every time; its number is not needed."""


class _Condition(NamedTuple):
    """A sentence with a number, the row number of its problem, and its token ids."""

    problem: int
    text: str
    words: frozenset[int]


class ProblemAugmentation:
    """Draws a problem's text and equation.

    Args:
        questions, problems: Those of the training, in the same order.
        tokenize: (texts) -> their token ids, to compare problems with distractors.
        form: (equation) -> the form to learn.
    """

    def __init__(
        self,
        config: ProblemAugmentConfig,
        questions: Sequence[Question],
        problems: Sequence[WordProblem],
        tokenize: Callable[[Sequence[str]], list[list[int]]],
        form: Callable[[Prefix], Prefix] = tuple,
    ):
        self.config, self.questions, self.problems, self.form = config, questions, problems, form
        self.strategies = strategy_names(config.strategies)
        self._words: list[frozenset[int]] = []
        self._conditions: defaultdict[str | None, list[_Condition]] = defaultdict(list)
        if config.distract:
            self._words = list(map(frozenset, tokenize([question.content for question in questions])))
            for place, question in enumerate(questions):
                texts = _separate_conditions(question.stem)
                for text, words in zip(texts, map(frozenset, tokenize(texts)), strict=True):
                    self._conditions[question.language].append(_Condition(place, text, words))

    def __call__(self, place: int, rng: np.random.Generator) -> tuple[str, WordProblem]:
        """Augment the problem at ``place``; where a number of it would be lost, it stays as it is."""
        question, problem = self.questions[place], self.problems[place]
        changed = apply_strategies(question, self.strategies, self.config.probability, rng)
        if self.config.distract and rng.random() < self.config.distract:
            changed = self._distract(place, changed, rng)
        renumbered = renumber(problem, values_of(changed.content)) if changed is not question else problem
        if renumbered is None:
            return question.content, problem
        return changed.content, replace(renumbered, equation=self.form(renumbered.equation))

    def _distract(self, place: int, question: Question, rng: np.random.Generator) -> Question:
        """Insert the condition that shares most of its words with the problem, of some drawn in its language."""
        pool, problem_words = self._conditions[question.language], self._words[place]
        drawn = [pool[number] for number in rng.integers(len(pool), size=_DRAWN).tolist()] if pool else []
        drawn = [condition for condition in drawn if condition.problem != place]
        if not drawn:
            return question
        best = max(drawn, key=lambda condition: len(condition.words & problem_words) / len(condition.words))
        return replace(question, stem=_inserted(question.stem, best.text, rng))


def _separate_conditions(stem: str) -> list[str]:
    """Return the sentences of a stem that stand alone and state a number, without their marks."""
    clauses = [clause for group in conditions(stem) for clause in group if clause.level is Level.SENTENCE]
    texts = [stem[clause.start : clause.end] for clause in clauses]
    return [text for text in texts if values_of(text)]


def _inserted(stem: str, condition: str, rng: np.random.Generator) -> str:
    """Put a condition at the start of one of the sentences."""
    starts = [0, *(end for _, end in cuts(stem, 0, len(stem), SENTENCE_ENDS) if stem[end:].strip())]
    start = starts[rng.integers(len(starts))]
    mark, space = (".", " ") if condition.isascii() else ("。", "")
    if start == 0:
        return f"{condition}{mark}{space}{stem}"
    return f"{stem[:start]}{space}{condition}{mark}{stem[start:]}"


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
