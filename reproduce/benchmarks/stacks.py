"""The tree decoder as it is usually written, to compare with: problem by problem, each with a stack.

It has the weights of a `TreeDecoder` and nothing of its code. Texts are not padded, and what does not depend on a goal
is projected once a problem; the published code pads, and projects it anew for every goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from tqnet.solver.decoder import Gate, TreeDecoder
from tqnet.text.equations import OPERATORS, Prefix, ends


class Text(NamedTuple):
    """A decoder's input for one problem: states of its tokens [t, h], and positions of its numbers [q]."""

    hidden: Tensor
    number_at: Tensor


class _Read(NamedTuple):
    hidden: Tensor
    keys: Tensor
    candidates: tuple[Tensor, ...]
    compared: Tensor


class StackDecoder:
    """Without dropout; vectors are [h] or [1, h] as they come."""

    def __init__(self, decoder: TreeDecoder):
        self.weights = decoder

    def read(self, text: Text) -> _Read:
        candidates = torch.cat((self.weights.fixed.weight, text.hidden[text.number_at]))
        keys = self.weights.key(text.hidden)
        return _Read(text.hidden, keys, candidates.unbind(), self.weights.candidate(candidates))

    def predict(self, goal: Tensor, source: _Read) -> tuple[Tensor, Tensor]:
        """Context [h] of a goal [h], and log-probabilities [k] of candidates."""
        weights = self.weights
        energy = weights.attention(torch.tanh(weights.query(goal) + source.keys)).squeeze(-1)
        context = energy.softmax(-1) @ source.hidden
        wanted = weights.wanted(torch.cat((goal, context)))
        return context, F.log_softmax(weights.score(torch.tanh(wanted + source.compared)).squeeze(-1), -1)

    def gate(self, gate: Gate, *parts: Tensor) -> Tensor:
        opening, content = gate.both(torch.cat(parts)).chunk(2)
        return torch.sigmoid(opening) * torch.tanh(content)

    def left(self, goal: Tensor, context: Tensor, operator: Tensor) -> Tensor:
        return self.gate(self.weights.left_goal, self.gate(self.weights.break_up_left, goal, context, operator))

    def pending(self, goal: Tensor, context: Tensor, operator: Tensor) -> Tensor:
        return self.gate(self.weights.break_up_right, goal, context, operator)

    def right(self, pending: Tensor, left_subtree: Tensor) -> Tensor:
        return self.gate(self.weights.right_goal, pending, left_subtree)

    def subtree(self, operator: Tensor, left: Tensor, right: Tensor) -> Tensor:
        return self.gate(self.weights.merge, operator, left, right)


def log_likelihood(decoder: StackDecoder, text: Text, equation: Prefix, tokens: Sequence[int]) -> Tensor:
    """Return the log-likelihood of one problem's true tree, node by node."""
    source, after = decoder.read(text), ends(equation)
    goals, pending = {0: source.hidden[0]}, dict[int, Tensor]()
    stack: list[tuple[bool, Tensor]] = []  # operators, and subtrees that are whole
    total = source.hidden.new_zeros(())
    for place, token in enumerate(tokens):
        goal, embedding = goals[place], source.candidates[token]
        context, steps = decoder.predict(goal, source)
        total = total + steps[token]
        if equation[place] in OPERATORS:
            goals[place + 1] = decoder.left(goal, context, embedding)
            pending[after[place + 1]] = decoder.pending(goal, context, embedding)
            stack.append((False, embedding))
            continue
        subtree = embedding
        while stack and stack[-1][0]:  # its left operand stands on top
            _, left = stack.pop()
            _, operator = stack.pop()
            subtree = decoder.subtree(operator, left, subtree)
        stack.append((True, subtree))
        if place + 1 < len(tokens):
            goals[place + 1] = decoder.right(pending[place + 1], subtree)
    return total


@dataclass
class _Hypothesis:
    score: float
    goal: Tensor | None  # None where the tree is whole
    tokens: list[int] = field(default_factory=list)
    stack: list[tuple[Tensor, Tensor, Tensor | None]] = field(default_factory=list)  # operator, pending, left subtree

    @property
    def lacking(self) -> int:
        return sum(left is None for *_, left in self.stack)

    def take(self, decoder: StackDecoder, token: int, score: float, context: Tensor, source: _Read) -> _Hypothesis:
        """Return the hypothesis extended by one token."""
        assert self.goal is not None
        stack, embedding = list(self.stack), source.candidates[token]
        goal: Tensor | None = None
        if token < len(OPERATORS):
            stack.append((embedding, decoder.pending(self.goal, context, embedding), None))
            goal = decoder.left(self.goal, context, embedding)
        else:
            subtree = embedding
            while stack and (left := stack[-1][2]) is not None:
                subtree = decoder.subtree(stack.pop()[0], left, subtree)
            if stack:
                operator, pending, _ = stack.pop()
                stack.append((operator, pending, subtree))
                goal = decoder.right(pending, subtree)
        return _Hypothesis(score, goal, [*self.tokens, token], stack)


@torch.no_grad()
def beam_search(decoder: StackDecoder, text: Text, beams: int, most: int) -> list[tuple[float, list[int]]]:
    """The likeliest trees of one problem in prefix order, with their log-probabilities."""
    source = decoder.read(text)
    beam = [_Hypothesis(0.0, source.hidden[0])]
    while any(hypothesis.goal is not None for hypothesis in beam):
        made: list[tuple[float, _Hypothesis, int, Tensor | None]] = []
        for hypothesis in beam:
            if hypothesis.goal is None:
                made.append((hypothesis.score, hypothesis, -1, None))
                continue
            context, steps = decoder.predict(hypothesis.goal, source)
            if most - len(hypothesis.tokens) < hypothesis.lacking + 3:
                steps[: len(OPERATORS)] = float("-inf")
            best = steps.topk(min(beams, len(steps)))
            for score, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                made.append((hypothesis.score + score, hypothesis, token, context))
        made.sort(key=lambda extended: -extended[0])
        beam = [
            hypothesis if context is None else hypothesis.take(decoder, token, score, context, source)
            for score, hypothesis, token, context in made[:beams]
            if score > float("-inf")
        ]
    return [(hypothesis.score, hypothesis.tokens) for hypothesis in beam]
