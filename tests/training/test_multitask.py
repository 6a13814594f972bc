"""Multi-task pre-training: its views, what is computed of them, and the losses over what takes part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.training.data import IGNORED, Batch, MaskTokens, QuestionViews
from tqnet.training.labels import ClassLabels
from tqnet.training.multitask import MultiTaskModel, Solutions, TaskLosses, TaskViews, Term

QUESTIONS = [
    Question(id="two", stem="A rope is 3 m long. How long is half of it?", answer="$1.5$", analysis="Divide by two."),
    Question(id="one", stem="Find $x$ if $2x=6$.", options=("$3$", "$4$"), answer="A"),
    Question(
        id="zh", stem="已知 $a=1$，求 $a+2$。", options=("$3$", "$4$"), answer="A", analysis="把 $a=1$ 代入即可得。"
    ),
    Question(
        id="test", stem="Tom is 5. How old is he?", answer="Five years", analysis="As the text says.", split="test"
    ),
]
NAMES = ("content", "segments", "solution")


@pytest.fixture
def processor(build_tiny: Callable[..., TQNetModel]) -> TQNetProcessor:
    processor = build_tiny().processor
    assert processor is not None
    return processor


def views_of(
    processor: TQNetProcessor, epoch: int = 0, rows: tuple[int, ...] = (0, 1, 2, 3), share: float = 0.0
) -> Batch:
    """A batch of ``QUESTIONS``; a ``share`` above 0 masks words."""
    bank = QuestionBank.from_questions(QUESTIONS)
    mask = MaskTokens(processor, share, 0) if share else None
    prepare = TaskViews(NAMES, bank, processor, 0, mask, True, Solutions.from_bank(bank, processor, 4))
    views = QuestionViews(bank, processor, 0, prepare=prepare, read_images=False)
    return views.collate([views[epoch, row, 0] for row in rows])


def texts(processor: TQNetProcessor, view: dict[str, torch.Tensor], row: int) -> list[int]:
    return view["input_ids"][row][view["attention_mask"][row].bool()].tolist()


def test_segments_are_in_order_or_swapped(processor: TQNetProcessor) -> None:
    """Joined by a separator, options behind both; a text that cannot be cut is as it is."""

    def joined(first: str, second: str) -> list[int]:
        first_ids, second_ids = processor.tokenize([first, second])
        return [*first_ids, *second_ids[1:]]

    options = "\n(A) $3$\n(B) $4$"
    wanted = {
        0: (
            joined("A rope is 3 m long", "How long is half of it?"),
            joined("How long is half of it?", "A rope is 3 m long"),
        ),
        2: (joined("已知 $a=1$", f"求 $a+2${options}"), joined("求 $a+2$", f"已知 $a=1${options}")),
    }
    seen: dict[int, set[int]] = {0: set(), 2: set()}
    for epoch in range(12):
        batch = views_of(processor, epoch)
        for row, ways in wanted.items():
            (swapped,) = torch.nonzero(batch.extras["order"][row])[0].tolist()
            assert texts(processor, batch.views[1], row) == ways[swapped]
            seen[row].add(swapped)
        assert not batch.extras["order"][1].any()
        assert texts(processor, batch.views[1], 1) == processor.tokenize([QUESTIONS[1].content])[0]
        assert (batch.extras["words"] == IGNORED).all()
    assert all(ways == {0, 1} for ways in seen.values())


def test_content_is_neither_masked_nor_swapped(processor: TQNetProcessor) -> None:
    batch = views_of(processor, share=0.5)
    content, segments, _ = batch.views
    for row, ids in enumerate(processor.tokenize([question.content for question in QUESTIONS])):
        assert texts(processor, content, row) == ids
    masked = batch.extras["words"] != IGNORED
    assert masked.any(1).all()
    assert (segments["input_ids"][masked] == processor.tokenizer.mask_token_id).float().mean() > 0.5
    assert not content["input_ids"].eq(processor.tokenizer.mask_token_id).any()


def test_solutions_that_are_too_short_or_of_test_are_empty(processor: TQNetProcessor) -> None:
    solutions = Solutions.from_bank(QuestionBank.from_questions(QUESTIONS), processor, 4)
    assert solutions.present.tolist() == [True, False, True, False]
    batch = views_of(processor)
    (empty,) = processor.tokenize([""])
    for row, question in enumerate(QUESTIONS):
        (ids,) = processor.tokenize([question.solution])
        assert texts(processor, batch.views[2], row) == (ids if solutions.present[row] else empty)
    doubled = QuestionBank.from_questions([QUESTIONS[0], replace(QUESTIONS[0], id="again", stem="Other")])
    first, second = Solutions.from_bank(doubled, processor, 1).hashes.tolist()
    assert first == second


def test_a_text_that_would_not_be_read_to_its_end_is_not_cut(build_tiny: Callable[..., TQNetModel]) -> None:
    processor = build_tiny().processor
    assert processor is not None
    processor.max_length = 12
    batch = views_of(processor)
    assert not batch.extras["order"][0].any()
    assert texts(processor, batch.views[1], 0) == texts(processor, batch.views[0], 0)


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
    questions = [Question(id=str(i), stem=f"Find {i}", images=figures) for i, figures in enumerate(images)]
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
    return Batch(torch.tensor(index), [{"image_counts": counts}], everywhere=np.array(index))


def softmax_loss(query: Tensor, keys: list[Tensor]) -> float:
    """Of the first key among all."""
    scores = [math.exp(float(query @ key) / T) for key in keys]
    return -math.log(scores[0] / sum(scores))


def test_figures_are_found_among_those_of_other_questions(accelerator: Accelerator, bank: QuestionBank) -> None:
    """Neither among the question's own, nor equal ones, nor those of a question with the same text."""
    text, figures = unit(5, 4), unit(5, 2, 4, seed=1)
    order = [3, 0, 2, 1, 4]  # rows of the batch are not those of the bank
    row = {question: at for at, question in enumerate(order)}
    f = {(q, k): figures[row[q], k] for q, images in enumerate(bank.column("images")) for k in range(len(images))}
    negatives = {
        (0, 0): [(1, 0), (1, 1), (2, 0)],  # not 4, which has its text
        (1, 0): [(0, 0), (4, 0)],  # not 2's, which is equal
        (1, 1): [(0, 0), (2, 0)],  # not 4's
        (2, 0): [(0, 0), (1, 1), (4, 0)],
        (4, 0): [(1, 0), (2, 0)],
    }
    expected = [
        softmax_loss(text[row[q]], [f[q, k], *(f[other] for other in others)]) for (q, k), others in negatives.items()
    ]
    term = losses_of(accelerator, bank)({"text": text, "figures": figures}, batch(order, bank))["figures"]
    assert term.count == 5
    assert term.loss.item() == pytest.approx(sum(expected) / 5, abs=1e-5)


