"""Figures that come with a query: of few kinds, bounded, never larger than a model can make use of."""

from __future__ import annotations

import hashlib
import io
import warnings
from functools import cached_property
from pathlib import Path

from PIL import Image, ImageOps

from tqnet.questions.images import read_image

#: Of the formats that Pillow knows, those that browsers send; few decoders are few ways in.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")

#: Pixels of the longer side that are kept: photographs of many users have to fit into memory at once.
_LARGEST = 2048


class UploadError(ValueError):
    """A file that is no figure for a query; ``status`` is HTTP's for it."""

    def __init__(self, status: int, message: str):
        super().__init__(f"figures: {message}")
        self.status = status


class Upload:
    """A file as it came."""

    def __init__(self, content: bytes):
        self._content = content

    @cached_property
    def digest(self) -> str:
        """Equal for equal files."""
        return hashlib.blake2b(self._content, digest_size=16).hexdigest()

    def save(self, path: Path, max_pixels: int) -> None:
        """Write the figure, scaled down if it is large.

        Raises:
            UploadError: 415 of another kind, 413 too many pixels, 422 damaged.
        """
        if self._pixels() > max_pixels:
            raise UploadError(413, f"a figure has more than {max_pixels / 1e6:g} million pixels")
        image = read_image(self._content, max_pixels)
        if isinstance(image, str):
            raise UploadError(422, image)
        if max(image.size) <= _LARGEST:
            path.write_bytes(self._content)
            return
        image = ImageOps.exif_transpose(image)
        if not image.mode.startswith("I"):  # 16 bits of grey are scaled as they are
            image = image.convert("RGBA" if image.has_transparency_data else "RGB")
        image.thumbnail((_LARGEST, _LARGEST))
        image.save(path, "PNG")

    def _pixels(self) -> int:
        """As the head of the file says; nothing is decoded."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow warns of sizes that are refused here anyway
                with Image.open(io.BytesIO(self._content), formats=FORMATS) as opened:
                    return opened.width * opened.height
        except Image.DecompressionBombError:
            raise UploadError(413, "a figure is gigantic") from None
        except Exception:  # Pillow's readers raise errors of many kinds
            raise UploadError(415, f"a file is none of {', '.join(FORMATS)}") from None
