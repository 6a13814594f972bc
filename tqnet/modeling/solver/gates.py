"""What all parts of a tree decoder are made of."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Gate(nn.Module):
    """sigmoid(W x) * tanh(V x)."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.both = nn.Linear(inputs, 2 * hidden)

    def forward(self, *parts: Tensor) -> Tensor:
        """Parts [n, i] side by side -> [n, h]."""
        return _gated(self.both(torch.cat(parts, -1)))

    def first_told(self, vectors: Tensor) -> ToldGate:
        """The same, where the first part of what it reads is one of ``vectors`` [m, h]."""
        of_vectors, weight = self.both.weight.tensor_split((vectors.shape[1],), 1)
        return ToldGate(weight, F.linear(vectors, of_vectors, self.both.bias))

    def last_told(self, vectors: Tensor) -> ToldGate:
        """The same, where the last part is."""
        weight, of_vectors = self.both.weight.tensor_split((-vectors.shape[1],), 1)
        return ToldGate(weight, F.linear(vectors, of_vectors, self.both.bias))


class ToldGate(NamedTuple):
    """A gate that is told one of a few vectors, what each of which comes to is computed once in a forward pass.

    Attributes:
        weight: Of the other parts, [2h, i].
        told: What each of the vectors comes to, [m, 2h].
    """

    weight: Tensor
    told: Tensor

    def __call__(self, *parts: Tensor, told: Tensor) -> Tensor:
        """Parts [n, i] side by side, and the number [n] of the vector that is told -> [n, h]."""
        return _gated(F.linear(torch.cat(parts, -1), self.weight) + self.told.index_select(0, told))


def _gated(both: Tensor) -> Tensor:
    gate, content = both.chunk(2, -1)
    return torch.sigmoid(gate) * torch.tanh(content)
