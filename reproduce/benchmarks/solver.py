"""The tree decoder against the same decoder with a stack for each problem, in training and in beam search.

    OMP_NUM_THREADS=1 taskset -c 1 python -m reproduce.benchmarks.solver --bank data/math23k

Both have the same weights, trained for some steps, and read the same states of real texts by an encoder of random
weights; they take turns. Losses, gradients and trees of both are compared before. Times are medians of the rounds, of
the processor: so they stand on a machine that others use too. ``whole solver`` is with the encoder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reproduce.benchmarks import stacks
from reproduce.benchmarks.harness import make_parser, take_turns
from tqnet.libraries import machine
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import load_bank
from tqnet.solver.beams import beam_search
from tqnet.solver.decoder import Source, TreeBatch
from tqnet.solver.model import BEAMS, MOST_TOKENS, WordProblemSolver
from tqnet.solver.problems import Alphabet, WordProblem, gold_equations, read_problem
from tqnet.text.equations import EquationError

#: Tokens of a text, [CLS] and [SEP] counted.
LENGTHS = range(30, 61)


@dataclass
class Case:
    """A batch of problems, and its inputs for both decoders."""

    solver: WordProblemSolver
    problems: list[WordProblem]
    inputs: dict[str, Tensor]
    trees: TreeBatch
    equal: Tensor
    hidden: Tensor
    number_at: Tensor

    @property
    def mask(self) -> Tensor:
        return self.inputs["attention_mask"].bool()

    @property
    def tokens(self) -> list[list[int]]:
        """Tokens of each problem's equation."""
        place = self.solver.alphabet.place
        return [[place(token) for token in problem.equation] for problem in self.problems]

    def texts(self) -> list[stacks.Text]:
        """For the decoder with stacks: each text by itself."""
        rows = zip(self.hidden, self.mask.sum(1).tolist(), self.number_at, strict=True)
        return [stacks.Text(hidden[:count].clone(), places[places >= 0]) for hidden, count, places in rows]

    def source(self) -> Source:
        return self.solver.decoder.read(self.hidden, self.mask, self.number_at)

    def loss(self, source: Source) -> Tensor:
        return -self.solver.decoder(source, self.trees, self.equal)[0].sum()

    def loss_by_stacks(self, texts: Sequence[stacks.Text]) -> Tensor:
        decoder = stacks.StackDecoder(self.solver.decoder)
        rows = zip(texts, self.problems, self.tokens, strict=True)
        return -torch.stack([stacks.log_likelihood(decoder, t, p.equation, tokens) for t, p, tokens in rows]).sum()


def case_of(gold: Sequence[tuple[str, str]], count: int, width: int, layers: int, lengths: range = LENGTHS) -> Case:
    """The first problems that fit, with a solver of random weights."""
    alphabet = Alphabet.learn(gold)
    shape = ModelConfig(text="scratch", visual=None, fusion="none", max_length=lengths.stop, vocabulary_min_count=1)
    shape.scratch_hidden, shape.scratch_layers = width, layers
    encoder, _ = build_model(shape, [text for text, _ in gold])
    solver = WordProblemSolver(encoder, alphabet, dropout=0.0).eval()
    processor = encoder.processor
    problems, ids = [], []
    for (text, equation), item in zip(gold, processor.tokenize([text for text, _ in gold]), strict=True):
        try:
            problem = read_problem(text, equation, alphabet)
        except EquationError:
            continue
        if len(item) in lengths and len(problem.equation) <= MOST_TOKENS:
            problems.append(problem)
            ids.append(item)
        if len(problems) == count:
            break
    inputs = processor.pack_text(ids)
    place = alphabet.place
    places = [[place(token) for token in problem.equation] for problem in problems]
    with torch.no_grad():
        source = solver.read(**inputs)
    number_at = solver.number_places(inputs["input_ids"])
    # mentions of one value are told apart here: the usual decoder does not sum over them
    equal = torch.arange(source.candidates.shape[1]).expand(len(problems), -1)
    trees = TreeBatch.from_equations([problem.equation for problem in problems], places)
    return Case(solver, problems, inputs, trees, equal, source.hidden, number_at)


