"""The goal-driven tree decoder (Xie and Sun 2019): a goal becomes a number, or an operator with two subgoals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from tqnet.text.equations import OPERATORS, Prefix, ends

#: Elements of [n, k, h] that attention holds at a time: 1 MiB on a CPU, to stay in its cache.
_CHUNK_ON_CPU, _CHUNK_ON_GPU = 2**18, 2**26


def additive_scores(query: Tensor, keys: Tensor, weight: Tensor, problem: Tensor) -> Tensor:
    """Compute w . tanh(q + k) of each query and all keys of its problem.

    [n, k, h] is materialised for a few queries at a time, and again in the backward pass. tanh(x) is computed as
    2 sigmoid(2x) - 1, ten times as fast in torch on a CPU.

    Args:
        query: [n, h].
        keys: [b, k, h].
        weight: [h].
        problem: [n], row of ``keys`` for each query.

    Returns:
        [n, k], at least float32: near 1/2, a bf16 sigmoid is too coarse.
    """
    return _AdditiveScores.apply(query, keys, weight, problem)


def weighted_sums(weights: Tensor, values: Tensor, problem: Tensor) -> Tensor:
    """Sum the ``values`` [b, k, h] of each query's problem [n] with the query's weights [n, k]: [n, h]."""
    return _WeightedSums.apply(weights.to(values.dtype), values, problem)


class _AdditiveScores(torch.autograd.Function):
    """w . (2 s - 1) with s = sigmoid(2q + 2k); its gradient with respect to q and k is 4 w s (1 - s)."""

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
        for part, rows in _chunks(values, problem):
            torch.bmm(weights[part, None], rows, out=sums[part, None])
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, values, problem = ctx.saved_tensors
        gradient = gradients[0]
        to_weights, to_values = torch.empty_like(weights), torch.zeros_like(values)
        for part, rows in _chunks(values, problem):
            torch.sum(rows * gradient[part, None], 2, out=to_weights[part])
            torch.mul(weights[part, :, None], gradient[part, None], out=rows)
            to_values.index_add_(0, problem[part], rows)
        return to_weights, to_values, None


def _sigmoids(query: Tensor, keys: Tensor, problem: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield chunks of queries with sigmoid(2q + 2k) [m, k, h], which may be overwritten."""
    wide = torch.promote_types(query.dtype, torch.float32)
    doubled = 2 * query.to(wide)
    for part, rows in _chunks(keys, problem):
        rows = rows.to(wide)
        yield part, torch.add(doubled[part, None], rows, alpha=2, out=rows).sigmoid_()


