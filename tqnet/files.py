"""Files that appear whole or not at all, and what is in them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The model card, as the Hugging Face Hub names it.
CARD = "README.md"

#: What a model is read from, of ours or of the transformers library.
_OF_A_MODEL = {".safetensors", ".bin", ".json", ".txt", ".model"}

#: Beside a model, but none of what it is: a folder that gets them later is still the same model.
FOR_OTHER_LIBRARIES = {"modules.json", "config_sentence_transformers.json"}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to; it takes the name ``path`` when the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside ``path`` to write to; it takes the place of ``path`` when the block ends well."""
    temporary, replaced = (path.with_name(f".{path.name}.{os.getpid()}.{kind}") for kind in ("tmp", "old"))
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
    """Weights, vocabulary and configuration of the model in ``folder``, in order of name."""
    found = (file for file in sorted(folder.glob("*")) if file.suffix in _OF_A_MODEL)
    return [file for file in found if file.name not in FOR_OTHER_LIBRARIES]


def content_digest(path: Path) -> str:
    """16 hex digits of what is in a file, or in the files of a model's folder.

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
