"""Base class of question encoders: text and figures in, vectors out, saved with the processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from tqnet.modeling.fusion import LastProjection
from tqnet.modeling.interchange import introduce
from tqnet.modeling.lengths import Lengths, one_part
from tqnet.modeling.lora import merged_weights
from tqnet.modeling.visual import VisualStream


@dataclass
class TQNetOutput(ModelOutput):
    """Output of a forward pass.

    Attributes:
        embedding: [b, h], the question's vector (not normalised).
        text_embedding: [b, h], mean of the text stream alone, before fusion.
        visual_embedding: [b, h], mean of the visual stream alone; zero without figures.
        figure_embeddings: [b, f, h], TQNet only: mean of each figure in the visual stream, f the most figures of any
            question; zero-padded.
        side_embeddings: [b, 2, h], mean of the words of each of two texts joined into one, if ``sides`` is given.
    """

    embedding: Tensor | None = None
    text_embedding: Tensor | None = None
    visual_embedding: Tensor | None = None
    figure_embeddings: Tensor | None = None
    side_embeddings: Tensor | None = None


class QuestionEncoder(PreTrainedModel):
    """Base model that encodes a question, text and figures, into one vector.

    Subclasses implement ``forward`` on a packed batch and word embeddings; their configuration has ``hidden_size``,
    ``image_size``, ``reads_images`` and ``fusion``.
    """

    main_input_name = "input_ids"

    visual: VisualStream
    """Exists only if ``config.reads_images``."""

    processor: Any = None  # a TQNetProcessor; transformers evaluates annotations at import, before it is defined
    """Set by :meth:`from_pretrained` and by :func:`tqnet.modeling.build.build_model`."""

    dimensions: int | None = None
    """First coordinates that :meth:`encode` keeps of a vector (:func:`tqnet.modeling.encode.shorten`); None for all."""

    @classmethod
    def from_pretrained(cls, folder: Any, *args: Any, **kwargs: Any) -> Self:  # type: ignore[override]
        """Load a trained folder, with its processor as ``model.processor``."""
        from tqnet.modeling.processor import TQNetProcessor

        model = super().from_pretrained(folder, *args, **kwargs)
        model.processor = TQNetProcessor.from_pretrained(folder)
        return model

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing: transformers would copy our sources into the folder, where ``auto_map`` names the package."""

    def save_pretrained(self, folder: Any, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write weights, adapters merged, configuration, processor and files for other libraries to ``folder``."""
        kwargs.setdefault("state_dict", merged_weights(self))
        super().save_pretrained(folder, *args, **kwargs)
        if self.processor is not None:
            self.processor.save_pretrained(folder)
        introduce(folder)

    def _init_weights(self, module: nn.Module) -> None:
        # By class of the leaf: transformers skips modules without parameters of their own.
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.0 if isinstance(module, LastProjection) else 0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the word embeddings."""
        raise NotImplementedError

    @cached_property
    def cells_per_image(self) -> int:
        """Visual tokens per figure; 0 for a model that reads no figures."""
        if not self.config.reads_images:
            return 0
        size, training = self.config.image_size, self.visual.training
        with torch.inference_mode():
            cells = self.visual.eval().cells(torch.zeros(1, 3, size, size, device=self.device)).shape[1]
        self.visual.train(training)
        return cells

    def freeze_figures(self) -> None:
        """Freeze what only figures need, for training without them: weights would decay without being used."""
        self.visual.requires_grad_(False)

    def freeze_vector(self) -> None:
        """Freeze what only ``embedding`` needs, for training without it; nothing, by default."""

    def parts(self, lengths: Lengths) -> Sequence[np.ndarray]:
        """Return the rows of each part (`Parts`): one part with all rows."""
        return one_part(lengths)

    def encode(self, questions: Any, **options: Any) -> np.ndarray:
        """Encode questions into vectors, in order; for options see :func:`tqnet.modeling.encode.encode`."""
        from tqnet.modeling.encode import encode

        return encode(self, questions, **options)

    def visual_tokens(
        self,
        mask: Tensor,
        figures: np.ndarray,
        pixel_values: Tensor | None = None,
        image_cells: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return visual tokens [b, v, h] and their mask [b, v] for questions with text mask [b, t], figures [b]."""
        if image_cells is not None:
            return self.visual.tokens(image_cells, figures)
        b, size = mask.shape[0], self.config.image_size
        if not self.config.reads_images:
            return mask.new_zeros((b, 0, self.config.hidden_size), dtype=self.dtype), mask.new_zeros((b, 0))
        if pixel_values is None:
            pixel_values = mask.new_zeros((0, 3, size, size), dtype=self.dtype)
        return self.visual(pixel_values, figures)
