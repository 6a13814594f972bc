"""Text encoders of any architecture of transformers behind one contract: input ids and a mask in, token states out.

Encoders (BERT, RoBERTa, DeBERTa, ModernBERT, ...), the encoder of T5, and decoders such as Qwen3, which keep their
causal mask. What an architecture lacks is worked around here or refused by name.
"""

from __future__ import annotations

import inspect
import json
import logging
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import cached_file

from tqnet.config import ConfigError
from tqnet.modeling.pretrained import text_encoder_path

log = logging.getLogger(__name__)

#: How the states of a text's tokens become its vector: their mean, or the first or last one.
Pooling = Literal["tokens", "first", "last"]

_POOLINGS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "tokens",
    "cls": "first",
    "lasttoken": "last",
    "mean": "tokens",
}


def new_text_encoder(config: PretrainedConfig) -> PreTrainedModel:
    """Build an encoder with random weights, without a pooling layer.

    Raises:
        ConfigError: transformers has no encoder of this architecture alone.
    """
    kind = _class_of(config)
    encoder: PreTrainedModel = kind(config, **_without_pooler(kind))
    return encoder


def load_text_encoder(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Return the tokenizer and the fp32 encoder ``minilm``, ``me5``, in a folder or on the hub.

    Raises:
        ConfigError: transformers has no encoder of this architecture alone.
        FileNotFoundError, ImportError: As :func:`tqnet.modeling.pretrained.text_encoder_path`.
        OSError, ValueError: It cannot be loaded.
    """
    path = text_encoder_path(name)
    tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    if tokenizer.pad_token is None:  # as in many decoders; padding is masked, so any token will do
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    kind = _class_of(AutoConfig.from_pretrained(path, trust_remote_code=False))
    encoder = kind.from_pretrained(path, dtype=torch.float32, trust_remote_code=False, **_without_pooler(kind))
    return tokenizer, encoder


def pooling_of(name: str) -> Pooling:
    """Return the pooling in an encoder's sentence-transformers files; the mean of its tokens without them."""
    file = cached_file(
        text_encoder_path(name),
        "1_Pooling/config.json",
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    if file is None:
        return "tokens"
    with open(file, encoding="utf-8") as text:
        settings = json.load(text)
    modes = [mode for mode, chosen in settings.items() if mode.startswith("pooling_mode_") and chosen is True]
    if isinstance(settings.get("pooling_mode"), str):
        modes = [settings["pooling_mode"]]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        log.warning("model.pooling: the mean of all tokens, since %s pools by %s", name, ", ".join(modes) or "nothing")
        return "tokens"
    return _POOLINGS[modes[0]]


def most_tokens(encoder: PreTrainedModel) -> int | None:
    """Return the positions that an encoder has for a text's tokens; None if their number has no limit."""
    positions = getattr(encoder.config, "max_position_embeddings", None)
    return None if positions is None else positions - first_position(encoder)


def first_position(encoder: PreTrainedModel) -> int:
    """Return the position of a text's first token: that of padding + 1 in RoBERTa and its kin, 0 in others."""
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = table.padding_idx if isinstance(table, nn.Embedding) else None
    return 0 if padding is None else padding + 1


def halve_residuals(encoder: PreTrainedModel) -> None:
    """In training under autocast on a CPU, pass bf16 from layer to layer, which moves half as many bytes.

    PyTorch leaves sums and norms of a CPU in the precision that they are given, the embeddings' fp32.
    """
    if isinstance(embeddings := getattr(encoder, "embeddings", None), nn.Module):
        embeddings.register_forward_hook(_halved)


def _halved(module: nn.Module, inputs: Any, embedded: Any) -> Any:
    halves = module.training and isinstance(embedded, Tensor) and torch.is_autocast_enabled("cpu")
    return embedded.to(torch.get_autocast_dtype("cpu")) if halves and embedded.device.type == "cpu" else embedded


def word_embeddings(encoder: PreTrainedModel) -> nn.Embedding:
    """Return an encoder's table of word embeddings."""
    words = encoder.get_input_embeddings()
    assert isinstance(words, nn.Embedding)
    return words


def is_causal(encoder: PreTrainedModel) -> bool:
    """Return whether a token sees only those before it."""
    return any(getattr(module, "is_causal", False) is True for module in encoder.modules())


def beside_words(encoder: PreTrainedModel, input_ids: Tensor, visual: int) -> dict[str, Tensor]:
    """Return positions and types [b, t + v] of words [b, t] and v visual tokens in an encoder's own sequence.

    Visual tokens share the position of the first word and have type 1, as far as the encoder has positions and types.
    """
    takes = inspect.signature(encoder.forward).parameters
    inputs: dict[str, Tensor] = {}
    if "position_ids" in takes:
        first = first_position(encoder)
        words = torch.arange(input_ids.shape[1], device=input_ids.device) + first
        inputs["position_ids"] = F.pad(words.expand_as(input_ids), (0, visual), value=first)
    if "token_type_ids" in takes and getattr(encoder.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = F.pad(torch.zeros_like(input_ids), (0, visual), value=1)
    return inputs


def _class_of(config: PretrainedConfig) -> Any:
    # Not at import: these make tqnet register its models, which need this module.
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING

    for mapping in (MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING):
        if type(config) in mapping:
            kind: Any = mapping[type(config)]
            kind = kind[0] if isinstance(kind, tuple) else kind  # Funnel has two
            break
    else:
        raise ConfigError(f"model.text: transformers knows no model of {config.model_type}")
    if config.is_encoder_decoder and mapping is MODEL_MAPPING:
        what = f"a {config.model_type} is an encoder and a decoder"
        raise ConfigError(f"model.text: {what}; transformers does not offer its encoder alone")
    return kind


def _without_pooler(kind: Any) -> dict[str, bool]:
    return {"add_pooling_layer": False} if "add_pooling_layer" in inspect.signature(kind.__init__).parameters else {}
