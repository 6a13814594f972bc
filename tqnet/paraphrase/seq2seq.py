"""Sequence-to-sequence models of the transformers library: texts in, other texts out, in batches."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from tokenizers.models import WordPiece
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from tqnet.errors import first_line
from tqnet.modeling.build import set_dropout
from tqnet.modeling.encode import accelerator
from tqnet.modeling.interchange import introduce
from tqnet.modeling.pretrained import check_folder

# Diverse beam search (Vijayakumar et al. 2018), which the transformers library has no longer by itself.
#
# There may be as many groups as beams, the setting that its authors report with: a group is then a greedy search of its
# own, and `generate` needs no more than a processor of logits that lets later groups keep away from earlier ones. Every
# model that generates can do it.
#
# NOTE: ParaQD names neither groups nor strength; groups of several beams, which would need a search of our own, are
# left out.


class HammingDiversity(LogitsProcessor):
    """A token loses ``strength`` for each earlier group that takes it at the same step (Section 4, Hamming diversity).

    Args:
        groups: Rows of a batch are b texts, each ``groups`` times in turn.
        end: Tokens that end a text: groups that have ended take none.
    """

    def __init__(self, groups: int, strength: float, end: Tensor):
        self.groups, self.strength, self.end = groups, strength, end

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids: [b * groups, t], beginning with the start token; scores: [b * groups, vocabulary]."""
        ended = torch.isin(input_ids[:, 1:], self.end.to(input_ids.device)).any(1).view(-1, self.groups)
        by_group = scores.float().view(-1, self.groups, scores.shape[-1])
        taken = torch.zeros_like(by_group[:, 0])
        diverse = []
        for group in range(self.groups):
            own = by_group[:, group] - self.strength * taken
            diverse.append(own)
            taken = taken + F.one_hot(own.argmax(-1), own.shape[-1]) * ~ended[:, group, None]
        return torch.stack(diverse, 1).view_as(scores)


# A small sequence-to-sequence model that restores corrupted questions, and so rewrites them: new, or made of a BERT.
#
# It reconstructs for ParaQD's f_b, and stands in for a translation pair (f1) and for models that lose information (f9,
# f_e) where none is at hand.


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


# Case and spaces that a tokenizer drops, taken from the text that was rewritten.


#: A token as the vocabulary has it, and where it stands in its text, as (start, end).
Placed = tuple[str, tuple[int, int]]

_INNER = "##"
_BEGINS = re.compile(r"(?:^|[.?!])[\s\"'(]*$")
_CLOSES = tuple(".,;:?!)%]}'’")
_OPENS = tuple("($[{")


def restore(text: str, tokens: Sequence[Placed], made: Sequence[str]) -> str:
    """The word pieces ``made`` as a text, written as ``text`` writes them wherever it has them.

    Runs of pieces that both have keep case and spaces: "$1,200", "km/h", "120-page". A piece that stands elsewhere
    keeps its case, but for a common word that began a sentence. New words are in small letters, and a sentence begins
    with a capital if that of ``text`` does.

    Args:
        tokens: Those of ``text``.
    """
    places = _places([token for token, _ in tokens], made)
    capitals = bool(tokens) and text[tokens[0][1][0]].isupper()
    written = ""
    for at, token in enumerate(made):
        place, before = places[at], places[at - 1] if at else None
        if place is not None and before is not None and place == before + 1:
            gap = text[tokens[before][1][1] : tokens[place][1][0]]
        else:
            gap = _gap(written, token)
        written += gap
        begins = _BEGINS.search(written[-4:]) is not None and (not written or gap != "")
        new = token.removeprefix(_INNER) if place is None else _as_written(text, tokens[place], begins)
        written += new[:1].upper() + new[1:] if begins and capitals else new
    return written


