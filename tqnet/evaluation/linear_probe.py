"""A linear classifier on frozen vectors: the object that is kept; ``probe_fit`` finds its weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import BoolArray

Weights = npt.NDArray[np.float32]

_TENSORS, _FACTS = "probe.safetensors", "probe.json"


@dataclass(frozen=True)
class LinearProbe:
    """Predicts knowledge concepts from vectors; plain numpy, so that using one takes no torch.

    Attributes:
        classes: Concepts it can predict (those seen in training), as the hierarchy names them.
        weight, bias: ``[classes, width]`` and ``[classes]``, on standardised features.
        mean, scale: ``[width]``, of the training vectors: ``feature = (vector - mean) / scale``.
        multi_label: Whether a question may have several concepts: independent logistic outputs, else one softmax.
        threshold: Probability from which a concept of a multi-label probe is predicted.
        l2: Strength of the penalty it was fitted with.
    """

    classes: tuple[str, ...]
    weight: Weights
    bias: Weights
    mean: Weights
    scale: Weights
    multi_label: bool
    threshold: float = 0.5
    l2: float = 0.0

    def predict_proba(self, vectors: npt.NDArray[np.floating]) -> Weights:
        """Probability of each class; rows sum to one unless the probe is multi-label.

        Shape:
            - vectors: ``[questions, width]``
            - output: ``[questions, classes]``
        """
        if vectors.ndim != 2 or vectors.shape[1] != len(self.mean):
            raise ValueError(f"the probe takes vectors [questions, {len(self.mean)}], not {list(vectors.shape)}")
        features = standardise(vectors, self.mean, self.scale)
        return probabilities(features @ self.weight.T + self.bias, self.multi_label)

    def predict(self, vectors: npt.NDArray[np.floating]) -> BoolArray:
        """The predicted classes of each question, at least one, ``[questions, classes]``."""
        return decide(self.predict_proba(vectors), self.threshold if self.multi_label else None)

    def save(self, folder: str | Path) -> None:
        """Write ``probe.safetensors`` and ``probe.json`` into ``folder``, which is made if need be."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"weight": self.weight, "bias": self.bias, "mean": self.mean, "scale": self.scale}
        save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, folder / _TENSORS)
        facts = {
            "classes": self.classes,
            "multi_label": self.multi_label,
            "threshold": self.threshold,
            "l2": self.l2,
        }
        (folder / _FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> LinearProbe:
        """Read what ``save`` wrote.

        Raises:
            FileNotFoundError: One of the two files is not there.
        """
        from safetensors.numpy import load_file

        tensors: dict[str, Any] = load_file(Path(folder) / _TENSORS)
        facts = json.loads((Path(folder) / _FACTS).read_text(encoding="utf-8"))
        facts["classes"] = tuple(facts["classes"])
        return cls(**tensors, **facts)


def feature_statistics(vectors: npt.NDArray[np.floating]) -> tuple[Weights, Weights]:
    """Mean and standard deviation of each feature, 1 for a constant one, which then is 0 throughout."""
    mean, scale = vectors.mean(axis=0, dtype=np.float64), vectors.std(axis=0, dtype=np.float64)
    scale[scale <= 1e-6 * np.maximum(np.abs(mean), 1e-6)] = 1.0
    return mean.astype(np.float32), scale.astype(np.float32)


def standardise(vectors: npt.NDArray[np.floating], mean: Weights, scale: Weights) -> Weights:
    """``(vectors - mean) / scale`` in fp32."""
    return (vectors.astype(np.float32) - mean) / scale


def probabilities(logits: Weights, multi_label: bool) -> Weights:
    """Sigmoid of each logit, or softmax over the classes, without overflow."""
    if multi_label:
        return (0.5 * (1.0 + np.tanh(0.5 * logits))).astype(np.float32)
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def decide(probability: Weights, threshold: float | None) -> BoolArray:
    """The most probable class, and with a threshold also every class that reaches it, ``[questions, classes]``."""
    chosen = np.zeros(probability.shape, dtype=bool) if threshold is None else probability >= threshold
    chosen[np.arange(len(probability)), probability.argmax(axis=1)] = True
    return chosen


def indicators(labels: Sequence[Sequence[int]], classes: int) -> BoolArray:
    """Boolean matrix ``[questions, classes]`` of the class numbers of each question."""
    matrix = np.zeros((len(labels), classes), dtype=bool)
    rows = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    matrix[rows, np.array([number for own in labels for number in own], dtype=np.int64)] = True
    return matrix
