"""The record that everything in the framework reads: one test question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tqnet.errors import FAILED

#: One path of the knowledge hierarchy, from coarse to fine: ``("Algebra", "Equations", "Linear")``.
KnowledgePath = tuple[str, ...]

SPLITS = ("train", "valid", "test")

#: An answer that names options: "B", "(B)", "A, C", "ACD".
_NAMES_OPTIONS = re.compile(r"[\s(（]*(?:[A-Z][\s,，、;；.．()（）]*)+")


class FieldError(ValueError):
    """A value that a question cannot hold; ``field`` names the place, e.g. ``options[2]``."""

    def __init__(self, field: str, message: str):
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Question:
    """A test question.

    Attributes:
        id: Unique within its bank.
        stem: The question itself, plain text with LaTeX formulas (``$..$``, ``$$..$$``, ``\\(..\\)``,
            ``\\[..\\]``).
        options: Choices of a multiple-choice question, in order, without their letters.
        answer, analysis: The solution; never part of the vector.
        images: Paths of the figures in reading order.
        knowledge: Concepts the question exercises, each a path from coarse to fine. A concept is
            identified by its whole path, since names such as "Applications" recur under many parents.
        difficulty: In the bank's own unit; larger is harder.
        type, language: Free labels; ``language`` is an ISO 639-1 code.
        group: Questions of one group are similar to one another.
        split: ``train``, ``valid`` or ``test``.
        source: Where the question was taken from.
        extras: Whatever else the bank says about the question.
    """

    id: str
    stem: str
    options: tuple[str, ...] = ()
    answer: str | None = None
    analysis: str | None = None
    images: tuple[str, ...] = ()
    knowledge: tuple[KnowledgePath, ...] = ()
    difficulty: float | None = None
    type: str | None = None
    language: str | None = None
    group: str | None = None
    split: str | None = None
    source: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """What the text encoder reads: the stem and the lettered options, nothing that tells the answer."""
        if not self.options:
            return self.stem
        lettered = (f"({chr(ord('A') + i % 26)}) {option}" for i, option in enumerate(self.options))
        return "\n".join((self.stem, *lettered))

    @property
    def solution(self) -> str:
        """The answer and the analysis; empty where there is neither.

        Of an answer that names options, as "B" does, their texts: a letter says nothing.
        """
        return "\n".join(text for text in (self._answer_in_words, self.analysis) if text)

    @property
    def _answer_in_words(self) -> str | None:
        if self.answer is None or not _NAMES_OPTIONS.fullmatch(self.answer):
            return self.answer
        named = [ord(letter) - ord("A") for letter in re.findall("[A-Z]", self.answer)]
        if max(named) >= len(self.options):
            return self.answer
        return "\n".join(self.options[number] for number in named)


# What can be wrong with a bank, and the error that says it.


#: A broken bank can hold millions of faults; a reader needs the first few and the count.
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a bank; prints as ``file:line: field: message``.

    Attributes:
        file: The file as the user named it.
        line: 1-based line (JSONL, CSV) or row (Parquet); 0 where the file as a whole is meant.
        field: The place within the record, e.g. ``knowledge[1][0]``; ``record`` for the whole of it.
        message: What is wrong, in words.
    """

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field}: {self.message}"


class BankError(ValueError):
    """A bank (or a file beside it) that cannot be used as it stands; ``faults`` holds every fault."""

    exit_code = FAILED

    def __init__(self, faults: Sequence[Fault]):
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"... and {len(self.faults) - SHOWN} more faults ({len(self.faults)} in all)")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[BankError], tuple[tuple[Fault, ...]]]:
        # Default pickling would hand the joined text to __init__ (errors cross process borders in loaders).
        return type(self), (self.faults,)
