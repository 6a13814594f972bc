"""Named entities of a question: people, places, organisations, weekdays, months; no numbers, no points of a figure.

A small model takes many a first name for an organisation or a product, or for nothing. In a word problem, a proper noun
of one word that does or owns something is somebody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from spacy.tokens import Doc, Span

from tqnet.augment.variables import points_of_figures
from tqnet.paraphrase.spans import Covered, data
from tqnet.text.formulas import formula_character_spans

#: Label -> names. The labels are spaCy's, with WEEKDAY and MONTH for dates that are but one of these, and SURNAME.
NAMES: dict[str, tuple[str, ...]] = {label: tuple(names.split(", ")) for label, names in data("names").items()}

_PLACES = frozenset(name for label in ("GPE", "LOC", "WEEKDAY", "MONTH", "EVENT") for name in NAMES[label])
_ARTICLE = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\s?['’]s?$")
_LABEL = re.compile(r"[A-Z]{1,5}|[A-Z](?:['′]|\d)?")
#: Short names in capitals that are no labels.
_ACRONYMS = frozenset(("US", "UK", "UN", "EU", "USA", "UAE", "LA", "NY", "NYC", "DC", "IBM", "BMW", "TV", "NASA"))
_VERBS = "find calculate determine compute evaluate solve express estimate simplify assume suppose"
#: With a capital at the beginning of a sentence, they are taken for names.
_DEMANDS = frozenset(_VERBS.split())
#: What a first name may be taken for.
_MISTAKEN = frozenset(("", "ORG", "GPE", "PRODUCT", "WORK_OF_ART", "FAC", "LOC", "NORP"))


@dataclass(frozen=True, slots=True)
class Entity:
    """``text[start:end]``, a name.

    Attributes:
        name: As it stands there, without an article or 's.
        label: spaCy's, or WEEKDAY or MONTH: a key of `tqnet.paraphrase.names.NAMES`.
        count: How often the text names it.
    """

    start: int
    end: int
    name: str
    label: str
    count: int


def find_entities(doc: Doc) -> list[Entity]:
    """Return the names of a parsed text in order, each wherever it stands, whether spaCy saw it there or not."""
    text = doc.text
    formulas, points = Covered(formula_character_spans(text)), points_of_figures(text)
    recognized, people = list(_recognized(doc)), _actors(doc)
    known = {word for name, _ in recognized for word in name.split()}
    labels: dict[str, str] = {}
    for name, label in [*recognized, *((name, "PERSON") for name in people if name not in known)]:
        if not (_is_point(name, points, text) or any(map(str.isdigit, name))):
            labels.setdefault(name, "PERSON" if name in people and label in _MISTAKEN else label)
    entities: list[Entity] = []
    taken = bytearray(len(text))  # 1 where a longer name stands
    for name in sorted(labels, key=len, reverse=True):
        places = [
            match.span()
            for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
            if match.start() not in formulas and not any(taken[slice(*match.span())])
        ]
        for start, end in places:
            taken[start:end] = b"\1" * (end - start)
        entities += [Entity(start, end, name, labels[name], len(places)) for start, end in places]
    return sorted(entities, key=lambda entity: entity.start)


def _actors(doc: Doc) -> list[str]:
    """Return the proper nouns of one word that are the subject of a verb, or own something."""
    return [
        token.text
        for token in doc
        if token.tag_ == "NNP"
        and token.text.istitle()
        and token.text.isascii()
        and token.text not in _PLACES
        and token.text.lower() not in _DEMANDS
        and not any(child.dep_ in ("compound", "nmod") for child in token.children)
        and ((token.dep_ == "nsubj" and token.head.pos_ == "VERB") or token.dep_ == "poss")
    ]


def _recognized(doc: Doc) -> Iterator[tuple[str, str]]:
    """Yield spaCy's names without articles and 's, with their labels."""
    for span in doc.ents:
        article = _ARTICLE.match(span.text)
        name = _POSSESSIVE.sub("", span.text[article.end() :] if article else span.text)
        if name and (label := _label(name, span)):
            yield name, label


def _label(name: str, span: Span) -> str | None:
    if span.label_ == "DATE":
        return next((label for label in ("WEEKDAY", "MONTH") if name in NAMES[label]), None)
    is_name = any(token.pos_ == "PROPN" or span.label_ in ("NORP", "LANGUAGE") for token in span)
    if not is_name or not name[0].isupper() or name.lower() in _DEMANDS or not name.isascii() or "\n" in name:
        return None
    return span.label_ if span.label_ in NAMES else None


def _is_point(name: str, points: str, text: str) -> bool:
    """Return True for a point, a line or a figure: A, AB, triangle ABC, and for a thing's letter: X, shop B."""
    if not _LABEL.fullmatch(name) or name in _ACRONYMS:
        return False
    successive = all(ord(b) - ord(a) == 1 for a, b in pairwise(name))
    if len(name) <= 2 or successive or set(name) <= set(points):
        return True
    return any(re.search(rf"\b{part}\b", text) for part in (name[:2], name[1:3]))  # AB of ABC stands elsewhere
