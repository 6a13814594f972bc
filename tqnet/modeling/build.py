"""Build the model that training starts from: a trained folder, a pretrained text encoder, or random weights."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModel, BertConfig, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from tqnet.config import ConfigError
from tqnet.errors import first_line
from tqnet.modeling.configuration import QuesNetConfig, TQNetConfig
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.gru import GRUConfig
from tqnet.modeling.interchange import RANKER
from tqnet.modeling.lora import add_adapters
from tqnet.modeling.me5 import PROMPT
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import (
    ME5,
    PACKAGED,
    backbone_name,
    encoder_for,
    image_statistics,
    image_weights,
    text_encoder_path,
)
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.quesnet import QuesNetModel
from tqnet.modeling.settings import SET_WITH_START, ModelConfig
from tqnet.modeling.text_encoders import (
    is_causal,
    load_text_encoder,
    most_tokens,
    new_text_encoder,
    pooling_of,
)
from tqnet.modeling.visual import TQNetImageProcessor, is_untrained
from tqnet.modeling.vocabulary import cut_vocabulary, restore_vocabulary
from tqnet.text.vocabulary import learn_wordpiece, sample_of, start_embeddings

log = logging.getLogger(__name__)

#: Text encoders with random weights and a vocabulary learnt from the bank.
_LEARNT = ("scratch", "gru")


def build_model(config: ModelConfig, texts: Iterable[str]) -> tuple[QuestionEncoder, TQNetProcessor]:
    """Build the model and processor from ``config``; ``texts`` tell its language and vocabulary.

    Sets ``config.text`` and ``config.pooling`` if they were left open, so that what is saved with a run names them.

    Raises:
        FileNotFoundError: A configured folder does not exist.
        ImportError: ``text=minilm`` or ``visual=lite0`` without its package.
        ConfigError: Settings contradict one another or the encoder.
    """
    if config.start:
        model = _load_setting(config.start, "model.start")
        _check_set_with_start(config, model.config.model_type)
        if model.processor is None:
            raise FileNotFoundError(f"model.start: {config.start}: the folder has no processor")
        _fit_vocabulary(model, config, texts)
    else:
        model = _new_model(config, texts)
    if config.visual_start and model.config.reads_images:
        _take_visual_stream(model, config.visual_start)
    if config.dropout is not None:
        set_dropout(model, config.dropout)
    if config.lora:
        kind = model.text.config.model_type if isinstance(model, TQNetModel) else model.config.model_type
        if not isinstance(model, TQNetModel) or kind == GRUConfig.model_type or config.text in _LEARNT:
            raise ConfigError(f"model.lora: needs a trained text encoder, which {config.text or kind} is not")
        add_adapters(model.text, config.lora)
    return model, model.processor


def build_text_encoder(config: ModelConfig, texts: Iterable[str]) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Return the unmodified tokenizer and the encoder of ``config.text``, which is set if it was left open.

    Raises:
        ConfigError, FileNotFoundError, ImportError: As :func:`build_model`.
    """
    config.text, texts = _chosen(config, texts)
    tokenizer, shape, encoder = _text_encoder(config, config.text, texts)
    encoder = new_text_encoder(shape) if encoder is None else encoder
    _check_length(config, encoder)
    return tokenizer, encoder


def _chosen(config: ModelConfig, texts: Iterable[str]) -> tuple[str, Sequence[str]]:
    """Return the text encoder, by default that of the texts' language, and the texts if anything needs them."""
    learns = config.vocabulary_min_count or config.vocabulary == "bank" or config.text in (None, ME5, *_LEARNT)
    kept = texts if isinstance(texts, Sequence) else list(texts) if learns else []
    if config.text:
        return config.text, kept
    text = encoder_for(kept)
    log.info("model.text: %s, for the language of the texts", text)
    return text, kept


def load_model(folder: str | Path, *, of_ranker: bool = False) -> QuestionEncoder:
    """Load a trained TQ-Net or QuesNet in fp32, with its processor as ``model.processor``.

    Args:
        of_ranker: Load the encoder inside a ranker; refused otherwise.

    Raises:
        FileNotFoundError: No such model in the folder.
        ValueError: The model is damaged or a ranker.
    """
    if not (Path(folder) / "config.json").is_file():
        raise FileNotFoundError(f"{folder}: no model here (config.json is missing)")
    if not of_ranker and (Path(folder) / str(RANKER.mark)).is_file():
        raise ValueError(f"{folder}: a ranker, which reads questions in pairs and has no vectors of single ones")
    with readable(folder):
        model = AutoModel.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    if not isinstance(model, QuestionEncoder):
        raise FileNotFoundError(f"{folder}: a {model.config.model_type}, neither a tqnet nor a quesnet")
    return model


