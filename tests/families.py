"""Tiny random text encoders of the families of transformers, each with a tokenizer of its kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, PreTrainedTokenizerFast

from tqnet.modeling.text_encoders import new_text_encoder

HIDDEN = 32
_SIZES = {"hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
_XLMR = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
_T5 = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
_QWEN = {"eos_token": "<|endoftext|>"}
_DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}

#: Model type -> its tokenizer's model and special tokens, and settings of its own.
FAMILIES: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "bert": ("WordPiece", _BERT, {}),
    "roberta": ("BPE", _XLMR, {"max_position_embeddings": 98, "type_vocab_size": 1}),
    "xlm-roberta": ("Unigram", _XLMR, {"max_position_embeddings": 98, "type_vocab_size": 1}),
    "mpnet": ("WordPiece", _XLMR, {"max_position_embeddings": 98}),
    "albert": ("Unigram", _BERT, {"embedding_size": 16}),
    "distilbert": ("WordPiece", _BERT, {"dim": HIDDEN, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "electra": ("WordPiece", _BERT, {"embedding_size": 16}),
    "deberta-v2": ("Unigram", _BERT, _DEBERTA),
    "modernbert": ("BPE", _BERT, {"global_attn_every_n_layers": 2}),
    "t5": ("Unigram", _T5, {"d_model": HIDDEN, "num_layers": 2, "num_heads": 4, "d_ff": 64, "d_kv": 8}),
    "qwen3": ("BPE", _QWEN, {"num_key_value_heads": 2, "head_dim": 8}),
}


def write_encoder(family: str, folder: Path, texts: Iterable[str]) -> Path:
    """Write a random encoder with a vocabulary learnt from ``texts`` to ``folder``; return the folder."""
    kind, special, settings = FAMILIES[family]
    tokenizer = _tokenizer(kind, special, texts)
    sizes = _SIZES if "hidden_size" in AutoConfig.for_model(family).to_dict() else {}
    ids = {f"{name}_id": tokenizer.convert_tokens_to_ids(token) for name, token in special.items()}
    ids = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0} | ids
    torch.manual_seed(0)
    encoder = new_text_encoder(
        AutoConfig.for_model(family, **{**sizes, **ids, "vocab_size": len(tokenizer), **settings})
    )
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(kind: str, special: dict[str, str], texts: Iterable[str]) -> PreTrainedTokenizerFast:
    tokens = list(special.values())
    backend, trainer = {"WordPiece": _word_pieces, "Unigram": _unigram, "BPE": _byte_pairs}[kind](special)
    backend.train_from_iterator(texts, trainer)
    first, last = (special.get(name, "") for name in ("cls_token", "sep_token"))
    last = last or special.get("eos_token", "")
    if last:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}".strip(),
            special_tokens=[(token, backend.token_to_id(token)) for token in {first, last} - {""}],
        )
    assert all(backend.token_to_id(token) is not None for token in tokens)
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def _word_pieces(special: dict[str, str]) -> tuple[Tokenizer, Any]:
    backend = Tokenizer(models.WordPiece(unk_token=special["unk_token"]))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return backend, trainers.WordPieceTrainer(
        vocab_size=900, special_tokens=list(special.values()), show_progress=False
    )


def _unigram(special: dict[str, str]) -> tuple[Tokenizer, Any]:
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return backend, trainers.UnigramTrainer(
        vocab_size=900, special_tokens=list(special.values()), unk_token=special["unk_token"], show_progress=False
    )


def _byte_pairs(special: dict[str, str]) -> tuple[Tokenizer, Any]:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend, trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=list(special.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
