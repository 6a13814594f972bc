"""Sequence-to-sequence models of a few thousand random weights, saved as the transformers library saves its own."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    BertTokenizer,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from tqnet.paraphrase.rewriter import rewriter_from_encoder

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = "tom ann ran ate red pens why did he she run home apples in the a how many km 5 7 . , ?"
WORDS = _WORDS.split()
IDS = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 2, "forced_eos_token_id": 3}
SHAPE = {
    "vocab_size": len(SPECIAL + WORDS),
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 32,
    "init_std": 1.0,
}


def word_pieces() -> BertTokenizer:
    """It makes all letters small and drops spaces."""
    return BertTokenizer(vocab={word: n for n, word in enumerate(SPECIAL + WORDS)}, do_lower_case=True)


def words() -> PreTrainedTokenizerFast:
    """Words between spaces, as they are."""
    backend = Tokenizer(models.WordLevel({word: n for n, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("pad_token", "unk_token", "cls_token", "eos_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def save(kind: str, folder: Path, seed: int = 0, ends: bool = True) -> str:
    """A ``bart``, a ``marian`` or a ``rewriter``; every text comes to its end, which is likelier the longer it is.

    Args:
        ends: Else no text does, but where it is cut.
    """
    torch.manual_seed(seed)
    if kind == "rewriter":
        shape = BertConfig(
            vocab_size=len(SPECIAL + WORDS),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=32,
            initializer_range=1.0,
        )
        rewriter = rewriter_from_encoder(BertModel(shape, add_pooling_layer=False), word_pieces(), 1)
        _end(rewriter.model, ends)
        rewriter.save_pretrained(folder)
        return str(folder)
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    if kind == "bart":
        model, tokenizer = BartForConditionalGeneration(BartConfig(**SHAPE, **IDS, bos_token_id=2)), words()
    else:
        model, tokenizer = MarianMTModel(MarianConfig(**SHAPE, **IDS)), word_pieces()
    _end(model, ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _end(model: PreTrainedModel, ends: bool) -> None:
    if ends:
        model.generation_config.exponential_decay_length_penalty = (3, 2.0)
    else:
        model.generation_config.min_new_tokens = 1000
        model.generation_config.forced_eos_token_id = 3
