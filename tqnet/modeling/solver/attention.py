"""Attention of goals over what their problems have, which the goals of one problem share.

Nothing is copied for each goal as a whole: [n, k, h] is made for a few goals at a time, and once more in the backward
pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

#: Numbers of [n, k, h] that are held at a time. A processor's stay in its cache, a MiB of them; a GPU has the room.
_AT_ONCE = {"cpu": 2**18}
_AT_ONCE_ELSEWHERE = 2**26


def additive_scores(query: Tensor, keys: Tensor, weight: Tensor, problem: Tensor) -> Tensor:
    """w . tanh(q + k), of a query and all keys of its problem.

    tanh(x) is computed as 2 sigmoid(2x) - 1, which torch does in a tenth of the time on a processor.

    Args:
        query: [n, h].
        keys: [b, k, h].
        weight: [h].
        problem: [n], the row of ``keys`` that a query is compared with.

    Returns:
        [n, k], float32 at least: near 1/2 a sigmoid in bf16 has too few digits.
    """
    return _AdditiveScores.apply(query, keys, weight, problem)


def weighted_sums(weights: Tensor, values: Tensor, problem: Tensor) -> Tensor:
    """Sums [n, h] of the ``values`` [b, k, h] of each query's problem [n], by the query's weights [n, k]."""
    return _WeightedSums.apply(weights.to(values.dtype), values, problem)


class _AdditiveScores(torch.autograd.Function):
    """The gradient of w . (2 s - 1), with s = sigmoid(2q + 2k), to q and to k is 4 w s (1 - s)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, weight: Tensor, problem: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, weight, problem)
        wide = torch.promote_types(query.dtype, torch.float32)
        scores = query.new_empty((len(query), keys.shape[1]), dtype=wide)
        doubled = 2 * weight.to(wide)
        for part, sigmoid in _sigmoids(query, keys, problem):
            torch.mv(sigmoid.flatten(0, 1), doubled, out=scores[part].view(-1))
        return scores.sub_(weight.to(wide).sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, keys, weight, problem = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        wide = gradient.dtype
        to_query, to_keys = query.new_empty(query.shape, dtype=wide), keys.new_zeros(keys.shape, dtype=wide)
        to_weight = torch.zeros_like(weight, dtype=wide)
        for part, sigmoid in _sigmoids(query, keys, problem):
            to_weight.addmv_(sigmoid.flatten(0, 1).T, gradient[part].view(-1))
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1).mul_(gradient[part, :, None])
            torch.sum(slope, 1, out=to_query[part])
            to_keys.index_add_(0, problem[part], slope)
        slopes = 4 * weight.to(wide)
        to_weight = 2 * to_weight - gradient.sum()
        return (
            to_query.mul_(slopes).to(query.dtype),
            to_keys.mul_(slopes).to(keys.dtype),
            to_weight.to(weight.dtype),
            None,
        )


class _WeightedSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, problem: Tensor) -> Tensor:
        ctx.save_for_backward(weights, values, problem)
        sums = values.new_empty((len(weights), values.shape[2]))
        for part, own in _own(values, problem):
            torch.bmm(weights[part, None], own, out=sums[part, None])
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, values, problem = ctx.saved_tensors
        gradient = gradients[0]
        to_weights, to_values = torch.empty_like(weights), torch.zeros_like(values)
        for part, own in _own(values, problem):
            torch.sum(own * gradient[part, None], 2, out=to_weights[part])
            torch.mul(weights[part, :, None], gradient[part, None], out=own)
            to_values.index_add_(0, problem[part], own)
        return to_weights, to_values, None


def _sigmoids(query: Tensor, keys: Tensor, problem: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Some queries, and sigmoid(2q + 2k) of these: [m, k, h], to be overwritten by whoever takes it."""
    wide = torch.promote_types(query.dtype, torch.float32)
    doubled = 2 * query.to(wide)
    for part, own in _own(keys, problem):
        own = own.to(wide)
        yield part, torch.add(doubled[part, None], own, alpha=2, out=own).sigmoid_()


def _own(rows: Tensor, problem: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Some of n queries, and a copy of what their problems have: [m, k, h]."""
    step = max(1, _AT_ONCE.get(rows.device.type, _AT_ONCE_ELSEWHERE) // max(1, rows[0].numel()))
    for first in range(0, len(problem), step):
        part = slice(first, first + step)
        yield part, rows.index_select(0, problem[part])
