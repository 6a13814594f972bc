"""Stage 2: momentum contrast of augmented questions (TQ-Net, Eq. 1 and 2; Figure 2, step 2).

    accelerate launch pretrain/moco.py --config configs/demo/moco.yaml model.start=runs/mlm/model run.out=runs/moco

Augments text and figures of a question together, pulls two such views together, and pushes them away from other
questions in the queue. Uses no labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from tqnet.augment.view import AugmentConfig
from tqnet.config import ConfigError, Count, Positive, Share, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.losses.contrastive import infonce
from tqnet.modeling.heads import ContrastiveEncoder, KeyQueue, MomentumEncoder, nested
from tqnet.modeling.visual import split_batchnorm
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import content_hashes
from tqnet.training.contrast import Keys, ShuffledKeys, contrast_metrics, fill_queues, queue_size, train_widths
from tqnet.training.loop import TrainingLoop

#: Mode -> streams to contrast: the fused question, or each stream separately (fused in a later stage).
STREAMS = {"uni": ("fused",), "seq": ("text", "visual")}


@settings
class MoCoConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=2e-5)
    run: RunConfig = section(RunConfig, out="runs/moco")
    augment: AugmentConfig = section(AugmentConfig)
    mode: Literal["uni", "seq"] = "uni"
    """Contrast the fused vectors (uni), or text and figures separately (seq)."""
    queue: Count = 4096
    """Keys to keep as negatives; no more than half of the training questions, with seq of those with a figure."""
    momentum: Share = 0.999
    """Momentum m of the key encoder."""
    temperature: Positive = 0.2
    """Temperature tau of InfoNCE."""
    dimension: Count = 128
    """Width of the projection."""
    matryoshka: list[Count] = field(default_factory=list)
    """Widths of the vector's beginnings to train too, so that `tqnet encode --dimensions` can cut it (Kusupati et al.
    2022); each has a projection and a queue of its own."""
    bn_splits: Count = 4
    """Parts of a batch with separate batch-norm statistics, in a single-process run."""

    def __post_init__(self) -> None:
        if self.mode == "seq" and self.augment.modality_dropout:
            raise ConfigError("augment.modality_dropout: mode=seq contrasts text and figures separately and needs both")


def main(config: MoCoConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    config.queue = queue_size(config.queue, len(bank))
    model = session.build(config, bank)

    streams: Sequence[str] = STREAMS[config.mode] if model.config.reads_images else ("text",)
    if "visual" in streams:
        if model.config.fusion == "joint":  # its text embedding has seen the figures
            raise ConfigError(f"mode: {config.mode} contrasts text and figures, which model.fusion=joint joins")
        with_figures = sum(map(bool, bank.column("images")))
        config.queue = queue_size(config.queue, with_figures, "training questions with a figure")
    if "fused" not in streams:
        model.freeze_vector()  # a later stage trains it
    if accelerator.num_processes == 1 and model.config.reads_images:
        split_batchnorm(model.visual, config.bn_splits)
    widths = train_widths(model, config.matryoshka)
    streams = nested(streams, widths)
    encoder = ContrastiveEncoder(model, streams, config.dimension)
    key_encoder = MomentumEncoder(encoder, config.momentum)
    queues = {stream: KeyQueue(config.queue, config.dimension) for stream in streams}

    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        state={"key_encoder": key_encoder, "queues": nn.ModuleDict(queues)},
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model, config.augment, views=2),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    hashes = content_hashes(bank, model.config.reads_images)
    keys_of = ShuffledKeys(accelerator, key_encoder, hashes, config.run.seed)
    if not loop.resumed:
        fill_queues(loop, keys_of, queues)

    for batch in loop:
        queries = loop.trained(**batch.inputs)
        keys = keys_of(batch, loop.micro)
        terms: list[Tensor] = []
        logged: dict[str, Tensor] = {}
        for stream, query in queries.items():
            term, metrics = stream_loss(query, keys[stream], queues[stream], config.temperature)
            terms.append(term)
            logged |= {f"{stream}/{name}": value for name, value in metrics.items()}
        loop.step(torch.stack(terms).sum() / (1 + len(widths)), logged)
        for stream, queue in queues.items():
            queue.enqueue(*keys[stream].gathered)
        if loop.stepped:
            key_encoder.update(encoder)
    return loop.finish(write_card)


def stream_loss(query: Tensor, keys: Keys, queue: KeyQueue, temperature: float) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute InfoNCE over the questions that have the stream: without a figure, there is no visual one."""
    positives, ids, hashes = keys.positives, keys.ids, keys.hashes
    if keys.present is not None:
        if not len(keys.present):
            return 0.0 * query.sum(), {}
        rows = to_device(keys.present, query.device)
        query, positives, ids, hashes = query[rows], positives[rows], ids[rows], hashes[rows]
    negatives, excluded = queue.negatives(ids, hashes)
    loss, logits = infonce(query, positives, negatives, temperature, excluded)
    return keys.weight * loss, contrast_metrics(query, logits, temperature)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(MoCoConfig, __doc__))
