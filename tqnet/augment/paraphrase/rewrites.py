"""Texts that models have written beforehand, from a file: back-translations, lossy paraphrases and the like."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.augment.paraphrase.operators import Rewrite
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.questions import fields
from tqnet.questions.faults import BankError, Fault
from tqnet.questions.question import FieldError

#: Whose rewrites a file may hold.
OPERATORS = ("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase")


@dataclass(frozen=True)
class Rewrites:
    """What models have made of texts.

    Attributes:
        made: Operator -> text -> its rewrites, the best first.
    """

    made: Mapping[str, Mapping[str, tuple[str, ...]]]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rewrites:
        """From lines of JSON with ``text``, ``operator`` and ``rewrites``; the last line of a text counts.

        Raises:
            BankError: A line that is none; with file, line and field.
            OSError: The file cannot be read.
        """
        made: dict[str, dict[str, tuple[str, ...]]] = {}
        faults = []
        with Path(path).open(encoding="utf-8-sig") as stream:
            for line, row in enumerate(stream, 1):
                if not row.strip():
                    continue
                try:
                    operator, text, rewrites = _read(row)
                    made.setdefault(operator, {})[text] = rewrites
                except FieldError as error:
                    faults.append(Fault(str(path), line, error.field, error.message))
        if faults:
            raise BankError(faults)
        return cls(made)

    def operator(self, name: str) -> Rewrite | None:
        """One that looks a text up, and draws one of its rewrites; None where there are none by that name."""
        return _LookUp(self.made[name]) if self.made.get(name) else None


@dataclass(frozen=True)
class _LookUp:
    made: Mapping[str, tuple[str, ...]]

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        if not (own := self.made.get(problem.text)):
            raise NotApplicable("the file has no rewrite of it")
        return own[rng.integers(len(own))]


def _read(row: str) -> tuple[str, str, tuple[str, ...]]:
    try:
        record: Any = json.loads(row)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise FieldError("record", "expected a JSON object with text, operator and rewrites")
    for field in ("text", "operator", "rewrites"):
        if record.get(field) is None:
            raise FieldError(field, "missing")
    operator = fields.text(record["operator"], "operator")
    if operator not in OPERATORS:
        raise FieldError("operator", f"{operator!r:.80} is none of {', '.join(OPERATORS)}")
    return operator, fields.filled_text(record["text"], "text"), fields.filled_texts(record["rewrites"], "rewrites")
