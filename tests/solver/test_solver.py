"""The tree decoder, its beam search, and the recipe that trains both, against slow references and for real."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import torch

from finetune.solver import SolverConfig, loss_of, main
from tests.word_problems import settings_of, write_problems
from tqnet.config import load_config
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.solver.beams import beam_search
from tqnet.solver.decoder import TreeBatch
from tqnet.solver.model import WordProblemSolver, load_solver
from tqnet.solver.problems import Alphabet, read_problem
from tqnet.text.equations import OPERATORS, ends
from tqnet.training.data import Batch

TEXTS = ["Tom has 3 pens and buys 5 more.", "There are 12 cakes for 4 boys.", "A box of 6 pens costs 2 yuan, 7 boxes?"]
EQUATIONS = ["3+5", "12/4", "(6-2)*7/6"]


@pytest.fixture
def solver() -> WordProblemSolver:
    torch.manual_seed(0)
    shape = ModelConfig(text="scratch", visual=None, fusion="none", vocabulary_min_count=0, max_length=60)
    shape.scratch_hidden, shape.scratch_layers = 32, 1
    encoder, _ = build_model(shape, TEXTS)
    solver = WordProblemSolver(encoder, Alphabet(("1",)))
    for weight in solver.decoder.parameters():  # far from even odds
        torch.nn.init.normal_(weight, std=0.3)
    return solver.eval()


def _packed(solver: WordProblemSolver, texts: list[str]) -> dict[str, torch.Tensor]:
    processor = solver.encoder.processor
    return processor.pack_text(processor.tokenize(texts))


def test_all_trees_at_once_are_each_tree_by_a_stack(solver: WordProblemSolver) -> None:
    problems = [read_problem(text, equation, solver.alphabet) for text, equation in zip(TEXTS, EQUATIONS, strict=True)]
    places = [[solver.alphabet.place(token) for token in problem.equation] for problem in problems]
    trees = TreeBatch.from_equations([problem.equation for problem in problems], places)
    equal = solver.equal_numbers([problem.values for problem in problems])
    scores, goals, subtrees = solver(equal, trees, **_packed(solver, TEXTS))
    source, decoder = solver.read(**_packed(solver, TEXTS)), solver.decoder
    node = 0
    for row, (problem, row_places) in enumerate(zip(problems, places, strict=True)):
        row_index, subtree_ends, total = torch.tensor([row]), ends(problem.equation), torch.zeros(())

        def meet(goal: torch.Tensor, place: int) -> torch.Tensor:
            """Goal by goal, as the paper tells it; gives the subtree's embedding."""
            nonlocal total
            context = decoder.context(goal, source, row_index)  # noqa: B023
            total = total + decoder.log_probabilities(goal, context, source, row_index)[0, row_places[place]]  # noqa: B023
            token = torch.tensor([row_places[place]])  # noqa: B023
            embedding = source.embeddings(row_index, token)  # noqa: B023
            torch.testing.assert_close(goals[node + place], goal[0])  # noqa: B023
            if problem.equation[place] in OPERATORS:  # noqa: B023
                left = meet(decoder.left(goal, context, token, source), place + 1)
                right = decoder.right(decoder.pending(goal, context, token, source), left)
                embedding = decoder.subtree(token, left, meet(right, subtree_ends[place + 1]), source)  # noqa: B023
            torch.testing.assert_close(subtrees[node + place], embedding[0])  # noqa: B023
            return embedding

        meet(source.root[row_index], 0)
        torch.testing.assert_close(scores[row], total)
        node += len(row_places)


@pytest.mark.parametrize("equation_loss", ["sum", "mean"])
def test_contrast_weighs_beside_equations_as_in_the_paper_or_its_code(
    equation_loss: str, solver: WordProblemSolver
) -> None:
    problems = [read_problem(text, equation, solver.alphabet) for text, equation in zip(TEXTS, EQUATIONS, strict=True)]
    places = [[solver.alphabet.place(token) for token in problem.equation] for problem in problems]
    trees = TreeBatch.from_equations([problem.equation for problem in problems], places)
    equal, nodes = solver.equal_numbers([problem.values for problem in problems]), torch.tensor([[0, 3, 6]])
    extras = {**trees.tensors(), "equal": equal, "nodes": nodes}
    batch = Batch(torch.arange(3), [_packed(solver, TEXTS)], extras)
    config = load_config(SolverConfig, [], ["data.bank=x", "alpha=5", "margin=2", f"equation_loss={equation_loss}"])
    loss, logged = loss_of(config, solver, batch)
    scores, hinge = solver(equal, trees, **_packed(solver, TEXTS))[0], logged["contrastive"]
    assert hinge > 0
    if equation_loss == "sum":
        torch.testing.assert_close(3 * loss, -scores.sum() + 5 * hinge)
    else:
        lengths = torch.tensor([len(problem.equation) for problem in problems])
        torch.testing.assert_close(loss, -(scores / lengths).mean() + 5 * hinge)