def _places(own: Sequence[str], made: Sequence[str]) -> list[int | None]:
    """Where the like of each made token stands: in a run that both have, behind the one before it, or first of all."""
    places: list[int | None] = [None] * len(made)
    for block in SequenceMatcher(None, own, made, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            places[block.b + offset] = block.a + offset
    first = {token: place for place, token in reversed(list(enumerate(own)))}
    for at, token in enumerate(made):
        if places[at] is None:
            behind = (before + 1) if at and (before := places[at - 1]) is not None else len(own)
            places[at] = behind if own[behind : behind + 1] == [token] else first.get(token)
    return places


def _gap(written: str, token: str) -> str:
    if not written or token.startswith(_INNER) or token in _CLOSES or written.endswith(_OPENS):
        return ""
    return " "


def _as_written(text: str, token: Placed, begins: bool) -> str:
    start, end = token[1]
    word = text[start:end]
    was_first = _BEGINS.search(text[max(0, start - 4) : start]) is not None
    if was_first and not begins and word.istitle() and word.lower() in ENGLISH_STOP_WORDS and word != "I":
        return word.lower()
    return word


#: Packages that only some tokenizers need: Marian's and T5's, FSMT's.
_OF_TOKENIZERS = ("sentencepiece", "sacremoses")
#: A text may become longer by this factor, and by so many tokens.
_LONGER, _MORE = 1.5, 10


class Seq2Seq:
    """A model with its tokenizer.

    Args:
        model, tokenizer: As the transformers library loads them.
        batch_size: Texts that are generated from at once.
        precision: ``fp32`` or ``bf16`` (autocast).
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32, precision: str = "fp32"):
        self.model, self.tokenizer, self.batch_size, self.precision = model.eval(), tokenizer, batch_size, precision
        # Many a model is told to end where it is cut, which would pass for an end of its own.
        self.model.generation_config.forced_eos_token_id = None

    @classmethod
    def from_pretrained(cls, name: str, device: str | torch.device | None = None, **options: Any) -> Seq2Seq:
        """By name on the hub, or from a folder, in fp32.

        Args:
            device: By default the accelerator where there is one.
            options: Of the class.

        Raises:
            FileNotFoundError: The folder is not there, or holds no model.
            ModuleNotFoundError: Its tokenizer needs a package that is missing; ``name`` says which.
            OSError: It cannot be fetched.
            ValueError: It is no sequence-to-sequence model, has no tokenizer, or its weights are damaged.
        """
        _check_kind(name)
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=torch.float32)
        except SafetensorError as error:  # a plain Exception
            raise ValueError(f"{name}: its weights cannot be read: {error}") from error
        except (ImportError, OSError, ValueError) as error:
            for package in _OF_TOKENIZERS:
                if isinstance(error, ImportError) and package in str(error).lower():
                    raise ModuleNotFoundError(f"{name}: its tokenizer needs {package}", name=package) from error
            raise ValueError(f"{name}: {first_line(error)}") from error
        return cls(model.to(device or accelerator() or "cpu"), tokenizer, **options)

    @property
    def is_rewriter(self) -> bool:
        """Whether ``pretrain/rewriter.py`` trained it to restore corrupted questions."""
        return is_rewriter(self.model.config)

    @property
    def most_tokens(self) -> int:
        """Tokens that it reads and writes."""
        config = self.model.config
        parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
        positions = [getattr(part, "max_position_embeddings", None) for part in parts]
        return min(self.tokenizer.model_max_length, *(count for count in positions if count), 2**20)

    def best(self, texts: Sequence[str], beams: int = 5) -> list[list[str]]:
        """Of each text what beam search finds likeliest: a list of one text, or none (`diverse`)."""
        return self._rewrite(texts, texts, 1, {"num_beams": beams})

    def diverse(
        self, texts: Sequence[str], count: int = 4, diversity: float = 0.5, likeness: Sequence[str] | None = None
    ) -> list[list[str]]:
        """Of each text at most ``count`` texts by diverse beam search, the likeliest first; some may be equal.

        What is too long for the model, or does not come to its end, is left out.

        Args:
            diversity: What a token loses for each earlier group that takes it (`HammingDiversity`).
            likeness: Texts that have the case and the spaces that a WordPiece tokenizer drops, by default ``texts``.
        """
        processor = HammingDiversity(count, diversity, self._ends)
        options = {"num_beams": 1, "logits_processor": LogitsProcessorList([processor])}
        return self._rewrite(texts, likeness if likeness is not None else texts, count, options)

    @torch.inference_mode()
    def _rewrite(
        self, texts: Sequence[str], likeness: Sequence[str], copies: int, options: dict[str, Any]
    ) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in texts]
        device = self.model.device
        for rows in self._batches(texts):
            inputs = self.tokenizer([texts[row] for row in rows], padding=True, return_tensors="pt").to(device)
            width = inputs["input_ids"].shape[1]
            with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                made = self.model.generate(
                    input_ids=inputs["input_ids"].repeat_interleave(copies, 0),
                    attention_mask=inputs["attention_mask"].repeat_interleave(copies, 0),
                    do_sample=False,
                    max_new_tokens=min(self.most_tokens - 1, int(_LONGER * width) + _MORE),
                    **options,
                )
            for place, ids in enumerate(made.cpu()):
                row = rows[place // copies]
                if torch.isin(ids[1:], self._ends).any():  # the start token may be an end token too
                    found[row].append(self._decoded(ids[1:], likeness[row]))
        return found

    @property
    def _ends(self) -> Tensor:
        return torch.tensor(self.model.generation_config.eos_token_id).reshape(-1)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Places of texts of like length, the longest first, without those that are too long."""
        lengths = [len(ids) for ids in self.tokenizer(list(texts))["input_ids"]] if texts else []
        fitting = [place for place, length in enumerate(lengths) if length <= self.most_tokens]
        fitting.sort(key=lambda place: lengths[place], reverse=True)
        for start in range(0, len(fitting), self.batch_size):
            yield fitting[start : start + self.batch_size]

    def _decoded(self, ids: Tensor, likeness: str) -> str:
        tokenizer = self.tokenizer
        if not isinstance(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None), WordPiece):
            return tokenizer.decode(ids, skip_special_tokens=True).strip()
        encoding = tokenizer.backend_tokenizer.encode(likeness, add_special_tokens=False)
        special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        made = tokenizer.convert_ids_to_tokens([number for number in ids.tolist() if number not in special])
        return restore(likeness, list(zip(encoding.tokens, encoding.offsets, strict=True)), made)


def _check_kind(name: str) -> None:
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{name}: no model here (config.json is missing)")
    check_folder(name)
    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise OSError(f"{name}: {first_line(error)}") from error
    if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
        raise ValueError(f"{name}: a {config.model_type}, no sequence-to-sequence model of the transformers library")
