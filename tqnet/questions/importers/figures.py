"""The figures of a bank that is being made: checked, named by what is in them, each kept once."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path

from tqnet.questions.images import read_image
from tqnet.questions.importers.source import MAX_MEMBER, SourceError

#: The formats of Pillow that a bank keeps -> a file's ending.
_ENDINGS = {"PNG": "png", "JPEG": "jpg", "MPO": "jpg", "GIF": "gif", "BMP": "bmp", "WEBP": "webp", "TIFF": "tif"}
_DATA_URI = re.compile(r"data:[\w/+.-]*((?:;[\w=+.-]+)*),", re.IGNORECASE)


class FigureFolder:
    """``images/`` of a bank.

    Args:
        bank: The bank's folder, in which ``images`` is made with the first figure.
    """

    def __init__(self, bank: Path):
        self._bank = bank
        self._known: dict[bytes, str] = {}

    def add(self, content: bytes) -> str:
        """The path, relative to the bank, of a figure with this content.

        Raises:
            SourceError: It is no figure that can be shown.
        """
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._known:
            name = f"images/{digest.hex()}.{_ending(content)}"
            (self._bank / "images").mkdir(exist_ok=True)
            (self._bank / name).write_bytes(content)
            self._known[digest] = name
        return self._known[digest]


def _ending(content: bytes) -> str:
    image = read_image(content)
    if isinstance(image, str):
        is_drawing = b"<svg" in content[:4096]
        raise SourceError("an SVG drawing, which is not read" if is_drawing else image)
    if image.format not in _ENDINGS:
        raise SourceError(f"a figure in the format {image.format}, which is not kept")
    return _ENDINGS[image.format]


def data_uri(reference: str) -> bytes | None:
    """The bytes of a ``data:`` reference; None for any other.

    Raises:
        SourceError: They are not in base64, or too many.
    """
    head = _DATA_URI.match(reference)
    if head is None:
        return None
    if "base64" not in head[1].lower():
        raise SourceError("an embedded figure that is not in base64")
    return from_base64(reference[head.end() :])


def from_base64(text: str) -> bytes:
    """The bytes that a text holds; white space in it is allowed.

    Raises:
        SourceError: It is not base64, or too long.
    """
    packed = "".join(text.split())
    if len(packed) > MAX_MEMBER * 4 // 3:
        raise SourceError(f"an embedded figure of more than {MAX_MEMBER >> 20} MiB")
    try:
        return base64.b64decode(packed, validate=True)
    except binascii.Error as error:
        raise SourceError(f"not base64: {error}") from None
