"""Vectors of a stage: by a trained folder, or by an off-the-shelf text encoder; cached on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tqnet.errors import first_line
from tqnet.evaluation.metrics import IntArray
from tqnet.files import atomic, content_digest, model_files
from tqnet.modeling.build import build_model, load_model, readable
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank
from tqnet.version import __version__

#: Begins a source that names a text encoder instead of a trained folder.
ENCODER = "encoder:"


class VectorSourceError(ValueError):
    """A text encoder cannot be loaded: its package is missing, or the hub does not answer."""


@dataclass(frozen=True)
class Encoding:
    """How vectors are computed; see :func:`tqnet.modeling.encode.encode`.

    Attributes:
        max_length: Text tokens that an off-the-shelf encoder may read, by default as many as a new model.
    """

    batch_size: int = 32
    device: str | None = None
    precision: str = "fp32"
    max_length: int | None = None


def open_source(source: str, max_length: int | None = None) -> QuestionEncoder:
    """Load a trained folder, or with ``encoder:NAME`` an off-the-shelf text encoder (pooled as its files say).

    Raises:
        FileNotFoundError: The folder holds no model.
        VectorSourceError: The encoder cannot be loaded.
    """
    if not source.startswith(ENCODER):
        return load_model(source)
    plain = ModelConfig(
        text=source.removeprefix(ENCODER),
        visual=None,
        fusion="none",
        vocabulary_min_count=0,
        max_length=max_length or ModelConfig.max_length,
    )
    try:
        return build_model(plain, [])[0]
    # What transformers raises if a name is unknown, the network is down or the model is not a BERT.
    except (ImportError, OSError, ValueError, TypeError, RuntimeError) as error:
        raise VectorSourceError(f"{source}: cannot be loaded: {first_line(error)}") from error


def shortest_length(sources: Iterable[str]) -> int | None:
    """The smallest ``max_length`` of the trained folders among ``sources``; None if there are none.

    Raises:
        FileNotFoundError: A folder holds no model; raised here, before other stages are encoded.
    """
    lengths = []
    for source in sources:
        if source.startswith(ENCODER):
            continue
        if not (Path(source) / "config.json").is_file():
            raise FileNotFoundError(f"{source}: no model here (config.json is missing)")
        with readable(source):
            lengths.append(TQNetProcessor.from_pretrained(source).max_length)
    return min(lengths, default=None)


def source_notes(source: str) -> tuple[str, ...]:
    """Notes that readers of a source's scores need."""
    config = Path(source) / "config.json"  # word overlap and off-the-shelf encoders have none
    marked = config.is_file() and json.loads(config.read_text(encoding="utf-8")).get("transductive")
    return ("pre-training has read the questions of valid and test, unlabelled (transductive)",) if marked else ()


def source_digest(source: str) -> str | None:
    """Digest of a source's folder; None for a source that is a name."""
    folder = Path(source.removeprefix(ENCODER))
    return content_digest(folder) if folder.is_dir() else None


def source_vectors(
    source: str, bank: QuestionBank, encoding: Encoding, cache: Path | None = None, rows: IntArray | None = None
) -> np.ndarray:
    """Vectors by a source's model; cached in ``cache`` while nothing changes.

    Args:
        rows: Questions of the bank whose vectors are needed, in this order; only these are computed, unless the
            cache has the whole bank. None: all.
    """
    cached = None if cache is None else cache / f"{vectors_key(source, bank, encoding)}.npy"
    if cached is not None and cached.exists():
        return np.load(cached) if rows is None else np.load(cached, mmap_mode="r")[rows]
    if rows is not None:
        return source_vectors(source, bank.select(rows), encoding, cache)
    vectors = open_source(source, encoding.max_length).encode(
        bank, batch_size=encoding.batch_size, device=encoding.device, precision=encoding.precision, show_progress=True
    )
    if cached is not None:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with atomic(cached) as temporary, temporary.open("wb") as stream:
            np.save(stream, vectors)
    return vectors


def vectors_key(source: str, bank: QuestionBank, encoding: Encoding) -> str:
    """Digest of everything that the vectors depend on: 32 hex digits."""
    is_encoder = source.startswith(ENCODER)
    folder = Path(source.removeprefix(ENCODER))
    states = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in model_files(folder)]
    length = encoding.max_length if is_encoder else None
    key = json.dumps([source, states, length, bank.fingerprint, encoding.precision, __version__])
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
