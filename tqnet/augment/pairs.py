"""Make pairs of questions with a known relation by changing a question (FSE, "Duplicate Exercise").

A variant differs in degree, operator, quantity or condition (FSE, Table 3, E2).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tqnet.augment.clauses import conditions
from tqnet.augment.formulas import edit, replace_number, replace_one, replace_operator, replace_prose_number
from tqnet.augment.surface import change_surface
from tqnet.questions import KnowledgePath, Question, QuestionBank
from tqnet.questions.pairs import RELATIONS, LabelledPair
from tqnet.questions.traits import traits
from tqnet.text.latex import Formula, Role, parse_formulas, text_at
from tqnet.text.replacements import OTHERS, as_written

#: (question, generator) -> a variant, or the same question if the change does not apply.
VariantChange = Callable[[Question, np.random.Generator], Question]

#: Letters that usually are unknowns, not points or indices.
_UNKNOWNS = frozenset("abcpqstuvwxyz")
_POWER = re.compile(r"\^\s*(?:\{\s*([23])\s*\}|([23])(?![\d}]))")


def change_degree(question: Question, rng: np.random.Generator) -> Question:
    """Square a variable, or change a square or cube to another power: x to x^2, x^2 to x^3 or x."""
    powers = [match for match in _POWER.finditer(question.stem) if _in_formula(question.stem, match.start())]
    if powers and rng.random() < 0.6:
        power = powers[rng.integers(len(powers))]
        others = [degree for degree in ("", "^{2}", "^{3}", "^{4}") if degree != f"^{{{power[1] or power[2]}}}"]
        return replace(question, stem=edit(question.stem, {power.span(): others[rng.integers(len(others))]}))
    bare = replace(question, options=())
    changed = replace_one(bare, rng, _without_power, lambda name, rng: f"{name}^{{{rng.integers(2, 4)}}}")
    return replace(question, stem=changed.stem)


def _in_formula(text: str, place: int) -> bool:
    return any(formula and formula[0].start <= place < formula[-1].end for formula in parse_formulas(text))


def _without_power(formula: Formula) -> list[int]:
    """Find unknowns without power, index or arguments in formulas of three tokens or more."""
    if len(formula) < 3:
        return []
    return [
        at
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE
        and token.text in _UNKNOWNS
        and not token.script
        and text_at(formula, at + 1) not in ("^", "_", "'", "(")
        and text_at(formula, at - 1) not in ("\\", "d", r"\angle", r"\triangle")
    ]


def change_operator(question: Question, rng: np.random.Generator) -> Question:
    r"""Change \sin to \cos, < to >, \cup to \cap; not + to -, which may only flip a number's sign."""
    changed = replace_operator(replace(question, options=()), rng, spared=("+", "-"))
    return replace(question, stem=changed.stem)


def change_target(question: Question, rng: np.random.Generator) -> Question:
    """Replace a phrase of the stem by one with another sense: perimeter by area, at least by at most, 周长 by 面积."""
    phrases = OTHERS.find(question.stem)
    if not phrases:
        return question
    chosen = phrases[rng.integers(len(phrases))]
    old, senses = question.stem[chosen.start : chosen.end], OTHERS.lines[chosen.line]
    other = senses[rng.choice([sense for sense in range(len(senses)) if sense != chosen.sense])]
    # The senses of a line list corresponding phrases in the same order.
    place = senses[chosen.sense].index(old.lower()) if old.lower() in senses[chosen.sense] else 0
    new = other[place] if place < len(other) else other[0]
    return replace(question, stem=edit(question.stem, {(chosen.start, chosen.end): as_written(new, old)}))


def drop_condition(question: Question, rng: np.random.Generator) -> Question:
    """Drop one of several parallel conditions."""
    groups = [group for group in conditions(question.stem) if len(group) > 1]
    if not groups:
        return question
    group = groups[rng.integers(len(groups))]
    at = int(rng.integers(len(group)))
    # Include the separator after it, or before it for the last one.
    span = (group[at].start, group[at + 1].start) if at + 1 < len(group) else (group[at - 1].end, group[at].end)
    return replace(question, stem=edit(question.stem, {span: ""}))


