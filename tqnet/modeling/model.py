"""TQ-Net: a text stream and a visual stream, fused into one vector per question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel

from tqnet.libraries import to_device
from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.encoder import QuestionEncoder, TQNetOutput
from tqnet.modeling.fusion import SDPA, CoordinatedFusion, masked_mean
from tqnet.modeling.lengths import Lengths, partition
from tqnet.modeling.lexical import LexicalReadout
from tqnet.modeling.text_encoders import beside_words, halve_residuals, new_text_encoder, word_embeddings
from tqnet.modeling.visual import VisualStream
from tqnet.questions import Question

log = logging.getLogger(__name__)

#: Questions with figures to fit the visual projection to, and their batch size.
SAMPLE, BATCH = 256, 8


class TQNetModel(QuestionEncoder):
    """Encoder of questions, text and figures (TQ-Net, Figures 2 and 4).

    ``fusion="coordinated"``: x = [text tokens; projected visual tokens], output = mean over real tokens of
    (x + blocks(x)). ``joint``: projected visual tokens enter the text encoder's own input sequence.
    ``none``: text only. For a question without figures, an untrained coordinated model returns exactly the mean of
    its start encoder's tokens.

    Shape notation: b questions, t text tokens, n images, v visual tokens, h hidden width.
    """

    config_class = TQNetConfig
    base_model_prefix = "tqnet"
    _supports_sdpa = _supports_flash_attn = True  # as far as the text encoder does
    supports_gradient_checkpointing = True

    def __init__(self, config: TQNetConfig):
        super().__init__(config)
        self.text = new_text_encoder(config.text_config)
        self.text.config.use_cache = False  # the keys and values of a decoder
        halve_residuals(self.text)
        # Ours differs from PyTorch's in speed only; set_attn_implementation("sdpa") restores theirs.
        if self.text.config._attn_implementation == "sdpa":
            self.text.set_attn_implementation(SDPA)
        self._no_split_modules = [*(self.text._no_split_modules or ()), "FusionBlock"]
        if config.reads_images:
            self.visual = VisualStream(config)
        if config.fusion == "coordinated":
            self.fusion = CoordinatedFusion(config)
        gated = config.pooling == "gated" and config.reads_images
        self.figure_gate = nn.Parameter(torch.zeros(config.hidden_size)) if gated else None
        self.readout = LexicalReadout(config) if config.readout else None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return word_embeddings(self.text)

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.text.set_input_embeddings(value)

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Change the vocabulary; a read-out that counts the tokens of the old one is dropped with a warning."""
        if self.readout is not None and self.readout.terms is not None:
            log.warning("the read-out of the model is dropped: it counts the tokens of another vocabulary")
            self.readout, self.config.readout, self.config.lexical = None, False, 0
        return super().resize_token_embeddings(*args, **kwargs)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        pixel_values: Tensor | None = None,
        image_counts: Tensor | None = None,
        image_cells: Tensor | None = None,
        sides: Tensor | None = None,
        lengths: Lengths | None = None,
        **_: Any,
    ) -> TQNetOutput:
        """Encode a batch packed by :class:`~tqnet.modeling.processor.TQNetProcessor`.

        Args:
            input_ids, attention_mask: [b, t].
            pixel_values: [n, 3, H, W], images of all questions, question by question, without padding.
            image_counts: [b], images per question.
            image_cells: [n, c, features], replaces ``pixel_values`` if the backbone has already run
                (:meth:`VisualStream.cells`).
            sides: [b, t], for two texts joined into one: 1 and 2 at their words, 0 elsewhere.
            lengths: Lengths of the batch's questions; without them, the forward pass waits for the device to count.
        """
        shown = pixel_values is not None or image_cells is not None
        lengths = lengths or Lengths.read(attention_mask, image_counts if shown else None)
        mask = attention_mask.bool()
        visual, visual_mask = self.visual_tokens(mask, lengths.figures, pixel_values, image_cells)
        cells = visual.shape[1] // max(1, lengths.most_figures)
        tokens = [input_ids, mask, visual, visual_mask, *([] if sides is None else [sides])]
        parts = self.parts(lengths)
        if len(parts) == 1:
            embedded = self._embed(lengths, cells, *tokens)
        else:
            in_parts = []
            for rows in parts:
                index = to_device(rows, mask.device)
                in_parts.append(self._embed(lengths[rows], cells, *(tensor[index] for tensor in tokens)))
            in_order = to_device(np.concatenate(parts).argsort(), mask.device)
            embedded = tuple(torch.cat(vectors)[in_order] for vectors in zip(*in_parts, strict=True))
        embedding, text_embedding, *side = embedded
        return TQNetOutput(
            embedding=embedding,
            text_embedding=text_embedding,
            visual_embedding=masked_mean(visual, visual_mask),
            figure_embeddings=_figure_means(visual, lengths.most_figures),
            side_embeddings=side[0] if side else None,
        )

    def parts(self, lengths: Lengths) -> Sequence[np.ndarray]:
        """Split rows with figures from those without; on a CPU also by token count, so that little is padded.

        A CPU pays in full for padding, an accelerator for small kernels. Parts are larger in training, where each one
        adds to the gradients of all weights.
        """
        order = np.lexsort((lengths.text, lengths.figures))
        without_and_with = np.split(order, [np.count_nonzero(lengths.figures == 0)])
        if self.device.type != "cpu":
            return [rows for rows in without_and_with if len(rows)]
        most, overhead = (16, 64) if torch.is_inference_mode_enabled() else (64, 1024)
        text, visual = lengths.text, lengths.figures * self.cells_per_image
        return [rows[part] for rows in without_and_with for part in partition(text[rows], visual[rows], most, overhead)]

    def _embed(
        self,
        lengths: Lengths,
        cells: int,
        input_ids: Tensor,
        mask: Tensor,
        visual: Tensor,
        visual_mask: Tensor,
        sides: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Embed one part of a batch whose figures have ``cells`` visual tokens each.

        Returns:
            Embedding and text embedding [b, h]; with ``sides`` also their means [b, 2, h].
        """
        width, figures = lengths.text.max().item(), lengths.most_figures
        padded = (lengths.text != width).any().item(), (lengths.figures != figures).any().item()
        text_mask, visual, visual_mask = mask[:, :width], *(x[:, : cells * figures] for x in (visual, visual_mask))
        text, tokens, joined = self.fused(input_ids[:, :width], text_mask, visual, visual_mask, padded)
        pooled = self.vector(tokens, joined, input_ids[:, :width]), self._text_vector(text, text_mask)
        if sides is None:
            return pooled
        words, sides = tokens[:, :width], sides[:, :width]
        return *pooled, torch.stack([masked_mean(words, sides == side) for side in (1, 2)], 1)

    def fused(
        self,
        input_ids: Tensor,
        mask: Tensor,
        visual: Tensor,
        visual_mask: Tensor,
        padded: tuple[bool, bool] = (True, True),
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return text stream [b, t, h], fused tokens [b, t + v, h] and their mask.

        Args:
            padded: Whether any text is padded, and any figure: attention is faster without a mask.
        """
        t, v = input_ids.shape[1], visual.shape[1]
        if self.config.fusion == "joint" and v:
            tokens, joined = self._join(self.get_input_embeddings()(input_ids), mask, visual, visual_mask)
            tokens = self.text(
                inputs_embeds=tokens,
                attention_mask=joined if any(padded) else None,
                **beside_words(self.text, input_ids, v),
            ).last_hidden_state
            return tokens[:, :t], tokens, joined
        text = self.text(input_ids=input_ids, attention_mask=mask if padded[0] else None).last_hidden_state
        tokens, joined = self._join(text, mask, visual, visual_mask)
        if self.config.fusion == "coordinated":
            tokens = self.fusion(tokens, joined if any(padded) else None)
        return text, tokens, joined

    @staticmethod
    def _join(text: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> tuple[Tensor, Tensor]:
        # In training, concatenate even zero visual tokens: they keep the visual stream in the graph, so that a process
        # without figures joins the all-reduce with zero gradients.
        if torch.compiler.is_exporting() and not visual.shape[1]:
            return text, mask
        # Under autocast the streams may differ in dtype.
        return torch.cat([text, visual.to(text.dtype)], 1), torch.cat([mask, visual_mask], 1)

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self and self.figure_gate is not None:
            nn.init.zeros_(self.figure_gate)

    def freeze_figures(self) -> None:
        """Freeze what only figures need, including their gate."""
        super().freeze_figures()
        if self.figure_gate is not None:
            self.figure_gate.requires_grad_(False)

    def freeze_vector(self) -> None:
        """Freeze what only ``embedding`` needs, for training without it: DDP waits for all other gradients."""
        for part in (getattr(self, "fusion", None), self.figure_gate, self.readout):
            if part is not None:
                part.requires_grad_(False)

    def vector(self, tokens: Tensor, mask: Tensor, input_ids: Tensor) -> Tensor:
        """Return questions' vectors [b, h] from fused tokens [b, t + v, h], their mask and the token ids [b, t]."""
        pooled = self.pool(tokens, mask, input_ids.shape[1])
        return pooled if self.readout is None else self.readout(pooled, input_ids, mask[:, : input_ids.shape[1]])

    def pool(self, tokens: Tensor, mask: Tensor, text_length: int) -> Tensor:
        """Pool tokens [b, t + v, h], the first ``text_length`` of them text, into vectors [b, h]."""
        if self.config.pooling in ("first", "last"):
            return self._text_vector(tokens[:, :text_length], mask[:, :text_length])
        # Without figures, skip the empty slice, on which ONNX Runtime disagrees with PyTorch; except in training, where
        # it keeps the gate in DDP's graph.
        if self.config.pooling == "tokens" or (tokens.shape[1] == text_length and not self.training):
            return masked_mean(tokens, mask)
        text = masked_mean(tokens[:, :text_length], mask[:, :text_length])
        visual = masked_mean(tokens[:, text_length:], mask[:, text_length:])
        if self.figure_gate is not None:
            return text + self.figure_gate * visual
        has_images = mask[:, text_length:].any(1, keepdim=True)
        return torch.where(has_images, (text + visual) / 2, text)

    def _text_vector(self, text: Tensor, mask: Tensor) -> Tensor:
        """Pool text tokens [b, t, h] into vectors [b, h]."""
        if self.config.pooling == "first":
            return text[:, 0]
        if self.config.pooling == "last":
            last = (mask.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, text.shape[2])
            return text.gather(1, last).squeeze(1)
        return masked_mean(text, mask)


def _figure_means(visual: Tensor, figures: int) -> Tensor:
    """Average visual tokens [b, v, h] within each of ``figures`` figures: [b, f, h]."""
    return visual.unflatten(1, (figures, -1)).mean(2) if visual.shape[1] else visual


AutoModel.register(TQNetConfig, TQNetModel)


@torch.no_grad()
def fit_projection(model: TQNetModel, questions: Sequence[Question]) -> None:
    """Shift and scale the visual projection so that figures are centred on zero with the norm of texts.

    Features of trained backbones are positive: under a random projection, all figures share a direction and outweigh
    texts, so questions with figures end up close together and far from those without.

    Args:
        model: Visual backbone trained, projection untrained.
        questions: A sample with figures.
    """
    projection, training = model.visual.projection, model.training
    model.eval()
    packed = (model.processor(questions[i : i + BATCH]) for i in range(0, len(questions), BATCH))
    outputs = [model(**batch.to(model.device)) for batch in packed]
    figures = torch.cat([output.visual_embedding for output in outputs])
    texts = torch.cat([output.text_embedding for output in outputs])
    if model.config.fusion == "joint":  # figures join the input words, not the encoder's states
        texts = model.get_input_embeddings().weight
    centre = figures.mean(0)
    spread = (figures - centre).norm(dim=1).mean()
    if spread > 1e-3 * figures.norm(dim=1).mean():  # else all figures are the same
        scale = texts.norm(dim=1).mean() / spread
        projection.weight.mul_(scale)
        model.visual.image_index.weight.mul_(scale)
        projection.bias.sub_(centre).mul_(scale)
    model.train(training)
    model.processor.forget_cuts()  # a recipe counts those of the whole bank
