"""Scaled dot-product attention; on a processor it is computed in fp32 wherever it will be passed backwards.

Backwards, PyTorch's kernel for processors is several times slower in bf16 than in fp32, conversions included
(``python -m tests.bench.attention``). Forwards alone bf16 is the faster one, and stays.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

#: What a text encoder calls this by: ``encoder.set_attn_implementation(SDPA)``.
SDPA = "tqnet_sdpa"


def attention(query: Tensor, key: Tensor, value: Tensor, **kwargs: Any) -> Tensor:
    """:func:`torch.nn.functional.scaled_dot_product_attention`, in the type of ``query`` [b, heads, t, d]."""
    if query.device.type != "cpu" or not torch.is_grad_enabled():
        return F.scaled_dot_product_attention(query, key, value, **kwargs)
    with torch.autocast("cpu", enabled=False):
        attended = F.scaled_dot_product_attention(query.float(), key.float(), value.float(), **kwargs)
    return attended.to(query.dtype)


def _of_encoder(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """As the layers of transformers call it."""
    attended = attention(query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scaling)
    return attended.transpose(1, 2).contiguous(), None


AttentionInterface.register(SDPA, _of_encoder)
AttentionMaskInterface.register(SDPA, sdpa_mask)
