"""A linear probe: concepts from frozen vectors (TQ-Net, Table 5). Predicting takes numpy alone, fitting takes torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import BoolArray, micro_f1

if TYPE_CHECKING:
    from torch import Tensor

Weights = npt.NDArray[np.float32]
#: Questions ``[questions, width or classes]``: their vectors, and the indicators of their classes.
Labelled = tuple[npt.NDArray[np.floating], BoolArray]

_TENSORS, _FACTS = "probe.safetensors", "probe.json"

#: From strong to weak, so that each fit starts from a smoother one; per mean loss over questions.
L2_STRENGTHS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)

#: Maximum number of L-BFGS iterations per strength; the loss is then at its minimum (tests/evaluation/test_probe.py).
STEPS = 30

_THRESHOLDS = np.arange(0.05, 0.95, 0.05)


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
        """Return the probability of each class, ``[questions, width] -> [questions, classes]``.

        Rows sum to one unless the probe is multi-label.
        """
        if vectors.ndim != 2 or vectors.shape[1] != len(self.mean):
            raise ValueError(f"the probe takes vectors [questions, {len(self.mean)}], not {list(vectors.shape)}")
        features = standardise(vectors, self.mean, self.scale)
        return probabilities(features @ self.weight.T + self.bias, self.multi_label)

    def predict(self, vectors: npt.NDArray[np.floating]) -> BoolArray:
        """Return the predicted classes of each question, at least one, ``[questions, classes]``."""
        return decide(self.predict_proba(vectors), self.threshold if self.multi_label else None)

    def save(self, folder: str | Path) -> None:
        """Write ``probe.safetensors`` and ``probe.json`` into ``folder``, which is made if need be."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: np.ascontiguousarray(getattr(self, name)) for name in ("weight", "bias", "mean", "scale")}
        save_file(tensors, folder / _TENSORS)
        facts = {name: getattr(self, name) for name in ("classes", "multi_label", "threshold", "l2")}
        (folder / _FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> LinearProbe:
        """Read what ``save`` wrote; raise FileNotFoundError if one of the two files is missing."""
        from safetensors.numpy import load_file

        tensors: dict[str, Any] = load_file(Path(folder) / _TENSORS)
        facts = json.loads((Path(folder) / _FACTS).read_text(encoding="utf-8"))
        return cls(**tensors, **facts | {"classes": tuple(facts["classes"])})


def feature_statistics(vectors: npt.NDArray[np.floating]) -> tuple[Weights, Weights]:
    """Return mean and standard deviation of each feature, 1 for a constant one, which then is 0 throughout."""
    mean, scale = vectors.mean(axis=0, dtype=np.float64), vectors.std(axis=0, dtype=np.float64)
    scale[scale <= 1e-6 * np.maximum(np.abs(mean), 1e-6)] = 1.0
    return mean.astype(np.float32), scale.astype(np.float32)


def standardise(vectors: npt.NDArray[np.floating], mean: Weights, scale: Weights) -> Weights:
    """Return ``(vectors - mean) / scale`` in fp32."""
    return (vectors.astype(np.float32) - mean) / scale


def probabilities(logits: Weights, multi_label: bool) -> Weights:
    """Return the sigmoid of each logit, or the softmax over the classes, without overflow."""
    if multi_label:
        return (0.5 * (1.0 + np.tanh(0.5 * logits))).astype(np.float32)
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def decide(probability: Weights, threshold: float | None) -> BoolArray:
    """Choose the most probable class, and with a threshold every class that reaches it, ``[questions, classes]``."""
    chosen = np.zeros(probability.shape, dtype=bool) if threshold is None else probability >= threshold
    chosen[np.arange(len(probability)), probability.argmax(axis=1)] = True
    return chosen


def indicators(labels: Sequence[Sequence[int]], classes: int) -> BoolArray:
    """Return the matrix ``[questions, classes]`` of the class numbers of each question."""
    matrix = np.zeros((len(labels), classes), dtype=bool)
    rows = np.repeat(np.arange(len(labels)), [len(numbers) for numbers in labels])
    matrix[rows, np.array([number for numbers in labels for number in numbers], dtype=np.int64)] = True
    return matrix


def fit_probe(train: Labelled, valid: Labelled, classes: Sequence[str], *, multi_label: bool) -> LinearProbe:
    """Fit with each L2 strength in turn and keep the one with the best micro F1 on ``valid``.

    The search ends when ``valid`` has fallen twice in a row, since weaker fits, which take the most steps, would only
    fall further. Of equals the strongest penalty wins. Without validation questions the middle of the grid is taken.

    Args:
        classes: Names of the classes; each occurs in ``train``.
    """
    mean, scale = feature_statistics(train[0])
    features, checked = standardise(train[0], mean, scale), standardise(valid[0], mean, scale)
    strengths = L2_STRENGTHS if len(checked) else L2_STRENGTHS[len(L2_STRENGTHS) // 2 :][:1]
    best: LinearProbe | None = None
    best_score, falls, previous = -1.0, 0, -1.0
    for l2, weight, bias in _path(features, train[1], multi_label, strengths):
        chance = probabilities(checked @ weight.T + bias, multi_label)
        threshold = _best_threshold(chance, valid[1]) if multi_label and len(checked) else 0.5
        score = micro_f1(valid[1], decide(chance, threshold if multi_label else None)) if len(checked) else 0.0
        if score > best_score:
            best_score = score
            best = LinearProbe(tuple(classes), weight, bias, mean, scale, multi_label, threshold, l2)
        falls = falls + 1 if score < previous else 0
        previous = score
        if falls == 2:
            break
    assert best is not None
    return best


def _path(
    features: Weights, targets: BoolArray, multi_label: bool, strengths: Sequence[float]
) -> Iterator[tuple[float, Weights, Weights]]:
    """Yield (strength, weight, bias) along the grid, each fit started from the one before it, the first at the prior.

    Features of an encoder are correlated, so L-BFGS moves along their principal axes.
    """
    import torch

    x, y = torch.from_numpy(features), torch.from_numpy(targets.astype(np.float32))
    axes = torch.linalg.eigh((x.T @ x).double())[1].float()
    along = x @ axes
    prior = y.mean(dim=0).clamp(1e-6, 1 - 1e-6)
    bias = prior.logit() if multi_label else prior.log()
    weight = torch.zeros(y.shape[1], x.shape[1])
    target = y if multi_label else y.argmax(dim=1)
    for l2 in strengths:
        weight, bias = _minimum(along, target, weight, bias, l2)
        yield l2, (weight @ axes.T).numpy(), bias.numpy()


def _minimum(x: Tensor, target: Tensor, weight: Tensor, bias: Tensor, l2: float) -> tuple[Tensor, Tensor]:
    """Minimise the loss, started from ``weight`` and ``bias``.

    The loss is the mean over questions of the cross-entropy (multi-label: of the summed logistic losses), plus
    ``l2 / 2 * |weight|^2``; the bias is free.

    Each weight is scaled by the root of the loss's second derivative where the fit starts,
    ``mean(p * (1 - p) * x^2) + l2`` with ``p`` the class's probability: axes differ in variance and classes in
    frequency, and unscaled L-BFGS is far from the minimum when its steps are used up.

    Args:
        x: ``[questions, axes]``, uncorrelated.
        target: Indicators ``[questions, classes]``, or one class per question ``[questions]``.
    """
    import torch
    import torch.nn.functional as F

    chance = torch.addmm(bias, x, weight.t())
    chance = chance.sigmoid() if target.ndim == 2 else chance.softmax(dim=1)
    spread = chance * (1 - chance) / len(x)
    scales = (spread.t() @ x.square() + l2).sqrt(), (spread.sum(dim=0) + 1e-6).sqrt()
    moved = [(start * scale).requires_grad_() for start, scale in zip((weight, bias), scales, strict=True)]
    optimizer = torch.optim.LBFGS(
        moved, max_iter=STEPS, max_eval=2 * STEPS, tolerance_change=1e-7, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        weight, bias = (start / scale for start, scale in zip(moved, scales, strict=True))
        logits = torch.addmm(bias, x, weight.t())
        if target.ndim == 2:
            error = F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / len(x)
        else:
            error = F.cross_entropy(logits, target)
        total = error + 0.5 * l2 * weight.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    weight, bias = (end.detach() / scale for end, scale in zip(moved, scales, strict=True))
    return weight, bias


def _best_threshold(probability: Weights, truth: BoolArray) -> float:
    scores = [micro_f1(truth, decide(probability, float(threshold))) for threshold in _THRESHOLDS]
    return float(_THRESHOLDS[int(np.argmax(scores))])
