"""One run of ``tqnet import`` as a format sees it: the source, the settings, the figures, and the faults."""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from tqnet.importers.source import MAX_MEMBER, Source, SourceError, inside
from tqnet.questions.images import read_image
from tqnet.questions.question import Fault
from tqnet.text.plain import Plain

#: Formats of Pillow that a bank keeps -> file endings.
_ENDINGS = {"PNG": "png", "JPEG": "jpg", "MPO": "jpg", "GIF": "gif", "BMP": "bmp", "WEBP": "webp", "TIFF": "tif"}
_DATA_URI = re.compile(r"data:[\w/+.-]*((?:;[\w=+.-]+)*),", re.IGNORECASE)


class FigureFolder:
    """``images/`` of the new folder ``bank``: figures are checked, named by their content, and each kept once."""

    def __init__(self, bank: Path):
        self._bank = bank
        self._known: dict[bytes, str] = {}

    def add(self, content: bytes) -> str:
        """Keep a figure and return its path relative to the bank; raise SourceError if it cannot be shown."""
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._known:
            shown = rasterized(content) if _SVG.search(content[:4096]) else content
            name = f"images/{digest.hex()}.{_ending(shown)}"
            (self._bank / "images").mkdir(exist_ok=True)
            (self._bank / name).write_bytes(shown)
            self._known[digest] = name
        return self._known[digest]


def _ending(content: bytes) -> str:
    image = read_image(content)
    if isinstance(image, str):
        raise SourceError(image)
    if image.format not in _ENDINGS:
        raise SourceError(f"a figure in the format {image.format}, which is not kept")
    return _ENDINGS[image.format]


_SVG = re.compile(rb"<(?:\w+:)?svg[\s>]")
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:px|pt|mm|cm|em|ex|in|pc)?\s*")
#: Pixels of the longer side of a drawing.
_DRAWN = 1000


def rasterized(drawing: bytes) -> bytes:
    """Return an SVG drawing as PNG, without reading any other file.

    Raises:
        SourceError: The package is missing, or the drawing is broken, refers to files, or has no size.
    """
    try:
        import resvg_py
        from lxml import etree
    except ImportError:
        raise SourceError("an SVG drawing: pip install 'tqnet[import]' draws it") from None
    from matplotlib import get_data_path

    from tqnet.importers.safe_xml import XmlError, parse

    try:
        root = parse(drawing)
    except XmlError as error:
        raise SourceError(f"an SVG drawing: {error}") from None
    links = [value for element in root.iter() for name, value in element.attrib.items() if name.endswith("href")]
    if any(not link.startswith(("#", "data:image/")) for link in links):
        raise SourceError("an SVG drawing that refers to other files")
    sides = [_LENGTH.fullmatch(root.get(name, "")) for name in ("width", "height")]
    size = [float(side[1]) for side in sides if side] if all(sides) else []
    if not size and len(box := re.split(r"[\s,]+", root.get("viewBox", "").strip())) == 4:
        size = [float(side) for side in box[2:] if _LENGTH.fullmatch(side)]
    if len(size) != 2 or not min(size) > 1e-3 or max(size) > 200 * min(size):
        raise SourceError("an SVG drawing without a size")
    width = max(1, round(size[0] * _DRAWN / max(size)))
    if root.tag == "svg":  # without its namespace, as within HTML
        root.set("xmlns", "http://www.w3.org/2000/svg")
    try:
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=etree.tostring(root, encoding="unicode"),
                width=width,
                font_dirs=[f"{get_data_path()}/fonts/ttf"],
                font_family="DejaVu Sans",
                sans_serif_family="DejaVu Sans",
            )
        )
    except ValueError as error:
        raise SourceError(f"an SVG drawing: {error}") from None


def data_uri(reference: str) -> bytes | None:
    """Return the bytes of a ``data:`` reference, None for any other; raise SourceError if broken, or too long."""
    head = _DATA_URI.match(reference)
    if head is None:
        return None
    packed = reference[head.end() :]
    return from_base64(packed) if "base64" in head[1].lower() else unquote_to_bytes(packed)


def from_base64(text: str) -> bytes:
    """Decode base64, which may contain white space; raise SourceError if it is not base64, or too long."""
    packed = "".join(text.split())
    if len(packed) > MAX_MEMBER * 4 // 3:
        raise SourceError(f"an embedded figure of more than {MAX_MEMBER >> 20} MiB")
    try:
        return base64.b64decode(packed, validate=True)
    except binascii.Error as error:
        raise SourceError(f"not base64: {error}") from None


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
        header_row: Its number in a table, from 1; None finds it.
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
            reference: A path relative to the document, or a ``data:`` URI.
        """
        try:
            content = data_uri(reference)
            if content is None:
                content = self.source.read(resolve(reference, document))
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


def resolve(reference: str, document: str) -> str:
    """Return the name of the part that a document refers to; raise SourceError if it leads outside."""
    return inside(reference, posixpath.dirname(document))


def distinct(items: Iterable[str]) -> list[str]:
    """Return each item once, in order."""
    return list(dict.fromkeys(items))


def lettered(numbers: Iterable[int]) -> str:
    """Name options by their places: ``A, C``."""
    return ", ".join(chr(ord("A") + number % 26) for number in numbers)