def swap_known_and_target(question: Question, rng: np.random.Generator) -> Question:
    """Swap the known and the target variable: "$x=3$ ... find $y$" to "$y=3$ ... find $x$"."""
    formulas = parse_formulas(question.stem)
    known = [formula[0] for formula in formulas if len(formula) == 3 and _is_assignment(formula)]
    targets = [formula[0] for formula in formulas if len(formula) == 1 and formula[0].role is Role.VARIABLE]
    pairs = [(given, target) for given in known for target in targets if given.text != target.text]
    if not pairs:
        return question
    given, target = pairs[rng.integers(len(pairs))]
    changes = {(given.start, given.end): target.text, (target.start, target.end): given.text}
    return replace(question, stem=edit(question.stem, changes))


def _is_assignment(formula: Formula) -> bool:
    return formula[0].role is Role.VARIABLE and formula[1].text == "=" and formula[2].role is Role.NUMBER


#: Name -> change.
VARIANT_CHANGES: dict[str, VariantChange] = {
    "degree": change_degree,
    "operator": change_operator,
    "asked": change_target,
    "condition": drop_condition,
    "swap": swap_known_and_target,
}


def make_variant(question: Question, rng: np.random.Generator) -> Question:
    """Apply the first of VARIANT_CHANGES, in random order, that changes the stem."""
    for name in rng.permutation(list(VARIANT_CHANGES)).tolist():
        changed = VARIANT_CHANGES[name](question, rng)
        if changed.stem != question.stem:
            return changed
    return question


#: Maximum share of common three-word runs, ignoring numbers, of unrelated questions.
_ALIKE = 0.4
#: Attempts to draw an unrelated question.
_TRIES = 20


class PairMaker:
    """Draws pairs of each relation; the first question is the bank's, unchanged.

    Half of the similar questions and variants also get another surface, and some variants other numbers, so that
    neither wording nor numbers give the relation away. Questions of one ``group`` are never drawn as unrelated.
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
        """Pair the question at ``row`` of the bank with another one, in a random feasible relation."""
        a = self.bank[row]
        ways: tuple[Callable[[], Question | None], ...] = (
            lambda: change_surface(a, rng),
            lambda: make_similar(a, rng),
            lambda: make_other(a, rng),
            lambda: self._unrelated(a, row, rng),
        )
        # Variants are not always possible, so they come first twice as often.
        order = dict.fromkeys(rng.permutation([*range(len(RELATIONS)), RELATIONS.index("variant")]).tolist())
        for relation in order:
            if (b := ways[relation]()) is not None:
                return LabelledPair(a, _unlabelled(b, RELATIONS[relation]), RELATIONS[relation])
        raise AssertionError("a duplicate can be made of every question")

    def _unrelated(self, a: Question, row: int, rng: np.random.Generator) -> Question | None:
        """Draw an unrelated question: another figure, or another question, half the time of the same concept."""
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
        first, second = traits(a).runs, traits(self.bank[other]).runs
        return len(first & second) > _ALIKE * len(first | second)


def make_similar(question: Question, rng: np.random.Generator) -> Question | None:
    """Change the numbers of ``question``, and maybe its surface; None if its stem has no number to change."""
    changed = _other_numbers(question, rng)
    if changed is None:
        return None
    return change_surface(changed, rng, 2) if rng.random() < 0.5 else changed


def make_other(question: Question, rng: np.random.Generator) -> Question | None:
    """Make a variant of ``question``, maybe with another surface and other numbers; None if no change applies."""
    changed = make_variant(question, rng)
    if changed.stem == question.stem:
        return None
    if rng.random() < 0.25:
        changed = _other_numbers(changed, rng) or changed
    return change_surface(changed, rng, 2) if rng.random() < 0.5 else changed


def _other_numbers(question: Question, rng: np.random.Generator) -> Question | None:
    """Change one to three numbers of the stem, and some of each option; None if the stem's numbers stay the same."""
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
    """Remove a made question's solution and give it a new id."""
    return replace(question, id=f"{question.id}~{relation}", answer=None, analysis=None)
