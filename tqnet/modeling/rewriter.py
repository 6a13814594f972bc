"""A small sequence-to-sequence model that restores corrupted questions, and so rewrites them: new, or made of a BERT.

It reconstructs for ParaQD's f_b, and stands in for a translation pair (f1) and for models that lose information (f9,
f_e) where none is at hand.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from transformers import (
    BertLMHeadModel,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from tqnet.modeling.build import set_dropout
from tqnet.modeling.interchange import introduce

#: In a model's config.json: it was trained to restore corrupted questions.
_MARK = "restores_questions"


@dataclass(frozen=True)
class Rewriter:
    """A model and its tokenizer, saved as an ordinary folder of the transformers library."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    @property
    def cells_per_image(self) -> int:
        """It reads no figures."""
        return 0

    def save_pretrained(self, folder: Path) -> None:
        """Write what `transformers.AutoModelForSeq2SeqLM` and `transformers.AutoTokenizer` load."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        introduce(folder)


def is_rewriter(config: Any) -> bool:
    """Whether the model of a configuration was trained to restore corrupted questions."""
    return bool(getattr(config, _MARK, False))


def new_rewriter(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, decoder_layers: int, dropout: float = 0.1
) -> Rewriter:
    """Random weights in the shape of an encoder, with sinusoidal positions and one embedding for all (Marian's).

    Both make copying easy: the place behind another one is the same turn everywhere, and a word that is attended to
    is already near to its own logit.
    """
    shape: Any = encoder.config
    settings: dict[str, Any] = {
        "vocab_size": shape.vocab_size,
        "d_model": shape.hidden_size,
        "encoder_layers": shape.num_hidden_layers,
        "decoder_layers": decoder_layers,
        "encoder_attention_heads": shape.num_attention_heads,
        "decoder_attention_heads": shape.num_attention_heads,
        "encoder_ffn_dim": shape.intermediate_size,
        "decoder_ffn_dim": shape.intermediate_size,
        "max_position_embeddings": shape.max_position_embeddings,
        "dropout": dropout,
        "scale_embedding": True,
        "forced_eos_token_id": None,
        _MARK: True,
    }
    return _rewriter(MarianMTModel(MarianConfig(**settings | _ids(tokenizer))), tokenizer)


def rewriter_from_encoder(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, decoder_layers: int, dropout: float | None = None
) -> Rewriter:
    """A decoder behind the encoder, started from its embeddings and some of its layers (Rothe et al. 2020, BERT2BERT).

    NOTE: they take all layers and random weights for cross-attention. Here the layers are few, evenly spaced, and a
    layer's cross-attention starts from its self-attention: both look for words that go with the one before, so that
    copying, most of what restoring is, is learnt in fewer steps.

    Args:
        dropout: Of all layers in training; None leaves theirs.

    Raises:
        ValueError: The encoder is no BERT, or has fewer layers; ``dropout`` is no rate.
    """
    if not isinstance(encoder, BertModel):
        raise ValueError(f"model.text: a {encoder.config.model_type}; the rewriter is made of a BERT")
    shape: Any = encoder.config
    if not 1 <= decoder_layers <= shape.num_hidden_layers:
        raise ValueError(f"decoder_layers: {decoder_layers}, but the encoder has {shape.num_hidden_layers}")
    own = copy.deepcopy(shape)
    own.update({"num_hidden_layers": decoder_layers, "is_decoder": True, "add_cross_attention": True})
    decoder: Any = BertLMHeadModel(own)
    decoder.bert.embeddings.load_state_dict(encoder.embeddings.state_dict())
    chosen = np.linspace(0, shape.num_hidden_layers - 1, decoder_layers).round().astype(int)
    layers: Any = encoder.encoder.layer
    for layer, taken in zip(decoder.bert.encoder.layer, (layers[place] for place in chosen), strict=True):
        for name in ("attention", "intermediate", "output"):
            getattr(layer, name).load_state_dict(getattr(taken, name).state_dict())
        layer.crossattention.load_state_dict(taken.attention.state_dict())
    config = EncoderDecoderConfig.from_encoder_decoder_configs(shape, own, **_ids(tokenizer), **{_MARK: True})
    model = EncoderDecoderModel(config=config, encoder=encoder, decoder=decoder)
    if dropout is not None:
        set_dropout(model, dropout)
    return _rewriter(model, tokenizer)


def _ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """A text begins and ends as BERT's do."""
    begin, end, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    return {"decoder_start_token_id": begin, "eos_token_id": end, "pad_token_id": padding}


def _rewriter(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Rewriter:
    model.generation_config = GenerationConfig(**_ids(tokenizer))
    return Rewriter(model, tokenizer)


def next_token_logits(model: PreTrainedModel, input_ids: Tensor, attention_mask: Tensor, target: Tensor) -> Tensor:
    """[b, u - 1, vocabulary]: of each token of ``target`` [b, u] but the first, told those before it.

    Args:
        input_ids, attention_mask: [b, t], the text that is to be rewritten.
        target: [b, u], with its special tokens, padded.
    """
    told = target[:, :-1]
    return model(
        input_ids=input_ids,
        attention_mask=attention_mask,
        decoder_input_ids=told,
        decoder_attention_mask=(told != model.config.pad_token_id).long(),
    ).logits
