"""Coordinated fusion: pre-norm multi-head attention over text and visual tokens (TQ-Net, Figure 4b)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from tqnet.modeling.configuration import TQNetConfig

#: Scaled dot-product attention, on a processor in fp32 where it will be passed backwards in bf16. What a text encoder
#: calls it by: ``encoder.set_attn_implementation(SDPA)``.
#:
#: Backwards, PyTorch's kernel for processors is slow in bf16: forwards and backwards together, fp32 is the faster one,
#: the conversions included (``python -m reproduce.benchmarks.attention``). Forwards alone bf16 is, and stays.
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
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else inputs[0].dtype
    return dtype == torch.bfloat16 and any(tensor.requires_grad for tensor in inputs)


def _in_fp32(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    if mask is not None and mask.dtype != torch.bool:  # it is added to the scores, and of their type
        mask = mask.float()
    return query.float(), key.float(), value.float(), mask


AttentionInterface.register(SDPA, _of_encoder)
AttentionMaskInterface.register(SDPA, sdpa_mask)


class LastProjection(nn.Linear):
    """The last projection of a residual branch; it starts at zero (see ``QuestionEncoder._init_weights``)."""


def attend(query_key_value: Tensor, heads: int, mask: Tensor | None, dropout: float) -> Tensor:
    """Multi-head self-attention of query_key_value [b, t, 3 h]; mask as for :class:`FusionBlock`. [b, t, h]."""
    b, t, _ = query_key_value.shape
    query, key, value = query_key_value.view(b, t, 3, heads, -1).permute(2, 0, 3, 1, 4)
    attended = attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return attended.transpose(1, 2).reshape(b, t, -1)


class FusionBlock(nn.Module):
    """A pre-norm transformer block: x + attention(norm(x)), then x + mlp(norm(x)).

    The last projection of each branch starts at zero, so that the block starts as the identity.
    """

    def __init__(self, config: TQNetConfig):
        super().__init__()
        h, inner = config.hidden_size, int(config.hidden_size * config.fusion_mlp_ratio)
        self.heads, self.dropout = config.fusion_heads, config.fusion_dropout
        self.attention_norm = nn.LayerNorm(h)
        self.query_key_value = nn.Linear(h, 3 * h)
        self.attention_out = LastProjection(h, h)
        self.mlp_norm = nn.LayerNorm(h)
        self.mlp_in = nn.Linear(h, inner)
        self.mlp_out = LastProjection(inner, h)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [b, t, h]; mask [b, 1, 1, t], True at real tokens, or None when all are. Returns [b, t, h]."""
        dropout = self.dropout if self.training else 0.0
        attended = attend(self.query_key_value(self.attention_norm(x)), self.heads, mask, dropout)
        x = x + F.dropout(self.attention_out(attended), dropout)
        return x + F.dropout(self.mlp_out(F.gelu(self.mlp_in(self.mlp_norm(x)))), dropout)


class CoordinatedFusion(nn.Module):
    """A stack of :class:`FusionBlock` over [text tokens; visual tokens].

    The residual stream is the paper's shortcut: the output is x + blocks(x), the original (coordinated)
    information with the joint one added.
    """

    def __init__(self, config: TQNetConfig):
        super().__init__()
        self.blocks = nn.ModuleList(FusionBlock(config) for _ in range(config.fusion_layers))

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """tokens [b, t, h], mask [b, t] True at real tokens, or None when all are. Returns [b, t, h]."""
        attended = None if mask is None else mask[:, None, None, :]
        for block in self.blocks:
            tokens = block(tokens, attended)
        return tokens


def masked_mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """Mean of tokens [b, t, h] over the True places of mask [b, t]; zero for a row without any. [b, h]."""
    weight = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weight).sum(1) / weight.sum(1).clamp(min=1)
