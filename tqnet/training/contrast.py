"""Keys of a step across processes, and the numbers by which momentum contrast is watched."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor

from tqnet.modeling.momentum import KeyQueue, MomentumEncoder
from tqnet.training.config import ConfigError
from tqnet.training.data import Batch
from tqnet.training.loop import TrainingLoop
from tqnet.training.sampler import unshuffle


@dataclass
class Keys:
    """One stream's keys of a step.

    Attributes:
        own: [b, d], the positives of this process's queries; ids, hashes: [b], of those questions;
            present: bool [b], False where a question does not have the stream.
        weight: Of this process's mean over its questions that have the stream, so that the mean over processes
            is the mean over all such questions of the step.
        everyone: Keys, ids and hashes of the whole step in the order of the global batch, for the queue.
    """

    own: Tensor
    ids: Tensor
    hashes: Tensor
    present: Tensor
    weight: Tensor
    everyone: tuple[Tensor, Tensor, Tensor]


class ShuffledKeys:
    """Shuffle-BN (He et al. 2020, section 3.3) without moving an image.

    Every process encodes keys of questions other than its queries' (the loader saw to that); only the keys
    are gathered and put back in order.

    Args:
        hashes: Stream -> [n], hash of what the stream sees of every training question.
    """

    def __init__(self, accelerator: Accelerator, key_encoder: MomentumEncoder, hashes: dict[str, Tensor], seed: int):
        self.accelerator, self.key_encoder, self.seed = accelerator, key_encoder, seed
        self.hashes = {stream: of.to(accelerator.device) for stream, of in hashes.items()}

    @torch.no_grad()
    def __call__(self, batch: Batch, step: int) -> dict[str, Keys]:
        """Keys of micro-batch number ``step``, per stream."""
        self.key_encoder.train()
        inputs = batch.views[1]
        with self.accelerator.autocast():
            keys = self.key_encoder(**inputs)
        ids = self.accelerator.gather(batch.index)
        order = torch.from_numpy(unshuffle(len(ids), self.seed, step)).to(ids.device)
        has_images = self.accelerator.gather(inputs["image_counts"] > 0)[order]
        start = self.accelerator.process_index * len(batch.index)
        own = slice(start, start + len(batch.index))
        found = {}
        for stream, key in keys.items():
            ordered = self.accelerator.gather(key)[order]
            present = has_images if stream == "visual" else torch.ones_like(has_images)
            hashes = self.hashes[stream][ids]
            everyone = ordered[present], ids[present], hashes[present]
            weight = present[own].sum() * self.accelerator.num_processes / present.sum().clamp(min=1)
            found[stream] = Keys(ordered[own], ids[own], hashes[own], present[own], weight, everyone)
        return found


def check_queue(size: int, questions: int, of: str) -> None:
    """A longer queue would hold keys of the questions that it is compared with, epoch after epoch."""
    if size > questions // 2:
        raise ConfigError(f"queue: {size} keys; {questions} {of} allow at most {questions // 2}")


def fill_queues(loop: TrainingLoop, keys_of: ShuffledKeys, queues: dict[str, KeyQueue], batch_size: int) -> None:
    """Real keys, never random ones, before the first step; of batches that training will not see."""
    needed = max(-(-queue.size // batch_size) for queue in queues.values())
    for number, batch in enumerate(loop.later_batches(needed)):
        keys = keys_of(batch, loop.last_micro + number)
        for stream, queue in queues.items():
            queue.enqueue(*keys[stream].everyone)


def same(hashes: Tensor) -> Tensor:
    """bool [b, b], True where two questions of hashes [b] show the same."""
    return hashes[:, None] == hashes[None, :]


@torch.no_grad()
def contrast_metrics(query: Tensor, logits: Tensor, temperature: float) -> dict[str, Tensor]:
    """Top-1 against the queue, similarities, and the spread of the embeddings.

    ``spread`` is the standard deviation of the unit vectors' coordinates times sqrt(d): 1 when they fill the
    sphere, 0 when they have collapsed to a point.
    """
    similarity = logits * temperature
    filled = similarity[:, 1:][torch.isfinite(similarity[:, 1:])]
    return {
        "top1": (logits.argmax(1) == 0).float().mean(),
        "positive": similarity[:, 0].mean(),
        "negative": filled.mean() if len(filled) else torch.zeros(()),
        "spread": query.float().std(0, correction=0).mean() * query.shape[1] ** 0.5,
    }
