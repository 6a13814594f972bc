"""Encodings of text files, by their bytes."""

from __future__ import annotations

import codecs
from pathlib import Path

#: First bytes -> encoding.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_BLOCK = 2**20
#: Least share of GB2312 in a Chinese text in GB18030; in Latin-1 read as GB18030 it is small.
_COMMON = 0.9


class EncodingError(ValueError):
    """A text in an unknown encoding."""


def encoding_of(file: Path) -> str:
    """Detect an encoding: by the first bytes, else UTF-8, else GB18030 if Chinese; or raise EncodingError."""
    with file.open("rb") as stream:
        head = stream.read(4)
    if marked := encoding_marked(head):
        return marked
    if _decodes(file, "utf-8"):
        return "utf-8"
    if _decodes(file, "gb18030") and _reads_as_chinese(file):
        return "gb18030"
    raise EncodingError(
        f"{file}: neither UTF-8 nor GB18030; name its encoding by --encoding (cp1252, big5, shift_jis ..)"
    )


def encoding_marked(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a text name."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def _decodes(file: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _reads_as_chinese(file: Path) -> bool:
    with file.open("rb") as stream:
        text = stream.read(_BLOCK).decode("gb18030", errors="ignore")
    foreign = [character for character in text if not character.isascii()]
    common = sum(bool(character.encode("gb2312", errors="ignore")) for character in foreign)
    return common >= _COMMON * len(foreign)
