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

#: Name of our scaled dot-product attention: ``encoder.set_attn_implementation(SDPA)``.
#:
#: On a CPU it runs in fp32 when a bf16 backward pass will follow: PyTorch's bf16 backward kernel is so slow that fp32
#: wins, casts included (``python -m reproduce.benchmarks.attention``). Without a backward pass bf16 wins and is kept.
SDPA = "tqnet_sdpa"


def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, **options: Any) -> Tensor:
    """Compute :func:`torch.nn.functional.scaled_dot_product_attention`, in fp32 where that is faster (:data:`SDPA`)."""
    if not _backwards_in_bf16(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, attn_mask, **options)
    with torch.autocast("cpu", enabled=False):
        attended = F.scaled_dot_product_attention(*_in_fp32(query, key, value, attn_mask), **options)
    return attended.bfloat16()


def _encoder_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Wrap transformers' own SDPA, which handles the options of all encoders."""
    if not _backwards_in_bf16(query, key, value):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    with torch.autocast("cpu", enabled=False):
        attended, _ = sdpa_attention_forward(module, *_in_fp32(query, key, value, attention_mask), **options)
    return attended.bfloat16(), None


def _backwards_in_bf16(*inputs: Tensor) -> bool:
    """Return whether PyTorch would run a bf16 backward pass on a CPU."""
    if inputs[0].device.type != "cpu" or not torch.is_grad_enabled():
        return False
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else inputs[0].dtype
    return dtype == torch.bfloat16 and any(tensor.requires_grad for tensor in inputs)


def _in_fp32(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    if mask is not None and mask.dtype != torch.bool:  # additive: needs the scores' dtype
        mask = mask.float()
    return query.float(), key.float(), value.float(), mask


def _encoder_mask(*arguments: Any, **options: Any) -> Tensor | None:
    """Wrap transformers' own mask, which waits for the device to check whether a given mask is needed."""
    if options.get("attention_mask") is not None:  # we pass one only where texts are padded
        options |= {"allow_is_bidirectional_skip": False, "allow_is_causal_skip": False}
    return sdpa_mask(*arguments, **options)


AttentionInterface.register(SDPA, _encoder_attention)
AttentionMaskInterface.register(SDPA, _encoder_mask)


class LastProjection(nn.Linear):
    """The last projection of a residual branch, initialised to zero by ``QuestionEncoder._init_weights``."""


def attend(query_key_value: Tensor, heads: int, mask: Tensor | None, dropout: float) -> Tensor:
    """Apply multi-head self-attention to query_key_value [b, t, 3 h]; mask as in :class:`FusionBlock`. [b, t, h]."""
    b, t, _ = query_key_value.shape
    query, key, value = query_key_value.view(b, t, 3, heads, -1).permute(2, 0, 3, 1, 4)
    attended = attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return attended.transpose(1, 2).reshape(b, t, -1)


class FusionBlock(nn.Module):
    """A pre-norm transformer block: x + attention(norm(x)), then x + mlp(norm(x)).

    The last projection of each branch starts at zero, so the block starts as the identity.
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
        """Map x [b, t, h] to [b, t, h]; mask [b, 1, 1, t] is True at real tokens, or None if all are real."""
        dropout = self.dropout if self.training else 0.0
        attended = attend(self.query_key_value(self.attention_norm(x)), self.heads, mask, dropout)
        x = x + F.dropout(self.attention_out(attended), dropout)
        return x + F.dropout(self.mlp_out(F.gelu(self.mlp_in(self.mlp_norm(x)))), dropout)


class CoordinatedFusion(nn.Module):
    """A stack of :class:`FusionBlock` over [text tokens; visual tokens].

    The residual stream is the paper's shortcut: the output is x + blocks(x), coordinated plus joint information.
    """

    def __init__(self, config: TQNetConfig):
        super().__init__()
        self.blocks = nn.ModuleList(FusionBlock(config) for _ in range(config.fusion_layers))

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Map tokens [b, t, h] to [b, t, h]; mask [b, t] is True at real tokens, or None if all are real."""
        attended = None if mask is None else mask[:, None, None, :]
        for block in self.blocks:
            tokens = block(tokens, attended)
        return tokens


def masked_mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """Average tokens [b, t, h] over the True positions of mask [b, t], in fp32; zero for a row without any. [b, h]."""
    weight = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weight).sum(1, dtype=torch.float32) / weight.sum(1, dtype=torch.float32).clamp(min=1)
