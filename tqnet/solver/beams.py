"""Beam search for equation trees: all hypotheses of all problems advance together, their stacks are tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from tqnet.solver.decoder import Source, TreeDecoder
from tqnet.text.equations import OPERATORS


@dataclass
class _Hypotheses:
    """One row for each hypothesis, w of each problem.

    Attributes:
        score: float32 [r], log-probability so far; minus infinity for a row that stands for none.
        tokens: [r, m], what was decided, in prefix order.
        length: [r], tokens so far.
        goal: [r, h], that is to be met next.
        open: [r], operators that lack an operand: how deep the stack is. -1 where the tree is whole.
        lacking: [r], those of them whose left operand is under way; the right ones' goals are yet to come.
        operator: [r, d], the stack's operators.
        broken_up: [r, d], where the goals that they broke up are kept, with their contexts.
        left: [r, d], where the embeddings of their left subtrees are kept; -1 where those are not known yet.
    """

    score: Tensor
    tokens: Tensor
    length: Tensor
    goal: Tensor
    open: Tensor
    lacking: Tensor
    operator: Tensor
    broken_up: Tensor
    left: Tensor

    def take(self, rows: Tensor) -> _Hypotheses:
        return _Hypotheses(*(getattr(self, field.name).index_select(0, rows) for field in fields(self)))

    @property
    def at_end(self) -> Tensor:
        """bool [r], whole trees, and rows that stand for none."""
        return (self.open < 0) | self.score.isinf()


class _Kept:
    """Vectors that hypotheses have in common: kept once, and named by their place, however often beams part."""

    def __init__(self, hidden: int, like: Tensor):
        self.vectors = like.new_empty((0, hidden))
        self.count = 0

    def add(self, vectors: Tensor) -> Tensor:
        """The places of ``vectors`` [n, h]."""
        if self.count + len(vectors) > len(self.vectors):
            room = self.vectors.new_empty((self.count + max(len(vectors), self.count), self.vectors.shape[1]))
            room[: self.count] = self.vectors[: self.count]
            self.vectors = room
        first, self.count = self.count, self.count + len(vectors)
        self.vectors[first : self.count] = vectors
        return torch.arange(first, self.count, device=self.vectors.device)

    def __getitem__(self, places: Tensor) -> Tensor:
        return self.vectors.index_select(0, places)


@torch.no_grad()
def beam_search(decoder: TreeDecoder, source: Source, beams: int, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest trees of each problem, the likeliest first.

    NOTE: Xie and Sun leave out what has not come to its end at ``most`` tokens. Here an operator is possible only
    while there is room for its operands, so that every hypothesis ends as a whole tree.

    Args:
        beams: w, hypotheses of a problem.
        most: Tokens of a tree.

    Returns:
        Tokens [b, w, m] in prefix order, their number [b, w], and log-probabilities [b, w]: minus infinity where a
        problem has fewer trees.
    """
    search = _Search(decoder, source, beams, most)
    while len(going := (~search.now.at_end).nonzero().squeeze(1)):
        search.step(going)
    now, shape = search.now, (len(source.root), beams)
    return now.tokens.view(*shape, -1), now.length.view(shape), now.score.view(shape)


