from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from pretrain.mlm import MaskedLanguageModel
from tqnet.config import ConfigError
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.modeling.model import TQNetModel
from tqnet.training.config import OptimConfig
from tqnet.training.optim import build_optimizer, build_schedule, freeze_streams, mark_trained_figures


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_groups_by_stream(name: str, tiny_model: TQNetModel) -> None:
    encoder = ContrastiveEncoder(tiny_model, ("text", "visual"), 16)
    encoder.model.fusion.requires_grad_(False)
    config = OptimConfig(name=name, lr=3.0, text_lr=1.0, visual_lr=2.0, weight_decay=0.1)
    optimizer = build_optimizer(encoder, config)
    group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    trained = {key: p for key, p in encoder.named_parameters() if p.requires_grad}
    assert len(group_of) == sum(len(group["params"]) for group in optimizer.param_groups) == len(trained)
    for key, parameter in trained.items():
        group = group_of[id(parameter)]
        # The streams' own projectors are new: they learn at the rate of what is new.
        rate = 1.0 if key.startswith("model.text.") else 2.0 if ".backbone." in key else 3.0
        assert group["lr"] == rate, key
        decays = name == "sgd" or parameter.ndim > 1
        assert group["weight_decay"] == (0.1 if decays else 0), key


def test_a_stream_without_a_rate_is_left_alone(tiny_model: TQNetModel) -> None:
    config = OptimConfig(lr=0.25, visual_lr=0)
    with pytest.raises(ConfigError, match="random weights"):
        freeze_streams(tiny_model, config)
    tiny_model.config.visual_trained = True
    freeze_streams(tiny_model, config)
    optimizer = build_optimizer(tiny_model, config)
    assert {group["name"] for group in optimizer.param_groups} == {"text", "rest"}
    frozen = {name for name, parameter in tiny_model.named_parameters() if not parameter.requires_grad}
    assert frozen == {f"visual.backbone.{name}" for name, _ in tiny_model.visual.backbone.named_parameters()}


def test_the_last_layers_of_the_text_encoder_alone(build_tiny: Callable[..., TQNetModel]) -> None:
    model = build_tiny(visual=None, fusion="none", scratch_layers=3)
    freeze_streams(model, OptimConfig(text_layers=2))
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    layers = model.text.encoder.layer
    assert trained == {
        f"text.encoder.layer.{place}.{name}" for place in (1, 2) for name, _ in layers[place].named_parameters()
    }
    with pytest.raises(ConfigError, match="text_layers: 4, but the text encoder has 3"):
        freeze_streams(model, OptimConfig(text_layers=4))
    with pytest.raises(ConfigError, match="text_lr=0"):
        freeze_streams(model, OptimConfig(text_layers=2, text_lr=0))
    with pytest.raises(ConfigError, match="text_layers: needs a tqnet, not a quesnet"):
        freeze_streams(build_tiny(architecture="quesnet"), OptimConfig(text_layers=2))


def test_lower_layers_of_the_text_encoder_learn_more_slowly(build_tiny: Callable[..., TQNetModel]) -> None:
    model = build_tiny(visual=None, fusion="none", scratch_layers=3)
    encoder = ContrastiveEncoder(model, ("text",), 16)
    optimizer = build_optimizer(encoder, OptimConfig(lr=8.0, text_lr=4.0, layer_decay=0.5))
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in encoder.named_parameters():
        place = next((place for place in range(3) if f".layer.{place}." in name), None)
        below = 3 if "embeddings" in name else 0 if place is None else 2 - place
        assert rates[id(parameter)] == (4 * 0.5**below if "model.text" in name else 8), name
    masked = MaskedLanguageModel(model.text)
    assert 0.5 in {group["lr"] for group in build_optimizer(masked, OptimConfig(lr=4.0, layer_decay=0.5)).param_groups}
    for other in (build_tiny(architecture="quesnet"), model.text.requires_grad_(False)):
        with pytest.raises(ConfigError, match="layer_decay: no layers of a text encoder are trained"):
            build_optimizer(other, OptimConfig(layer_decay=0.5))
    with pytest.raises(ConfigError, match="layer_decay: this tqnet_gru has no list of separate layers"):
        build_optimizer(build_tiny(visual=None, fusion="none", text="gru"), OptimConfig(layer_decay=0.5))


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", lambda progress: np.ones_like(progress)),
        ("linear", lambda progress: 1 - progress),
        ("cosine", lambda progress: (1 + np.cos(np.pi * progress)) / 2),
    ],
)
def test_schedules(schedule: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=2.0)
    steps = build_schedule(optimizer, OptimConfig(schedule=schedule, warmup=0.2), 50)
    rates = []
    for _ in range(50):
        rates.append(steps.get_last_lr()[0])
        optimizer.step()
        steps.step()
    assert np.allclose(rates[:10], 2 * np.arange(1, 11) / 10)
    assert np.allclose(rates[10:], 2 * expected(np.arange(40) / 40))
    assert steps.get_last_lr()[0] == pytest.approx(2 if schedule == "constant" else 0)


@pytest.mark.parametrize("before", [False, None])  # None: of a model that does not say
def test_figures_count_as_trained_once_something_trains_them(before: bool | None, tiny_model: TQNetModel) -> None:
    tiny_model.config.visual_trained = before
    mark_trained_figures(tiny_model, build_optimizer(tiny_model.text, OptimConfig()))  # as masked words do
    assert tiny_model.config.visual_trained is before
    mark_trained_figures(tiny_model, build_optimizer(tiny_model, OptimConfig()))
    assert tiny_model.config.visual_trained is True