@contextmanager
def readable(folder: str | Path) -> Iterator[None]:
    """Turn library errors on damaged model files into a ValueError that names the folder."""
    try:
        yield
    except ConfigError:
        raise
    except SafetensorError as error:  # derives from Exception directly
        raise ValueError(f"{folder}: its weights cannot be read: {error}") from error
    except UnpicklingError as error:
        raise ValueError(f"{folder}: its weights hold more than tensors, and would run code") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder}: the model cannot be read: {first_line(error)}") from error


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set the dropout of all layers to ``rate``, in [0, 1)."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name, value in vars(module).items():  # mostly of attention, which applies it as a function
            if "dropout" in name and isinstance(value, int | float):
                setattr(module, name, rate)


def _load_setting(folder: str, setting: str) -> QuestionEncoder:
    try:
        return load_model(folder)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{setting}: {error}") from error


def _check_set_with_start(config: ModelConfig, architecture: str) -> None:
    if config.architecture not in (None, architecture):
        start = f"model.start={config.start} is {architecture}"
        raise ConfigError(f"model.architecture: {config.architecture}, but {start}")
    changed = [f.name for f in fields(config) if f.name not in SET_WITH_START and getattr(config, f.name) != f.default]
    if changed:
        names = ", ".join(f"model.{name}" for name in changed)
        raise ConfigError(f"{names}: fixed by model.start={config.start} and cannot be set with it")


def _check_length(config: ModelConfig, encoder: PreTrainedModel) -> None:
    most = most_tokens(encoder)
    if most is not None and config.max_length > most:
        raise ConfigError(f"model.max_length: {config.max_length} is more than the encoder's {most} positions")


def _fit_vocabulary(model: QuestionEncoder, config: ModelConfig, texts: Iterable[str]) -> None:
    """Make the vocabulary of a trained model whole, or fit it to other texts."""
    origin = model.config.vocabulary_of
    if config.vocabulary == "bank" and origin is None:
        raise ConfigError("model.vocabulary: bank, but model.start has the whole one; cut it when the model is made")
    if config.vocabulary and origin:
        restore_vocabulary(model, origin)
    if config.vocabulary == "bank" and origin:
        cut_vocabulary(model, texts, origin)


def _take_visual_stream(model: QuestionEncoder, folder: str) -> None:
    donor = _load_setting(folder, "model.visual_start")
    try:
        model.visual.load_state_dict(donor.visual.state_dict())
    except (AttributeError, RuntimeError) as error:
        raise ConfigError(f"model.visual_start: {folder} has no visual stream of the same shape") from error
    if donor.processor is not None:  # these weights expect the donor's normalisation
        ours, theirs = model.processor.image_processor, donor.processor.image_processor
        ours.image_mean, ours.image_std = theirs.image_mean, theirs.image_std
    model.config.visual_trained = not is_untrained(donor)
    model.config.transductive |= donor.config.transductive


def _new_model(config: ModelConfig, texts: Iterable[str]) -> QuestionEncoder:
    trained_on_images = config.visual is not None and (config.visual_pretrained or config.visual in PACKAGED)
    if trained_on_images and config.visual_norm == "group":
        raise ConfigError("model.visual_norm: group, but the weights of model.visual were trained with batch norm")
    config.text, texts = _chosen(config, texts)
    text = config.text
    tokenizer, shape, encoder = _text_encoder(config, text, texts)
    if config.architecture == "quesnet":
        model: QuestionEncoder = _new_quesnet(config, shape, encoder)
    else:
        config.pooling = config.pooling or ("tokens" if text in _LEARNT else pooling_of(text))
        model = _new_tqnet(config, shape, encoder)
    if trained_on_images and model.config.reads_images:
        model.visual.backbone.load_state_dict(image_weights(str(config.visual), config.image_size))
    if model.config.reads_images:
        model.config.visual_trained = trained_on_images
    processor = TQNetProcessor(
        TQNetImageProcessor(config.image_size, *image_statistics(model.config.visual_backbone)),
        tokenizer,
        config.max_length,
        config.max_images,
        spell_formulas=text in _LEARNT,  # a learnt vocabulary saw formulas spelt out
        prompt=(PROMPT if text == ME5 else "") if config.prompt is None else config.prompt,
    )
    model.processor = processor
    if config.vocabulary_min_count:
        tokens = processor.learn_vocabulary(sample_of(texts), config.vocabulary_min_count)
        # mean_resizing would draw random rows; start_embeddings sets them from their pieces.
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        start_embeddings(model.get_input_embeddings(), tokenizer, tokens)
    if config.vocabulary == "bank" or (config.vocabulary is None and text == ME5 and texts):
        cut_vocabulary(model, texts, text)
    return model


