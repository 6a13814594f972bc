"""What multi-task pre-training computes of a question's views, and what it trains by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.training.data import QuestionViews
from tqnet.training.multitask import MultiTaskModel

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
        found = model(content=content, solution=text_of(content))
        states = tiny_model.text(**text_of(content)).last_hidden_state
        cells = tiny_model.visual.projection(tiny_model.visual.cells(content["pixel_values"]))
        weight = model.figures.weight, model.figures.bias
    counts = content["image_counts"].tolist()
    figure = 0
    for row, count in enumerate(counts):
        total = states[row][content["attention_mask"][row].bool()].sum(0)
        for name in ("text", "solution"):
            torch.testing.assert_close(found[name][row], total / total.norm(), atol=1e-5, rtol=0)
        for place in range(count):
            mean = (cells[figure] + tiny_model.visual.image_index.weight[place]).mean(0)
            expected = nn.functional.linear(mean, *weight)
            torch.testing.assert_close(found["figures"][row, place], expected / expected.norm(), atol=1e-5, rtol=0)
            figure += 1
    assert found["figures"].shape == (len(counts), tiny_model.config.max_images, 48)
    pictured = content["image_counts"] > 0  # a new fusion adds nothing but the mean over visual tokens
    assert torch.equal(found["content"][~pictured], found["text"][~pictured])
    assert not torch.isclose(found["content"][pictured], found["text"][pictured]).all(1).any()


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


def test_a_figureless_batch_has_figures_of_no_question(build_tiny: Callable[..., TQNetModel]) -> None:
    model = MultiTaskModel(build_tiny().eval(), {"figures"}, {})
    found = model(content=dict(model.model.processor(["Find $x$.", "解方程"])))
    assert found["figures"].shape == (2, model.model.config.max_images, 48)
    assert torch.isfinite(found["figures"]).all()