def compare(case: Case) -> dict[str, Any]:
    """How far loss, gradients and beams of the two are apart."""
    decoder = case.solver.decoder
    case.hidden.requires_grad_()
    outcomes = []
    for way in (lambda: case.loss(case.source()), lambda: case.loss_by_stacks(case.texts())):
        decoder.zero_grad()
        case.hidden.grad = None
        loss = way()
        loss.backward()
        assert case.hidden.grad is not None
        gradients = [weight.grad.clone() for weight in decoder.parameters() if weight.grad is not None]
        outcomes.append((loss.detach(), [*gradients, case.hidden.grad.clone()]))
    case.hidden.requires_grad_(False)
    (loss, gradients), (expected, expected_gradients) = outcomes
    apart = [float((a - b).norm() / b.norm()) for a, b in zip(gradients, expected_gradients, strict=True)]
    tokens, lengths, scores = beam_search(decoder, case.source(), BEAMS, MOST_TOKENS)
    by_stacks = stacks.StackDecoder(decoder)
    same, differences = 0, []
    for row, text in enumerate(case.texts()):
        beam = stacks.beam_search(by_stacks, text, BEAMS, MOST_TOKENS)
        found_here = [tokens[row, w, : lengths[row, w]].tolist() for w in range(len(beam))]
        same += found_here == [tokens_of for _, tokens_of in beam]
        differences += [abs(float(scores[row, w]) - score) for w, (score, _) in enumerate(beam)]
    return {
        "loss": round(float(loss) / len(case.problems), 4),
        "loss, relative difference": float(f"{abs(loss - expected) / expected:.1e}"),
        "gradients, largest relative difference": float(f"{max(apart):.1e}"),
        "problems with the same beams": f"{same} of {len(case.problems)}",
        "log-probabilities, largest difference": float(f"{max(differences):.1e}"),
    }


def contest(case: Case, rounds: int) -> dict[str, Any]:
    """Problems a second of both, and how many times faster the package's is."""
    solver, decoder = case.solver, case.solver.decoder
    by_stacks = stacks.StackDecoder(decoder)
    texts = case.texts()
    leaves = [text._replace(hidden=text.hidden.requires_grad_()) for text in case.texts()]

    def train(loss: Callable[[], Tensor]) -> None:
        solver.zero_grad()
        loss().backward()

    def batched() -> Tensor:
        hidden = case.hidden.detach().requires_grad_()  # as of an encoder, which is to learn as well
        return case.loss(decoder.read(hidden, case.mask, case.number_at))

    def search() -> None:
        with torch.no_grad():
            beam_search(decoder, case.source(), BEAMS, MOST_TOKENS)

    def search_whole() -> None:
        with torch.no_grad():
            beam_search(decoder, solver.read(**case.inputs), BEAMS, MOST_TOKENS)

    ways: dict[tuple[str, str], Callable[[], object]] = {
        ("training", "batched"): lambda: train(batched),
        ("training", "by stacks"): lambda: train(lambda: case.loss_by_stacks(leaves)),
        ("training", "whole solver"): lambda: train(lambda: case.loss(solver.read(**case.inputs))),
        ("beam search", "batched"): search,
        ("beam search", "by stacks"): lambda: [stacks.beam_search(by_stacks, t, BEAMS, MOST_TOKENS) for t in texts],
        ("beam search", "whole solver"): search_whole,
    }
    seconds = take_turns(ways, rounds, time.process_time)
    speeds: dict[str, dict[str, float]] = {"training": {}, "beam search": {}}
    for (task, way), taken in seconds.items():
        speeds[task][way] = round(len(case.problems) / taken, 1)
    ratios = {task: round(seconds[task, "by stacks"] / seconds[task, "batched"], 1) for task in speeds}
    return {"problems a second": speeds, "batched / by stacks": ratios}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument(
        "--widths", type=int, nargs="+", default=[384, 768], help="widths of the states: MiniLM's, BERT-base's"
    )
    parser.add_argument("--layers", type=int, default=2, help="layers of the encoder")
    parser.add_argument(
        "--steps", type=int, default=200, help="training steps before: the ratio of beam search depends on them"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the warm-up")
    args = parser.parse_args()

    gold = list(gold_equations(load_bank(args.bank)))[:3000]
    report: dict[str, Any] = {"machine": machine(), "threads": torch.get_num_threads(), "batch": args.batch_size}
    for width in args.widths:
        torch.manual_seed(0)
        case = case_of(gold, args.batch_size, width, args.layers)
        optimizer = torch.optim.AdamW(case.solver.decoder.parameters(), lr=1e-3)
        for _ in range(args.steps):
            optimizer.zero_grad()
            (case.loss(case.source()) / args.batch_size).backward()
            optimizer.step()
        report["nodes of a tree, mean"] = round(len(case.trees.token) / len(case.problems), 1)
        report["tokens of a text, mean"] = round(float(case.mask.sum(1).float().mean()), 1)
        report[f"hidden {width}"] = {**compare(case), **contest(case, args.rounds)}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
