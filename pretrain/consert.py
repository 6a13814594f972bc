"""A baseline: contrast of questions whose embeddings are augmented (ConSERT, Yan et al. 2021).

    accelerate launch pretrain/consert.py --config configs/small/consert.yaml data.bank=BANK run.out=runs/consert

Every question of a batch is encoded twice, its tokens' embeddings changed at random; the two are to be closer to one
another than to all others of the batch. No label is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.hub.folder import write_card
from tqnet.losses.contrastive import nt_xent
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import KINDS, EmbeddingAugmentation
from tqnet.modeling.model import TQNetModel
from tqnet.training import session
from tqnet.training.config import ConfigError, OptimConfig, RecipeConfig, parse_config, within
from tqnet.training.contrast import same
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient
from tqnet.training.sampler import ShuffledBatches
from tqnet.training.validation import ValidationPrecision


@dataclass
class ConSERTConfig(RecipeConfig):
    """Settings of the stage.

    Attributes:
        augmentations: Of the embeddings, some of ``shuffle``, ``token_cutoff``, ``feature_cutoff``, ``dropout``; the
            default is the paper's best pair.
        rate: Share of the tokens or features that are cut off.
        temperature: Of the contrast.
    """

    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=5e-5, text_lr=2e-5))
    augmentations: list[str] = field(default_factory=lambda: ["shuffle", "feature_cutoff"])
    rate: float = 0.2
    temperature: float = 0.1

    def __post_init__(self) -> None:
        for kind in self.augmentations:
            if kind not in KINDS:
                raise ConfigError(f"augmentations: {kind!r} is none of {', '.join(KINDS)}")
        within(0, 1, "rate", self.rate, ends="[)")
        within(0, math.inf, "temperature", self.temperature, ends="()")


class UnitEncoder(nn.Module):
    """A model whose vectors have length 1; ConSERT contrasts them without a projection."""

    def __init__(self, model: QuestionEncoder):
        super().__init__()
        self.model = model

    def forward(self, **batch: Tensor) -> Tensor:
        """A packed batch -> [b, h]."""
        return F.normalize(self.model(**batch).embedding.float(), dim=-1)


def main(config: ConSERTConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model, processor = session.build(config, bank)
    if not isinstance(model, TQNetModel):
        raise ConfigError("model.architecture: a quesnet has no text encoder whose embeddings could be augmented")
    if model.config.fusion == "joint":  # figures among the words have no positions to exchange
        raise ConfigError("model.fusion: joint, where words alone are augmented")
    with session.settings_at_fault():
        EmbeddingAugmentation(model, config.augmentations, config.rate)

    encoder = UnitEncoder(model)
    lengths = session.sort_lengths(bank, processor, model.cells_per_image)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        plan=ShuffledBatches(lengths, config.run.batch_size, config.run.seed),
        views=session.question_views(config, bank, model),
        parts=model.parts,
        evaluate=ValidationPrecision.of(model, config.data, config.run),
    )
    hashes = session.content_hashes(bank, model.config.reads_images)["fused"].to(loop.device)
    for batch in loop:
        encoder.train()
        twice = {name: torch.cat([value, value]) for name, value in batch.inputs.items()}
        views = loop.trained(**twice).chunk(2)
        first, second = (gather_with_own_gradient(accelerator, view) for view in views)
        excluded = same(hashes[accelerator.gather(batch.index)])
        loss, logits = nt_xent(first, second, config.temperature, excluded)
        loop.step(loss, {"top1": _found(logits.detach())})
        loop.after_step()
    return loop.finish(write_card)


def _found(logits: Tensor) -> Tensor:
    """How often the other view of a question is the nearest of all."""
    places = torch.arange(len(logits), device=logits.device)
    return (logits.argmax(1) == places.roll(len(logits) // 2)).float().mean()


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(ConSERTConfig, __doc__))
