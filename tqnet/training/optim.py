"""Optimizer and learning-rate schedule."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedModel

from tqnet.config import ConfigError
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.visual import freeze_batchnorm, is_untrained
from tqnet.training.config import OptimConfig

#: Part of a parameter's name -> stream. The first match counts: a stream's projector is not part of its encoder.
_STREAMS = {"projectors": "rest", "text": "text", "backbone": "visual"}


def _stream(name: str) -> str:
    """Return a parameter's stream; the visual projection and image index are new, so ``rest``."""
    return next((_STREAMS[part] for part in name.split(".") if part in _STREAMS), "rest")


def freeze_streams(model: QuestionEncoder, config: OptimConfig) -> None:
    """Freeze streams with a rate of 0, and the text encoder below its last ``text_layers``: no gradients, no updates of
    statistics.

    Call it before the model is copied.

    Raises:
        ConfigError: The visual stream would be frozen at random weights, or the text encoder has fewer layers.
    """
    if config.visual_lr == 0 and model.config.reads_images:
        if is_untrained(model):
            raise ConfigError(
                "optim.visual_lr: 0 would leave the visual stream with its random weights; for trained ones, make the "
                "model with model.visual=lite0, model.visual_pretrained=true or model.visual_start"
            )
        freeze_batchnorm(model.visual.backbone)
    rates = {"text": config.text_lr, "visual": config.visual_lr}
    if config.text_lr == 0 and any(".lora_" in name for name, _ in model.named_parameters()):
        raise ConfigError("optim.text_lr: 0 leaves the adapters of model.lora as they are")
    for name, parameter in model.named_parameters():
        if rates.get(_stream(name)) == 0:
            parameter.requires_grad_(False)
    if config.text_layers:
        if config.text_lr == 0:
            raise ConfigError("optim.text_layers: cannot train layers of a text encoder that optim.text_lr=0 freezes")
        _freeze_below(model, config.text_layers)


def _freeze_below(model: QuestionEncoder, count: int) -> None:
    """Freeze the word embeddings and all layers of the text encoder but the last ``count``."""
    if not isinstance(model, TQNetModel):
        raise ConfigError(f"optim.text_layers: needs a tqnet, not a {model.config.model_type}")
    depths, most = _depths(model.text, "text_layers")
    if most < count:
        raise ConfigError(f"optim.text_layers: {count}, but the text encoder has {most}")
    for parameter in model.text.parameters():
        if depths[id(parameter)] <= most - count:
            parameter.requires_grad_(False)


def _depths(text: PreTrainedModel, setting: str) -> tuple[dict[int, int], int]:
    """Return each parameter's layer, by id, and the number of layers: 0 for embeddings, 1 for the first layer.

    Raises:
        ConfigError: The text encoder has no list of separate layers.
    """
    lists = [part for part in text.modules() if isinstance(part, nn.ModuleList)]
    layers = next((part for part in lists if len(part) == text.config.num_hidden_layers), ())
    if not layers:
        raise ConfigError(f"optim.{setting}: this {text.config.model_type} has no list of separate layers")
    starts = {id(next(layer.parameters())) for layer in layers}
    parameters = list(map(id, text.parameters()))  # in the order of the forward pass, but for shared embeddings
    depths = dict(zip(parameters, accumulate(parameter in starts for parameter in parameters), strict=True))
    inside = {id(parameter) for layer in layers for parameter in layer.parameters()}
    embeddings = (part for part in text.modules() if isinstance(part, nn.Embedding))
    shared = {id(parameter) for part in embeddings for parameter in part.parameters()} - inside
    return depths | dict.fromkeys(shared, 0), len(layers)


def build_optimizer(module: nn.Module, config: OptimConfig) -> torch.optim.Optimizer:
    """Build the optimizer, with parameter groups for the text stream, the visual stream and the rest.

    Raises:
        ConfigError: Nothing is left to train, or ``layer_decay`` finds no layers that are trained.
    """
    rates = {"text": config.text_lr, "visual": config.visual_lr, "rest": None}
    factors = _layer_factors(module, config.layer_decay)
    groups: dict[tuple[str, bool, float], dict[str, Any]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            # SGD decays everything, as in MoCo and the paper; AdamW spares biases and norms.
            stream, decays = _stream(name), config.name == "sgd" or parameter.ndim > 1
            rate, decay = rates[stream], config.weight_decay if decays else 0.0
            rate = (config.lr if rate is None else rate) * factors.get(id(parameter), 1.0)
            group = {"params": [], "lr": rate, "weight_decay": decay, "name": stream}
            groups.setdefault((stream, decays, rate), group)["params"].append(parameter)
    if not groups:
        raise ConfigError("optim.text_lr, optim.visual_lr: 0 leaves nothing to train")
    if config.name == "sgd":
        return torch.optim.SGD(list(groups.values()), lr=config.lr, momentum=config.momentum, fused=True)
    return torch.optim.AdamW(list(groups.values()), lr=config.lr, fused=True)


def _layer_factors(module: nn.Module, decay: float) -> dict[int, float]:
    """Return the factor of the rate of each text encoder's trained parameters, by id: 1 for those of the last layer."""
    if decay == 1:
        return {}
    factors: dict[int, float] = {}
    for text in (getattr(part, "text", None) for part in module.modules()):
        if isinstance(text, PreTrainedModel):
            depths, most = _depths(text, "layer_decay")
            trained = {id(parameter) for parameter in text.parameters() if parameter.requires_grad}
            factors |= {parameter: decay ** (most - depths[parameter]) for parameter in trained}
    if not factors:
        raise ConfigError("optim.layer_decay: no layers of a text encoder are trained here")
    return factors


def complete_gradients(module: nn.Module) -> None:
    """Give weights that a step did not reach zero gradients.

    An optimizer would skip such a weight, its momentum and decay too, in one process; in two, the all-reduce gives
    zeros.
    """
    for parameter in module.parameters():
        if parameter.requires_grad and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)


def mark_trained_figures(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Note in the configuration of each question encoder of ``model`` if ``optimizer`` trains its visual backbone."""
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    encoders = [module for module in model.modules() if isinstance(module, QuestionEncoder)]
    for encoder in encoders:
        if encoder.config.reads_images and any(id(p) in trained for p in encoder.visual.backbone.parameters()):
            encoder.config.visual_trained = True


def build_schedule(optimizer: torch.optim.Optimizer, config: OptimConfig, steps: int) -> LambdaLR:
    """Build the schedule: linear warm-up, then cosine or linear decay to zero, or constant."""
    warmup = int(config.warmup * steps)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, steps - warmup))
        if config.schedule == "cosine":
            return 0.5 * (1 + math.cos(math.pi * progress))
        return 1 - progress if config.schedule == "linear" else 1.0

    return LambdaLR(optimizer, factor)
