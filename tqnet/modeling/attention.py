"""Scaled dot-product attention, on a processor in fp32 where it will be passed backwards in bf16.

Backwards, PyTorch's kernel for processors is slow in bf16: forwards and backwards together, fp32 is the faster one, the
conversions included (``python -m tests.bench.attention``). Forwards alone bf16 is, and stays.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

#: What a text encoder calls this by: ``encoder.set_attn_implementation(SDPA)``.
SDPA = "tqnet_sdpa"


def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **options: Any) -> Tensor:
    """As :func:`torch.nn.functional.scaled_dot_product_attention`."""
    if not _backwards_in_bf16(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, attn_mask, **options)
    with torch.autocast("cpu", enabled=False):
        attended = F.scaled_dot_product_attention(*_in_fp32(query, key, value, attn_mask), **options)
    return attended.bfloat16()


def _of_encoder(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """As transformers' own, which knows what encoders of other kinds ask for."""
    if not _backwards_in_bf16(query, key, value):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    with torch.autocast("cpu", enabled=False):
        attended, _ = sdpa_attention_forward(module, *_in_fp32(query, key, value, attention_mask), **options)
    return attended.bfloat16(), None


def _backwards_in_bf16(*inputs: Tensor) -> bool:
    """Whether PyTorch would compute in bf16, and backwards too, on a processor."""
    if inputs[0].device.type != "cpu" or not torch.is_grad_enabled():
        return False
    computed_in = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else inputs[0].dtype
    return computed_in == torch.bfloat16 and any(given.requires_grad for given in inputs)


def _in_fp32(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    if mask is not None and mask.dtype != torch.bool:  # it is added to the scores, and of their type
        mask = mask.float()
    return query.float(), key.float(), value.float(), mask


AttentionInterface.register(SDPA, _of_encoder)
AttentionMaskInterface.register(SDPA, sdpa_mask)
