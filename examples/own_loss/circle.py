"""A loss of your own: circle loss (Sun et al. 2020, Eq. 6) on similar questions, in place of TQ-Net's Eq. 3.

    accelerate launch --quiet examples/own_loss/circle.py data.bank=BANK run.out=runs/circle

It takes the settings that all recipes share, and two of its own. `table.yaml` beside it compares it with Eq. 3.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from tqnet.config import Positive, ProperShare, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import sort_lengths
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient
from tqnet.training.sampler import GroupBatches


def circle_loss(features: Tensor, similar: Tensor, margin: float, scale: float) -> Tensor:
    """Compute, for each question s with similar questions p and others o::

        L = softplus( log sum_o e^(g * a_o (s.o - m)) + log sum_p e^(-g * a_p (s.p - 1 + m)) )
        a_o = max(0, s.o + m),  a_p = max(0, 1 + m - s.p),  without gradients

    Args:
        features: [b, d], unit vectors.
        similar: bool [b, b], symmetric, False on the diagonal.

    Returns:
        The mean over questions that have a similar one.
    """
    cosine = features @ features.T
    itself = torch.eye(len(features), dtype=torch.bool, device=features.device)
    for_others = scale * (cosine.detach() + margin).clamp(min=0) * (cosine - margin)
    for_similar = -scale * (1 + margin - cosine.detach()).clamp(min=0) * (cosine - 1 + margin)
    others = for_others.masked_fill(similar | itself, float("-inf")).logsumexp(1)
    pulled = for_similar.masked_fill(~similar, float("-inf")).logsumexp(1)
    has_similar = similar.any(1)
    losses = torch.where(has_similar, F.softplus(others + pulled), 0.0)
    return losses.sum() / has_similar.sum().clamp(min=1)


@settings
class CircleConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/circle")
    margin: ProperShare = 0.25
    """Relaxation m."""
    scale: Positive = 32.0
    """Scale g."""


def main(config: CircleConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=False)
    similarity = session.similar_questions(bank, config.data)
    model = session.build(config, bank)
    lengths = sort_lengths(bank, model.processor, model.cells_per_image)

    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=ContrastiveEncoder(model, ("fused",)),  # the vectors, of length 1
        plan=GroupBatches(similarity, lengths, config.run.batch_size, config.run.seed),
        views=session.question_views(config, bank, model),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    for batch in loop:
        features = gather_with_own_gradient(accelerator, loop.trained(**batch.inputs)["fused"])
        similar = to_device(similarity.matrix(batch.everywhere), loop.device)
        loop.step(circle_loss(features, similar, config.margin, config.scale), {})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(CircleConfig, __doc__))