def _chunks(values: Tensor, problem: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield chunks of n queries with a copy of their problems' rows of ``values``, [m, k, h]."""
    step = max(1, (_CHUNK_ON_CPU if values.device.type == "cpu" else _CHUNK_ON_GPU) // max(1, values[0].numel()))
    for first in range(0, len(problem), step):
        part = slice(first, first + step)
        yield part, values.index_select(0, problem[part])


class Gate(nn.Module):
    """The gate sigmoid(W x) * tanh(V x)."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.both = nn.Linear(inputs, 2 * hidden)

    def forward(self, *parts: Tensor) -> Tensor:
        """Gate concatenated parts [n, i]: [n, h]."""
        return _gated(self.both(torch.cat(parts, -1)))

    def with_first(self, vectors: Tensor) -> CachedGate:
        """Return the same gate with its first part always one of ``vectors`` [m, h]."""
        vectors_weight, weight = self.both.weight.tensor_split((vectors.shape[1],), 1)
        return CachedGate(weight, F.linear(vectors, vectors_weight, self.both.bias))

    def with_last(self, vectors: Tensor) -> CachedGate:
        """Return the same gate with its last part always one of ``vectors`` [m, h]."""
        weight, vectors_weight = self.both.weight.tensor_split((-vectors.shape[1],), 1)
        return CachedGate(weight, F.linear(vectors, vectors_weight, self.both.bias))


class CachedGate(NamedTuple):
    """A gate with one part from a few vectors, whose products with the weights are computed once per forward pass.

    Attributes:
        weight: [2h, i], for the other parts.
        products: [m, 2h], one per vector.
    """

    weight: Tensor
    products: Tensor

    def __call__(self, *parts: Tensor, row: Tensor) -> Tensor:
        """Gate concatenated parts [n, i] with the vectors numbered ``row`` [n]: [n, h]."""
        return _gated(F.linear(torch.cat(parts, -1), self.weight) + self.products.index_select(0, row))


def _gated(both: Tensor) -> Tensor:
    gate, content = both.chunk(2, -1)
    return torch.sigmoid(gate) * torch.tanh(content)


@dataclass(frozen=True)
class TreeBatch:
    """The equation trees of a batch as flat tensors, so that one step covers a level of all trees.

    Nodes are concatenated, each tree in prefix order.

    Attributes:
        problem: [n], a node's row in the batch.
        token: [n], index in the decoder's output (`tqnet.solver.problems.Alphabet.place`).
        left, right: [n], child nodes; -1 if there is none.
        height: [n], 0 at leaves.
        root: [b], root node of each tree.

    Shape notation: b problems, n nodes.
    """

    problem: Tensor
    token: Tensor
    left: Tensor
    right: Tensor
    height: Tensor
    root: Tensor

    @classmethod
    def from_equations(cls, equations: Sequence[Prefix], tokens: Sequence[Sequence[int]]) -> TreeBatch:
        """Build trees from equations in prefix order and the indices of their tokens in the decoder's output."""
        rows: list[tuple[int, ...]] = []
        roots = []
        for row, (equation, places) in enumerate(zip(equations, tokens, strict=True)):
            roots.append(len(rows))
            rows += [(row, place, *links) for place, links in zip(places, _links(equation, len(rows)), strict=True)]
        columns: list[Tensor] = [*torch.tensor(rows).reshape(-1, 5).T.contiguous(), torch.tensor(roots)]
        return cls(*columns)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by name, for a batch's extras."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _links(equation: Prefix, first: int) -> list[tuple[int, int, int]]:
    """Return left child, right child and height of each node of a tree with root node ``first``."""
    after, links, height = ends(equation), [(-1, -1, 0)] * len(equation), [0] * len(equation)
    for node in reversed(range(len(equation))):
        if equation[node] in OPERATORS:
            left, right = node + 1, after[node + 1]
            height[node] = 1 + max(height[left], height[right])
            links[node] = first + left, first + right, height[node]
    return links


class Source(NamedTuple):
    """A batch of problems as the decoder reads it, with everything computed once for all goals.

    Attributes:
        hidden: [b, t, h], token states.
        keys: [b, t, h], attention keys.
        mask: bool [b, t], real tokens.
        root: [b, h], the first goal.
        candidates: [b, k, h], embeddings of operators, constants, and the problem's numbers, in this order.
        compared: [b, k, h], their projections for scoring.
        possible: bool [b, k], candidates that the problem has.
        split_left, split_right, merge: The decoder's gates on operators.
    """

    hidden: Tensor
    keys: Tensor
    mask: Tensor
    root: Tensor
    candidates: Tensor
    compared: Tensor
    possible: Tensor
    split_left: CachedGate
    split_right: CachedGate
    merge: CachedGate

    def embeddings(self, problem: Tensor, token: Tensor) -> Tensor:
        """Return the embedding of a candidate ``token`` [n] of each ``problem`` [n]: [n, h]."""
        count = self.candidates.shape[1]
        return self.candidates.flatten(0, 1).index_select(0, problem * count + token)


class TreeDecoder(nn.Module):
    """Decodes goals into nodes, in the order: goal, context, node, left subtree, right subtree.

    ::

        c = attention(q, text)                          context of a goal q
        s(y) = w . tanh(W [q, c, e(y)])                 score of an operator, a constant or a number of the text
        q_left  = gate(gate(q, c, e(y)))                goal of the left operand of an operator y
        q_right = gate(gate(q, c, e(y)), t_left)        of the right one, given the left subtree
        t = e(y)  or  gate(e(y), t_left, t_right)       embedding of a subtree

    Given the gold trees, no subtree embedding depends on a goal: compute all of them from the leaves up, one height of
    all trees at a time, then all goals from the roots down, one depth at a time. The first height and depth are
    computed even if all trees are leaves, since other processes wait for their gates' gradients.

    Args:
        hidden: Width of the text's states and all others.
        constants: Numbers that are in equations but not in texts.
    """

    def __init__(self, hidden: int, constants: int, dropout: float = 0.5):
        super().__init__()
        self.fixed = nn.Embedding(len(OPERATORS) + constants, hidden)
        self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden, bias=False)
        self.attention = nn.Linear(hidden, 1, bias=False)
        self.wanted, self.candidate = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.break_up_left, self.break_up_right = Gate(3 * hidden, hidden), Gate(3 * hidden, hidden)
        self.left_goal, self.right_goal = Gate(hidden, hidden), Gate(2 * hidden, hidden)
        self.merge = Gate(3 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def read(self, hidden: Tensor, mask: Tensor, number_at: Tensor) -> Source:
        """Prepare a batch of texts for decoding.

        Args:
            hidden: [b, t, h]; each row's first state, [CLS], is the root's goal.
            mask: bool [b, t].
            number_at: [b, q], token position of each number, padded with -1.
        """
        numbers = hidden.gather(1, number_at.clamp(min=0)[..., None].expand(-1, -1, hidden.shape[-1]))
        # NOTE: all problems of a batch share one dropout mask of the constants.
        fixed = self.fixed.weight.to(hidden.dtype)
        operators, for_all = fixed[: len(OPERATORS)], (len(hidden), -1, -1)
        compared = self.candidate(self.dropout(fixed)), self.candidate(self.dropout(numbers))
        always = torch.ones((len(hidden), len(fixed)), dtype=torch.bool, device=hidden.device)
        return Source(
            hidden=hidden,
            keys=self._keys(hidden, mask),
            mask=mask,
            root=hidden[:, 0],
            candidates=torch.cat((fixed.expand(for_all), numbers), 1),
            compared=torch.cat((compared[0].expand(for_all), compared[1]), 1),
            possible=torch.cat((always, number_at >= 0), 1),
            split_left=self.break_up_left.with_last(operators),
            split_right=self.break_up_right.with_last(operators),
            merge=self.merge.with_first(operators),
        )

    def _keys(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Compute keys [b, t, h], skipping padding, which is zero."""
        real = mask.flatten().nonzero().squeeze(1)
        keys = self.key(hidden.flatten(0, 1).index_select(0, real))
        padded = keys.new_zeros((mask.numel(), keys.shape[1])).index_copy(0, real, keys)
        return padded.view(*mask.shape, -1)

    def context(self, goal: Tensor, source: Source, problem: Tensor) -> Tensor:
        """Return contexts [n, h] of goals [n, h], each in row ``problem`` [n] of ``source``."""
        energy = additive_scores(self.query(self.dropout(goal)), source.keys, self.attention.weight[0], problem)
        masked = energy.masked_fill(~source.mask.index_select(0, problem), float("-inf"))
        return weighted_sums(masked.softmax(-1), source.hidden, problem)

    def log_probabilities(self, goal: Tensor, context: Tensor, source: Source, problem: Tensor) -> Tensor:
        """Return log-probabilities of the candidates, float32 [n, k]; -inf for those the problem lacks."""
        wanted = self.wanted(self.dropout(torch.cat((goal, context), -1)))
        scores = additive_scores(wanted, source.compared, self.score.weight[0], problem)
        return F.log_softmax(scores.masked_fill(~source.possible.index_select(0, problem), float("-inf")), -1)

    def left(self, goal: Tensor, context: Tensor, operator: Tensor, source: Source) -> Tensor:
        """Return goals of left operands, [n, h]; ``operator`` [n] is a token."""
        return self.left_goal(source.split_left(self.dropout(goal), context, row=operator))

    def pending(self, goal: Tensor, context: Tensor, operator: Tensor, source: Source) -> Tensor:
        """Return the part of right operands' goals that does not depend on left subtrees, [n, h]."""
        return source.split_right(self.dropout(goal), context, row=operator)

    def right(self, pending: Tensor, left_subtree: Tensor) -> Tensor:
        """Return goals of right operands, [n, h]."""
        return self.right_goal(pending, left_subtree)

    def subtree(self, operator: Tensor, left: Tensor, right: Tensor, source: Source) -> Tensor:
        """Embed subtrees [n, h], from operator tokens [n] and operand embeddings."""
        return source.merge(left, right, row=operator)

    def forward(self, source: Source, trees: TreeBatch, equal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Score the gold trees of a batch.

        Args:
            equal: [b, k], equal numbers for candidates of equal value.

        Returns:
            Log-probability of each node's token or an equal one [n], goals [n, h] and subtree embeddings [n, h].
        """
        subtrees = self._subtrees(source, trees)
        goals, contexts = self._goals(source, subtrees, trees)
        log_probabilities = self.log_probabilities(goals, contexts, source, trees.problem)
        same = equal[trees.problem] == equal[trees.problem, trees.token][:, None]
        return log_probabilities.masked_fill(~same, float("-inf")).logsumexp(-1), goals, subtrees

    def _subtrees(self, source: Source, trees: TreeBatch) -> Tensor:
        embeddings = source.embeddings(trees.problem, trees.token)
        for height in range(1, max(1, int(trees.height.max())) + 1):
            nodes = (trees.height == height).nonzero().squeeze(1)
            left, right = (
                embeddings.index_select(0, child.index_select(0, nodes)) for child in (trees.left, trees.right)
            )
            merged = self.subtree(trees.token.index_select(0, nodes), left, right, source)
            embeddings = embeddings.index_copy(0, nodes, merged.to(embeddings.dtype))
        return embeddings

    def _goals(self, source: Source, subtrees: Tensor, trees: TreeBatch) -> tuple[Tensor, Tensor]:
        levels, goals, contexts = [trees.root], [source.root], list[Tensor]()
        while True:
            nodes, goal = levels[-1], goals[-1]
            context = self.context(goal, source, trees.problem.index_select(0, nodes))
            contexts.append(context)
            inner = (trees.left.index_select(0, nodes) >= 0).nonzero().squeeze(1)
            if not len(inner) and len(levels) > 1:
                break
            nodes, goal, context = (values.index_select(0, inner) for values in (nodes, goal, context))
            operator, left, right = (values.index_select(0, nodes) for values in (trees.token, trees.left, trees.right))
            pending = self.pending(goal, context, operator, source)
            right_goal = self.right(pending, subtrees.index_select(0, left))
            goals.append(torch.cat((self.left(goal, context, operator, source), right_goal)))
            levels.append(torch.cat((left, right)))
        in_order = torch.cat(levels).argsort()
        return torch.cat(goals).index_select(0, in_order), torch.cat(contexts).index_select(0, in_order)
