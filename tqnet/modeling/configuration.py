"""Model configurations, saved as config.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transformers import AutoConfig, PretrainedConfig


class EncoderConfig(PretrainedConfig):
    """Settings shared by all question encoders.

    Args:
        visual_backbone: Name of a ``timm`` model; None for a model that reads no figures.
        visual_norm: ``batch``; ``frozen`` (batch statistics never move); ``group`` (GroupNorm instead).
        image_size: Side in pixels of the white square that figures are fitted into.
        max_images: Maximum number of figures per question; the rest are dropped, counted in a warning.
        transductive: Pre-training read valid and test questions, unlabelled; reported with scores.
        visual_trained: Whether the visual backbone has learnt anything; None in models that did not record it.
        vocabulary_of: Text encoder whose vocabulary was cut for the model; None if it was not.
        matryoshka: Widths that vectors may be cut to, since their beginnings were trained too.

    Raises:
        ValueError: A setting is not among its choices, or widths do not divide.
    """

    model_class: ClassVar[str]

    def __init__(
        self,
        visual_backbone: str | None = "resnet18",
        visual_norm: str = "batch",
        image_size: int = 128,
        max_images: int = 10,
        transductive: bool = False,
        visual_trained: bool | None = None,
        vocabulary_of: str | None = None,
        matryoshka: Sequence[int] = (),
        **kwargs: Any,
    ):
        self.visual_backbone = visual_backbone
        self.visual_norm = visual_norm
        self.image_size = image_size
        self.max_images = max_images
        self.transductive = transductive
        self.visual_trained = visual_trained
        self.vocabulary_of = vocabulary_of
        self.matryoshka = list(matryoshka)
        self._check_choice("visual_norm", "batch", "frozen", "group")
        names = {"AutoConfig": type(self).__name__, "AutoModel": self.model_class, "AutoProcessor": "TQNetProcessor"}
        self.auto_map = {auto: f"tqnet_classes.{name}" for auto, name in names.items()}  # see interchange.py
        super().__init__(**{**kwargs, "auto_map": self.auto_map})

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing: transformers would copy our sources into the folder, where ``auto_map`` names the package."""

    def _check_choice(self, name: str, *choices: str) -> None:
        if getattr(self, name) not in choices:
            raise ValueError(f"{name}: {getattr(self, name)!r} is not one of {', '.join(choices)}")


class TQNetConfig(EncoderConfig):
    """Configuration of a :class:`~tqnet.modeling.model.TQNetModel`.

    Args:
        text_config: Configuration of the text encoder (:mod:`tqnet.modeling.text_encoders`), as a dict.
        fusion: ``coordinated`` (the paper's choice), ``joint`` or ``none`` (text only).
        fusion_layers, fusion_heads, fusion_mlp_ratio, fusion_dropout: Pre-norm blocks of ``coordinated``.
        pooling: ``tokens`` (mean over all real tokens, the paper's), ``per_modality`` (mean of the text's
            mean and the figures' mean), ``gated`` (the text's mean plus the figures' mean times a learnt gate per
            dimension, zero in a new model), or the ``first`` or ``last`` token of the text.
        readout: Whether a linear map reads the vector out (:class:`tqnet.modeling.lexical.LexicalReadout`); by default
            where ``lexical`` is set.
        lexical: Width of the question's terms that it reads along with the vector; 0 for none.
        lexical_buckets, lexical_weight: Number of rows for terms, and their weight relative to the vector.
        settings: Those of :class:`EncoderConfig`.
    """

    model_type = "tqnet"
    model_class = "TQNetModel"
    sub_configs: ClassVar[dict[str, Any]] = {"text_config": AutoConfig}

    def __init__(
        self,
        text_config: dict[str, Any] | PretrainedConfig | None = None,
        fusion: str = "coordinated",
        fusion_layers: int = 1,
        fusion_heads: int = 12,
        fusion_mlp_ratio: float = 4.0,
        fusion_dropout: float = 0.1,
        pooling: str = "tokens",
        readout: bool | None = None,
        lexical: int = 0,
        lexical_buckets: int = 2**15,
        lexical_weight: float = 0.7,
        **settings: Any,
    ):
        if not isinstance(text_config, PretrainedConfig):
            text_config = AutoConfig.for_model(**{"model_type": "bert", **(text_config or {})})
        self.text_config = text_config
        self.fusion = fusion
        self.fusion_layers = fusion_layers
        self.fusion_heads = fusion_heads
        self.fusion_mlp_ratio = fusion_mlp_ratio
        self.fusion_dropout = fusion_dropout
        self.pooling = pooling
        self.readout = bool(lexical) if readout is None else readout
        self.lexical = lexical
        self.lexical_buckets = lexical_buckets
        self.lexical_weight = lexical_weight
        self._check_choice("fusion", "coordinated", "joint", "none")
        self._check_choice("pooling", "tokens", "per_modality", "gated", "first", "last")
        if fusion == "coordinated" and self.hidden_size % fusion_heads:
            raise ValueError(f"fusion_heads: {fusion_heads} does not divide the hidden size {self.hidden_size}")
        super().__init__(**settings)

    @property
    def hidden_size(self) -> int:
        return self.text_config.hidden_size

    @property
    def vocab_size(self) -> int:
        return self.text_config.vocab_size

    @property
    def reads_images(self) -> bool:
        return self.fusion != "none" and self.visual_backbone is not None


class QuesNetConfig(EncoderConfig):
    """Configuration of a :class:`~tqnet.modeling.quesnet.QuesNetModel`.

    Args:
        vocab_size: Size of the tokenizer's vocabulary.
        hidden_size: Width of words, figures and the question's vector; each direction of the content layer has half.
        content_layers: Stacked LSTMs per direction.
        sentence_heads: Attention heads of the sentence layer.
        sentence_pooling: ``max`` or ``mean`` over the positions of the sequence.
        dropout: Applied between LSTMs and in attention.
        settings: Those of :class:`EncoderConfig`.
    """

    model_type = "quesnet"
    model_class = "QuesNetModel"
    #: How text and figures meet: in one sequence (TQ-Net, Figure 4a).
    fusion = "joint"

    def __init__(
        self,
        vocab_size: int = 30522,
        hidden_size: int = 384,
        content_layers: int = 2,
        sentence_heads: int = 12,
        sentence_pooling: str = "max",
        dropout: float = 0.1,
        **settings: Any,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.content_layers = content_layers
        self.sentence_heads = sentence_heads
        self.sentence_pooling = sentence_pooling
        self.dropout = dropout
        self._check_choice("sentence_pooling", "max", "mean")
        if content_layers < 1:
            raise ValueError(f"content_layers: {content_layers} is less than 1")
        if hidden_size % 2 or hidden_size % sentence_heads:
            raise ValueError(f"sentence_heads: the hidden size {hidden_size} must divide by {sentence_heads} and by 2")
        super().__init__(**settings)

    @property
    def reads_images(self) -> bool:
        return self.visual_backbone is not None


AutoConfig.register("tqnet", TQNetConfig)
AutoConfig.register("quesnet", QuesNetConfig)