def _new_tqnet(config: ModelConfig, shape: PretrainedConfig, encoder: PreTrainedModel | None) -> TQNetModel:
    model = TQNetModel(
        TQNetConfig(
            text_config=shape,
            visual_backbone=backbone_name(config.visual),
            visual_norm=config.visual_norm,
            image_size=config.image_size,
            fusion=config.fusion,
            fusion_layers=config.fusion_layers,
            fusion_heads=config.fusion_heads or shape.num_attention_heads,
            pooling=config.pooling or "tokens",
            max_images=config.max_images,
        )
    )
    _check_length(config, model.text)
    if config.fusion == "joint":
        _check_joint(model)
    # Batch norm cannot take the variance of the single value that a batch with one such figure has.
    if model.config.reads_images and model.cells_per_image < 2:
        raise ConfigError(f"model.image_size: at {config.image_size}, a figure is a single cell; use a larger size")
    if encoder is not None:
        model.text.load_state_dict(encoder.state_dict())
    return model


def _check_joint(model: TQNetModel) -> None:
    """Raise ConfigError if figures cannot enter the text encoder's own sequence."""
    kind, width = model.text.config.model_type, model.get_input_embeddings().embedding_dim
    if isinstance(model.text.config, GRUConfig):
        raise ConfigError("model.fusion: joint, but the GRUs of model.text=gru read only words")
    if is_causal(model.text):
        raise ConfigError(f"model.fusion: joint, but no word of a {kind}, a decoder, would see the figures after it")
    if width != (hidden := model.config.hidden_size):
        raise ConfigError(f"model.fusion: joint, but embeddings of this {kind} are {width} wide, its states {hidden}")


def _new_quesnet(config: ModelConfig, shape: PretrainedConfig, encoder: PreTrainedModel | None) -> QuesNetModel:
    model = QuesNetModel(
        QuesNetConfig(
            vocab_size=shape.vocab_size,
            hidden_size=shape.hidden_size,
            content_layers=config.content_layers,
            sentence_heads=config.fusion_heads or shape.num_attention_heads,
            sentence_pooling=config.sentence_pooling,
            visual_backbone=backbone_name(config.visual),
            visual_norm=config.visual_norm,
            image_size=config.image_size,
            max_images=config.max_images,
        )
    )
    if config.words == "encoder":
        if encoder is None:
            raise ConfigError("model.words: encoder, but model.text comes without trained weights")
        model.words.load_state_dict(encoder.get_input_embeddings().state_dict())
    return model


def _text_encoder(
    config: ModelConfig, text: str, texts: Sequence[str]
) -> tuple[PreTrainedTokenizerBase, PretrainedConfig, PreTrainedModel | None]:
    """Return the tokenizer, the encoder's config, and the encoder if pretrained."""
    if text not in _LEARNT:
        path = text_encoder_path(text)
        with readable(f"model.text: {text}"):
            tokenizer, encoder = load_text_encoder(path)
        return tokenizer, encoder.config, encoder if config.text_pretrained else None
    tokenizer = learn_wordpiece(sample_of(texts), config.scratch_vocab)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": config.scratch_hidden,
        "num_hidden_layers": config.scratch_layers,
        "pad_token_id": tokenizer.pad_token_id,
    }
    if text == "gru":
        return tokenizer, GRUConfig(embedding_size=config.gru_embedding, **shape), None
    heads, inner = max(1, config.scratch_hidden // 64), 4 * config.scratch_hidden
    return tokenizer, BertConfig(num_attention_heads=heads, intermediate_size=inner, **shape), None
