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
        operator: [r, d, h], embeddings of the stack's operators.
        pending: [r, d, h], of what the goals of their right operands are made.
        left: [r, d, h], embeddings of their left subtrees.
        has_left: bool [r, d], whether those are known.
    """

    score: Tensor
    tokens: Tensor
    length: Tensor
    goal: Tensor
    open: Tensor
    operator: Tensor
    pending: Tensor
    left: Tensor
    has_left: Tensor

    def take(self, rows: Tensor) -> _Hypotheses:
        return _Hypotheses(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def whole(self) -> Tensor:
        return self.open < 0


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
    b, device = len(source.root), source.root.device
    problems = torch.arange(b, device=device).repeat_interleave(beams)
    rows = source.of(problems)
    now = _start(source.root[problems], beams, most)
    for _ in range(most):
        if bool((now.whole | now.score.isinf()).all()):
            break
        context = decoder.context(now.goal, rows)
        steps = decoder.log_probabilities(now.goal, context, rows)
        # Whoever stands at the end of the room needs a number for each operand that is lacking.
        lacking = _lacking(now)
        steps[:, : len(OPERATORS)].masked_fill_((most - now.length < lacking + 3)[:, None], float("-inf"))
        scores = (now.score[:, None] + steps).masked_fill(now.whole[:, None], float("-inf"))
        # A tree that is whole stays as it is: its own score, once.
        kept = torch.where(now.whole, now.score, float("-inf"))[:, None]
        best = torch.cat((scores, kept), 1).view(b, -1).topk(beams)
        width = scores.shape[1] + 1
        row = (torch.arange(b, device=device)[:, None] * beams + best.indices // width).flatten()
        token = (best.indices % width).flatten()
        now, goal, context = now.take(row), now.goal[row], context[row]
        now.score = best.values.flatten()
        _advance(decoder, now, token, goal, context, rows, going=(token < width - 1).nonzero().squeeze(1))
    shape = (b, beams)
    return now.tokens.view(*shape, -1), now.length.view(shape), now.score.view(shape)


def _start(root: Tensor, beams: int, most: int) -> _Hypotheses:
    """One hypothesis a problem; the other rows stand for none yet."""
    r, h, deepest = len(root), root.shape[1], most // 2 + 1
    stack = root.new_zeros((r, deepest, h))
    counts = torch.zeros(r, dtype=torch.long, device=root.device)
    first = torch.arange(r, device=root.device) % beams == 0
    return _Hypotheses(
        score=torch.where(first, 0.0, float("-inf")),
        tokens=torch.full((r, most), -1, device=root.device),
        length=counts,
        goal=root,
        open=counts.clone(),
        operator=stack,
        pending=stack.clone(),
        left=stack.clone(),
        has_left=torch.zeros((r, deepest), dtype=torch.bool, device=root.device),
    )


def _lacking(now: _Hypotheses) -> Tensor:
    """[r], operands that lack, the next goal's not counted: right ones of the stack whose left one is under way."""
    places = torch.arange(now.has_left.shape[1], device=now.open.device)
    return ((places < now.open[:, None]) & ~now.has_left).sum(1)


def _advance(
    decoder: TreeDecoder, now: _Hypotheses, token: Tensor, goal: Tensor, context: Tensor, rows: Source, going: Tensor
) -> None:
    """The rows ``going`` of ``now`` take their tokens; the others stay as they are."""
    now.tokens[going, now.length[going]] = token[going]
    now.length[going] += 1
    embedding = rows.candidates[going, token[going]]
    is_operator = token[going] < len(OPERATORS)

    at = going[is_operator]
    broken_up = (goal[at], context[at], embedding[is_operator])
    top = now.open[at]
    now.operator[at, top] = broken_up[2]
    now.pending[at, top] = decoder.pending(*broken_up).to(now.pending.dtype)
    now.has_left[at, top] = False
    now.open[at] += 1
    now.goal[at] = decoder.left(*broken_up).to(now.goal.dtype)

    at, subtree = going[~is_operator], embedding[~is_operator]
    while len(at):  # each is the embedding of a whole subtree
        done = now.open[at] == 0
        now.open[at[done]] = -1
        at, subtree = at[~done], subtree[~done]
        top = now.open[at] - 1
        is_right = now.has_left[at, top]
        left = at[~is_right]
        now.left[left, top[~is_right]] = subtree[~is_right]
        now.has_left[left, top[~is_right]] = True
        now.goal[left] = decoder.right(now.pending[left, top[~is_right]], subtree[~is_right]).to(now.goal.dtype)
        at, top, right = at[is_right], top[is_right], subtree[is_right]
        now.open[at] -= 1
        subtree = decoder.subtree(now.operator[at, top], now.left[at, top], right).to(right.dtype)
