"""What several processes share."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import Tensor


def gather_with_own_gradient(accelerator: Accelerator, features: Tensor) -> Tensor:
    """Features [b, d] of every process as [world * b, d]; the gradient flows into this process's own rows.

    Every process then computes the same loss over all rows. Summed over processes, the gradients of own
    rows are the gradient of that loss; DDP takes their mean instead, so multiply the loss by
    ``accelerator.num_processes``. No communication is needed in the backward pass.
    """
    if accelerator.num_processes == 1:
        return features
    rows = list(accelerator.gather(features.detach()).split(len(features)))
    rows[accelerator.process_index] = features
    return torch.cat(rows)


def any_process(accelerator: Accelerator, flag: bool) -> bool:
    """Whether ``flag`` is set on any process."""
    if accelerator.num_processes == 1:
        return flag
    return bool(accelerator.reduce(torch.tensor(float(flag), device=accelerator.device), "sum") > 0)
