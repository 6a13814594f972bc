"""Linear maps and gates that a tree decoder applies level by level."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

#: Inputs of a linear map's uses, and the gradients of their outputs.
_Uses = list[tuple[Tensor, Tensor]]


class SharedLinear:
    """x W^T + b, for many uses in one forward pass: the gradient of W is made of all of them at once.

    Autograd makes one of the size of W for every use and adds them up, which takes longer than the products where a use
    is of a few rows.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None):
        kind = weight.device.type
        weight = weight.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else weight
        self.weight, self.bias, self.uses = weight.detach(), bias, _Uses()
        self.in_graph = _Gathered.apply(weight, self.uses)  # type: ignore[no-untyped-call]

    def __call__(self, *parts: Tensor) -> Tensor:
        """Parts [n, i] side by side -> [n, o]."""
        inputs = torch.cat(parts, -1).to(self.weight.dtype)
        if not torch.is_grad_enabled():
            return F.linear(inputs, self.weight, self.bias)
        product: Tensor = _Use.apply(inputs, self.in_graph, self.weight, self.uses)  # type: ignore[no-untyped-call]
        return product if self.bias is None else product + self.bias


class _Gathered(torch.autograd.Function):
    """A weight -> 0, which every use takes, so that this backward pass comes behind those of the uses."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, uses: _Uses) -> Tensor:
        ctx.uses = uses
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, None]:
        inputs, gradients = (torch.cat(of) for of in zip(*ctx.uses, strict=True))
        ctx.uses.clear()
        return gradients.T @ inputs, None


class _Use(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, in_graph: Tensor, weight: Tensor, uses: _Uses) -> Tensor:
        ctx.save_for_backward(inputs, in_graph, weight)
        ctx.uses = uses
        return F.linear(inputs, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        inputs, in_graph, weight = ctx.saved_tensors
        ctx.uses.append((inputs, gradients[0]))
        return gradients[0] @ weight, torch.zeros_like(in_graph), None, None


class Gate(nn.Module):
    """sigmoid(W x) * tanh(V x): what all parts of the decoder are made of."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.both = nn.Linear(inputs, 2 * hidden)

    def shared(self) -> SharedGate:
        """For many uses in one forward pass."""
        return SharedGate(SharedLinear(self.both.weight, self.both.bias))

    def first_told(self, vectors: Tensor) -> SharedGate:
        """The same, where the first part of what it reads is one of ``vectors`` [m, h]."""
        of_vectors, weight = self.both.weight.tensor_split((vectors.shape[1],), 1)
        return SharedGate(SharedLinear(weight), F.linear(vectors, of_vectors, self.both.bias))

    def last_told(self, vectors: Tensor) -> SharedGate:
        """The same, where the last part is."""
        weight, of_vectors = self.both.weight.tensor_split((-vectors.shape[1],), 1)
        return SharedGate(SharedLinear(weight), F.linear(vectors, of_vectors, self.both.bias))


class SharedGate(NamedTuple):
    """A gate as it is used in one forward pass.

    Attributes:
        both: Of the parts that are not told.
        shares: [m, 2h], what vectors that are told come to, which is computed once.
    """

    both: SharedLinear
    shares: Tensor | None = None

    def __call__(self, *parts: Tensor, told: Tensor | None = None) -> Tensor:
        """Parts [n, i] side by side, and the vector [n] that is the one told -> [n, h]."""
        both = self.both(*parts)
        if self.shares is not None and told is not None:
            both = both + self.shares.index_select(0, told)
        gate, content = both.chunk(2, -1)
        return torch.sigmoid(gate) * torch.tanh(content)
