"""A test question, and the faults of banks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqnet.errors import FaultyDataError
from tqnet.text.lists import letter, named_places

#: One path of the knowledge hierarchy, from coarse to fine: ``("Algebra", "Equations", "Linear")``.
KnowledgePath = tuple[str, ...]

SPLITS = ("train", "valid", "test")

#: An answer by letters of options: "B", "(B)", "A, C", "ACD".
_NAMES_OPTIONS = re.compile(r"[\s(（]*(?:[A-Z][\s,，、;；.．()（）]*)+")


class FieldError(ValueError):
    """A value that a question cannot hold; ``field`` names the place, e.g. ``options[2]``."""

    def __init__(self, field: str, message: str):
        super().__init__(field, message)  # both, so that processes can send it
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(frozen=True, slots=True)
class Question:
    """A test question.

    Attributes:
        id: Unique within its bank.
        stem: Plain text with LaTeX formulas (``$..$``, ``$$..$$``, ``\\(..\\)``, ``\\[..\\]``).
        options: Choices of a multiple-choice question, in order, without their letters.
        answer, analysis: The solution; never part of the vector.
        images: Paths of the figures in reading order.
        knowledge: Concepts, each a path from coarse to fine. A concept is identified by its whole path, since names
            such as "Applications" recur under many parents.
        difficulty: In the bank's own unit; larger is harder.
        type, language: Free labels; ``language`` is an ISO 639-1 code.
        group: Questions of one group are similar to one another.
        split: ``train``, ``valid`` or ``test``.
        source: Origin of the question.
        extras: Other fields of the bank.
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
        """The input of the text encoder: the stem and the lettered options, nothing that gives away the answer."""
        if not self.options:
            return self.stem
        lettered = (f"({letter(i)}) {option}" for i, option in enumerate(self.options))
        return "\n".join((self.stem, *lettered))

    @property
    def solution(self) -> str:
        """The answer, with the texts of the options that its letters name, and the analysis; may be empty."""
        answer = self.answer
        if answer and _NAMES_OPTIONS.fullmatch(answer):
            places = named_places(answer, len(self.options))
            answer = "\n".join(self.options[place] for place in places) or answer
        return "\n".join(text for text in (answer, self.analysis) if text)


#: Faults in a message: a broken bank can hold millions.
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a bank; prints as ``file:line: field: message``.

    Attributes:
        file: The file as the user named it.
        line: 1-based line (JSONL, CSV) or row (Parquet); 0 for the file as a whole.
        field: The place within the record, e.g. ``knowledge[1][0]``; ``record`` for the whole of it.
    """

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        field = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in self.field[:200])
        return f"{place}: {field}: {self.message}"


class BankError(FaultyDataError):
    """A bank (or a file next to it) that cannot be used as it is; ``faults`` holds every fault."""

    def __init__(self, faults: Sequence[Fault]):
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"... and {len(self.faults) - SHOWN} more faults ({len(self.faults)} in all)")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[BankError], tuple[tuple[Fault, ...]]]:
        # Default pickling would hand the joined text to __init__ (errors cross process borders in loaders).
        return type(self), (self.faults,)


def report_faults(
    file: Path | None, noun: str, faults: Sequence[Fault], left_out: int, read: int, on_error: str
) -> None:
    """Raise faults as an error or, if any record was read and ``on_error`` is ``skip``, as a warning."""
    if on_error not in ("stop", "skip"):
        raise ValueError(f"on_error: expected 'stop' or 'skip', got {on_error!r}")
    if faults and (on_error == "stop" or not read):
        raise BankError(faults)
    if faults:
        counts = f"{left_out} of {left_out + read} {noun} left out, {len(faults)} faults"
        warnings.warn(f"{file}: {counts}; the first: {faults[0]}", stacklevel=3)
