"""Files and folders that appear whole or not at all, and digests of their contents."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The model card, as the Hugging Face Hub names it.
CARD = "README.md"

#: Files of a model, ours or the transformers library's.
_MODEL_FILES = {".safetensors", ".bin", ".json", ".txt", ".model"}

#: Next to a model but not part of it: they may be added later.
FOR_OTHER_LIBRARIES = {"modules.json", "config_sentence_transformers.json", "tqnet_classes.py"}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; it is renamed to ``path`` when the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; it replaces ``path`` when the block succeeds."""
    temporary, replaced = (path.with_name(f".{path.name}.{os.getpid()}.{kind}") for kind in ("tmp", "old"))
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process whose number we have
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if path.exists():
            os.replace(path, replaced)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def model_files(folder: Path) -> list[Path]:
    """Return the weights, vocabulary and configuration of the model in ``folder``, by name."""
    files = (file for file in sorted(folder.glob("*")) if file.suffix in _MODEL_FILES)
    return [file for file in files if file.name not in FOR_OTHER_LIBRARIES]


def content_digest(path: Path) -> str:
    """Return 16 hex digits of the contents of a file, or of the files of a model's folder.

    Raises:
        FileNotFoundError: There is no such file or folder, or no model in it.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    files = model_files(path) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"{path}: no model in this folder")
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
