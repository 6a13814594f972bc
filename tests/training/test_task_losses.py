"""The losses of multi-task pre-training: what takes part, and what is a negative of what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor
from torch.nn import functional as F

from tqnet.questions import Question, QuestionBank
from tqnet.training.data import Batch
from tqnet.training.labels import ClassLabels
from tqnet.training.multitask import Solutions, TaskLosses, Term

T = 0.2


@pytest.fixture
def accelerator() -> Iterator[Accelerator]:
    AcceleratorState._reset_state(reset_partial_state=True)
    yield Accelerator(cpu=True)
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def bank(draw_figure: Callable[..., str], tmp_path: Path) -> QuestionBank:
    """Question 1 has two figures, 2 the first of them under another name, 4 the text of 0."""
    first, second, third = (draw_figure(number) for number in range(3))
    again = tmp_path / "again.png"
    again.write_bytes(Path(first).read_bytes())
    images = [(third,), (first, second), (str(again),), (), (second,)]
    questions = [Question(id=str(i), stem=f"Find {i}", images=own) for i, own in enumerate(images)]
    questions[4] = replace(questions[4], stem=questions[0].stem)
    return QuestionBank.from_questions(questions)


def unit(*shape: int, seed: int = 0) -> Tensor:
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def losses_of(accelerator: Accelerator, bank: QuestionBank, **options: Any) -> TaskLosses:
    settings: dict[str, Any] = {"labels": {}, "solutions": None, "max_images": 2, "temperature": T} | options
    tasks = [*settings["labels"], *(["solution"] if settings["solutions"] else []), "figures"]
    return TaskLosses(accelerator, tasks, bank, **settings)


def batch(index: list[int], bank: QuestionBank) -> Batch:
    counts = torch.tensor([len(bank[i].images) for i in index])
    return Batch(torch.tensor(index), [{"image_counts": counts}])


def softmax_loss(query: Tensor, keys: list[Tensor]) -> float:
    """Of the first key among all."""
    scores = [math.exp(float(query @ key) / T) for key in keys]
    return -math.log(scores[0] / sum(scores))


def test_figures_are_found_among_those_of_other_questions(accelerator: Accelerator, bank: QuestionBank) -> None:
    """Neither among the question's own, nor equal ones, nor those of a question with the same text."""
    text, figures = unit(5, 4), unit(5, 2, 4, seed=1)
    order = [3, 0, 2, 1, 4]  # rows of the batch are not those of the bank
    row = {question: at for at, question in enumerate(order)}
    f = {(q, k): figures[row[q], k] for q, own in enumerate(bank.column("images")) for k in range(len(own))}
    negatives = {
        (0, 0): [(1, 0), (1, 1), (2, 0)],  # not 4, which has its text
        (1, 0): [(0, 0), (4, 0)],  # not 2's, which is equal
        (1, 1): [(0, 0), (2, 0)],  # not 4's
        (2, 0): [(0, 0), (1, 1), (4, 0)],
        (4, 0): [(1, 0), (2, 0)],
    }
    expected = [softmax_loss(text[row[q]], [f[q, k], *(f[other] for other in of)]) for (q, k), of in negatives.items()]
    term = losses_of(accelerator, bank)({"text": text, "figures": figures}, batch(order, bank))["figures"]
    assert term.count == 5
    assert term.loss.item() == pytest.approx(sum(expected) / 5, abs=1e-5)


def test_solutions_are_found_among_those_of_other_questions(accelerator: Accelerator, bank: QuestionBank) -> None:
    """Of questions that have one; equal solutions are no negatives of one another."""
    content, solution = unit(5, 4), unit(5, 4, seed=1)
    solutions = Solutions(torch.tensor([True, True, False, True, True]), torch.tensor([7, 8, 9, 7, 6]))
    losses = losses_of(accelerator, bank, solutions=solutions)
    found = {"content": content, "solution": solution, "text": content, "figures": unit(5, 2, 4)}
    term = losses(found, batch([0, 1, 2, 3, 4], bank))["solution"]
    negatives = {0: [1, 4], 1: [0, 3, 4], 3: [1, 4], 4: [0, 1, 3]}
    expected = [softmax_loss(content[i], [solution[i], *(solution[j] for j in of)]) for i, of in negatives.items()]
    assert term.count == 4
    assert term.loss.item() == pytest.approx(sum(expected) / 4, abs=1e-5)


def test_what_is_right(accelerator: Accelerator, bank: QuestionBank) -> None:
    labels = {"knowledge": ClassLabels("abc", [(0, 2), (1,), (), (0,), (2,)])}
    logits = torch.tensor([[0.0, 0.0, 9.0], [0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    found = {"knowledge": logits, "text": unit(4, 4), "figures": unit(4, 2, 4)}
    term = losses_of(accelerator, bank, labels=labels)(found, batch([0, 1, 2, 3], bank))["knowledge"]
    assert term.count == 3
    assert term.accuracy.item() == pytest.approx(2 / 3)


def test_a_batch_that_has_nothing_for_a_task(accelerator: Accelerator, bank: QuestionBank) -> None:
    labels = {"type": ClassLabels("ab", [(0,), (1,), (), (), ()])}
    solutions = Solutions(torch.zeros(5, dtype=torch.bool), torch.arange(5))
    losses = losses_of(accelerator, bank, labels=labels, solutions=solutions)
    shapes = {"content": (1, 4), "solution": (1, 4), "text": (1, 4), "figures": (1, 2, 4), "type": (1, 2)}
    found = {name: torch.randn(shape, requires_grad=True) for name, shape in shapes.items()}
    terms: dict[str, Term] = losses(found, batch([3], bank))
    assert [term.count for term in terms.values()] == [0, 0, 0]
    sum(term.loss for term in terms.values()).backward()
    for name, value in found.items():
        assert value.grad is not None, name
        assert not value.grad.any(), name
