"""Compares an original with its paraphrase by every rule of the check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.entities import entity_differences, other_subject
from tqnet.paraphrase.check.numbers import exchanged_numbers, number_differences, other_kinds
from tqnet.paraphrase.check.other_languages import chinese_differences, digit_differences
from tqnet.paraphrase.check.structure import (
    added_conditions,
    deleted_conditions,
    formula_differences,
    missing_nouns,
    question_differences,
)
from tqnet.paraphrase.check.text import alike_sentences, is_english, tidied
from tqnet.paraphrase.check.units import replaced_units, unit_differences, value_of
from tqnet.paraphrase.check.wording import (
    exchanged_words,
    lone_comparisons,
    lost_qualifiers,
    other_relations,
    other_senses,
    other_target,
)
from tqnet.paraphrase.problem import DEFAULT_MODEL, LONGEST, Parser, Problem
from tqnet.paraphrase.units import find_units
from tqnet.text.numbers import find_numbers
from tqnet.text.vocabulary import is_chinese

if TYPE_CHECKING:
    from tqnet.evaluation.metrics import BoolArray
    from tqnet.questions.paraphrase_pairs import ParaphrasePair

#: Parsed texts to keep, some 30 kB each: pairs of one question are close together.
_KEPT = 2000
_FOREIGN = "not in English: only numbers in digits are compared"
_CHINESE = "not in English: only numbers, their units and some words are compared"
_LONG = f"more than {LONGEST:,} characters: only numbers in digits are compared"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The differences of two texts, and a note if not everything was compared."""

    differences: tuple[Difference, ...]
    note: str = ""

    @property
    def asks_otherwise(self) -> bool:
        """True if the paraphrase certainly asks another question."""
        return any(difference.asks_otherwise for difference in self.differences)


class Explainer:
    """Compares texts with a spaCy model of English.

    Args:
        model: Name of an installed model, its folder, or a parser.

    Raises:
        OSError: There is no such model.
    """

    def __init__(self, model: str | Parser = DEFAULT_MODEL):
        self._parser = model if isinstance(model, Parser) else Parser(model, size=_KEPT)

    def explain(self, pairs: Sequence[tuple[str, str]]) -> list[Explanation]:
        """Return the explanation of each (original, paraphrase)."""
        pairs = [(tidied(original), tidied(paraphrase)) for original, paraphrase in pairs]
        notes = [_note(pair) for pair in pairs]
        compared = (pair for pair, note in zip(pairs, notes, strict=True) if not note and pair[0] != pair[1])
        texts = list(dict.fromkeys(text for pair in compared for text in pair))
        problems = dict(zip(texts, self._parser.parse(texts), strict=True))

        def differences(original: str, paraphrase: str, note: str) -> list[Difference]:
            if note:
                return (chinese_differences if note == _CHINESE else digit_differences)(original, paraphrase)
            return compare(problems[original], problems[paraphrase]) if original != paraphrase else []

        return [Explanation(tuple(differences(*pair, note)), note) for pair, note in zip(pairs, notes, strict=True)]


def compare(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return the differences in numbers, units, entities, formulas, words, sentences and the question."""
    texts = original.text, paraphrase.text
    alike = alike_sentences(original, paraphrase)
    entities = entity_differences(original, paraphrase, alike)
    replaced = replaced_units(original, alike)
    exchanged = exchanged_numbers(original, paraphrase)
    relations = [] if exchanged else other_relations(original, paraphrase)
    words = [] if exchanged else exchanged_words(original, paraphrase, alike)
    deleted = deleted_conditions(original, paraphrase)
    subject = other_subject(original, paraphrase)
    renamed = [entity.before for entity in entities if entity.change is Change.RENAMED]
    return [
        *number_differences(original, paraphrase),
        *exchanged,
        *other_kinds(original, paraphrase),
        *relations,
        *_not_named(unit_differences(original, paraphrase), replaced),
        *replaced,
        *entities,
        *formula_differences(original, paraphrase),
        *_not_named(words, relations),
        *([] if words else other_senses(*texts)),
        *_not_named(lost_qualifiers(*texts), deleted),
        *subject,
        *([] if subject or words or deleted else other_target(original, paraphrase)),
        *lone_comparisons(*texts),
        *deleted,
        *added_conditions(original, paraphrase),
        *([] if deleted else missing_nouns(*texts)),
        *question_differences(original, paraphrase, renamed),
    ]


def asks_otherwise(pairs: Sequence[ParaphrasePair]) -> BoolArray:
    """Return bool ``[pairs]``, True for pairs that certainly ask another question (:attr:`Difference.asks_otherwise`).

    Raises:
        OSError: There is no spaCy model of English.
    """
    from tqnet.paraphrase.scorer import PairTexts

    texts = PairTexts.read(text for pair in pairs for text in (pair.original, pair.paraphrase))
    explanations = Explainer().explain([(texts.plain(pair.original), texts.plain(pair.paraphrase)) for pair in pairs])
    return np.array([explanation.asks_otherwise for explanation in explanations], dtype=bool)


def losses(explainer: Explainer, pairs: Sequence[tuple[str, str]], in_order: bool = False) -> list[Part | None]:
    """Return for each (question, rewriting) the first part that was lost, changed or added, or None.

    Args:
        in_order: Numbers and units must also occur as often and in the same order. In a translation they may not: a
            clause moves, and its number with it. If words were merely restored, a moved number is a different number.
    """
    return [
        next((difference.part for difference in explanation.differences if not difference.is_harmless), None)
        or (_out_of_order(*pair) if in_order else None)
        for pair, explanation in zip(pairs, explainer.explain(pairs), strict=True)
    ]


def _out_of_order(original: str, rewriting: str) -> Part | None:
    before, after = find_numbers(original), find_numbers(rewriting)
    if list(map(value_of, before)) != list(map(value_of, after)):
        return Part.NUMBER
    units, others = ([unit.name for unit in find_units(*row)] for row in ((original, before), (rewriting, after)))
    return Part.UNIT if units != others else None


def _not_named(differences: Sequence[Difference], others: Sequence[Difference]) -> list[Difference]:
    """Return the differences whose words no other difference contains."""
    return [item for item in differences if not any(item.before in other.before for other in others)]


def _note(pair: tuple[str, str]) -> str:
    if all(map(is_english, pair)):
        return _LONG if max(map(len, pair)) > LONGEST else ""
    return _CHINESE if all(map(is_chinese, pair)) else _FOREIGN
