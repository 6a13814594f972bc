"""Beam search for equation trees: all hypotheses of all problems advance together, their stacks are tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from tqnet.equations.tree import OPERATORS
from tqnet.modeling.solver.decoder import Source, TreeDecoder


@dataclass
class _Hypotheses:
    """One row for each hypothesis, w of each problem.

    Attributes:
        score: float32 [r], log-probability so far; minus infinity for a row that stands for none.
        tokens: [r, m], what was decided, in prefix order.
        length: [r], tokens so far.
        goal: [r, h], that is to be met next.
        open: [r], operators that lack an operand: how deep the stack is. -1 where the tree is whole.
        operator: [r, d], the stack's operators.
        pending: [r, d], where that is kept of which the goals of their right operands are made.
        left: [r, d], where the embeddings of their left subtrees are kept; -1 where those are not known yet.
    """

    score: Tensor
    tokens: Tensor
    length: Tensor
    goal: Tensor
    open: Tensor
    operator: Tensor
    pending: Tensor
    left: Tensor

    def take(self, rows: Tensor) -> _Hypotheses:
        return _Hypotheses(*(getattr(self, field.name)[rows] for field in fields(self)))

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
        return self.vectors[places]


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
        self.pending, self.left = _Kept(h, source.root), _Kept(h, source.root)
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
            operator=stack,
            pending=stack.clone(),
            left=stack.clone(),
        )

    def step(self, going: Tensor) -> None:
        """The rows ``going`` take one token more, and of each problem the best hypotheses are kept."""
        now, source = self.now, self.source.of(self.problem[going])
        contexts = torch.zeros_like(now.goal).index_copy(
            0, going, self.decoder.context(now.goal[going], source).to(now.goal.dtype)
        )
        steps = self.decoder.log_probabilities(now.goal[going], contexts[going], source)
        # Whoever stands at the end of the room needs a number for each operand that is lacking.
        no_room = (self.most - now.length < self._lacking() + 3)[going]
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
        going = ((token < width - 1) & ~self.now.score.isinf()).nonzero().squeeze(1)
        self._advance(going, token[going], now.goal[row[going]], contexts[row[going]])

    def _lacking(self) -> Tensor:
        """[r], operands that lack, the next goal's not counted: right ones whose left one is under way."""
        places = torch.arange(self.now.left.shape[1], device=self.now.open.device)
        return ((places < self.now.open[:, None]) & (self.now.left < 0)).sum(1)

    def _advance(self, going: Tensor, token: Tensor, goal: Tensor, context: Tensor) -> None:
        """The rows ``going`` take their tokens; the others stay as they are."""
        now, decoder = self.now, self.decoder
        now.tokens[going, now.length[going]] = token
        now.length[going] += 1
        embedding = self.source.candidates[self.problem[going], token]
        is_operator = token < len(OPERATORS)

        at = going[is_operator]
        broken_up = (goal[is_operator], context[is_operator], embedding[is_operator])
        top = now.open[at]
        now.operator[at, top] = token[is_operator]
        now.pending[at, top] = self.pending.add(decoder.pending(*broken_up))
        now.left[at, top] = -1
        now.open[at] += 1
        now.goal[at] = decoder.left(*broken_up).to(now.goal.dtype)

        at, subtree = going[~is_operator], embedding[~is_operator]
        while len(at):  # each is the embedding of a whole subtree
            done = now.open[at] == 0
            now.open[at[done]] = -1
            at, subtree = at[~done], subtree[~done]
            top = now.open[at] - 1
            is_right = now.left[at, top] >= 0
            left, of, told = at[~is_right], top[~is_right], subtree[~is_right]
            now.left[left, of] = self.left.add(told)
            now.goal[left] = decoder.right(self.pending[now.pending[left, of]], told).to(now.goal.dtype)
            at, top, right = at[is_right], top[is_right], subtree[is_right]
            now.open[at] -= 1
            operator = self.source.candidates[self.problem[at], now.operator[at, top]]
            subtree = decoder.subtree(operator, self.left[now.left[at, top]], right).to(right.dtype)
