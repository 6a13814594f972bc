"""Gradient caching: a contrastive batch of any size in the memory of a chunk of it (Gao et al. 2021, "Scaling Deep
Contrastive Learning Batch Size under Memory Limited Setup", https://arxiv.org/abs/2101.06983).

A contrastive loss couples the questions of a batch by their features alone. So the batch is encoded chunk by chunk
without its activations, the loss gives the gradient of every feature, and each chunk is encoded once more, now with
activations, to hand its features' gradients on to the weights. It costs a second forward pass.

NOTE: the paper loops over the chunks by hand. Here every chunk is a ``torch.utils.checkpoint``, and autograd, which
goes back from the last chunk to the first, is the loop: the same passes with the same memory. To everyone else it is
one forward and one backward pass, so that the loss is computed once over all features of all processes, DDP averages
each gradient once, when all chunks have added theirs, and accumulation and clipping are what they were.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.normalization import statistics_kept
from tqnet.training.data import split_questions


def embed_in_chunks(model: QuestionEncoder, inputs: dict[str, Tensor], size: int) -> Tensor:
    """The model's embeddings [b, h]; in training, the activations of at most ``size`` questions are held at a time.

    The second pass of a chunk sees the dropout (of the processor's and the device's generator) and the autocast of
    the first, and leaves the generators where one pass leaves them. Running statistics move in the first pass only,
    as they would without a second, once for every chunk.

    Call it within the module that DDP wraps, not around it: DDP is to see a single forward pass.

    Args:
        inputs: A packed batch, as :meth:`TQNetModel.forward` takes it.
        size: Questions per chunk; 0 encodes the batch at once, with all its activations.

    NOTE: gradients are those of the whole batch, but for rounding, with ``visual_norm=frozen|group`` or a visual
    stream that stays as it is. Batch norm takes the mean and variance of each chunk's figures, as it takes those of
    each process's.
    """

    def embed(part: dict[str, Tensor]) -> Tensor:
        return model(**part).embedding

    def first_and_second_pass() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), statistics_kept(model)

    if not size:
        return model(**inputs).embedding
    # By position: checkpoint looks for the device whose generator it keeps in positional arguments only.
    chunks = [
        checkpoint(embed, part, use_reentrant=False, context_fn=first_and_second_pass)
        for part in split_questions(inputs, size)
    ]
    return torch.cat(chunks)
