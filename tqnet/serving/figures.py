"""Figures of queries, each decoded in a separate process: a slow or crashing one affects nobody else."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from threading import BoundedSemaphore

from PIL import Image, ImageOps

from tqnet.questions.images import read_image

if sys.platform != "win32":
    import resource
    from multiprocessing import forkserver

#: The formats that browsers send; every other decoder of Pillow would be a risk.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")

#: Maximum side in pixels; photographs are scaled down, so that those of many users fit into memory.
_MAX_SIDE = 2048

#: Maximum CPU time and maximum wall time for a figure, in seconds.
_SECONDS, _PATIENCE = 5, 30

#: Context of processes forked from one without threads, model or sockets.
_PROCESSES = (
    multiprocessing.get_context("spawn") if sys.platform == "win32" else multiprocessing.get_context("forkserver")
)

if sys.platform != "win32":
    _PROCESSES.set_forkserver_preload([__name__])

#: Limits how many figures are decoded at a time, so that they fit into memory.
DECODING = BoundedSemaphore(multiprocessing.cpu_count())


class UploadError(ValueError):
    """A file that cannot be a figure of a query, with its HTTP status."""

    def __init__(self, status: int, message: str):
        super().__init__(f"figures: {message}")
        self.status = status


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    content: bytes

    @cached_property
    def digest(self) -> str:
        return hashlib.blake2b(self.content, digest_size=16).hexdigest()

    def save(self, path: Path, max_pixels: int) -> None:
        """Write the figure, scaled down if it is large, to ``path``.

        Raises:
            UploadError: 415 unsupported type, 413 too many pixels, 422 damaged, or too slow to decode.
        """
        path.write_bytes(self.content)
        receiver, sender = _PROCESSES.Pipe(duplex=False)
        with DECODING, receiver:
            with sender:
                process = _PROCESSES.Process(target=_work, args=(path, max_pixels, _SECONDS, sender), daemon=True)
                process.start()
            problem: tuple[int, str] | None = (422, "a figure takes too long to decode, or crashes the decoder")
            with suppress(EOFError):  # it crashed, or used up its CPU time
                if receiver.poll(_PATIENCE):
                    problem = receiver.recv()
            process.kill()
            process.join()
            process.close()
        if problem:
            raise UploadError(*problem)


def start() -> None:
    """Start the process to fork from, so that the first figure does not wait for it."""
    if sys.platform != "win32":
        forkserver.ensure_running()


def _work(path: Path, max_pixels: int, seconds: int, sender: Connection) -> None:
    if sys.platform != "win32":  # on Windows, only wall time is limited
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sender.send(_shrink(path, max_pixels))


def _shrink(path: Path, max_pixels: int) -> tuple[int, str] | None:
    """Check the figure at ``path`` and scale it down; return a problem as (status, message), or None."""
    content = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large sizes are rejected anyway
            with Image.open(io.BytesIO(content), formats=FORMATS) as header:
                pixels = header.width * header.height
    except Image.DecompressionBombError:
        return 413, "a figure has far too many pixels"
    except Exception:  # Pillow's readers raise all kinds of errors
        return 415, f"a file is not one of {', '.join(FORMATS)}"
    if pixels > max_pixels:
        return 413, f"a figure has more than {max_pixels / 1e6:g} million pixels"
    image = read_image(content, max_pixels)
    if isinstance(image, str):
        return 422, image
    if max(image.size) > _MAX_SIDE:
        image = ImageOps.exif_transpose(image)
        if not image.mode.startswith("I"):  # 16-bit grey is scaled without conversion
            image = image.convert("RGBA" if image.has_transparency_data else "RGB")
        image.thumbnail((_MAX_SIDE, _MAX_SIDE))
        image.save(path, "PNG")
    return None
