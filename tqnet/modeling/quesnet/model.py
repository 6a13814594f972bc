"""QuesNet: words and figures as one sequence, read by LSTMs in both directions (Yin et al. 2019).

The baseline of TQ-Net's Tables 4 and 5, written from the paper, Yin et al., "QuesNet: A Unified Representation for
Heterogeneous Test Questions", KDD 2019. It reads the same tokens and figures as a TQ-Net.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel

from tqnet.modeling.encoder import QuestionEncoder, TQNetOutput
from tqnet.modeling.pooling import masked_mean
from tqnet.modeling.quesnet.configuration import QuesNetConfig
from tqnet.modeling.quesnet.layers import ContentLayer, SentenceLayer, one_sequence
from tqnet.modeling.visual import VisualStream


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

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        pixel_values: Tensor | None = None,
        image_counts: Tensor | None = None,
        image_cells: Tensor | None = None,
        **_: Any,
    ) -> TQNetOutput:
        """Encode a packed batch, as :class:`~tqnet.modeling.processor.TQNetProcessor` makes it.

        The arguments are those of :class:`~tqnet.modeling.model.TQNetModel`. ``text_embedding`` and
        ``visual_embedding`` are means of the embedding layer, where the modalities have not met yet.
        """
        embedded = self.embed(input_ids, attention_mask, pixel_values, image_counts, image_cells)
        items, mask = one_sequence(*embedded)
        content = torch.cat(self.content(items, mask), -1)
        words, word_mask, figures, figure_mask = embedded
        return TQNetOutput(
            embedding=self.sentence(content, mask),
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
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The embedding layer: words [b, t, h] and their mask [b, t], figures [b, v, h] and theirs [b, v].

        Shape notation: b questions, t text tokens, v figures of the question that has most, h hidden width.
        """
        mask = attention_mask.bool()
        figures = self.visual_tokens(mask, pixel_values, image_counts, image_cells)
        return self.words(input_ids), mask, *figures


AutoModel.register(QuesNetConfig, QuesNetModel)
