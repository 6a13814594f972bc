"""Checks of figures: a cheap look at the file system, or full decoding."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from PIL import Image

MAX_PIXELS = 50_000_000

#: Takes a path; returns the problem of the image there, or None.
Inspect = Callable[[str], str | None]


def stat_image(path: str) -> str | None:
    """Check that the file exists and may be read."""
    if not os.path.isfile(path):
        return "missing file"
    return None if os.access(path, os.R_OK) else "no permission to read"


def decode_image(path: str) -> str | None:
    """Check that the file exists, has at most `MAX_PIXELS`, and decodes to the last row."""
    if problem := stat_image(path):
        return problem
    stat = os.stat(path)
    return _decode(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1_000_000)
def _decode(path: str, size: int, mtime_ns: int) -> str | None:
    """Cached while the file stays the same, since a run opens its bank more than once."""
    image = open_image(path)
    return image if isinstance(image, str) else None


def open_image(path: str) -> Image.Image | str:
    """Return the decoded image, or its problem; raise OSError if the file cannot be read now."""
    if problem := stat_image(path):
        return problem
    with open(path, "rb") as file:
        return read_image(file.read())


def read_image(content: bytes, max_pixels: int = MAX_PIXELS) -> Image.Image | str:
    """Return the decoded image of a file's bytes, or its problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes, which are reported here
        try:
            image = Image.open(io.BytesIO(content))
            if image.width * image.height > max_pixels:
                return _gigantic(max_pixels)
            image.load()
            return image
        except Image.DecompressionBombError:
            return _gigantic(max_pixels)
        except MemoryError:
            raise
        except Exception:  # Pillow's decoders raise errors of many kinds (struct, zlib, Syntax, EOF ...)
            return "corrupt image"


def _gigantic(max_pixels: int) -> str:
    return f"gigantic image, more than {max_pixels / 1_000_000:g} million pixels"


def image_problems(
    rows: Iterable[tuple[int, Sequence[str]]], folder: str, inspect: Inspect
) -> Iterator[tuple[int, str, str]]:
    """Yield (line, field, message) for the unusable images of ``rows`` (line, paths); each path is inspected once.

    Messages have the path as the bank has it.
    """
    known: dict[str, str | None] = {}
    for line, images in rows:
        for i, image in enumerate(images):
            if image not in known:
                known[image] = inspect(os.path.join(folder, image))
            if problem := known[image]:
                yield line, f"images[{i}]", f"{problem}: {image!r:.200}"
