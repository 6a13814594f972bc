"""Stage 2: momentum contrast of augmented questions (TQ-Net, Eq. 1 and 2; Figure 2, step 2).

    accelerate launch pretrain/moco.py --config configs/demo/moco.yaml model.start=runs/mlm/model run.out=runs/moco

Two views of a question, text and figures augmented together, shall be closer to one another than to the
other questions in the queue. No label is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from tqnet.augment.view import AugmentConfig
from tqnet.hub.folder import write_card
from tqnet.losses.contrastive import infonce
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.modeling.momentum import KeyQueue, MomentumEncoder
from tqnet.modeling.visual import split_batchnorm
from tqnet.training import session
from tqnet.training.config import ConfigError, OptimConfig, RecipeConfig, at_least, parse_config, within
from tqnet.training.contrast import Keys, ShuffledKeys, check_queue, contrast_metrics, fill_queues
from tqnet.training.loop import TrainingLoop
from tqnet.training.sampler import ShuffledBatches
from tqnet.training.validation import ValidationPrecision

#: What is contrasted in each mode: the fused question, or each stream for itself (to be joined afterwards).
STREAMS = {"uni": ("fused",), "seq": ("text", "visual")}


@dataclass
class MoCoConfig(RecipeConfig):
    """Settings of the stage.

    Attributes:
        mode: ``uni`` or ``seq``, see STREAMS.
        queue: Keys that are kept as negatives; at most half the training questions, with ``seq`` half of those
            that have a figure.
        momentum, temperature, dimension: m, tau and the width of the projection.
        bn_splits: On one process, parts of a batch with batch-norm statistics of their own.
    """

    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=3e-4, text_lr=2e-5))
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    mode: str = "uni"
    queue: int = 4096
    momentum: float = 0.999
    temperature: float = 0.2
    dimension: int = 128
    bn_splits: int = 4

    def __post_init__(self) -> None:
        if self.mode not in STREAMS:
            raise ConfigError(f"mode: {self.mode!r} is none of {', '.join(STREAMS)}")
        for name in ("queue", "dimension", "bn_splits"):
            at_least(1, name, getattr(self, name))
        if self.mode == "seq" and self.augment.modality_dropout:
            raise ConfigError("augment.modality_dropout: mode=seq contrasts text and figures apart and needs both")
        within(0, 1, "momentum", self.momentum)
        within(0, math.inf, "temperature", self.temperature, ends="()")


def main(config: MoCoConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    check_queue(config.queue, len(bank), "training questions")
    model, processor = session.build(config, bank)

    streams = STREAMS[config.mode] if model.config.reads_images else ("text",)
    if "visual" in streams:
        if model.config.fusion == "joint":  # its text embedding has seen the figures: no stream of its own
            raise ConfigError(f"mode: {config.mode} contrasts text and figures apart, which model.fusion=joint joins")
        check_queue(config.queue, sum(map(bool, bank.column("images"))), "training questions with a figure")
    if "fused" not in streams and model.config.fusion == "coordinated":
        model.fusion.requires_grad_(False)  # it is not passed: its turn comes when the streams are joined
    if accelerator.num_processes == 1 and model.config.reads_images:
        split_batchnorm(model.visual, config.bn_splits)
    encoder = ContrastiveEncoder(model, streams, config.dimension)
    key_encoder = MomentumEncoder(encoder, config.momentum)
    queues = {stream: KeyQueue(config.queue, config.dimension) for stream in streams}

    lengths = session.sort_lengths(bank, processor, model.cells_per_image)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        state={"key_encoder": key_encoder, "queues": nn.ModuleDict(queues)},
        plan=ShuffledBatches(lengths, config.run.batch_size, config.run.seed),
        views=session.question_views(config, bank, model, config.augment, views=2),
        parts=model.parts,
        evaluate=ValidationPrecision.of(model, config.data, config.run),
    )
    hashes = session.content_hashes(bank, model.config.reads_images)
    keys_of = ShuffledKeys(accelerator, key_encoder, hashes, config.run.seed)
    if not loop.resumed:
        fill_queues(loop, keys_of, queues, config.run.batch_size)

    for step, batch in enumerate(loop, start=loop.step_number * config.run.accumulate):
        encoder.train()
        queries = loop.trained(**batch.inputs)
        keys = keys_of(batch, step)
        terms: list[Tensor] = []
        logged: dict[str, Tensor] = {}
        for stream, query in queries.items():
            term, metrics = stream_loss(query, keys[stream], queues[stream], config.temperature)
            terms.append(term)
            logged |= {f"{stream}/{name}": value for name, value in metrics.items()}
        loop.step(torch.stack(terms).sum(), logged)
        for stream, queue in queues.items():
            queue.enqueue(*keys[stream].everyone)
        if loop.stepped:
            key_encoder.update(encoder)
        loop.after_step()
    return loop.finish(write_card)


def stream_loss(query: Tensor, keys: Keys, queue: KeyQueue, temperature: float) -> tuple[Tensor, dict[str, Tensor]]:
    """InfoNCE of the questions that have the stream: those without a figure have no visual one."""
    rows = keys.present
    if not rows.any():
        return 0.0 * query.sum(), {}
    negatives, excluded = queue.negatives(keys.ids[rows], keys.hashes[rows])
    loss, logits = infonce(query[rows], keys.own[rows], negatives, temperature, excluded)
    return keys.weight * loss, contrast_metrics(query[rows], logits, temperature)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(MoCoConfig, __doc__))
