"""Fit a linear probe: full-batch L-BFGS in fp32, no randomness; L2 and threshold are chosen on ``valid``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from tqnet.evaluation.linear_probe import (
    LinearProbe,
    Weights,
    decide,
    feature_statistics,
    probabilities,
    standardise,
)
from tqnet.evaluation.metrics import BoolArray, micro_f1

#: From strong to weak, so that each fit starts from a smoother one; per mean loss over questions.
L2_STRENGTHS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)

_THRESHOLDS = np.arange(0.05, 0.95, 0.05)


def fit_probe(
    train: tuple[npt.NDArray[np.floating], BoolArray],
    valid: tuple[npt.NDArray[np.floating], BoolArray],
    classes: Sequence[str],
    *,
    multi_label: bool,
    strengths: Sequence[float] = L2_STRENGTHS,
    steps: int = 20,
) -> LinearProbe:
    """Fit with each L2 strength in turn and keep the one with the best micro F1 on ``valid``.

    The search ends when ``valid`` has fallen twice in a row, since the weaker fits, which take the most steps,
    would only fall further. Of equals the strongest penalty wins. Without validation questions the middle of
    the grid is taken unseen.

    Args:
        train, valid: Vectors and the indicators of their classes.
        classes: Names of the classes; each occurs in ``train``.
        steps: Most L-BFGS iterations per strength.

    Shape:
        - train, valid: ``[questions, width]`` and ``[questions, classes]``
    """
    mean, scale = feature_statistics(train[0])
    features, checked = standardise(train[0], mean, scale), standardise(valid[0], mean, scale)
    if not len(checked):
        strengths = [strengths[len(strengths) // 2]]
    best: LinearProbe | None = None
    best_score, falls, previous = -1.0, 0, -1.0
    for l2, weight, bias in _path(features, train[1], multi_label, strengths, steps):
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
    assert best is not None, "no strengths given"
    return best


def _path(
    features: Weights, targets: BoolArray, multi_label: bool, strengths: Sequence[float], steps: int
) -> Iterator[tuple[float, Weights, Weights]]:
    """Yield (strength, weight, bias) along the grid, each fit started from the one before it.

    The first starts at the log prior, so that its first steps go into the weights.
    """
    x, y = torch.from_numpy(features), torch.from_numpy(targets.astype(np.float32))
    prior = y.mean(dim=0).clamp(1e-6, 1 - 1e-6)
    bias = prior.logit() if multi_label else prior.log()
    weight = torch.zeros(y.shape[1], x.shape[1])
    target = y if multi_label else y.argmax(dim=1)
    for l2 in strengths:
        weight, bias = _minimum(x, target, weight, bias, l2, steps)
        yield l2, weight.numpy(), bias.numpy()


def _minimum(x: Tensor, target: Tensor, weight: Tensor, bias: Tensor, l2: float, steps: int) -> tuple[Tensor, Tensor]:
    """Weight and bias of the least loss, from those given.

    The loss is the mean over questions of the cross-entropy (multi-label: of the summed logistic losses), plus
    ``l2 / 2 * |weight|^2``; the bias is free.

    Features of an encoder are correlated, and by them L-BFGS is far from the minimum when its steps are used up.
    It moves in coordinates in which the loss is curved alike in all directions: ``weight @ root``, where ``root @
    root.T = x.T @ x / 4n + l2`` bounds the curvature of the logistic loss (Böhning 1992).

    Args:
        target: Indicators ``[questions, classes]``, or one class per question ``[questions]``.
    """
    curvature = (x.T @ x).double() / (4 * len(x))
    root = torch.linalg.cholesky(curvature + l2 * torch.eye(len(curvature), dtype=torch.double))
    inverse = torch.linalg.inv(root).float()
    seen = x @ inverse.T
    moved = (weight @ root.float()).requires_grad_()
    bias = bias.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([moved, bias], max_iter=steps, tolerance_change=1e-7, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = torch.addmm(bias, seen, moved.t())
        if target.ndim == 2:
            error = F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / len(x)
        else:
            error = F.cross_entropy(logits, target)
        total = error + 0.5 * l2 * (moved @ inverse).square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    return moved.detach() @ inverse, bias.detach()


def _best_threshold(probability: Weights, truth: BoolArray) -> float:
    scores = [micro_f1(truth, decide(probability, float(threshold))) for threshold in _THRESHOLDS]
    return float(_THRESHOLDS[int(np.argmax(scores))])
