"""The tree decoder against the same decoder with a stack for each problem, in training and in beam search.

    python -m tests.bench.solver --bank data/math23k

Both have the same weights and read the same states of texts, which are drawn at random: the text encoder's time is not
counted. They take turns; their losses and trees are compared. Problems a second are by the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import torch
from torch import Tensor

from tqnet.equations.banks import told_equations
from tqnet.equations.problems import Alphabet, read_problem
from tqnet.equations.tree import OPERATORS, EquationError, ends
from tqnet.libraries import machine
from tqnet.modeling.solver.decoder import Source, TreeDecoder
from tqnet.modeling.solver.search import beam_search
from tqnet.modeling.solver.trees import TreeBatch
from tqnet.questions import load_bank

BEAMS, MOST = 3, 45


def loss_by_stacks(decoder: TreeDecoder, source: Source, equations: list[list[int]], whole: list[list[int]]) -> Tensor:
    """Negative log-likelihood of each problem's tree, node by node, problem by problem; summed.

    Args:
        whole: Of each equation its `ends`.
    """
    total = source.hidden.new_zeros(())
    for row, (tokens, behind) in enumerate(zip(equations, whole, strict=True)):
        own = source.of(torch.tensor([row]))
        goals, subtrees = {0: own.root}, list[tuple[int, Tensor]]()
        pending: dict[int, Tensor] = {}
        for place, token in enumerate(tokens):
            goal, embedding = goals[place], own.candidates[:, token]
            context = decoder.context(goal, own)
            total = total - decoder.log_probabilities(goal, context, own)[0, token]
            if token < len(OPERATORS):
                goals[place + 1] = decoder.left(goal, context, embedding)
                pending[behind[place + 1]] = decoder.pending(goal, context, embedding)
                subtrees.append((token, embedding))
                continue
            subtree = embedding
            while subtrees and subtrees[-1][0] < 0:  # its left operand stands on top
                _, left = subtrees.pop()
                _, operator = subtrees.pop()
                subtree = decoder.subtree(operator, left, subtree)
            subtrees.append((-1, subtree))
            if place + 1 in pending:
                goals[place + 1] = decoder.right(pending[place + 1], subtree)
    return total


@dataclass
class _Hypothesis:
    score: float
    goal: Tensor | None
    tokens: list[int] = field(default_factory=list)
    stack: list[tuple[Tensor, Tensor, Tensor | None]] = field(default_factory=list)  # operator, pending, left subtree

    def take(self, decoder: TreeDecoder, token: int, score: float, context: Tensor, own: Source) -> _Hypothesis:
        """Itself with one token more."""
        assert self.goal is not None
        stack, embedding = list(self.stack), own.candidates[:, token]
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
def beam_search_by_stacks(decoder: TreeDecoder, source: Source) -> list[list[int]]:
    """The likeliest tree of each problem."""
    found = []
    for row in range(len(source.root)):
        own = source.of(torch.tensor([row]))
        beam = [_Hypothesis(0.0, own.root)]
        while any(hypothesis.goal is not None for hypothesis in beam):
            made: list[tuple[float, _Hypothesis, int, Tensor | None]] = []
            for hypothesis in beam:
                if hypothesis.goal is None:
                    made.append((hypothesis.score, hypothesis, -1, None))
                    continue
                context = decoder.context(hypothesis.goal, own)
                steps = decoder.log_probabilities(hypothesis.goal, context, own)[0]
                lacking = sum(left is None for *_, left in hypothesis.stack)
                if MOST - len(hypothesis.tokens) < lacking + 3:
                    steps[: len(OPERATORS)] = float("-inf")
                best = steps.topk(min(BEAMS, len(steps)))
                for score, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    made.append((hypothesis.score + score, hypothesis, token, context))
            made.sort(key=lambda of: -of[0])
            beam = [
                hypothesis if context is None else hypothesis.take(decoder, token, score, context, own)
                for score, hypothesis, token, context in made[:BEAMS]
            ]
        found.append(beam[0].tokens)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=384, help="of the states: 384 in MiniLM, 768 in BERT-base")
    parser.add_argument("--length", type=int, default=60, help="tokens of a text")
    parser.add_argument("--steps", type=int, default=200, help="of training before, so that trees are of usual size")
    parser.add_argument("--rounds", type=int, default=5, help="after one that warms up")
    args = parser.parse_args()

    torch.manual_seed(0)
    told = list(told_equations(load_bank(args.bank)))
    alphabet = Alphabet.learn(told[:5000])
    problems = []
    for text, equation in told:
        try:
            problems.append(read_problem(text, equation, alphabet))
        except EquationError:
            continue
        if len(problems) == args.batch_size:
            break
    equations = [[alphabet.place(token) for token in problem.equation] for problem in problems]
    trees = TreeBatch.of([problem.equation for problem in problems], equations)
    whole = [ends(problem.equation) for problem in problems]
    decoder = TreeDecoder(args.width, len(alphabet.constants)).eval()  # no dropout: both shall find the same
    hidden = torch.randn(len(problems), args.length, args.width)
    most = max(len(problem.values) for problem in problems)
    number_at = torch.full((len(problems), most), -1)
    for row, problem in enumerate(problems):
        number_at[row, : len(problem.values)] = 1 + torch.randperm(args.length - 1)[: len(problem.values)]
    mask = torch.ones(hidden.shape[:2], dtype=torch.bool)
    equal = torch.arange(len(alphabet.fixed) + most).expand(len(problems), -1)

    def read() -> Source:
        return decoder.read(hidden, mask, number_at)

    def batched() -> Tensor:
        return -decoder(read(), trees, equal)[0].sum()

    def by_stacks() -> Tensor:
        return loss_by_stacks(decoder, read(), equations, whole)

    optimizer = torch.optim.AdamW(decoder.parameters(), lr=1e-3)
    for _ in range(args.steps):
        optimizer.zero_grad()
        (batched() / len(problems)).backward()
        optimizer.step()
    losses = [float(loss().detach()) for loss in (batched, by_stacks)]
    tokens, lengths, _ = beam_search(decoder, read(), BEAMS, MOST)
    searched = [row[0][: of[0]] for row, of in zip(tokens.tolist(), lengths.tolist(), strict=True)]
    same = sum(a == b for a, b in zip(searched, beam_search_by_stacks(decoder, read()), strict=True))

    def train(loss: Callable[[], Tensor]) -> None:
        decoder.zero_grad()
        loss().backward()

    ways: dict[str, dict[str, Callable[[], object]]] = {
        "training": {"batched": lambda: train(batched), "by stacks": lambda: train(by_stacks)},
        "beam search": {
            "batched": lambda: beam_search(decoder, read(), BEAMS, MOST),
            "by stacks": lambda: beam_search_by_stacks(decoder, read()),
        },
    }
    seconds: dict[str, dict[str, list[float]]] = {of: {way: [] for way in own} for of, own in ways.items()}
    for _ in range(args.rounds + 1):
        for of, own in ways.items():
            for way, run in own.items():
                begun = time.perf_counter()
                run()
                seconds[of][way].append(time.perf_counter() - begun)
    rates = {of: {way: len(problems) / median(taken[1:]) for way, taken in own.items()} for of, own in seconds.items()}
    result = {
        "machine": machine(),
        "batch": len(problems),
        "nodes of a tree, mean": round(len(trees.token) / len(problems), 1),
        "loss, batched and by stacks": [round(loss, 4) for loss in losses],
        "equal trees": f"{same} of {len(problems)}",
        "problems a second": {of: {way: round(rate, 1) for way, rate in own.items()} for of, own in rates.items()},
        "batched / by stacks": {of: round(own["batched"] / own["by stacks"], 1) for of, own in rates.items()},
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