class _Search:
    """Where a search stands.

    Attributes:
        problem: [r], of each row.
    """

    def __init__(self, decoder: TreeDecoder, source: Source, beams: int, most: int):
        self.decoder, self.source, self.beams, self.most = decoder, source, beams, most
        b, h = source.root.shape
        device = source.root.device
        self.problem = torch.arange(b, device=device).repeat_interleave(beams)
        self.broken_up, self.left = _Kept(2 * h, source.root), _Kept(h, source.root)
        r, deepest = b * beams, most // 2 + 1
        counts = torch.zeros(r, dtype=torch.long, device=device)
        stack = torch.full((r, deepest), -1, device=device)
        first = torch.arange(r, device=device) % beams == 0  # one hypothesis a problem; the others stand for none yet
        self.now = _Hypotheses(
            score=torch.where(first, 0.0, float("-inf")),
            tokens=torch.full((r, most), -1, device=device),
            length=counts,
            goal=source.root[self.problem],
            open=counts.clone(),
            lacking=counts.clone(),
            operator=stack,
            broken_up=stack.clone(),
            left=stack.clone(),
        )

    def step(self, going: Tensor) -> None:
        """The rows ``going`` take one token more, and of each problem the best hypotheses are kept."""
        now, problem, goal = self.now, self.problem.index_select(0, going), self.now.goal.index_select(0, going)
        context = self.decoder.context(goal, self.source, problem).to(goal.dtype)
        steps = self.decoder.log_probabilities(goal, context, self.source, problem)
        # Whoever stands at the end of the room needs a number for each operand that is lacking.
        no_room = self.most - now.length[going] < now.lacking[going] + 3
        steps[:, : len(OPERATORS)].masked_fill_(no_room[:, None], float("-inf"))
        # A tree that is whole stays as it is, in a last column: its own score, once.
        scores = now.score.new_full((len(now.score), steps.shape[1] + 1), float("-inf"))
        scores[going, :-1] = now.score[going, None] + steps
        scores[:, -1] = torch.where(now.open < 0, now.score, float("-inf"))
        width = scores.shape[1]
        best = scores.view(len(self.source.root), -1).topk(self.beams)
        begin = torch.arange(len(self.source.root), device=scores.device)[:, None] * self.beams
        row, token = (begin + best.indices // width).flatten(), (best.indices % width).flatten()
        self.now = now.take(row)
        self.now.score = best.values.flatten()
        moving = ((token < width - 1) & ~self.now.score.isinf()).nonzero().squeeze(1)
        place = torch.empty_like(self.problem).index_copy_(0, going, torch.arange(len(going), device=going.device))
        came_from = place[row[moving]]
        self._advance(moving, token[moving], torch.cat((goal, context), -1)[came_from])

    def _advance(self, going: Tensor, token: Tensor, broken_up: Tensor) -> None:
        """The rows ``going`` take their tokens, having met the goals in ``broken_up`` [n, 2h]; the others stay."""
        now = self.now
        now.tokens[going, now.length[going]] = token
        now.length[going] += 1
        is_operator = token < len(OPERATORS)
        inner, leaf = is_operator.nonzero().squeeze(1), (~is_operator).nonzero().squeeze(1)
        if len(inner):
            self._open(going[inner], token[inner], broken_up[inner])
        at, token = going[leaf], token[leaf]
        lacking = now.lacking[at] > 0
        now.open[at[~lacking]] = -1  # nobody asks for the embedding of a whole tree
        at, token = at[lacking], token[lacking]
        if len(at):
            self._close(at, self.source.embeddings(self.problem[at], token))

    def _open(self, at: Tensor, operator: Tensor, broken_up: Tensor) -> None:
        """The rows ``at`` go on with an operator's left operand."""
        now, top = self.now, self.now.open[at]
        now.operator[at, top] = operator
        now.broken_up[at, top] = self.broken_up.add(broken_up)
        now.left[at, top] = -1
        now.open[at] += 1
        now.lacking[at] += 1
        goal, context = broken_up.chunk(2, -1)
        now.goal[at] = self.decoder.left(goal, context, operator, self.source).to(now.goal.dtype)

    def _close(self, at: Tensor, subtree: Tensor) -> None:
        """The rows ``at`` have a ``subtree`` [n, h]; they go on with the next right operand."""
        now = self.now
        top = now.open[at] - 1
        left = now.left[at, top]
        while len(right := (left >= 0).nonzero().squeeze(1)):  # of right operands; with the left ones they are whole
            row, of = at[right], top[right]
            merged = self.decoder.subtree(now.operator[row, of], self.left[left[right]], subtree[right], self.source)
            subtree = subtree.index_copy(0, right, merged.to(subtree.dtype))
            top = top.index_copy(0, right, of - 1)
            left = now.left[at, top]
        now.open[at] = top + 1
        now.left[at, top] = self.left.add(subtree)
        now.lacking[at] -= 1
        # Only now, as many hypotheses do not live to see their right operands; once for those that share an operator.
        kept, which = now.broken_up[at, top].unique(return_inverse=True)
        goal, context = self.broken_up[kept].chunk(2, -1)
        operator = torch.empty_like(kept).index_copy_(0, which, now.operator[at, top])
        pending = self.decoder.pending(goal, context, operator, self.source).index_select(0, which)
        now.goal[at] = self.decoder.right(pending, subtree).to(now.goal.dtype)
