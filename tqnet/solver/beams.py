"""Beam search for equation trees: all hypotheses of all problems advance together, with their stacks as tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from tqnet.solver.decoder import Source, TreeDecoder
from tqnet.text.equations import OPERATORS


@dataclass
class _Hypotheses:
    """Hypotheses, one per row, w per problem.

    Attributes:
        score: float32 [r], log-probability so far; -inf for an unused row.
        tokens: [r, m], in prefix order.
        length: [r], tokens so far.
        goal: [r, h], the next goal.
        depth: [r], depth of the stack: operators that lack an operand. -1 if the tree is complete.
        lacking: [r], open operators whose left operand is incomplete, so that the right one has no goal yet.
        operator: [r, d], the stack's operators.
        split: [r, d], store indices of the goals that they split, with contexts.
        left: [r, d], store indices of their left subtrees' embeddings; -1 while unknown.
    """

    score: Tensor
    tokens: Tensor
    length: Tensor
    goal: Tensor
    depth: Tensor
    lacking: Tensor
    operator: Tensor
    split: Tensor
    left: Tensor

    def take(self, rows: Tensor) -> _Hypotheses:
        return _Hypotheses(*(getattr(self, field.name).index_select(0, rows) for field in fields(self)))

    @property
    def at_end(self) -> Tensor:
        """bool [r], True for complete trees and unused rows."""
        return (self.depth < 0) | self.score.isinf()


class _VectorStore:
    """Vectors shared by hypotheses, stored once and referred to by index when beams fork."""

    def __init__(self, hidden: int, like: Tensor):
        self.vectors = like.new_empty((0, hidden))
        self.count = 0

    def add(self, vectors: Tensor) -> Tensor:
        """Store ``vectors`` [n, h] and return their indices [n]."""
        if self.count + len(vectors) > len(self.vectors):
            larger = self.vectors.new_empty((self.count + max(len(vectors), self.count), self.vectors.shape[1]))
            larger[: self.count] = self.vectors[: self.count]
            self.vectors = larger
        first, self.count = self.count, self.count + len(vectors)
        self.vectors[first : self.count] = vectors
        return torch.arange(first, self.count, device=self.vectors.device)

    def __getitem__(self, places: Tensor) -> Tensor:
        return self.vectors.index_select(0, places)


@torch.no_grad()
def beam_search(decoder: TreeDecoder, source: Source, beams: int, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """Find the most probable trees of each problem, best first.

    NOTE: Xie and Sun drop hypotheses that are unfinished at ``most`` tokens. Here an operator is allowed only while
    there is room for its operands, so that every hypothesis ends as a complete tree.

    Args:
        beams: w, hypotheses per problem.
        most: Maximum number of tokens of a tree.

    Returns:
        Tokens [b, w, m] in prefix order, their number [b, w], and log-probabilities [b, w], -inf if a problem has fewer
        trees.
    """
    search = _Search(decoder, source, beams, most)
    while len(active := (~search.now.at_end).nonzero().squeeze(1)):
        search.step(active)
    now, shape = search.now, (len(source.root), beams)
    return now.tokens.view(*shape, -1), now.length.view(shape), now.score.view(shape)


class _Search:
    """State of a search; ``problem`` [r] is each row's problem."""

    def __init__(self, decoder: TreeDecoder, source: Source, beams: int, most: int):
        self.decoder, self.source, self.beams, self.most = decoder, source, beams, most
        b, h = source.root.shape
        device = source.root.device
        self.problem = torch.arange(b, device=device).repeat_interleave(beams)
        self.split, self.left = _VectorStore(2 * h, source.root), _VectorStore(h, source.root)
        r, deepest = b * beams, most // 2 + 1
        counts = torch.zeros(r, dtype=torch.long, device=device)
        stack = torch.full((r, deepest), -1, device=device)
        first = torch.arange(r, device=device) % beams == 0  # start with one hypothesis per problem
        self.now = _Hypotheses(
            score=torch.where(first, 0.0, float("-inf")),
            tokens=torch.full((r, most), -1, device=device),
            length=counts,
            goal=source.root[self.problem],
            depth=counts.clone(),
            lacking=counts.clone(),
            operator=stack,
            split=stack.clone(),
            left=stack.clone(),
        )

    def step(self, active: Tensor) -> None:
        """Extend the rows ``active`` by one token and keep each problem's best hypotheses."""
        now, problem, goal = self.now, self.problem.index_select(0, active), self.now.goal.index_select(0, active)
        context = self.decoder.context(goal, self.source, problem).to(goal.dtype)
        steps = self.decoder.log_probabilities(goal, context, self.source, problem)
        # If only the lacking operands fit, each must be a number.
        no_room = self.most - now.length[active] < now.lacking[active] + 3
        steps[:, : len(OPERATORS)].masked_fill_(no_room[:, None], float("-inf"))
        # A complete tree keeps its score, in an extra last column.
        scores = now.score.new_full((len(now.score), steps.shape[1] + 1), float("-inf"))
        scores[active, :-1] = now.score[active, None] + steps
        scores[:, -1] = torch.where(now.depth < 0, now.score, float("-inf"))
        width = scores.shape[1]
        best = scores.view(len(self.source.root), -1).topk(self.beams)
        begin = torch.arange(len(self.source.root), device=scores.device)[:, None] * self.beams
        row, token = (begin + best.indices // width).flatten(), (best.indices % width).flatten()
        self.now = now.take(row)
        self.now.score = best.values.flatten()
        moving = ((token < width - 1) & ~self.now.score.isinf()).nonzero().squeeze(1)
        place = torch.empty_like(self.problem).index_copy_(0, active, torch.arange(len(active), device=active.device))
        came_from = place[row[moving]]
        self._advance(moving, token[moving], torch.cat((goal, context), -1)[came_from])

    def _advance(self, rows: Tensor, token: Tensor, reached: Tensor) -> None:
        """Append a token to each of ``rows``, which have ``reached`` a goal and context [n, 2h]."""
        now = self.now
        now.tokens[rows, now.length[rows]] = token
        now.length[rows] += 1
        is_operator = token < len(OPERATORS)
        inner, leaf = is_operator.nonzero().squeeze(1), (~is_operator).nonzero().squeeze(1)
        if len(inner):
            self._open(rows[inner], token[inner], reached[inner])
        rows, token = rows[leaf], token[leaf]
        lacking = now.lacking[rows] > 0
        now.depth[rows[~lacking]] = -1  # complete trees need no embedding
        rows, token = rows[lacking], token[lacking]
        if len(rows):
            self._close(rows, self.source.embeddings(self.problem[rows], token))

    def _open(self, rows: Tensor, operator: Tensor, split: Tensor) -> None:
        """Push each row's operator and continue with its left operand."""
        now, top = self.now, self.now.depth[rows]
        now.operator[rows, top] = operator
        now.split[rows, top] = self.split.add(split)
        now.left[rows, top] = -1
        now.depth[rows] += 1
        now.lacking[rows] += 1
        goal, context = split.chunk(2, -1)
        now.goal[rows] = self.decoder.left(goal, context, operator, self.source).to(now.goal.dtype)

    def _close(self, rows: Tensor, subtree: Tensor) -> None:
        """Take each row's ``subtree`` [n, h] as an operand and continue with the next right operand."""
        now = self.now
        top = now.depth[rows] - 1
        left = now.left[rows, top]
        while len(right := (left >= 0).nonzero().squeeze(1)):  # a right operand completes its operator's subtree
            row, level = rows[right], top[right]
            merged = self.decoder.subtree(now.operator[row, level], self.left[left[right]], subtree[right], self.source)
            subtree = subtree.index_copy(0, right, merged.to(subtree.dtype))
            top = top.index_copy(0, right, level - 1)
            left = now.left[rows, top]
        now.depth[rows] = top + 1
        now.left[rows, top] = self.left.add(subtree)
        now.lacking[rows] -= 1
        # Compute right goals late, since many hypotheses die before, and once for rows that share an operator.
        shared, place = now.split[rows, top].unique(return_inverse=True)
        goal, context = self.split[shared].chunk(2, -1)
        operator = torch.empty_like(shared).index_copy_(0, place, now.operator[rows, top])
        pending = self.decoder.pending(goal, context, operator, self.source).index_select(0, place)
        now.goal[rows] = self.decoder.right(pending, subtree).to(now.goal.dtype)
