"""Pairs of questions whose relation is known since one was made of the other (FSE, "Duplicate Exercise")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tqnet.augment.numbers import replace_number, replace_prose_number
from tqnet.augment.surface import change_surface
from tqnet.augment.variants import make_variant
from tqnet.questions import KnowledgePath, Question, QuestionBank
from tqnet.questions.pairs import RELATIONS, LabelledPair
from tqnet.questions.traits import traits

#: Questions of which more than this share of three-word runs is shared, numbers aside, are not taken to be unrelated.
_ALIKE = 0.4
#: Draws of a question that is to be unrelated.
_TRIES = 20


class PairMaker:
    """Draws pairs of each relation, the first question as the bank has it.

    Of what is made similar or a variant, half has another surface too, and some variants have other numbers, so that
    neither a new wording nor a new number tells the relation alone. Questions of one ``group``, which are similar in
    some way, are never drawn as unrelated.
    """

    def __init__(self, bank: QuestionBank):
        self.bank = bank
        self.groups: list[str | None] = bank.column("group")
        self.leaves: list[tuple[KnowledgePath, ...]] = bank.column("knowledge")
        self.pictured = [row for row, images in enumerate(bank.column("images")) if images]
        self._holders: dict[KnowledgePath, list[int]] = defaultdict(list)
        for row, paths in enumerate(self.leaves):
            for path in paths:
                self._holders[path].append(row)

    def draw(self, row: int, rng: np.random.Generator) -> LabelledPair:
        """The question at ``row`` of the bank with another one, of a relation that can be made of it."""
        a = self.bank[row]
        ways: tuple[Callable[[], Question | None], ...] = (
            lambda: change_surface(a, rng),
            lambda: make_similar(a, rng),
            lambda: make_other(a, rng),
            lambda: self._unrelated(a, row, rng),
        )
        # A variant cannot be made of every question, so it is tried first twice as often.
        order = dict.fromkeys(rng.permutation([*range(len(RELATIONS)), RELATIONS.index("variant")]).tolist())
        for relation in order:
            if (b := ways[relation]()) is not None:
                return LabelledPair(a, _unlabelled(b, RELATIONS[relation]), RELATIONS[relation])
        raise AssertionError("a duplicate can be made of every question")

    def _unrelated(self, a: Question, row: int, rng: np.random.Generator) -> Question | None:
        """A question with another figure, or another question, of the same concept as often as of any."""
        if a.images and len(self.pictured) > 1 and rng.random() < 0.3:
            figures = self.bank[self.pictured[rng.integers(len(self.pictured))]].images
            return replace(a, images=figures) if set(figures).isdisjoint(a.images) else None
        same_concept = bool(self.leaves[row]) and rng.random() < 0.5
        for _ in range(_TRIES):
            b = self._same_concept(row, rng) if same_concept else int(rng.integers(len(self.bank)))
            if not self._related(a, row, b):
                return change_surface(self.bank[b], rng, 2) if rng.random() < 0.3 else self.bank[b]
        return None

    def _same_concept(self, row: int, rng: np.random.Generator) -> int:
        paths = self.leaves[row]
        holders = self._holders[paths[rng.integers(len(paths))]]
        return holders[rng.integers(len(holders))]

    def _related(self, a: Question, row: int, other: int) -> bool:
        if other == row or (self.groups[row] is not None and self.groups[row] == self.groups[other]):
            return True
        one, two = traits(a).runs, traits(self.bank[other]).runs
        return len(one & two) > _ALIKE * len(one | two)


def make_similar(question: Question, rng: np.random.Generator) -> Question | None:
    """``question`` with other numbers, and maybe another surface; None where its stem has no number to change."""
    changed = _other_numbers(question, rng)
    if changed is None:
        return None
    return change_surface(changed, rng, 2) if rng.random() < 0.5 else changed


def make_other(question: Question, rng: np.random.Generator) -> Question | None:
    """A variant of ``question``, maybe with another surface and other numbers; None where no change applies."""
    changed = make_variant(question, rng)
    if changed.stem == question.stem:
        return None
    if rng.random() < 0.25:
        changed = _other_numbers(changed, rng) or changed
    return change_surface(changed, rng, 2) if rng.random() < 0.5 else changed


def _other_numbers(question: Question, rng: np.random.Generator) -> Question | None:
    """One to three numbers of the stem, and one of each option, are others."""
    changed = replace(question, options=())
    for _ in range(rng.integers(1, 4)):
        first, then = (replace_number, replace_prose_number)[:: 1 if rng.random() < 0.5 else -1]
        before, changed = changed, first(changed, rng)
        if changed == before:
            changed = then(changed, rng)
    if traits(changed).numbers == traits(replace(question, options=())).numbers:
        return None
    options = [replace_number(Question(id="", stem=option), rng) for option in question.options]
    return replace(changed, options=tuple(replace_prose_number(option, rng).stem for option in options))


def _unlabelled(question: Question, relation: str) -> Question:
    """A question that was made: nobody has solved it, and its id is its own."""
    return replace(question, id=f"{question.id}~{relation}", answer=None, analysis=None)