def test_solutions_are_found_among_those_of_other_questions(accelerator: Accelerator, bank: QuestionBank) -> None:
    """Of questions that have one; equal solutions are not negatives of one another."""
    content, solution = unit(5, 4), unit(5, 4, seed=1)
    solutions = Solutions(torch.tensor([True, True, False, True, True]), torch.tensor([7, 8, 9, 7, 6]))
    losses = losses_of(accelerator, bank, solutions=solutions)
    outputs = {"content": content, "solution": solution, "text": content, "figures": unit(5, 2, 4)}
    term = losses(outputs, batch([0, 1, 2, 3, 4], bank))["solution"]
    negatives = {0: [1, 4], 1: [0, 3, 4], 3: [1, 4], 4: [0, 1, 3]}
    expected = [
        softmax_loss(content[i], [solution[i], *(solution[j] for j in others)]) for i, others in negatives.items()
    ]
    assert term.count == 4
    assert term.loss.item() == pytest.approx(sum(expected) / 4, abs=1e-5)


def test_a_batch_that_has_nothing_for_a_task(accelerator: Accelerator, bank: QuestionBank) -> None:
    labels = {"type": ClassLabels("ab", [(0,), (1,), (), (), ()])}
    solutions = Solutions(torch.zeros(5, dtype=torch.bool), torch.arange(5))
    losses = losses_of(accelerator, bank, labels=labels, solutions=solutions)
    shapes = {"content": (1, 4), "solution": (1, 4), "text": (1, 4), "figures": (1, 2, 4), "type": (1, 2)}
    outputs = {name: torch.randn(shape, requires_grad=True) for name, shape in shapes.items()}
    terms: dict[str, Term] = losses(outputs, batch([3], bank))
    assert [term.count for term in terms.values()] == [0, 0, 0]
    sum(term.loss for term in terms.values()).backward()
    for name, value in outputs.items():
        assert value.grad is not None, name
        assert not value.grad.any(), name


