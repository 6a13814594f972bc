"""Ranking contrast of augmented questions along the knowledge hierarchy (QuesCo; RINCE, Eq. 4).

    accelerate launch pretrain/quesco.py --config configs/quesco/sample.yaml run.out=runs/quesco

Pulls a question closest to its own augmentation, then to questions of the same concept, then of the parent concept,
and so on up to questions that share none. Uses the concepts of the training questions, and no groups.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from tqnet.augment.view import AugmentConfig
from tqnet.config import ConfigError, Count, CountOrZero, Positive, Share, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.losses.ranking import rince, temperatures_for
from tqnet.modeling.heads import ContrastiveEncoder, KeyQueue, MomentumEncoder
from tqnet.modeling.visual import split_batchnorm
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import content_hashes
from tqnet.training.contrast import KeyRanks, Keys, ShuffledKeys, fill_queues, queue_size
from tqnet.training.loop import TrainingLoop


@settings
class QuesCoConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=5e-5, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/quesco")
    augment: AugmentConfig = section(
        AugmentConfig, mask=0.0, window=1.0, strategies=["text", "formula", "structure"], probability=0.3, anchor=False
    )
    hierarchy: bool = True
    """Rank questions by their concepts. Otherwise the augmented question is the only positive ("w/o KHAR")."""
    leaves: bool = False
    """Use only the finest concepts of the hierarchy: questions share one, or none."""
    form: Literal["in", "out", "out-in"] = "in"
    """Form of the loss (`tqnet.losses.ranking`)."""
    temperatures: list[Positive] | None = None
    """Temperatures of the ranks 0 (the augmented question) to L + 1 (no concept shared), non-decreasing. null takes the
    paper's, interpolated if the hierarchy does not have three levels."""
    queue: Count = 1600
    """Keys to keep; no more than half of the training questions."""
    momentum: Share = 0.999
    """Momentum m of the key encoder."""
    dimension: CountOrZero = 128
    """Width of the projection; 0 contrasts the vectors themselves."""
    bn_splits: Count = 4
    """Parts of a batch with separate batch-norm statistics, in a single-process run."""


def main(config: QuesCoConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    ranks = KeyRanks(bank, config.hierarchy, config.leaves)
    try:
        temperatures = temperatures_for(ranks.depth, config.temperatures).to(accelerator.device)
    except ValueError as error:
        raise ConfigError(f"temperatures: {error}") from None
    model = session.build(config, bank)

    if accelerator.num_processes == 1 and model.config.reads_images:
        split_batchnorm(model.visual, config.bn_splits)
    encoder = ContrastiveEncoder(model, ("fused",), config.dimension)
    key_encoder = MomentumEncoder(encoder, config.momentum)
    config.queue = queue_size(config.queue, len(bank))
    queue = KeyQueue(config.queue, encoder.dimension)

    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        state={"key_encoder": key_encoder, "queue": queue},
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model, config.augment, views=2),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    hashes = content_hashes(bank, model.config.reads_images)
    keys_of = ShuffledKeys(accelerator, key_encoder, hashes, config.run.seed)
    if not loop.resumed:
        fill_queues(loop, keys_of, {"fused": queue})

    for batch in loop:
        query = loop.trained(**batch.inputs)["fused"]
        keys = keys_of(batch, loop.micro)["fused"]
        similarity, key_ranks = compare(query, keys, queue, ranks)
        loss, terms = rince(similarity, key_ranks, temperatures, config.form)
        loop.step(loss, rank_metrics(similarity, key_ranks, terms))
        queue.enqueue(*keys.gathered)
        if loop.stepped:
            key_encoder.update(encoder)
    return loop.finish(write_card)


def compare(query: Tensor, keys: Keys, queue: KeyQueue, ranks: KeyRanks) -> tuple[Tensor, Tensor]:
    """Return h(q, p) and ranks, both [b, 1 + k], of each query's own key in column 0 and of the queue's keys.

    NOTE: excludes older keys of the same question, and keys of others with the same content, which may or may not be
    augmentations of it, that is, of rank 0.
    """
    others, excluded = queue.negatives(keys.ids, keys.hashes)
    with torch.autocast(query.device.type, enabled=False):
        query = query.float()
        positive = torch.einsum("bd,bd->b", query, keys.positives.float())
        similarity = torch.cat([positive[:, None], torch.einsum("bd,kd->bk", query, others)], 1)
    return similarity, ranks(keys.index, queue.ids, excluded)


@torch.no_grad()
def rank_metrics(similarity: Tensor, ranks: Tensor, terms: Tensor) -> dict[str, Tensor]:
    """Return each rank's mean similarity and its term of the loss."""
    logged = {f"loss/rank {i}": terms[:, i].mean() for i in range(terms.shape[1])}
    for rank in range(terms.shape[1] + 1):
        chosen = ranks == rank
        # Log 0 for an empty rank: JSON has no NaN.
        logged[f"similarity/rank {rank}"] = (similarity * chosen).sum() / chosen.sum().clamp(min=1)
    return logged


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(QuesCoConfig, __doc__))
