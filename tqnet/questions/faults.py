"""What can be wrong with a bank, and the error that says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def __init__(self, faults: Sequence[Fault]):
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"... and {len(self.faults) - SHOWN} more faults ({len(self.faults)} in all)")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[BankError], tuple[tuple[Fault, ...]]]:
        # Default pickling would hand the joined text to __init__ (errors cross process borders in loaders).
        return type(self), (self.faults,)
