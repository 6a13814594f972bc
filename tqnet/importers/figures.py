"""Figures of a bank that is made: checked, drawn where they are SVG, named by their content."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

from tqnet.importers.source import MAX_MEMBER, SourceError
from tqnet.questions.images import read_image

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
