"""The equation trees of a batch as flat tensors, so that a level of all trees is one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from tqnet.equations.tree import OPERATORS, Prefix, ends


@dataclass(frozen=True)
class TreeBatch:
    """Nodes of all trees one behind the other, each tree in prefix order.

    Attributes:
        problem: [n], row of the batch that a node belongs to.
        token: [n], place in the decoder's output (`tqnet.equations.problems.Alphabet.place`).
        parent, left, right: [n], nodes; -1 at roots and leaves.
        depth: [n], 0 at roots.
        height: [n], 0 at leaves.
        root: [b], of each tree.

    Shape notation: b problems, n nodes.
    """

    problem: Tensor
    token: Tensor
    parent: Tensor
    left: Tensor
    right: Tensor
    depth: Tensor
    height: Tensor
    root: Tensor

    @classmethod
    def of(cls, equations: Sequence[Prefix], tokens: Sequence[Sequence[int]]) -> TreeBatch:
        """From equations in prefix order, and the places of their tokens."""
        rows: list[tuple[int, ...]] = []
        roots = []
        for row, (equation, places) in enumerate(zip(equations, tokens, strict=True)):
            roots.append(len(rows))
            rows += [(row, place, *links) for place, links in zip(places, _links(equation, len(rows)), strict=True)]
        columns: list[Tensor] = [*torch.tensor(rows).reshape(-1, 7).T.contiguous(), torch.tensor(roots)]
        return cls(*columns)

    def tensors(self) -> dict[str, Tensor]:
        """By name, as a batch's extras carry them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _links(equation: Prefix, first: int) -> list[tuple[int, int, int, int, int]]:
    """Parent, left, right, depth and height of each node of a tree whose root is node ``first``."""
    behind = ends(equation)
    count = len(equation)
    parent, left, right, depth, height = ([-1] * count, [-1] * count, [-1] * count, [0] * count, [0] * count)
    for node in range(count):
        if equation[node] in OPERATORS:
            left[node], right[node] = node + 1, behind[node + 1]
            for child in (left[node], right[node]):
                parent[child], depth[child] = node, depth[node] + 1
    for node in reversed(range(count)):
        if left[node] >= 0:
            height[node] = 1 + max(height[left[node]], height[right[node]])
    shifted = [[first + link if link >= 0 else -1 for link in links] for links in (parent, left, right)]
    return list(zip(*shifted, depth, height, strict=True))
