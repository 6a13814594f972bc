"""Checks of figures: a cheap look at the file system, or full decoding."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

MAX_PIXELS = 50_000_000

#: Formats of Pillow that are read. Each decoder is a risk; that of EPS starts Ghostscript.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")

#: Bytes to read of a file; a figure that does not end within them is damaged.
_MOST_BYTES = 256 * 2**20

#: Scans of a JPEG, each over the whole figure. A progressive one has some ten, and two thousand fit into 150 KB.
_MOST_SCANS = 100

#: Addresses that editors and web pages write in place of a path.
_ADDRESS = re.compile(r"(?:^|/)(?:https?|ftp|file):/|(?:^|/)data:image/", re.IGNORECASE)

#: Takes paths; yields the problem of the image at each, or None.
Inspect = Callable[[list[str]], Iterable[str | None]]


def stat_images(paths: list[str]) -> Iterator[str | None]:
    """Check that the files exist and may be read."""
    return map(stat_image, paths)


def decode_images(paths: list[str]) -> Iterator[str | None]:
    """Check that the files exist, have at most `MAX_PIXELS`, and decode to the last row."""
    return map(decode_image, paths)


def stat_image(path: str) -> str | None:
    """Check that the file exists and may be read."""
    if not os.path.isfile(path):
        return "lies elsewhere and is not fetched" if _ADDRESS.search(str(path)) else "missing file"
    if not os.path.getsize(path):  # like all files of /proc, which may be endless
        return "empty file"
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
        return read_image(file.read(_MOST_BYTES))


def read_image(content: bytes, max_pixels: int = MAX_PIXELS) -> Image.Image | str:
    """Return the decoded image of a file's bytes, or its problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes are reported here
        try:
            image = Image.open(io.BytesIO(content), formats=FORMATS)
            if image.width * image.height > max_pixels:
                return _gigantic(max_pixels)
            if image.format in ("JPEG", "MPO") and content.count(b"\xff\xda") > _MOST_SCANS:
                return f"a JPEG with more than {_MOST_SCANS} scans"
            image.load()
            return image
        except Image.DecompressionBombError:
            return _gigantic(max_pixels)
        except MemoryError:
            raise
        except UnidentifiedImageError:
            return _other_format(content)
        except Exception:  # Pillow's decoders raise errors of many kinds (struct, zlib, Syntax, EOF ...)
            return "corrupt image"


def _other_format(content: bytes) -> str:
    """Return the problem of a file in none of `FORMATS`, with its format if Pillow knows it by its beginning."""
    Image.init()
    for name, (_, accept) in Image.OPEN.items():
        if name not in FORMATS and accept is not None and accept(content[:16].ljust(16)) is True:
            return f"format {name}, which is not read ({', '.join(FORMATS)} are)"
    return "corrupt image"


def _gigantic(max_pixels: int) -> str:
    return f"gigantic image, more than {max_pixels / 1_000_000:g} million pixels"


def image_problems(
    rows: Callable[[], Iterable[tuple[int, Sequence[str]]]], folder: str, inspect: Inspect
) -> Iterator[tuple[int, str, str]]:
    """Yield (line, field, message) for the unusable images of ``rows`` (line, paths); each path is inspected once.

    Messages have the path as the bank has it.
    """
    unique = list(dict.fromkeys(image for _, images in rows() for image in images))
    results = inspect([os.path.join(folder, image) for image in unique])
    problems = {image: problem for image, problem in zip(unique, results, strict=True) if problem}
    if not problems:
        return
    for line, images in rows():
        for i, image in enumerate(images):
            if problem := problems.get(image):
                yield line, f"images[{i}]", f"{problem}: {image!r:.200}"


def open_figure(path: str) -> np.ndarray:
    """Return the figure in a file as uint8 [H, W, 3], on white; raise OSError, which says why, if it is unusable."""
    image = open_image(path)
    if isinstance(image, str):
        raise OSError(f"{path}: {image}")
    return figure_array(image)


def figure_array(image: Image.Image) -> np.ndarray:
    """Return an opened figure as uint8 [H, W, 3], on white."""
    image = ImageOps.exif_transpose(image)  # as a photographed page is looked at
    if image.mode.startswith("I"):  # 16 bits, which Pillow would cut at 255: a white sheet
        grey = (np.array(image).clip(0, 65535) // 257).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    return np.array(on_white(image))


def on_white(image: Image.Image) -> Image.Image:
    """Return an image as RGB; transparent parts are white, as on paper (black lines would vanish)."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    drawing = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), drawing).convert("RGB")


def fit_square(figure: np.ndarray, size: int) -> np.ndarray:
    """Scale uint8 [H, W, 3] to fit a white [size, size, 3], aspect kept: a circle stays a circle."""
    height, width = figure.shape[:2]
    scale = size / max(height, width)
    shape = (max(1, round(width * scale)), max(1, round(height * scale)))
    scaled = Image.fromarray(figure).resize(shape, Image.Resampling.BILINEAR, reducing_gap=2.0)
    square = Image.new("RGB", (size, size), "white")
    square.paste(scaled, ((size - shape[0]) // 2, (size - shape[1]) // 2))
    return np.array(square)
