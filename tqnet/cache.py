"""Results that are computed once for a bank and cached: its table, token counts, hashes."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from filelock import FileLock

from tqnet.files import atomic

#: Days after its last use until an entry may be deleted.
KEPT_DAYS = 90


def cache_folder() -> Path:
    """Return the folder of cached results; safe to delete while no program uses a bank."""
    return Path(os.environ.get("TQNET_CACHE") or "~/.cache/tqnet").expanduser()


def computed_once(kind: str, key: tuple[object, ...], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return ``compute()``, or its cached result for this ``key``.

    Of several processes that ask at once, such as those of a training, one computes and the others wait.
    """
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()
    file = cache_folder() / "prepared" / f"{kind}-{digest}.npy"
    if not file.is_file():
        with lock_of(file):
            if not file.is_file():
                forget_unused(file.parent)
                with atomic(file) as temporary, temporary.open("wb") as stream:
                    np.save(stream, compute(), allow_pickle=False)
    mark_used(file)
    return np.load(file, allow_pickle=False)


def lock_of(entry: Path) -> FileLock:
    """Return the lock that whoever makes an entry must hold; makes the entry's parent folder."""
    locks = cache_folder() / "locks"
    for folder in (entry.parent, locks):
        folder.mkdir(parents=True, exist_ok=True)
    return FileLock(locks / f"{entry.name}.lock")


def mark_used(entry: Path) -> None:
    """Note that an entry is used now, where that is permitted."""
    with suppress(OSError):
        os.utime(entry)


def forget_unused(folder: Path) -> None:
    """Delete the entries of a folder, and locks, whose last use, their time of change, is over `KEPT_DAYS` ago."""
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for entry in (*folder.iterdir(), *(cache_folder() / "locks").iterdir()):
        try:
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        except OSError:  # another process was faster, or it is another user's
            continue
