"""TQ-Net: a text stream and a visual stream, fused into one vector per question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel

from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.encoder import QuestionEncoder, TQNetOutput
from tqnet.modeling.fusion import SDPA, CoordinatedFusion, masked_mean
from tqnet.modeling.visual import VisualStream
from tqnet.questions import Question

#: Questions with figures that the visual projection is fitted to, and how many of them pass at a time.
SAMPLE, BATCH = 256, 8


class TQNetModel(QuestionEncoder):
    """Questions, text and figures, to vectors (TQ-Net, Figures 2 and 4).

    ``fusion="coordinated"``: x = [text tokens; projected visual tokens], output = mean over real tokens of
    (x + blocks(x)). ``joint``: projected visual tokens enter the text encoder's own input sequence.
    ``none``: the text alone. An untrained coordinated model on a question without figures gives exactly the
    mean of its start encoder's tokens.

    Shape notation: b questions, t text tokens, n images, v visual tokens, h hidden width.
    """

    config_class = TQNetConfig
    base_model_prefix = "tqnet"
    _supports_sdpa = True
    _no_split_modules = ["BertLayer", "FusionBlock"]  # noqa: RUF012 (transformers' own convention)

    def __init__(self, config: TQNetConfig):
        super().__init__(config)
        self.text = AutoModel.from_config(config.text_config, add_pooling_layer=False)
        # PyTorch's own is ours but for speed; set_attn_implementation("sdpa") brings it back.
        if self.text.config._attn_implementation == "sdpa":
            self.text.set_attn_implementation(SDPA)
        if config.reads_images:
            self.visual = VisualStream(config)
        if config.fusion == "coordinated":
            self.fusion = CoordinatedFusion(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
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
        sides: Tensor | None = None,
        **_: Any,
    ) -> TQNetOutput:
        """Encode a packed batch, as :class:`~tqnet.modeling.processor.TQNetProcessor` makes it.

        Args:
            input_ids, attention_mask: [b, t].
            pixel_values: [n, 3, H, W], the images of all questions, question by question, without blanks.
            image_counts: [b], images of each question.
            image_cells: [n, c, features] in place of ``pixel_values``, where the images passed the backbone
                before (:meth:`VisualStream.cells`).
            sides: [b, t], where two texts are read as one: 1 and 2 at their words, 0 elsewhere.
        """
        mask = attention_mask.bool()
        visual, visual_mask = self.visual_tokens(mask, pixel_values, image_counts, image_cells)
        parts = self.parts(mask.sum(1), visual_mask.sum(1))
        embedded = [
            self._embed(
                input_ids[rows], mask[rows], visual[rows], visual_mask[rows], None if sides is None else sides[rows]
            )
            for rows in parts
        ]
        in_order = torch.cat(parts).argsort()
        embedding, text_embedding, *side = (torch.cat(rows)[in_order] for rows in zip(*embedded, strict=True))
        return TQNetOutput(
            embedding=embedding,
            text_embedding=text_embedding,
            visual_embedding=masked_mean(visual, visual_mask),
            figure_embeddings=self._figure_means(visual, image_counts),
            side_embeddings=side[0] if side else None,
        )

    @staticmethod
    def _figure_means(visual: Tensor, image_counts: Tensor | None) -> Tensor:
        """Visual tokens [b, v, h], figure by figure, as the mean of each [b, f, h]."""
        if not visual.shape[1] or image_counts is None:
            return visual
        return visual.unflatten(1, (int(image_counts.max()), -1)).mean(2)

    @staticmethod
    def parts(text: Tensor, visual: Tensor) -> tuple[Tensor, ...]:
        """Rows with figures pass apart from those without, each by like numbers of tokens: little is padded.

        A processor computes padding at full price, an accelerator wants to be kept busy: its parts are larger. So are
        those of training, where every part adds to the gradients of all weights.
        """
        by_text = text.argsort(stable=True)
        order = by_text[visual[by_text].argsort(stable=True)]
        without_and_with = order.tensor_split([int((visual == 0).sum())])
        on_processor = 16 if torch.is_inference_mode_enabled() else 32
        size = on_processor if text.device.type == "cpu" else 64
        return tuple(part for rows in without_and_with if len(rows) for part in rows.split(size))

    def _embed(
        self, input_ids: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor, sides: Tensor | None
    ) -> tuple[Tensor, ...]:
        """Embedding [b, h] and text embedding [b, h] of rows whose visual tokens are known; of sides also [b, 2, h]."""
        width, cells = int(mask.sum(1).max()), int(visual_mask.sum(1).max())
        text_mask = mask[:, :width]
        text, tokens, joined = self.fused(input_ids[:, :width], text_mask, visual[:, :cells], visual_mask[:, :cells])
        pooled = self.pool(tokens, joined, width), masked_mean(text, text_mask)
        if sides is None:
            return pooled
        words, sides = tokens[:, :width], sides[:, :width]
        return *pooled, torch.stack([masked_mean(words, sides == side) for side in (1, 2)], 1)

    def fused(
        self, input_ids: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Text stream [b, t, h], fused tokens [b, t + v, h] and their mask, of text and visual tokens of like rows."""
        t, v = input_ids.shape[1], visual.shape[1]
        if self.config.fusion == "joint" and v:
            # Visual tokens are told apart by token type 1 and have no position of their own.
            tokens, joined = self._join(self.get_input_embeddings()(input_ids), mask, visual, visual_mask)
            positions = torch.arange(t, device=tokens.device).expand(len(input_ids), t)
            tokens = self.text(
                inputs_embeds=tokens,
                attention_mask=self._mask(joined),
                position_ids=F.pad(positions, (0, v)),
                token_type_ids=F.pad(torch.zeros_like(input_ids), (0, v), value=1),
            ).last_hidden_state
            return tokens[:, :t], tokens, joined
        text = self.text(input_ids=input_ids, attention_mask=self._mask(mask)).last_hidden_state
        tokens, joined = self._join(text, mask, visual, visual_mask)
        if self.config.fusion == "coordinated":
            tokens = self.fusion(tokens, self._mask(joined))
        return text, tokens, joined

    @staticmethod
    def _mask(mask: Tensor) -> Tensor | None:
        """None where nothing is padded: attention without a mask is the faster kernel. A graph is for both cases."""
        return None if not torch.compiler.is_exporting() and bool(mask.all()) else mask

    @staticmethod
    def _join(text: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> tuple[Tensor, Tensor]:
        # In training, tokens that are none keep the visual stream in the graph: a process without figures has gradients
        # of zero for it, which the others wait for.
        if torch.compiler.is_exporting() and not visual.shape[1]:
            return text, mask
        # Cast: under autocast the streams may end in different precisions.
        return torch.cat([text, visual.to(text.dtype)], 1), torch.cat([mask, visual_mask], 1)

    def pool(self, tokens: Tensor, mask: Tensor, text_length: int) -> Tensor:
        """Vectors [b, h] of tokens [b, t + v, h], of which the first ``text_length`` are text."""
        # No figure at all: to ask of no columns whether any is real is answered otherwise by ONNX Runtime.
        if self.config.pooling == "tokens" or tokens.shape[1] == text_length:
            return masked_mean(tokens, mask)
        text = masked_mean(tokens[:, :text_length], mask[:, :text_length])
        visual = masked_mean(tokens[:, text_length:], mask[:, text_length:])
        has_images = mask[:, text_length:].any(1, keepdim=True)
        return torch.where(has_images, (text + visual) / 2, text)


AutoModel.register(TQNetConfig, TQNetModel)


@torch.no_grad()
def fit_projection(model: TQNetModel, questions: Sequence[Question]) -> None:
    """Move and scale the visual projection, so that figures lie around zero and are as long as texts.

    Features of trained backbones are positive: projected at random, all figures share a direction, and outweigh texts.
    Questions with figures would be close to one another and far from those without, whatever they show.

    Args:
        model: Its visual backbone is trained, its projection is not.
        questions: Some of a bank, with figures.
    """
    projection, training = model.visual.projection, model.training
    model.eval()
    packed = (model.processor(questions[i : i + BATCH]) for i in range(0, len(questions), BATCH))
    outputs = [model(**batch.to(model.device)) for batch in packed]
    figures = torch.cat([output.visual_embedding for output in outputs])
    texts = torch.cat([output.text_embedding for output in outputs])
    if model.config.fusion == "joint":  # figures stand among words, not among what becomes of them
        texts = model.get_input_embeddings().weight
    centre = figures.mean(0)
    spread = (figures - centre).norm(dim=1).mean()
    if spread > 1e-3 * figures.norm(dim=1).mean():  # else all show one figure, which lies at the centre
        scale = texts.norm(dim=1).mean() / spread
        projection.weight.mul_(scale)
        model.visual.image_index.weight.mul_(scale)
        projection.bias.sub_(centre).mul_(scale)
    model.train(training)
    model.processor.forget_cuts()  # of this sample; a recipe counts those of its bank
