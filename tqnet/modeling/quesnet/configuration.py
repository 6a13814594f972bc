"""What a QuesNet is made of."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, PretrainedConfig

from tqnet.modeling.choices import NORMS

POOLINGS = ("max", "mean")


class QuesNetConfig(PretrainedConfig):
    """Configuration of a :class:`~tqnet.modeling.quesnet.model.QuesNetModel`.

    Args:
        vocab_size: Of the tokenizer.
        hidden_size: Width of words, figures and the question's vector; each direction of the content layer has half.
        content_layers: LSTMs on top of each other, in each direction.
        sentence_heads: Of the sentence layer's attention.
        sentence_pooling: ``max`` or ``mean`` over the places of the sequence.
        dropout: Between the LSTMs, and in the attention.
        visual_backbone, visual_norm, image_size, max_images, transductive: As in
            :class:`~tqnet.modeling.configuration.TQNetConfig`.

    Raises:
        ValueError: A setting outside its choices, or widths that do not divide.
    """

    model_type = "quesnet"

    def __init__(
        self,
        vocab_size: int = 30522,
        hidden_size: int = 384,
        content_layers: int = 2,
        sentence_heads: int = 12,
        sentence_pooling: str = "max",
        dropout: float = 0.1,
        visual_backbone: str | None = "resnet18",
        visual_norm: str = "batch",
        image_size: int = 128,
        max_images: int = 10,
        transductive: bool = False,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.content_layers = content_layers
        self.sentence_heads = sentence_heads
        self.sentence_pooling = sentence_pooling
        self.dropout = dropout
        self.visual_backbone = visual_backbone
        self.visual_norm = visual_norm
        self.image_size = image_size
        self.max_images = max_images
        self.transductive = transductive
        self._check()
        super().__init__(**kwargs)

    def _check(self) -> None:
        for name, choices in (("sentence_pooling", POOLINGS), ("visual_norm", NORMS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}: {getattr(self, name)!r} is none of {', '.join(choices)}")
        if self.content_layers < 1:
            raise ValueError(f"content_layers: {self.content_layers} is less than 1")
        if self.hidden_size % 2 or self.hidden_size % self.sentence_heads:
            raise ValueError(
                f"sentence_heads: the hidden size {self.hidden_size} must divide by {self.sentence_heads} and by 2"
            )

    @property
    def fusion(self) -> str:
        """How text and figures meet: in one sequence (TQ-Net, Figure 4a)."""
        return "joint"

    @property
    def reads_images(self) -> bool:
        return self.visual_backbone is not None


AutoConfig.register("quesnet", QuesNetConfig)
