"""Contrast across processes: keys and queues of momentum contrast, and gradient caching."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tqnet.config import ConfigError
from tqnet.libraries import to_device
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import KeyQueue, MomentumEncoder
from tqnet.modeling.visual import statistics_kept
from tqnet.questions import QuestionBank
from tqnet.questions.hierarchy import KnowledgeDistance, class_name
from tqnet.questions.question import KnowledgePath
from tqnet.training.data import Batch, Inputs, split_questions
from tqnet.training.labels import training_knowledge
from tqnet.training.loop import TrainingLoop
from tqnet.training.sampler import unshuffle

log = logging.getLogger(__name__)


@dataclass
class Keys:
    """The keys of one stream in one step.

    Attributes:
        positives: [b, d], keys of this process's queries.
        index: [b], question numbers of the queries, on the host.
        ids, hashes: [b], their numbers and content hashes, on the device.
        present: [p], rows of the queries that have the stream, None for all; on the host, so that their number is
            known without waiting for the device.
        weight: Scales this process's mean over present questions, so that the mean over processes is the mean over
            all present questions of the step.
        gathered: Keys, ids, hashes and presence of the whole step in global batch order, for the queue.
    """

    positives: Tensor
    index: np.ndarray
    ids: Tensor
    hashes: Tensor
    present: np.ndarray | None
    weight: Tensor
    gathered: tuple[Tensor, Tensor, Tensor, Tensor]


class ShuffledKeys:
    """Shuffle-BN (He et al. 2020, section 3.3) without moving an image.

    Every process encodes keys of other questions than its queries (the loader permutes them); only the keys are
    gathered and put back in order.

    Args:
        hashes: Stream -> [n], hash of each training question's content in that stream.
    """

    def __init__(self, accelerator: Accelerator, key_encoder: MomentumEncoder, hashes: dict[str, Tensor], seed: int):
        self.accelerator, self.key_encoder, self.seed = accelerator, key_encoder, seed
        self.hashes = {stream: values.to(accelerator.device) for stream, values in hashes.items()}

    @torch.no_grad()
    def __call__(self, batch: Batch, micro: int) -> dict[str, Keys]:
        """Encode the keys of micro-batch ``micro``, per stream."""
        self.key_encoder.train()
        inputs = batch.views[1]
        with self.accelerator.autocast():
            keys = self.key_encoder(**inputs)
        ids = to_device(batch.everywhere, self.accelerator.device)
        order = to_device(unshuffle(len(ids), self.seed, micro), ids.device)
        has_images = self.accelerator.gather(inputs["image_counts"] > 0)[order]
        start = self.accelerator.process_index * len(batch.index)
        local = slice(start, start + len(batch.index))
        by_stream = {}
        for stream, key in keys.items():
            key = self.accelerator.gather(key)[order]
            kind = stream.partition("/")[0]
            visual = kind == "visual"
            present = has_images if visual else torch.ones_like(has_images)
            rows = np.flatnonzero(batch.inputs["lengths"].figures) if visual else None
            hashes = self.hashes[kind][ids]
            weight = present[local].sum() * self.accelerator.num_processes / present.sum().clamp(min=1)
            gathered = key, ids, hashes, present
            by_stream[stream] = Keys(
                key[local], batch.everywhere[local], ids[local], hashes[local], rows, weight, gathered
            )
        return by_stream


def train_widths(model: QuestionEncoder, widths: Sequence[int]) -> list[int]:
    """Return the widths in order, each once, and note them in the model's configuration.

    Raises:
        ConfigError: A width is not less than the vector's.
    """
    hidden = model.config.hidden_size
    if widths and max(widths) >= hidden:
        raise ConfigError(f"matryoshka: {max(widths)} is not less than the vector's {hidden}")
    model.config.matryoshka = sorted(set(widths))
    return model.config.matryoshka


def queue_size(size: int, questions: int, kind: str = "training questions") -> int:
    """Return ``size``, at most half of the questions: a longer queue often holds keys of those it is compared with."""
    if size <= (limit := max(1, questions // 2)):
        return size
    log.warning("queue: shortened from %d keys to %d, half of the %s", size, limit, kind)
    return limit


def fill_queues(loop: TrainingLoop, keys_of: ShuffledKeys, queues: dict[str, KeyQueue]) -> None:
    """Fill the queues with keys of batches beyond the training plan, so that no negative is random noise."""
    needed = max(-(-queue.size // loop.run.batch_size) for queue in queues.values())
    for micro, batch in enumerate(loop.later_batches(needed), start=loop.last_micro):
        keys = keys_of(batch, micro)
        for stream, queue in queues.items():
            queue.enqueue(*keys[stream].gathered)


def same(hashes: Tensor) -> Tensor:
    """Return bool [b, b], True where two of hashes [b] are equal."""
    return hashes[:, None] == hashes[None, :]


@torch.no_grad()
def contrast_metrics(query: Tensor, logits: Tensor, temperature: float) -> dict[str, Tensor]:
    """Compute top-1 against the queue, mean similarities, and the spread of the embeddings.

    ``spread`` is the standard deviation of the unit vectors' coordinates times sqrt(d): 1 if they fill the sphere, 0
    if they have collapsed to a point.
    """
    similarity = logits * temperature
    is_negative = torch.isfinite(similarity[:, 1:])
    negatives = torch.where(is_negative, similarity[:, 1:], 0.0)
    return {
        "top1": (logits.argmax(1) == 0).float().mean(),
        "positive": similarity[:, 0].mean(),
        "negative": negatives.sum() / is_negative.sum().clamp(min=1),
        "spread": query.float().std(0, correction=0).mean() * query.shape[1] ** 0.5,
    }


class KeyRanks:
    """Ranks of a queue's keys by KH-distance between training questions (QuesCo, Eq. 3).

    The queue stores question numbers, not labels: keys and anchors look up the same ones.

    Args:
        hierarchy: False ignores all labels.
        leaves: Compare whole paths only: questions share a concept of the finest level, or none.

    Attributes:
        depth: Number of levels L of the hierarchy.

    Raises:
        BankError: The hierarchy has faults.
    """

    def __init__(self, bank: QuestionBank, hierarchy: bool = True, leaves: bool = False):
        known: list[tuple[KnowledgePath, ...]] = training_knowledge(bank) if hierarchy else [()] * len(bank)
        if leaves:
            known = [tuple((class_name(path),) for path in paths) for paths in known]
        self.distance = KnowledgeDistance(known)
        self.depth = self.distance.depth
        self._set_of = torch.from_numpy(self.distance.set_of)

    def __call__(self, index: np.ndarray, keys: Tensor, excluded: Tensor) -> Tensor:
        """Return [b, 1 + k]: 0 for a question's own key, then ranks of the queue's ``keys`` [k], -1 if ``excluded``."""
        rows = to_device(self.distance.rows(index), keys.device)
        self._set_of = self._set_of.to(keys.device)
        ranks = rows.index_select(1, self._set_of[keys])
        return torch.cat([ranks.new_zeros(len(index), 1), ranks.masked_fill(excluded, -1)], 1)


def embed_in_chunks(model: QuestionEncoder, inputs: Inputs, size: int) -> Tensor:
    """Return the model's embeddings [b, h]; in training, hold the activations of at most ``size`` questions.

    Gradient caching (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup",
    https://arxiv.org/abs/2101.06983): a contrastive loss couples the questions of a batch only through their features.
    So encode the batch chunk by chunk without activations, take the loss's gradient for every feature, then encode each
    chunk again with activations to backpropagate its features' gradients.

    A chunk's second pass reuses the dropout (CPU and device generators) and autocast of the first, and leaves the
    generators as one pass would. Running statistics move in the first pass only, once per chunk.

    Call it inside the module that DDP wraps: DDP must see a single forward pass.

    NOTE: the paper loops over the chunks by hand. Here every chunk is a ``torch.utils.checkpoint``, and autograd loops
    from the last chunk to the first: the same passes with the same memory. So the loss is computed once over all
    features of all processes, and DDP averages each gradient once.

    NOTE: up to rounding, gradients equal those of the whole batch with ``visual_norm=frozen|group`` or a frozen visual
    stream. Batch norm uses the statistics of each chunk's figures, just as it does per process.

    Args:
        inputs: A packed batch (see :meth:`TQNetModel.forward`).
        size: Questions per chunk; 0 encodes the batch at once, with all activations.
    """

    def embed(part: Inputs) -> Tensor:
        return model(**part).embedding

    def first_and_second_pass() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), statistics_kept(model)

    if not size:
        return embed(inputs)
    # Positional: checkpoint only looks there for the device whose generator it saves.
    chunks = [
        checkpoint(embed, part, use_reentrant=False, context_fn=first_and_second_pass)
        for part in split_questions(inputs, size)
    ]
    return torch.cat(chunks)
