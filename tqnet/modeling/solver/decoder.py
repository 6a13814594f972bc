"""The goal-driven tree decoder (Xie and Sun 2019): a goal is met by a number, or broken up into two."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.equations.tree import OPERATORS
from tqnet.modeling.solver.attention import additive_scores, weighted_sums
from tqnet.modeling.solver.gates import Gate, ToldGate
from tqnet.modeling.solver.trees import TreeBatch


class Source(NamedTuple):
    """What a decoder reads of a batch of problems, and all that it needs only once for the goals of these.

    Attributes:
        hidden: [b, t, h], states of the text's tokens.
        keys: [b, t, h], what the attention compares goals with.
        mask: bool [b, t], real tokens.
        root: [b, h], the first goal.
        candidates: [b, k, h], embeddings of operators, constants, and the problem's numbers, in this order.
        compared: [b, k, h], what is scored of them.
        possible: bool [b, k], those that the problem has.
        break_up_left, break_up_right, merge: Gates of the decoder that are told operators.
    """

    hidden: Tensor
    keys: Tensor
    mask: Tensor
    root: Tensor
    candidates: Tensor
    compared: Tensor
    possible: Tensor
    break_up_left: ToldGate
    break_up_right: ToldGate
    merge: ToldGate

    def embeddings(self, problem: Tensor, token: Tensor) -> Tensor:
        """[n, h], of a candidate ``token`` [n] of each ``problem`` [n]."""
        count = self.candidates.shape[1]
        return self.candidates.flatten(0, 1).index_select(0, problem * count + token)


class TreeDecoder(nn.Module):
    """Goals to nodes, in the order: goal, context, node, left subtree, right subtree.

    ::

        c = attention(q, text)                          context of a goal q
        s(y) = w . tanh(W [q, c, e(y)])                 score of an operator, a constant or a number of the text
        q_left  = gate(gate(q, c, e(y)))                goal of the left operand of an operator y
        q_right = gate(gate(q, c, e(y)), t_left)        of the right one, told the left subtree
        t = e(y)  or  gate(e(y), t_left, t_right)       embedding of a subtree

    With the true tree at hand, no subtree embedding depends on a goal: all are made from the leaves up, a height of
    all trees at a time, then all goals from the roots down, a depth of all trees at a time. The first height and depth
    are passed even where all trees are a leaf: their gates then have gradients of zero, for which other processes wait.

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
        # NOTE: with dropout, all problems of a batch compare with the same constants, of which the same is left out.
        fixed = self.fixed.weight.to(hidden.dtype)
        operators, of_all = fixed[: len(OPERATORS)], (len(hidden), -1, -1)
        compared = self.candidate(self.dropout(fixed)), self.candidate(self.dropout(numbers))
        there = torch.ones((len(hidden), len(fixed)), dtype=torch.bool, device=hidden.device)
        return Source(
            hidden=hidden,
            keys=self._keys(hidden, mask),
            mask=mask,
            root=hidden[:, 0],
            candidates=torch.cat((fixed.expand(of_all), numbers), 1),
            compared=torch.cat((compared[0].expand(of_all), compared[1]), 1),
            possible=torch.cat((there, number_at >= 0), 1),
            break_up_left=self.break_up_left.last_told(operators),
            break_up_right=self.break_up_right.last_told(operators),
            merge=self.merge.first_told(operators),
        )

    def _keys(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """[b, t, h]; zero where texts are padded, which is not computed."""
        real = mask.flatten().nonzero().squeeze(1)
        keys = self.key(hidden.flatten(0, 1).index_select(0, real))
        padded = keys.new_zeros((mask.numel(), keys.shape[1])).index_copy(0, real, keys)
        return padded.view(*mask.shape, -1)

    def context(self, goal: Tensor, source: Source, problem: Tensor) -> Tensor:
        """Of goals [n, h], each of the row ``problem`` [n] of ``source`` -> [n, h]."""
        energy = additive_scores(self.query(self.dropout(goal)), source.keys, self.attention.weight[0], problem)
        masked = energy.masked_fill(~source.mask.index_select(0, problem), float("-inf"))
        return weighted_sums(masked.softmax(-1), source.hidden, problem)

    def log_probabilities(self, goal: Tensor, context: Tensor, source: Source, problem: Tensor) -> Tensor:
        """Of each candidate, float32 [n, k]; minus infinity where the problem has none."""
        wanted = self.wanted(self.dropout(torch.cat((goal, context), -1)))
        scores = additive_scores(wanted, source.compared, self.score.weight[0], problem)
        return F.log_softmax(scores.masked_fill(~source.possible.index_select(0, problem), float("-inf")), -1)

    def left(self, goal: Tensor, context: Tensor, operator: Tensor, source: Source) -> Tensor:
        """Goals of left operands, [n, h]; ``operator`` [n] is a token."""
        return self.left_goal(source.break_up_left(self.dropout(goal), context, told=operator))

    def pending(self, goal: Tensor, context: Tensor, operator: Tensor, source: Source) -> Tensor:
        """What right operands' goals are made of beside the left subtrees, [n, h]."""
        return source.break_up_right(self.dropout(goal), context, told=operator)

    def right(self, pending: Tensor, left_subtree: Tensor) -> Tensor:
        """Goals of right operands, [n, h]."""
        return self.right_goal(pending, left_subtree)

    def subtree(self, operator: Tensor, left: Tensor, right: Tensor, source: Source) -> Tensor:
        """Embedding [n, h] of a subtree, of its operator [n], a token, and the embeddings of its operands."""
        return source.merge(left, right, told=operator)

    def forward(self, source: Source, trees: TreeBatch, equal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The true trees of a batch.

        Args:
            equal: [b, k], numbers that are the same where candidates are: mentions of one value.

        Returns:
            Log-probability of each node's token or one that is equal to it [n], goals [n, h] and subtree embeddings
            [n, h].
        """
        subtrees = self._subtrees(source, trees)
        goals, contexts = self._goals(source, subtrees, trees)
        log_probabilities = self.log_probabilities(goals, contexts, source, trees.problem)
        same = equal[trees.problem] == equal[trees.problem, trees.token][:, None]
        return log_probabilities.masked_fill(~same, float("-inf")).logsumexp(-1), goals, subtrees

    def _subtrees(self, source: Source, trees: TreeBatch) -> Tensor:
        found = source.embeddings(trees.problem, trees.token)
        for height in range(1, max(1, int(trees.height.max())) + 1):
            at = (trees.height == height).nonzero().squeeze(1)
            left, right = (found.index_select(0, of.index_select(0, at)) for of in (trees.left, trees.right))
            made = self.subtree(trees.token.index_select(0, at), left, right, source)
            found = found.index_copy(0, at, made.to(found.dtype))
        return found

    def _goals(self, source: Source, subtrees: Tensor, trees: TreeBatch) -> tuple[Tensor, Tensor]:
        levels, goals, contexts = [trees.root], [source.root], list[Tensor]()
        while True:
            at, goal = levels[-1], goals[-1]
            context = self.context(goal, source, trees.problem.index_select(0, at))
            contexts.append(context)
            inner = (trees.left.index_select(0, at) >= 0).nonzero().squeeze(1)
            if not len(inner) and len(levels) > 1:
                break
            at, goal, context = (of.index_select(0, inner) for of in (at, goal, context))
            operator, left, right = (of.index_select(0, at) for of in (trees.token, trees.left, trees.right))
            told = subtrees.index_select(0, left)
            pending = self.pending(goal, context, operator, source)
            goals.append(torch.cat((self.left(goal, context, operator, source), self.right(pending, told))))
            levels.append(torch.cat((left, right)))
        in_order = torch.cat(levels).argsort()
        return torch.cat(goals).index_select(0, in_order), torch.cat(contexts).index_select(0, in_order)
