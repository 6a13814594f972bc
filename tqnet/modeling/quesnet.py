"""QuesNet: words and figures as one sequence, read by LSTMs in both directions.

The baseline of TQ-Net's Tables 4 and 5, written from the paper: Yin et al., "QuesNet: A Unified Representation for
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
from tqnet.modeling.visual import VisualStream


def one_sequence(words: Tensor, word_mask: Tensor, figures: Tensor, figure_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Words [b, t, h], then figures [b, v, h], of each question without a gap: [b, t + v, h], and its mask.

    NOTE: the paper has figures in the places where they stand in the text; a question's record says which figures
    it has, and not where.
    """
    items, mask = torch.cat([words, figures.to(words.dtype)], 1), torch.cat([word_mask, figure_mask], 1)
    order = (~mask).long().argsort(dim=1, stable=True)  # real ones first
    return _take(items, order), mask.gather(1, order)


class ContentLayer(nn.Module):
    """Two stacks of LSTMs, one reading from the left and one from the right, that never look at one another.

    So the states before a place and those behind it know nothing of what stands there, however many layers there
    are; a usual bidirectional LSTM joins the directions after every layer.
    """

    def __init__(self, config: QuesNetConfig):
        super().__init__()
        shape = (config.hidden_size, config.hidden_size // 2, config.content_layers)
        dropout = config.dropout if config.content_layers > 1 else 0.0  # it is between layers
        self.from_left = nn.LSTM(*shape, batch_first=True, dropout=dropout)
        self.from_right = nn.LSTM(*shape, batch_first=True, dropout=dropout)

    def forward(self, items: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States [b, n, h / 2] of both directions after each of items [b, n, h]; zero where mask [b, n] is False.

        The real items stand at the left. NOTE: in fp32 whatever the autocast, since a recurrence adds up what
        rounding leaves.
        """
        with torch.autocast(items.device.type, enabled=False):
            items = items.float()
            left, _ = self.from_left(items)
            # Turned within their length, rows are padded at the right in this direction too.
            order = turned(mask)
            right, _ = self.from_right(_take(items, order))
            real = mask.unsqueeze(-1)
            return left * real, _take(right, order) * real


def turned(mask: Tensor) -> Tensor:
    """Places [b, n] of each row's real items from the last to the first; padding stays. It undoes itself."""
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def _take(items: Tensor, order: Tensor) -> Tensor:
    return items.gather(1, order.unsqueeze(-1).expand_as(items))


def hole_contexts(left: Tensor, right: Tensor) -> Tensor:
    """What is known of each place without looking at it: [state before it; state behind it], zero at the ends.

    left, right: [b, n, h / 2], as :class:`ContentLayer` gives them. Returns [b, n, h].
    """
    return torch.cat([F.pad(left[:, :-1], (0, 0, 1, 0)), F.pad(right[:, 1:], (0, 0, 0, 1))], -1)


class SentenceLayer(nn.Module):
    """Multi-head self-attention over the content, layer norm, and the maximum or mean over all places.

    NOTE: attention is added to what it reads, and starts at zero: the holed language model does not reach this
    layer, which then passes the content on as it is until a stage with labels trains it.
    """

    def __init__(self, config: QuesNetConfig):
        super().__init__()
        h = config.hidden_size
        self.heads, self.dropout, self.pooling = config.sentence_heads, config.dropout, config.sentence_pooling
        self.query_key_value = nn.Linear(h, 3 * h)
        self.attention_out = LastProjection(h, h)
        self.norm = nn.LayerNorm(h)

    def forward(self, content: Tensor, mask: Tensor) -> Tensor:
        """content [b, n, h], mask [b, n] True at real places. Returns [b, h]."""
        dropout = self.dropout if self.training else 0.0
        attended = attend(self.query_key_value(content), self.heads, mask[:, None, None, :], dropout)
        tokens = self.norm(content + F.dropout(self.attention_out(attended), dropout))
        if self.pooling == "mean":
            return masked_mean(tokens, mask)
        return tokens.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)


class QuesNetModel(QuestionEncoder):
    """Embedding layer, content layer, sentence layer (the paper's section on the model, from below to above).

    A word is a row of ``words``, a figure the mean of its projected feature-map cells.

    NOTE: figures pass the timm backbone that a TQ-Net has, in place of the paper's own small convolutional network:
    rows of a table then differ in what is done with a figure, not in who looks at it. Their index embedding comes
    with it. NOTE: the paper also embeds side information (knowledge, difficulty); here it is left out, for vectors
    see stem, options and figures only.
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
        """Encode a packed batch, as :meth:`tqnet.modeling.model.TQNetModel.forward` takes it.

        ``text_embedding`` and ``visual_embedding`` are means of the embedding layer, where the modalities have not met.
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
        **_: Any,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The embedding layer: words [b, t, h] and their mask [b, t], figures [b, v, h] and theirs [b, v].

        Shape notation: b questions, t text tokens, v figures of the question that has most, h hidden width.
        """
        mask = attention_mask.bool()
        return self.words(input_ids), mask, *self.visual_tokens(mask, pixel_values, image_counts, image_cells)


AutoModel.register(QuesNetConfig, QuesNetModel)
