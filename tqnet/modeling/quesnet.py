"""QuesNet: words and figures as one sequence, read by LSTMs in both directions.

A baseline of TQ-Net's Tables 4 and 5, written from the paper: Yin et al., "QuesNet: A Unified Representation for
Heterogeneous Test Questions", KDD 2019. It reads the same tokens and figures as a TQ-Net.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel

from tqnet.modeling.configuration import QuesNetConfig
from tqnet.modeling.encoder import QuestionEncoder, TQNetOutput
from tqnet.modeling.fusion import LastProjection, attend, masked_mean
from tqnet.modeling.lengths import Lengths
from tqnet.modeling.visual import VisualStream


def one_sequence(words: Tensor, word_mask: Tensor, figures: Tensor, figure_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate each question's words [b, t, h] and figures [b, v, h] without gaps: [b, t + v, h], and its mask.

    NOTE: the paper keeps figures at their positions in the text; our records list a question's figures without
    positions.
    """
    items, mask = torch.cat([words, figures.to(words.dtype)], 1), torch.cat([word_mask, figure_mask], 1)
    order = (~mask).long().argsort(dim=1, stable=True)  # real items first
    return _take(items, order), mask.gather(1, order)


class ContentLayer(nn.Module):
    """Two independent stacks of LSTMs, one reading from the left and one from the right.

    The states before and after a position thus never see its item, at any depth; an ordinary bidirectional LSTM mixes
    the directions after every layer.
    """

    def __init__(self, config: QuesNetConfig):
        super().__init__()
        shape = (config.hidden_size, config.hidden_size // 2, config.content_layers)
        dropout = config.dropout if config.content_layers > 1 else 0.0  # applied between layers
        self.from_left = nn.LSTM(*shape, batch_first=True, dropout=dropout)
        self.from_right = nn.LSTM(*shape, batch_first=True, dropout=dropout)

    def forward(self, items: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return states [b, n, h / 2] of both directions after each of items [b, n, h]; zero at padding by mask [b, n].

        Real items must come first. Always in fp32, even under autocast, since a recurrence accumulates rounding errors.
        """
        with torch.autocast(items.device.type, enabled=False):
            items = items.float()
            left, _ = self.from_left(items)
            # Reversed within their lengths, rows stay padded on the right.
            order = turned(mask)
            right, _ = self.from_right(_take(items, order))
            real = mask.unsqueeze(-1)
            return left * real, _take(right, order) * real


def turned(mask: Tensor) -> Tensor:
    """Return indices [b, n] that reverse each row's real items and keep its padding; an involution."""
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def _take(items: Tensor, order: Tensor) -> Tensor:
    return items.gather(1, order.unsqueeze(-1).expand_as(items))


def hole_contexts(left: Tensor, right: Tensor) -> Tensor:
    """Return the context [state before; state after] of each position, without its item; zero at the ends.

    left, right: [b, n, h / 2], from :class:`ContentLayer`. Returns [b, n, h].
    """
    return torch.cat([F.pad(left[:, :-1], (0, 0, 1, 0)), F.pad(right[:, 1:], (0, 0, 0, 1))], -1)


class SentenceLayer(nn.Module):
    """Multi-head self-attention over the content, layer norm, and max or mean pooling.

    NOTE: attention is a residual branch that starts at zero: the holed language model does not train this layer, which
    only normalises and pools until a stage with labels trains it.
    """

    def __init__(self, config: QuesNetConfig):
        super().__init__()
        h = config.hidden_size
        self.heads, self.dropout, self.pooling = config.sentence_heads, config.dropout, config.sentence_pooling
        self.query_key_value = nn.Linear(h, 3 * h)
        self.attention_out = LastProjection(h, h)
        self.norm = nn.LayerNorm(h)

    def forward(self, content: Tensor, mask: Tensor) -> Tensor:
        """Pool content [b, n, h] into [b, h]; mask [b, n] is True at real items."""
        dropout = self.dropout if self.training else 0.0
        attended = attend(self.query_key_value(content), self.heads, mask[:, None, None, :], dropout)
        tokens = self.norm(content + F.dropout(self.attention_out(attended), dropout))
        if self.pooling == "mean":
            return masked_mean(tokens, mask)
        return tokens.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)


class QuesNetModel(QuestionEncoder):
    """Embedding, content and sentence layers, bottom-up.

    A word is a row of ``words``, a figure the mean of its projected feature-map cells.

    NOTE: figures go through TQ-Net's timm backbone and index embedding in place of the paper's small CNN, so that table
    rows differ in how figures are used, not in the backbone. NOTE: the paper also embeds side information (knowledge,
    difficulty); we leave it out, since vectors see only stem, options and figures.
    """

    config_class = QuesNetConfig
    base_model_prefix = "quesnet"

    def __init__(self, config: QuesNetConfig):
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        if config.reads_images:
            self.visual = VisualStream(config, whole=True)
        self.content = ContentLayer(config)
        self.sentence = SentenceLayer(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def set_input_embeddings(self, value: Any) -> None:
        self.words = value

    def forward(self, **batch: Any) -> TQNetOutput:
        """Encode a packed batch (see :meth:`tqnet.modeling.model.TQNetModel.forward`).

        ``text_embedding`` and ``visual_embedding`` are means over the embedding layer, before the modalities meet.
        """
        words, word_mask, figures, figure_mask = self.embed(**batch)
        items, mask = one_sequence(words, word_mask, figures, figure_mask)
        return TQNetOutput(
            embedding=self.sentence(torch.cat(self.content(items, mask), -1), mask),
            text_embedding=masked_mean(words, word_mask),
            visual_embedding=masked_mean(figures, figure_mask),
        )

    def embed(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        pixel_values: Tensor | None = None,
        image_counts: Tensor | None = None,
        image_cells: Tensor | None = None,
        lengths: Lengths | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Apply the embedding layer: words [b, t, h] and their mask [b, t], figures [b, v, h] and theirs [b, v].

        Shape notation: b questions, t text tokens, v most figures of any question, h hidden width.
        """
        mask = attention_mask.bool()
        lengths = lengths or Lengths.read(attention_mask, image_counts)
        return self.words(input_ids), mask, *self.visual_tokens(mask, lengths.figures, pixel_values, image_cells)


AutoModel.register(QuesNetConfig, QuesNetModel)