Inputs = dict[str, Tensor]


@pytest.fixture
def content(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> Inputs:
    views = QuestionViews(tiny_bank, tiny_model.processor, seed=0)
    return views.collate([views[0, i, 0] for i in range(len(tiny_bank))]).inputs


def text_of(inputs: Inputs) -> Inputs:
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


def test_vectors_are_the_directions_of_sums(tiny_model: TQNetModel, content: Inputs) -> None:
    """Eq. 1; and Eq. 3 figure by figure, each padded to as many as the model reads."""
    model = MultiTaskModel(tiny_model, {"solution", "figures"}, {}).eval()
    with torch.no_grad():
        outputs = model(content=content, solution=text_of(content))
        states = tiny_model.text(**text_of(content)).last_hidden_state
        cells = tiny_model.visual.projection(tiny_model.visual.cells(content["pixel_values"]))
        weight = model.figures.weight, model.figures.bias
    counts = content["image_counts"].tolist()
    figure = 0
    for row, count in enumerate(counts):
        total = states[row][content["attention_mask"][row].bool()].sum(0)
        for name in ("text", "solution"):
            torch.testing.assert_close(outputs[name][row], total / total.norm(), atol=1e-5, rtol=0)
        for place in range(count):
            mean = (cells[figure] + tiny_model.visual.image_index.weight[place]).mean(0)
            expected = nn.functional.linear(mean, *weight)
            torch.testing.assert_close(outputs["figures"][row, place], expected / expected.norm(), atol=1e-5, rtol=0)
            figure += 1
    assert outputs["figures"].shape == (len(counts), tiny_model.config.max_images, 48)
    pictured = content["image_counts"] > 0  # a new fusion adds nothing but the mean over visual tokens
    assert torch.equal(outputs["content"][~pictured], outputs["text"][~pictured])
    assert not torch.isclose(outputs["content"][pictured], outputs["text"][pictured]).all(1).any()


@pytest.mark.parametrize(
    ("tasks", "still"),
    [
        ({"words"}, {"visual", "fusion"}),
        ({"order"}, {"visual", "fusion"}),
        ({"figures"}, {"fusion"}),
        ({"solution"}, set()),
        ({"type"}, set()),
        ({"words", "order", "solution", "figures", "type"}, set()),
    ],
)
def test_all_that_is_trained_gets_a_gradient(
    tasks: set[str], still: set[str], tiny_model: TQNetModel, content: Inputs
) -> None:
    """On several processes it must, even where nothing takes part; the rest stands still."""
    heads = {"type": nn.Linear(48, 3)} if "type" in tasks else {}
    model = MultiTaskModel(tiny_model.train(), tasks, heads)
    views: dict[str, Any] = {}
    if tasks & {"words", "order"}:
        masked = torch.zeros_like(content["input_ids"], dtype=torch.bool)  # no word is masked
        views |= {"segments": text_of(content), "masked": masked}
    if tasks - {"words", "order"}:
        views["content"] = content
    if "solution" in tasks:
        views["solution"] = text_of(content)
    sum(0.0 * value.sum() for value in model(**views).values()).backward()
    for name, parameter in model.named_parameters():
        stream = name.split(".")[1]
        assert parameter.requires_grad == (stream not in still), name
        assert (parameter.grad is None) == (stream in still), name
