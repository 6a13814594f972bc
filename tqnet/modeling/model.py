"""TQ-Net: a text stream and a visual stream, fused into one vector per question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel
from transformers.utils import ModelOutput

from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.fusion import CoordinatedFusion, LastProjection
from tqnet.modeling.visual import VisualStream

#: Rows that pass together on a processor.
PART = 16


@dataclass
class TQNetOutput(ModelOutput):
    """What a forward pass gives.

    Attributes:
        embedding: [b, h], the question's vector (not normalised).
        text_embedding: [b, h], mean of the text stream alone, before fusion.
        visual_embedding: [b, h], mean of the visual stream alone; zero where there is no figure.
    """

    embedding: Tensor | None = None
    text_embedding: Tensor | None = None
    visual_embedding: Tensor | None = None


def masked_mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """Mean of tokens [b, t, h] over the True places of mask [b, t]; zero for a row without any. [b, h]."""
    weight = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weight).sum(1) / weight.sum(1).clamp(min=1)


class TQNetModel(PreTrainedModel):
    """Questions, text and figures, to vectors (TQ-Net, Figures 2 and 4).

    ``fusion="coordinated"``: x = [text tokens; projected visual tokens], output = mean over real tokens of
    (x + blocks(x)). ``joint``: projected visual tokens enter the text encoder's own input sequence.
    ``none``: the text alone. An untrained coordinated model on a question without figures gives exactly the
    mean of its start encoder's tokens.
    """

    config_class = TQNetConfig
    base_model_prefix = "tqnet"
    main_input_name = "input_ids"
    _supports_sdpa = True
    _no_split_modules = ["BertLayer", "FusionBlock"]  # noqa: RUF012 (transformers' own convention)

    processor: Any = None  # a TQNetProcessor; transformers evaluates annotations at import, where it is not there yet
    """Set by :meth:`from_pretrained` and by :func:`tqnet.modeling.build.build_model`."""

    def __init__(self, config: TQNetConfig):
        super().__init__(config)
        self.text = AutoModel.from_config(config.text_config, add_pooling_layer=False)
        if config.reads_images:
            self.visual = VisualStream(config)
        if config.fusion == "coordinated":
            self.fusion = CoordinatedFusion(config)
        self.post_init()

    @classmethod
    def from_pretrained(cls, folder: Any, *args: Any, **kwargs: Any) -> TQNetModel:  # type: ignore[override]
        """Load a trained folder; its processor comes along as ``model.processor``."""
        from tqnet.modeling.processor import TQNetProcessor  # which transformers may be in the midst of importing

        model = super().from_pretrained(folder, *args, **kwargs)
        model.processor = TQNetProcessor.from_pretrained(folder)
        return model

    def save_pretrained(self, folder: Any, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write weights, configuration and processor to ``folder``."""
        super().save_pretrained(folder, *args, **kwargs)
        if self.processor is not None:
            self.processor.save_pretrained(folder)

    def _init_weights(self, module: nn.Module) -> None:
        # By class of the leaf: transformers passes over modules that hold no parameter of their own.
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.0 if isinstance(module, LastProjection) else 0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Module:
        return self.text.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.text.set_input_embeddings(value)

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

        Args:
            input_ids, attention_mask: [b, t].
            pixel_values: [n, 3, H, W], the images of all questions, question by question, without blanks.
            image_counts: [b], images of each question.
            image_cells: [n, c, features] in place of ``pixel_values``, where the images passed the backbone
                before (:meth:`VisualStream.cells`).

        Shape notation: b questions, t text tokens, n images, v visual tokens, h hidden width.
        """
        mask = attention_mask.bool()
        if image_cells is not None and image_counts is not None:
            visual, visual_mask = self.visual.tokens(image_cells, image_counts)
        else:
            visual, visual_mask = self._visual_tokens(pixel_values, image_counts, mask)
        parts = self._parts(mask.sum(1) + visual_mask.sum(1))
        embeddings = [self._fuse(input_ids[p], mask[p], visual[p], visual_mask[p]) for p in parts]
        in_order = torch.cat(parts).argsort()
        embedding, text_embedding = (torch.cat(of)[in_order] for of in zip(*embeddings, strict=True))
        return TQNetOutput(
            embedding=embedding,
            text_embedding=text_embedding,
            visual_embedding=masked_mean(visual, visual_mask),
        )

    @cached_property
    def cells_per_image(self) -> int:
        """Visual tokens that one figure becomes."""
        if not self.config.reads_images:
            return 0
        size, training = self.config.image_size, self.visual.training
        with torch.inference_mode():
            cells = self.visual.eval().cells(torch.zeros(1, 3, size, size, device=self.device)).shape[1]
        self.visual.train(training)
        return cells

    def encode(self, questions: Any, **options: Any) -> np.ndarray:
        """Vectors of questions, in order; see :func:`tqnet.modeling.encode.encode` for the options."""
        from tqnet.modeling.encode import encode

        return encode(self, questions, **options)

    def _visual_tokens(
        self, pixel_values: Tensor | None, image_counts: Tensor | None, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        if not self.config.reads_images:
            b = mask.shape[0]
            return mask.new_zeros((b, 0, self.config.hidden_size), dtype=self.dtype), mask.new_zeros((b, 0))
        if pixel_values is None or image_counts is None:
            size = self.config.image_size
            pixel_values = torch.zeros((0, 3, size, size), device=mask.device, dtype=self.dtype)
            image_counts = torch.zeros(mask.shape[0], dtype=torch.long, device=mask.device)
        return self.visual(pixel_values, image_counts)

    @staticmethod
    def _parts(lengths: Tensor) -> list[Tensor]:
        """Rows that pass together. A processor computes padding at full price: rows of like length, few at a time."""
        if lengths.device.type != "cpu":
            return [torch.arange(len(lengths), device=lengths.device)]
        return list(lengths.argsort(stable=True).split(PART))

    def _fuse(self, input_ids: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Embedding [b, h] and text embedding [b, h] of rows whose visual tokens are given."""
        width, cells = int(mask.sum(1).max()), int(visual_mask.sum(1).max())
        input_ids, text_mask = input_ids[:, :width], mask[:, :width]
        visual, visual_mask = visual[:, :cells], visual_mask[:, :cells]
        if self.config.fusion == "joint" and cells:
            tokens, joined = self._joint(input_ids, text_mask, visual, visual_mask)
            text = tokens[:, :width]
        else:
            text = self.text(input_ids=input_ids, attention_mask=self._mask(text_mask)).last_hidden_state
            tokens, joined = self._join(text, text_mask, visual, visual_mask)
            if self.config.fusion == "coordinated":
                tokens = self.fusion(tokens, joined)
        return self._pool(tokens, joined, width), masked_mean(text, text_mask)

    @staticmethod
    def _mask(mask: Tensor) -> Tensor | None:
        """None where nothing is padded: attention without a mask is the faster kernel."""
        return None if bool(mask.all()) else mask

    @staticmethod
    def _join(text: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> tuple[Tensor, Tensor]:
        # Cast: under autocast the streams may end in different precisions.
        return torch.cat([text, visual.to(text.dtype)], 1), torch.cat([mask, visual_mask], 1)

    def _joint(self, input_ids: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> tuple[Tensor, Tensor]:
        """One stream: visual tokens, told apart by token type 1 and without a position of their own."""
        words = self.get_input_embeddings()(input_ids)
        tokens, joined = self._join(words, mask, visual, visual_mask)
        b, t = input_ids.shape
        positions = torch.arange(t, device=words.device).expand(b, t)
        types = torch.zeros_like(input_ids)
        hidden = self.text(
            inputs_embeds=tokens,
            attention_mask=self._mask(joined),
            position_ids=_pad(positions, visual.shape[1], 0),
            token_type_ids=_pad(types, visual.shape[1], 1),
        ).last_hidden_state
        return hidden, joined

    def _pool(self, tokens: Tensor, mask: Tensor, text_length: int) -> Tensor:
        if self.config.pooling == "tokens":
            return masked_mean(tokens, mask)
        text = masked_mean(tokens[:, :text_length], mask[:, :text_length])
        visual = masked_mean(tokens[:, text_length:], mask[:, text_length:])
        has_images = mask[:, text_length:].any(1, keepdim=True)
        return torch.where(has_images, (text + visual) / 2, text)


def _pad(x: Tensor, count: int, value: int) -> Tensor:
    """x [b, t] with ``count`` columns of ``value`` behind."""
    return nn.functional.pad(x, (0, count), value=value)


AutoModel.register(TQNetConfig, TQNetModel)
