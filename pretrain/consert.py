"""A baseline: contrastive learning with augmented embeddings (ConSERT, Yan et al. 2021).

    accelerate launch pretrain/consert.py --config configs/small/consert.yaml data.bank=BANK run.out=runs/consert

Encodes every question of a batch twice, with random changes to its token embeddings, and pulls the two vectors together
and apart from all others in the batch. Uses no labels.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from tqnet.config import ConfigError, Positive, ShareBelowOne, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.losses.contrastive import nt_xent
from tqnet.modeling.heads import ContrastiveEncoder, EmbeddingAugmentation
from tqnet.modeling.model import TQNetModel
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import content_hashes
from tqnet.training.contrast import same
from tqnet.training.data import twice
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient


@settings
class ConSERTConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=5e-5, text_lr=2e-5)
    run: RunConfig = section(RunConfig, out="runs/consert")
    augmentations: list[Literal["shuffle", "token_cutoff", "feature_cutoff", "dropout"]] = field(
        default_factory=lambda: ["shuffle", "feature_cutoff"]
    )
    """Augmentations of the embeddings; the default is the paper's best pair."""
    rate: ShareBelowOne = 0.2
    """Share of the tokens or features to cut off."""
    temperature: Positive = 0.1
    """Temperature of the contrastive loss."""


def main(config: ConSERTConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model = session.build(config, bank)
    if not isinstance(model, TQNetModel):
        raise ConfigError("model.architecture: a quesnet has no text encoder with embeddings to augment")
    if model.config.fusion == "joint":  # its figures have no positions to shuffle
        raise ConfigError("model.fusion: joint is not supported, since only words are augmented")
    EmbeddingAugmentation(model, config.augmentations, config.rate)

    encoder = ContrastiveEncoder(model, ("fused",))  # no projection
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    hashes = content_hashes(bank, model.config.reads_images)["fused"].to(loop.device)
    for batch in loop:
        views = loop.trained(**twice(batch.inputs))["fused"].chunk(2)
        first, second = (gather_with_own_gradient(accelerator, view) for view in views)
        excluded = same(hashes[to_device(batch.everywhere, loop.device)])
        loss, logits = nt_xent(first, second, config.temperature, excluded)
        loop.step(loss, {"top1": top1(logits.detach())})
    return loop.finish(write_card)


def top1(logits: Tensor) -> Tensor:
    """Return how often a question's other view is its nearest neighbour."""
    places = torch.arange(len(logits), device=logits.device)
    return (logits.argmax(1) == places.roll(len(logits) // 2)).float().mean()


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(ConSERTConfig, __doc__))
