"""The goal-driven tree decoder (Xie and Sun 2019): a goal is met by a number, or broken up into two."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.equations.tree import OPERATORS
from tqnet.modeling.solver.trees import TreeBatch


class Source(NamedTuple):
    """What a decoder reads of a batch of problems.

    Attributes:
        hidden: [b, t, h], states of the text's tokens.
        keys: [b, t, h], what the attention compares goals with: computed once for all of a problem's goals.
        mask: bool [b, t], real tokens.
        root: [b, h], the first goal.
        candidates: [b, k, h], embeddings of operators, constants, and the problem's numbers, in this order.
        compared: [b, k, h], what is scored of them: computed once, too.
        possible: bool [b, k], those that the problem has.
    """

    hidden: Tensor
    keys: Tensor
    mask: Tensor
    root: Tensor
    candidates: Tensor
    compared: Tensor
    possible: Tensor

    def of(self, problems: Tensor) -> Source:
        """The rows of some problems, each as often as it is named."""
        return Source(*(tensor[problems] for tensor in self))


class Gate(nn.Module):
    """sigmoid(W x) * tanh(V x): what all parts of this decoder are made of."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.both = nn.Linear(inputs, 2 * hidden)

    def forward(self, *parts: Tensor) -> Tensor:
        """Parts [..., i] side by side -> [..., h]."""
        gate, content = self.both(torch.cat(parts, -1)).chunk(2, -1)
        return torch.sigmoid(gate) * torch.tanh(content)


class TreeDecoder(nn.Module):
    """Goals to nodes, in the order: goal, context, node, left subtree, right subtree.

    ::

        c = attention(q, text)                          context of a goal q
        s(y) = w . tanh(W [q, c, e(y)])                 score of an operator, a constant or a number of the text
        q_left  = gate(gate(q, c, e(y)))                goal of the left operand of an operator y
        q_right = gate(gate(q, c, e(y)), t_left)        of the right one, told the left subtree
        t = e(y)  or  gate(e(y), t_left, t_right)       embedding of a subtree

    With the true tree at hand, no subtree embedding depends on a goal: all are made from the leaves up, a height of
    all trees at a time, then all goals from the roots down, a depth of all trees at a time.

    Args:
        hidden: Width of the text's states and of all within.
        constants: Numbers that stand in equations and not in texts.
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
        """A batch of texts as the decoder reads it.

        Args:
            hidden: [b, t, h], the first state of each row being that of [CLS], the root's goal.
            mask: bool [b, t].
            number_at: [b, q], token of each of the text's numbers; -1 behind the last.
        """
        numbers = hidden.gather(1, number_at.clamp(min=0)[..., None].expand(-1, -1, hidden.shape[-1]))
        fixed = self.fixed.weight.to(hidden.dtype).expand(len(hidden), -1, -1)
        candidates = torch.cat((fixed, numbers), 1)
        there = torch.ones(fixed.shape[:2], dtype=torch.bool, device=hidden.device)
        return Source(
            hidden=hidden,
            keys=self.key(hidden),
            mask=mask,
            root=hidden[:, 0],
            candidates=candidates,
            compared=self.candidate(self.dropout(candidates)),
            possible=torch.cat((there, number_at >= 0), 1),
        )

    def context(self, goal: Tensor, source: Source) -> Tensor:
        """Of goals [n, h], each of the row of ``source`` that has its place -> [n, h]."""
        energy = self.attention(torch.tanh(self.query(self.dropout(goal))[:, None] + source.keys)).squeeze(-1)
        weights = energy.float().masked_fill(~source.mask, float("-inf")).softmax(-1).to(source.hidden.dtype)
        return torch.einsum("nt,nth->nh", weights, source.hidden)

    def log_probabilities(self, goal: Tensor, context: Tensor, source: Source) -> Tensor:
        """Of each candidate, float32 [n, k]; minus infinity where the problem has none."""
        wanted = self.wanted(self.dropout(torch.cat((goal, context), -1)))[:, None]
        scores = self.score(torch.tanh(wanted + source.compared)).squeeze(-1)
        return F.log_softmax(scores.float().masked_fill(~source.possible, float("-inf")), -1)

    def left(self, goal: Tensor, context: Tensor, operator: Tensor) -> Tensor:
        """Goals of left operands, [n, h]; ``operator`` [n, h] is its embedding."""
        return self.left_goal(self.break_up_left(self.dropout(goal), context, operator))

    def pending(self, goal: Tensor, context: Tensor, operator: Tensor) -> Tensor:
        """What a right operand's goal is made of before the left subtree is known, [n, h]."""
        return self.break_up_right(self.dropout(goal), context, operator)

    def right(self, pending: Tensor, left_subtree: Tensor) -> Tensor:
        """Goals of right operands, [n, h]."""
        return self.right_goal(pending, left_subtree)

    def subtree(self, operator: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """Embedding [n, h] of a subtree, of those of its operator and its operands."""
        return self.merge(operator, left, right)

    def forward(self, source: Source, trees: TreeBatch, equal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The true trees of a batch.

        Args:
            equal: [b, k], numbers that are the same where candidates are: mentions of one value.

        Returns:
            Log-probability of each node's token or one that is equal to it [n], goals [n, h] and subtree embeddings
            [n, h].
        """
        nodes = source.candidates[trees.problem, trees.token]
        subtrees = self._subtrees(nodes, trees)
        goals, contexts = self._goals(source, nodes, subtrees, trees)
        log_probabilities = self.log_probabilities(goals, contexts, source.of(trees.problem))
        same = equal[trees.problem] == equal[trees.problem, trees.token][:, None]
        return log_probabilities.masked_fill(~same, float("-inf")).logsumexp(-1), goals, subtrees

    def _subtrees(self, nodes: Tensor, trees: TreeBatch) -> Tensor:
        found = nodes
        for height in range(1, int(trees.height.max()) + 1):
            at = (trees.height == height).nonzero().squeeze(1)
            made = self.subtree(nodes[at], found[trees.left[at]], found[trees.right[at]])
            found = found.index_copy(0, at, made.to(found.dtype))
        return found

    def _goals(self, source: Source, nodes: Tensor, subtrees: Tensor, trees: TreeBatch) -> tuple[Tensor, Tensor]:
        goals = contexts = torch.zeros_like(nodes)
        at, goal = trees.root, source.root
        while len(at):
            context = self.context(goal, source.of(trees.problem[at]))
            goals = goals.index_copy(0, at, goal.to(goals.dtype))
            contexts = contexts.index_copy(0, at, context.to(contexts.dtype))
            inner = trees.left[at] >= 0
            at, broken_up = at[inner], (goal[inner], context[inner], nodes[at[inner]])
            left, right = trees.left[at], trees.right[at]
            goal = torch.cat((self.left(*broken_up), self.right(self.pending(*broken_up), subtrees[left])))
            at = torch.cat((left, right))
        return goals, contexts
