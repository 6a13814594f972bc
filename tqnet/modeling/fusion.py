"""Coordinated fusion: pre-norm multi-head attention over text and visual tokens (TQ-Net, Figure 4b)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.attention import attention
from tqnet.modeling.configuration import TQNetConfig


class LastProjection(nn.Linear):
    """The last projection of a residual branch; it starts at zero (see ``QuestionEncoder._init_weights``)."""


def attend(query_key_value: Tensor, heads: int, mask: Tensor | None, dropout: float) -> Tensor:
    """Multi-head self-attention of query_key_value [b, t, 3 h]; mask as for :class:`FusionBlock`. [b, t, h]."""
    b, t, _ = query_key_value.shape
    query, key, value = query_key_value.view(b, t, 3, heads, -1).permute(2, 0, 3, 1, 4)
    attended = attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return attended.transpose(1, 2).reshape(b, t, -1)


class FusionBlock(nn.Module):
    """One pre-norm transformer block: x + attention(norm(x)), then x + mlp(norm(x)).

    The last projection of each branch starts at zero, so that the block starts as the identity.
    """

    def __init__(self, config: TQNetConfig):
        super().__init__()
        h, inner = config.hidden_size, int(config.hidden_size * config.fusion_mlp_ratio)
        self.heads = config.fusion_heads
        self.dropout = config.fusion_dropout
        self.attention_norm = nn.LayerNorm(h)
        self.query_key_value = nn.Linear(h, 3 * h)
        self.attention_out = LastProjection(h, h)
        self.mlp_norm = nn.LayerNorm(h)
        self.mlp_in = nn.Linear(h, inner)
        self.mlp_out = LastProjection(inner, h)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [b, t, h]; mask [b, 1, 1, t], True at real tokens, or None when all are. Returns [b, t, h]."""
        x = x + self._drop(self.attention_out(self._attend(self.attention_norm(x), mask)))
        return x + self._drop(self.mlp_out(F.gelu(self.mlp_in(self.mlp_norm(x)))))

    def _attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return attend(self.query_key_value(x), self.heads, mask, self.dropout if self.training else 0.0)

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)


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
