"""Ranking contrast of augmented questions along the knowledge hierarchy (QuesCo; RINCE, Eq. 4).

    accelerate launch pretrain/quesco.py --config configs/quesco/sample.yaml run.out=runs/quesco

A question shall be closest to its own augmentation, then to questions of its own concept, then to those of the concept
above, and so on up to those that share none. The concepts are those of the training questions; no group is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from tqnet.augment.view import AugmentConfig
from tqnet.hub.folder import write_card
from tqnet.losses.ranking import FORMS, rince, temperatures_for
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.modeling.momentum import KeyQueue, MomentumEncoder
from tqnet.modeling.visual import split_batchnorm
from tqnet.training import session
from tqnet.training.config import ConfigError, OptimConfig, RecipeConfig, at_least, parse_config, within
from tqnet.training.contrast import KeyRanks, Keys, ShuffledKeys, check_queue, fill_queues
from tqnet.training.loop import TrainingLoop
from tqnet.training.sampler import ShuffledBatches
from tqnet.training.validation import ValidationPrecision


@dataclass
class QuesCoConfig(RecipeConfig):
    """Settings of the stage.

    Attributes:
        hierarchy: Whether questions are ranked by their concepts; without, the augmented question stands against
            all others ("w/o KHAR").
        leaves: Of the hierarchy, the finest concepts alone: questions share one, or none.
        form: Of the loss, see `tqnet.losses.ranking`.
        temperatures: Of the ranks 0 (the augmented question) to L + 1 (no concept shared), non-decreasing; by default
            the paper's, interpolated where the hierarchy has not three levels.
        queue: Keys that are kept; at most half the training questions.
        momentum, dimension: m and the width of the projection; 0 contrasts the vectors themselves.
        bn_splits: On one process, parts of a batch with batch-norm statistics of their own.
    """

    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=5e-5, text_lr=5e-5))
    augment: AugmentConfig = field(
        default_factory=lambda: AugmentConfig(
            mask=0, window=1, strategies=["text", "formula", "structure"], probability=0.3, anchor=False
        )
    )
    hierarchy: bool = True
    leaves: bool = False
    form: str = "in"
    temperatures: list[float] | None = None
    queue: int = 1600
    momentum: float = 0.999
    dimension: int = 128
    bn_splits: int = 4

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ConfigError(f"form: {self.form!r} is none of {', '.join(FORMS)}")
        for name in ("queue", "bn_splits"):
            at_least(1, name, getattr(self, name))
        at_least(0, "dimension", self.dimension)
        within(0, 1, "momentum", self.momentum)
        for temperature in self.temperatures or []:
            within(0, math.inf, "temperatures", temperature, ends="()")


def main(config: QuesCoConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    check_queue(config.queue, len(bank), "training questions")
    ranks = KeyRanks.of(bank, hierarchy=config.hierarchy, leaves=config.leaves)
    try:
        temperatures = temperatures_for(ranks.depth, config.temperatures).to(accelerator.device)
    except ValueError as error:
        raise ConfigError(f"temperatures: {error}") from None
    model, processor = session.build(config, bank)

    if accelerator.num_processes == 1 and model.config.reads_images:
        split_batchnorm(model.visual, config.bn_splits)
    encoder = ContrastiveEncoder(model, ("fused",), config.dimension)
    key_encoder = MomentumEncoder(encoder, config.momentum)
    queue = KeyQueue(config.queue, encoder.dimension)

    lengths = session.sort_lengths(bank, processor, model.cells_per_image)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        state={"key_encoder": key_encoder, "queue": queue},
        plan=ShuffledBatches(lengths, config.run.batch_size, config.run.seed),
        views=session.question_views(config, bank, model, config.augment, views=2),
        parts=model.parts,
        evaluate=ValidationPrecision.of(model, config.data, config.run),
    )
    hashes = session.content_hashes(bank, model.config.reads_images)
    keys_of = ShuffledKeys(accelerator, key_encoder, hashes, config.run.seed)
    if not loop.resumed:
        fill_queues(loop, keys_of, {"fused": queue}, config.run.batch_size)

    for step, batch in enumerate(loop, start=loop.step_number * config.run.accumulate):
        encoder.train()
        query = loop.trained(**batch.inputs)["fused"]
        keys = keys_of(batch, step)["fused"]
        similarity, rank_of = compare(query, keys, queue, ranks)
        loss, terms = rince(similarity, rank_of, temperatures, config.form)
        loop.step(loss, rank_metrics(similarity, rank_of, terms))
        queue.enqueue(*keys.everyone)
        if loop.stepped:
            key_encoder.update(encoder)
        loop.after_step()
    return loop.finish(write_card)


def compare(query: Tensor, keys: Keys, queue: KeyQueue, ranks: KeyRanks) -> tuple[Tensor, Tensor]:
    """h(q, p) and rank of each query's own key, in column 0, and of the keys in the queue, both [b, 1 + k].

    NOTE: besides older keys of a question, those of another one with the same content are left out: they may be an
    augmentation of it, which would be of rank 0, or not.
    """
    others, excluded = queue.negatives(keys.ids, keys.hashes)
    with torch.autocast(query.device.type, enabled=False):
        query = query.float()
        own = torch.einsum("bd,bd->b", query, keys.own.float())
        similarity = torch.cat([own[:, None], torch.einsum("bd,kd->bk", query, others)], 1)
    return similarity, ranks(keys.ids, queue.ids[: len(others)], excluded)


@torch.no_grad()
def rank_metrics(similarity: Tensor, ranks: Tensor, terms: Tensor) -> dict[str, Tensor]:
    """Mean similarity of the questions of each rank, and each rank's part of the loss; they sum up to it."""
    logged = {f"loss/rank {i}": terms[:, i].mean() for i in range(terms.shape[1])}
    for rank in range(terms.shape[1] + 1):
        chosen = ranks == rank
        # Of no question, the mean is 0 rather than not a number, which no log could hold.
        logged[f"similarity/rank {rank}"] = (similarity * chosen).sum() / chosen.sum().clamp(min=1)
    return logged


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(QuesCoConfig, __doc__))
