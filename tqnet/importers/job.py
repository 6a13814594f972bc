"""One run of ``tqnet import`` as a format sees it: the source, the settings, the figures, and the faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tqnet.importers.figures import FigureFolder, data_uri
from tqnet.importers.source import Source, SourceError
from tqnet.questions.question import Fault
from tqnet.text.lists import letter
from tqnet.text.plain import Plain


class Place(NamedTuple):
    """A place in the source: a file as a report names it, and a line of it (0: the file as a whole)."""

    file: str
    line: int = 0


@dataclass(frozen=True)
class Draft:
    """A question as a format has it; a missing ``id`` is made.

    The ``record`` is what `tqnet.questions.read_question` takes, its texts plain, its figures in the new bank.
    """

    record: dict[str, Any]
    place: Place


@dataclass(frozen=True)
class Settings:
    """The user's settings for the source.

    Attributes:
        columns: Field -> columns of a table, in order.
        separators: Field -> separator of several values in one cell.
        fixed: Field -> value of every question.
        encoding: Of a text file; None detects it.
        sheets: Of a workbook; by default all that have a stem.
        header_row: Its number in a table, from 1; 0 if there is none; None finds it.
        levels: Words of difficulty from easy to hard, which become 1, 2, 3.
        language: The one to read of a text in several; by default the first.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    separators: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    encoding: str | None = None
    sheets: Sequence[str] = ()
    header_row: int | None = None
    levels: Sequence[str] = ()
    language: str | None = None


@dataclass
class Job:
    """An import's input and output for a format.

    Attributes:
        faults: In order.
        left_out: Number of records that give no question.
        unread: Number of those that could not be looked at, as they are no well-formed XML, JSON or CSV, or missing.
    """

    source: Source
    figures: FigureFolder
    settings: Settings = field(default_factory=Settings)
    faults: list[Fault] = field(default_factory=list)
    left_out: int = 0
    unread: int = 0
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def first_time(self, *words: str) -> bool:
        """Return True at the first call with these words: for faults that a whole column has."""
        is_first = words not in self._seen
        self._seen.add(words)
        return is_first

    def fault(self, place: Place, name: str, message: str) -> None:
        """Report a part of a record that is not read."""
        self.faults.append(Fault(place.file, place.line, name, message))

    def leave_out(self, place: Place, name: str, message: str) -> None:
        """Report a record that gives no question."""
        self.left_out += 1
        self.fault(place, name, message)

    def leave_unread(self, place: Place, message: str) -> None:
        """Report a part of the source that cannot be looked at."""
        self.unread += 1
        self.leave_out(place, "record", message)

    def place(self, name: str, line: int = 0) -> Place:
        """Return the place of a line of a part of the source."""
        return Place(self.source.shown(name), line)

    def figure(self, reference: str, document: str, place: Place, name: str) -> list[str]:
        """Put the figure that a document (a part of the source) refers to into the bank; on failure, report a fault.

        Args:
            reference: A path or URI relative to the document, or a ``data:`` URI.
        """
        try:
            content = data_uri(reference)
            if content is None:
                content = self.source.read(self.source.resolve(reference, document))
        except SourceError as error:
            self.fault(place, name, str(error))
            return []
        return self.embedded(content, place, name, "" if reference.startswith("data:") else f": {reference!r:.200}")

    def embedded(self, content: bytes, place: Place, name: str, shown: str = "") -> list[str]:
        """Put a figure into the bank by its bytes, which a fault calls ``shown``."""
        try:
            return [self.figures.add(content)]
        except SourceError as error:
            self.fault(place, name, f"{error}{shown}")
            return []

    def figures_of(self, text: Plain, document: str, place: Place, name: str) -> list[str]:
        """Put the figures of a text into the bank, and report whatever else the text has lost."""
        for lost in text.lost:
            self.fault(place, name, lost)
        return [path for source in text.images for path in self.figure(source, document, place, name)]


#: A function ``read_NAME`` of this folder.
Format = Callable[[Job], Iterator[Draft]]


def distinct(items: Iterable[str]) -> list[str]:
    """Return each item once, in order."""
    return list(dict.fromkeys(items))


def lettered(numbers: Iterable[int]) -> str:
    """Name options by their places from 0: ``A, C``."""
    return ", ".join(map(letter, numbers))
