"""The vocabulary of a text encoder, cut to the pieces that a bank's texts need, or made whole again.

A multilingual encoder has 250,000 pieces, most of its weights; a bank needs a tenth of them. A bank's texts are read as
before. Single characters stay, so no text becomes unknown; another word may fall into more pieces than before.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from tqnet.config import ConfigError
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.text_encoders import load_text_encoder, word_embeddings
from tqnet.parallel import over_cores

log = logging.getLogger(__name__)

#: Marks of pieces that begin a word (SentencePiece) or continue one (WordPiece).
_MARKS = ("▁", "##")


def cut_vocabulary(model: QuestionEncoder, texts: Iterable[str], origin: str) -> None:
    """Keep the pieces that ``texts`` need, single characters and special tokens, with their embeddings.

    Args:
        origin: The text encoder that :func:`restore_vocabulary` takes the others from.

    Raises:
        ConfigError: The tokenizer merges pairs (BPE), so that pieces depend on one another.
    """
    tokenizer, backend = model.processor.tokenizer, model.processor.tokenizer.backend_tokenizer
    kept = {token for token in backend.get_vocab(with_added_tokens=False) if _is_character(token)}
    used = set().union(*over_cores(_pieces_of, texts, shared=model.processor))
    kept.update(tokenizer.convert_ids_to_tokens(sorted(used)))
    whole = len(tokenizer)
    _replace_tokenizer(model, _with_pieces(tokenizer, kept), {})
    log.info("model.vocabulary: %d of %d pieces kept", len(model.processor.tokenizer), whole)
    model.config.vocabulary_of = origin


def restore_vocabulary(model: QuestionEncoder, origin: str) -> None:
    """Restore the whole vocabulary of a model, with missing pieces from ``origin``.

    Raises:
        FileNotFoundError, ImportError, OSError: The text encoder cannot be loaded.
    """
    whole, encoder = load_text_encoder(origin)
    rows = dict(zip(*_by_id(whole), strict=True))
    embedding = word_embeddings(encoder).weight.detach()
    ours = model.processor.tokenizer
    added = [token for token in ours.added_tokens_decoder.values() if token.content not in rows]
    whole.add_tokens(added)
    _replace_tokenizer(model, whole, {token: embedding[row] for token, row in rows.items()})
    model.config.vocabulary_of = None


def _pieces_of(processor: TQNetProcessor, texts: list[str]) -> set[int]:
    encodings = processor.tokenizer.backend_tokenizer.encode_batch_fast(processor.legible(texts))
    return set().union(*(encoding.ids for encoding in encodings))


def _is_character(token: str) -> bool:
    for mark in _MARKS:
        token = token.removeprefix(mark) or token
    return len(token) == 1


def _with_pieces(tokenizer: PreTrainedTokenizerBase, kept: Collection[str]) -> PreTrainedTokenizerBase:
    """Return a tokenizer with those pieces, its added tokens and the same order, numbered anew."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    model, added = state["model"], [token["content"] for token in state["added_tokens"]]
    kept = {*kept, *added, tokenizer.pad_token}
    if model["type"] == "Unigram":
        unknown = model["vocab"][model["unk_id"]][0]
        model["vocab"] = [entry for entry in model["vocab"] if entry[0] in kept or entry[0] == unknown]
        pieces = [piece for piece, _ in model["vocab"]]
        model["unk_id"] = pieces.index(unknown)
    elif model["type"] == "WordPiece":
        kept.add(model["unk_token"])
        pieces = [piece for piece in sorted(model["vocab"], key=model["vocab"].get) if piece in kept]
        model["vocab"] = {piece: number for number, piece in enumerate(pieces)}
    else:
        raise ConfigError(f"model.vocabulary: bank, but the encoder merges its pieces from others ({model['type']})")
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys([*pieces, *added]))}
    for token in state["added_tokens"]:
        token["id"] = numbers[token["content"]]
    _renumber(state["post_processor"], numbers)
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}
    extra = [token for token in tokenizer.all_special_tokens if token not in special.values()]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)),
        model_max_length=tokenizer.model_max_length,
        extra_special_tokens=extra,
        **special,
    )


def _renumber(node: Any, numbers: dict[str, int]) -> None:
    """Give the special tokens in a post-processor's settings their new numbers."""
    if isinstance(node, list):
        for place, item in enumerate(node):
            if place and isinstance(item, int) and node[0] in numbers:  # ["[SEP]", 102]
                node[place] = numbers[node[0]]
            _renumber(item, numbers)
    elif isinstance(node, dict):
        if "ids" in node:
            node["ids"] = [numbers[token] for token in node["tokens"]]
        for item in node.values():
            _renumber(item, numbers)


def _replace_tokenizer(model: QuestionEncoder, tokenizer: PreTrainedTokenizerBase, others: dict[str, Tensor]) -> None:
    """Give the model a tokenizer, and the embeddings of its tokens: its own, or those of ``others``."""
    before, weight = model.processor.tokenizer, model.get_input_embeddings().weight.detach().clone()
    if tokenizer.pad_token_id != before.pad_token_id:
        raise ConfigError("model.vocabulary: bank, but the id of the padding token would change")
    known = dict(zip(*_by_id(before), strict=True))
    tokens, _ = _by_id(tokenizer)
    # mean_resizing would draw random rows, for nothing.
    embedding = model.resize_token_embeddings(len(tokens), mean_resizing=False)
    with torch.no_grad():
        embedding.weight.copy_(torch.stack([weight[known[t]] if t in known else others[t] for t in tokens]))
    model.processor.take_tokenizer(tokenizer)


def _by_id(tokenizer: PreTrainedTokenizerBase) -> tuple[list[str], list[int]]:
    """Return the tokens of a tokenizer and their numbers, which have no gaps."""
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    return [token for token, _ in tokens], [number for _, number in tokens]
