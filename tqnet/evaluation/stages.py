"""Measuring the stages of a training, and what they are compared with, on one bank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tqnet.evaluation.baselines import Bm25Ranker, TfidfRanker
from tqnet.evaluation.curves import read_series
from tqnet.evaluation.probe import evaluate_probe
from tqnet.evaluation.similar import evaluate_similar
from tqnet.evaluation.table import StageResult
from tqnet.files import atomic
from tqnet.modeling.build import ModelConfig, build_model, load_model
from tqnet.modeling.model import TQNetModel
from tqnet.questions import KnowledgeHierarchy, QuestionBank, Similarity

#: Names that stand for no folder: word overlap, and text encoders as they come.
LEXICAL = {"tfidf": TfidfRanker, "bm25": Bm25Ranker}


@dataclass(frozen=True)
class Encoding:
    """How vectors are computed; see :func:`tqnet.modeling.encode.encode`."""

    batch_size: int = 32
    device: str | None = None
    precision: str = "fp32"


def parse_stages(specifications: list[str]) -> dict[str, str]:
    """``NAME=SOURCE`` of each stage; a source alone is its own name.

    Raises:
        ValueError: Two stages of one name.
    """
    pairs = [text.partition("=") if "=" in text else (text, "=", text) for text in specifications]
    names = [name for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"two stages have the same name: {', '.join(names)}")
    return {name: source for name, _, source in pairs}


def open_stage(source: str) -> TQNetModel:
    """A trained folder, or ``encoder:NAME`` for a text encoder as it comes (mean of its tokens)."""
    if source.startswith("encoder:"):
        plain = ModelConfig(text=source.removeprefix("encoder:"), visual=None, fusion="none", vocabulary_min_count=0)
        return build_model(plain, [])[0]
    return load_model(source)


def stage_vectors(name: str, source: str, bank: QuestionBank, encoding: Encoding, cache: Path | None) -> np.ndarray:
    """Vectors of the bank by a stage's model; kept in ``cache`` and taken from there while nothing changed."""
    weights = Path(source) / "model.safetensors"
    state = weights.stat().st_mtime_ns if weights.exists() else 0
    key = json.dumps([source, state, bank.fingerprint, encoding.precision])
    if cache is not None and _read(cache / f"{name}.key") == key:
        return np.load(cache / f"{name}.npy")
    vectors = open_stage(source).encode(bank, show_progress=True, **vars(encoding))
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        with atomic(cache / f"{name}.npy") as temporary, temporary.open("wb") as stream:
            np.save(stream, vectors)
        with atomic(cache / f"{name}.key") as temporary:
            temporary.write_text(key, encoding="utf-8")
    return vectors


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def measure_lexical(name: str, bank: QuestionBank, similarity: Similarity, split: str, k: int) -> StageResult:
    """P@k of word overlap."""
    texts = [question.content for question in bank]
    return StageResult(similar=evaluate_similar(LEXICAL[name](texts, bank.ids), bank, similarity, split, k=k))


def measure_vectors(
    vectors: np.ndarray,
    bank: QuestionBank,
    similarity: Similarity | None,
    hierarchy: KnowledgeHierarchy | None,
    split: str = "test",
    k: int = 5,
    seed: int = 0,
) -> StageResult:
    """Similar questions and a linear probe of frozen vectors; leave out one by giving None."""
    return StageResult(
        similar=None if similarity is None else evaluate_similar(vectors, bank, similarity, split, k=k, seed=seed),
        probe=None if hierarchy is None else evaluate_probe(vectors, bank, hierarchy, seed=seed),
    )


def training_logs(stages: Mapping[str, str]) -> dict[str, Path]:
    """metrics.jsonl of every stage whose run's folder lies around its model."""
    files = {name: Path(source).parent / "metrics.jsonl" for name, source in stages.items()}
    return {name: path for name, path in files.items() if path.exists()}


def provenance(command: str, bank: QuestionBank, logs: Mapping[str, Path]) -> dict[str, str]:
    """How results came about: the command, the data, and the questions that each stage saw in training."""
    seen = [f"{name} {read_series(path)['questions'][1].max():,.0f}" for name, path in logs.items()]
    return {
        "command": command,
        "bank": f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}",
        "questions seen in training": ", ".join(seen),
    }
