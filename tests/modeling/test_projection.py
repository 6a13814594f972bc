"""Where the visual tokens of an untrained model lie: around zero, and as long as texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tqnet.modeling.model import TQNetModel, fit_projection
from tqnet.questions import QuestionBank


@pytest.mark.parametrize("fusion", ["coordinated", "joint"])
def test_figures_lie_around_zero_and_are_as_long_as_what_they_join(
    fusion: str, build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank
) -> None:
    model = build_tiny(awake=True, fusion=fusion)
    questions = [question for question in tiny_bank if question.images]
    fit_projection(model, questions)
    with torch.no_grad():
        output = model(**model.processor(questions))
    texts = output.text_embedding if fusion == "coordinated" else model.get_input_embeddings().weight
    assert output.visual_embedding.mean(0).abs().max() < 1e-4
    torch.testing.assert_close(output.visual_embedding.norm(dim=1).mean(), texts.norm(dim=1).mean())


@pytest.mark.parametrize("count", [1, 3])
def test_one_figure_alone_leaves_the_projection_as_it_is(
    count: int, tiny_model: TQNetModel, tiny_bank: QuestionBank
) -> None:
    before = tiny_model.visual.projection.weight.clone()
    fit_projection(tiny_model, [next(question for question in tiny_bank if len(question.images) == 1)] * count)
    assert torch.equal(tiny_model.visual.projection.weight, before)
    assert not tiny_model.visual.projection.bias.any()
