"""What was lost or changed in a paraphrase, by what ParaQD's operators see in both texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tqnet.paraphrase.check.alike import alike_sentences
from tqnet.paraphrase.check.asked import question_differences
from tqnet.paraphrase.check.asked_for import asks_for_another
from tqnet.paraphrase.check.chinese import chinese_differences, is_chinese
from tqnet.paraphrase.check.comparisons import lone_comparisons
from tqnet.paraphrase.check.deleted import deleted_conditions
from tqnet.paraphrase.check.difference import Change, Difference
from tqnet.paraphrase.check.directions import other_directions
from tqnet.paraphrase.check.entities import entity_differences
from tqnet.paraphrase.check.exchanged import exchanged_numbers
from tqnet.paraphrase.check.formulas import formula_differences
from tqnet.paraphrase.check.gaps import missing_nouns
from tqnet.paraphrase.check.inverses import turned_multiples
from tqnet.paraphrase.check.kinds import other_kinds
from tqnet.paraphrase.check.language import digit_differences, is_english
from tqnet.paraphrase.check.numbers import number_differences
from tqnet.paraphrase.check.places import exchanged_words
from tqnet.paraphrase.check.qualifiers import lost_qualifiers
from tqnet.paraphrase.check.relations import other_relations
from tqnet.paraphrase.check.roles import other_subjects
from tqnet.paraphrase.check.senses import other_senses
from tqnet.paraphrase.check.sides import turned_sides
from tqnet.paraphrase.check.stand_ins import replaced_units, stand_ins
from tqnet.paraphrase.check.tidy import tidied
from tqnet.paraphrase.check.turned import turned_ratios
from tqnet.paraphrase.check.units import unit_differences
from tqnet.paraphrase.check.whom import asks_about_another
from tqnet.paraphrase.problem import DEFAULT_MODEL, LONGEST, Parser, Problem

#: Parsed texts that are kept, some 30 kB each: pairs of one question stand near each other.
_KEPT = 2000

_FOREIGN = "not in English: only numbers in digits are compared"
_CHINESE = "not in English: only numbers, their units and some words are compared"
_LONG = f"more than {LONGEST:,} characters: only numbers in digits are compared"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The differences of two texts, and what a reader of them has to know."""

    differences: tuple[Difference, ...]
    note: str = ""


class Explainer:
    """Compares texts with a spaCy model of English.

    Args:
        model: The name of an installed model, or its folder; or what parses with it.

    Raises:
        OSError: There is no such model.
    """

    def __init__(self, model: str | Parser = DEFAULT_MODEL):
        self._parser = model if isinstance(model, Parser) else Parser(model, size=_KEPT)

    def explain(self, pairs: Sequence[tuple[str, str]]) -> list[Explanation]:
        """Of each (original, paraphrase)."""
        pairs = [(tidied(original), tidied(paraphrase)) for original, paraphrase in pairs]
        notes = [_note(pair) for pair in pairs]
        compared = [pair for pair, note in zip(pairs, notes, strict=True) if not note and pair[0] != pair[1]]
        texts = list(dict.fromkeys(text for pair in compared for text in pair))
        problems = dict(zip(texts, self._parser.parse(texts), strict=True))
        return [
            Explanation(tuple(_without_a_parse(*pair)), note)
            if note
            else Explanation(tuple(compare(*(problems[text] for text in pair))) if pair[0] != pair[1] else ())
            for pair, note in zip(pairs, notes, strict=True)
        ]


def compare(original: Problem, paraphrase: Problem) -> list[Difference]:
    """What became of numbers, units, entities, formulas, words, sentences and the question."""
    alike = alike_sentences(original, paraphrase)
    entities = entity_differences(original, paraphrase)
    replaced = replaced_units(original, alike)
    renamed = {one.before: one.after for one in entities if one.change is Change.RENAMED}
    exchanged = exchanged_numbers(original, paraphrase)
    words = [] if exchanged else [*exchanged_words(original, paraphrase, alike), *turned_ratios(original, paraphrase)]
    relations = [] if exchanged else _relations(original, paraphrase)
    deleted = deleted_conditions(original, paraphrase)
    asked = asks_about_another(original, paraphrase)
    return [
        *number_differences(original, paraphrase),
        *exchanged,
        *other_kinds(original, paraphrase),
        *relations,
        *turned_multiples(original, paraphrase),
        *([] if exchanged or words else other_subjects(original, paraphrase)),
        *_but_named(unit_differences(original, paraphrase), replaced),
        *replaced,
        *entities,
        *(one for one in stand_ins(original, paraphrase, alike) if one not in entities),
        *formula_differences(original, paraphrase),
        *_but_named(words, relations),
        *([] if words else other_senses(original.text, paraphrase.text)),
        *_but_named(lost_qualifiers(original.text, paraphrase.text), deleted),
        *asked,
        *([] if asked or words or deleted else asks_for_another(original, paraphrase)),
        *lone_comparisons(original.text, paraphrase.text),
        *deleted,
        *([] if deleted else missing_nouns(original.text, paraphrase.text)),
        *question_differences(original, paraphrase, renamed),
    ]


def _relations(original: Problem, paraphrase: Problem) -> list[Difference]:
    """What numbers say where they stand: the first kind of difference that is found."""
    return (
        other_relations(original, paraphrase)
        or other_directions(original, paraphrase)
        or turned_sides(original, paraphrase)
    )


def _but_named(words: Sequence[Difference], others: Sequence[Difference]) -> list[Difference]:
    """Without the words that stand in what others name."""
    return [one for one in words if not any(one.before in row.before for row in others)]


def _without_a_parse(original: str, paraphrase: str) -> list[Difference]:
    if is_chinese(original) and is_chinese(paraphrase):
        return chinese_differences(original, paraphrase)
    return digit_differences(original, paraphrase)


def _note(pair: tuple[str, str]) -> str:
    if all(map(is_english, pair)):
        return _LONG if max(map(len, pair)) > LONGEST else ""
    return _CHINESE if all(map(is_chinese, pair)) else _FOREIGN