def test_beams_as_wide_as_all_trees_find_the_likeliest(solver: WordProblemSolver) -> None:
    text = [TEXTS[0]]
    leaves = ["1", "n1", "n2"]
    trees = [(leaf,) for leaf in leaves] + list(itertools.product(OPERATORS, leaves, leaves))
    batch = TreeBatch.from_equations(trees, [[solver.alphabet.place(token) for token in tree] for tree in trees])
    everything = _packed(solver, text * len(trees))
    all_different = torch.arange(8).expand(len(trees), -1)
    likelihood = solver(all_different, batch, **everything)[0]
    tokens, lengths, scores = beam_search(solver.decoder, solver.read(**_packed(solver, text)), beams=60, most=3)
    best = likelihood.sort(descending=True)
    count = len(trees)
    assert int(torch.isfinite(scores).sum()) == count
    torch.testing.assert_close(scores[0, :count], best.values)
    rows = zip(tokens[0, :count].tolist(), lengths[0, :count].tolist(), strict=True)
    made = [tuple(solver.alphabet.token(place) for place in row[:length]) for row, length in rows]
    assert made == [trees[place] for place in best.indices.tolist()]


def test_batches_do_not_mix(solver: WordProblemSolver, tmp_path: Path) -> None:
    together = solver.solve(TEXTS)
    assert [solver.solve([text])[0].equation for text in TEXTS] == [solution.equation for solution in together]
    solver.save_pretrained(tmp_path)
    assert [s.equation for s in load_solver(tmp_path).solve(TEXTS)] == [s.equation for s in together]
    assert solver.solve(["Who ate the cake?"])[0].fault == "the text has no number"


def test_only_text_and_decoder_are_trained() -> None:
    shape = ModelConfig(text="scratch", visual="test_resnet", pooling="gated", vocabulary_min_count=0)
    encoder, _ = build_model(shape, TEXTS)
    trained = {
        name for name, weight in WordProblemSolver(encoder, Alphabet(())).named_parameters() if weight.requires_grad
    }
    assert {".".join(name.split(".")[:2]) for name in trained if name.startswith("encoder")} == {"encoder.text"}


def test_numbers_that_the_model_does_not_read(solver: WordProblemSolver) -> None:
    """An equation needs a leaf: a number within the maximum length, or a constant."""
    without_constants = WordProblemSolver(solver.encoder, Alphabet(())).eval()
    assert "maximum length" in str(without_constants.solve(["Tom has many " * 60 + "pens, 3 of them red."])[0].fault)


def test_two_stages_solve_generated_problems(tmp_path: Path) -> None:
    write_problems(tmp_path / "bank.jsonl")
    settings = settings_of(tmp_path / "bank.jsonl")
    first = main(
        load_config(
            SolverConfig, [], [*settings, f"run.out={tmp_path / 'one'}", "alpha=3", "pairs=2", "commutative=true"]
        )
    )
    second = [setting for setting in settings if not setting.startswith("model.")]
    second += [f"run.out={tmp_path / 'two'}", f"model.start={first}", "run.epochs=10", "optim.schedule=linear"]
    solver = load_solver(main(load_config(SolverConfig, [], second)))
    asked = [
        "Tom had 31 pens and bought 8 more. How many pens has he now?",
        "Each of 9 boxes holds 12 pears. How many?",
    ]
    assert [solution.value for solution in solver.solve(asked)] == [39, 108]
    scores = [json.loads(line) for line in (tmp_path / "two" / "metrics.jsonl").read_text().splitlines()]
    assert max(score.get("valid/answers", 0) for score in scores) > 0.95
