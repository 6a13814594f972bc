"""What several processes share."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import Tensor


def gather_with_own_gradient(accelerator: Accelerator, features: Tensor) -> Tensor:
    """Features [b, d] of every process as [world * b, d]; the gradient flows into this process's own rows.

    Every process then computes the same loss over all rows. Summed over processes, the gradients of own
    rows are the gradient of that loss; DDP takes their mean instead, so they are scaled here by the number
    of processes. No communication is needed in the backward pass.
    """
    world = accelerator.num_processes
    if world == 1:
        return features
    rows = list(accelerator.gather(features.detach()).split(len(features)))
    own = rows[accelerator.process_index] = features.view_as(features)
    if own.requires_grad:
        own.register_hook(lambda gradient: gradient * world)
    return torch.cat(rows)


def weight_of_mean(accelerator: Accelerator, count: Tensor | int) -> Tensor:
    """Of a mean over ``count`` items of this process, so that DDP's mean over processes is that over all items.

    Returns:
        A scalar, 1 in a single process; 0 where no process has an item.
    """
    own = torch.as_tensor(count, device=accelerator.device, dtype=torch.float32)
    everyone = accelerator.reduce(own, "sum") if accelerator.num_processes > 1 else own
    return own * accelerator.num_processes / everyone.clamp(min=1)


def any_process(accelerator: Accelerator, flag: bool) -> bool:
    """Whether ``flag`` is set on any process."""
    if accelerator.num_processes == 1:
        return flag
    return bool(accelerator.reduce(torch.tensor(float(flag), device=accelerator.device), "sum") > 0)
