"""A small sequence-to-sequence model that learns to restore corrupted questions, and so rewrites them (ParaQD, f_b).

Besides reconstruction, it stands in for a translation pair (f1) and for models that lose information (f9, f_e) where
none is available.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
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
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.paraphrase.seq2seq import RESTORES
from tqnet.questions import QuestionBank
from tqnet.training.data import Batch, Item, QuestionViews

#: Maximum number of questions of ``valid`` on which a checkpoint is judged.
_JUDGED = 500


@dataclass(frozen=True)
class Rewriter:
    """A model and its tokenizer, saved as an ordinary transformers folder; it does not read figures."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    cells_per_image: int = 0

    def save_pretrained(self, folder: Path) -> None:
        """Write files for `transformers.AutoModelForSeq2SeqLM` and `transformers.AutoTokenizer`."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        introduce(folder)


def new_rewriter(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, decoder_layers: int, dropout: float = 0.1
) -> Rewriter:
    """Return random weights in the shape of an encoder, with sinusoidal positions and tied embeddings (as in Marian).

    Both make copying easy: the step to the next position is the same rotation everywhere, and an attended word is
    already close to its own logit.
    """
    shape: Any = encoder.config
    config = MarianConfig(
        vocab_size=shape.vocab_size,
        d_model=shape.hidden_size,
        encoder_layers=shape.num_hidden_layers,
        decoder_layers=decoder_layers,
        encoder_attention_heads=shape.num_attention_heads,
        decoder_attention_heads=shape.num_attention_heads,
        encoder_ffn_dim=shape.intermediate_size,
        decoder_ffn_dim=shape.intermediate_size,
        max_position_embeddings=shape.max_position_embeddings,
        dropout=dropout,
        scale_embedding=True,
        forced_eos_token_id=None,
        **_marks(tokenizer),
    )
    return _rewriter(MarianMTModel(config), tokenizer)


def rewriter_from_encoder(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, decoder_layers: int, dropout: float | None = None
) -> Rewriter:
    """Add a decoder initialized from the encoder's embeddings and some of its layers (Rothe et al. 2020).

    NOTE: the paper takes all layers, and random weights for cross-attention (BERT2BERT). Here the decoder has a few
    evenly spaced layers, and a layer's cross-attention starts from its self-attention: both look for words that go with
    the previous one, so copying, which is most of restoring, is learnt in fewer steps.

    Args:
        dropout: Dropout rate of all layers; None keeps the encoder's.

    Raises:
        ValueError: The encoder is not a BERT or has too few layers; or ``dropout`` is not a rate.
    """
    if not isinstance(encoder, BertModel):
        raise ValueError(f"model.text: a {encoder.config.model_type}; the rewriter needs a BERT")
    shape: Any = encoder.config
    if not 1 <= decoder_layers <= shape.num_hidden_layers:
        raise ValueError(f"decoder_layers: {decoder_layers}, but the encoder has {shape.num_hidden_layers} layers")
    decoder_shape = copy.deepcopy(shape)
    decoder_shape.update({"num_hidden_layers": decoder_layers, "is_decoder": True, "add_cross_attention": True})
    decoder: Any = BertLMHeadModel(decoder_shape)
    decoder.bert.embeddings.load_state_dict(encoder.embeddings.state_dict())
    places = np.linspace(0, shape.num_hidden_layers - 1, decoder_layers).round().astype(int)
    layers: Any = encoder.encoder.layer
    for layer, source in zip(decoder.bert.encoder.layer, (layers[place] for place in places), strict=True):
        for name in ("attention", "intermediate", "output"):
            getattr(layer, name).load_state_dict(getattr(source, name).state_dict())
        layer.crossattention.load_state_dict(source.attention.state_dict())
    config = EncoderDecoderConfig.from_encoder_decoder_configs(shape, decoder_shape, **_marks(tokenizer))
    model = EncoderDecoderModel(config=config, encoder=encoder, decoder=decoder)
    if dropout is not None:
        set_dropout(model, dropout)
    return _rewriter(model, tokenizer)


def _marks(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return config entries: BERT's begin, end and padding tokens, and the mark of a rewriter."""
    begin, end, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    return {"decoder_start_token_id": begin, "eos_token_id": end, "pad_token_id": padding, RESTORES: True}


def _rewriter(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Rewriter:
    ids = {name: value for name, value in _marks(tokenizer).items() if name != RESTORES}
    model.generation_config = GenerationConfig(**ids)
    return Rewriter(model, tokenizer)


def next_token_logits(model: PreTrainedModel, input_ids: Tensor, attention_mask: Tensor, target: Tensor) -> Tensor:
    """Return the logits of each token of ``target`` but the first, given those before it (teacher forcing).

    Args:
        input_ids, attention_mask: [b, t], the text to be rewritten.
        target: [b, u], with special tokens, padded.

    Shape:
        - output: ``[b, u - 1, vocabulary]``
    """
    before = target[:, :-1]
    return model(
        input_ids=input_ids,
        attention_mask=attention_mask,
        decoder_input_ids=before,
        decoder_attention_mask=(before != model.config.pad_token_id).long(),
    ).logits


def check_installed() -> None:
    """Raise ImportError if spaCy is missing."""
    if find_spec("spacy") is None:
        raise ImportError("corrupting questions needs the package spacy: pip install 'tqnet[paraphrase]'")


class Restorations(QuestionViews):
    """Corrupted questions, with the originals as ``extras["target"]``: token ids [b, u] with special tokens.

    Each epoch moves, deletes, replaces and inserts words anew (`tqnet.paraphrase.tokens.corrupt`).
    A question too short to be corrupted is copied.

    Args:
        share: Share of the words affected by each kind of corruption.
        max_length: Maximum number of tokens; longer texts are cut.
    """

    def __init__(
        self, bank: QuestionBank, rewriter: Rewriter, seed: int, share: float, max_length: int, workers: int = 0
    ):
        import spacy

        processor = TQNetProcessor(TQNetImageProcessor(), rewriter.tokenizer, max_length)
        super().__init__(bank, processor, seed, workers=workers, read_images=False)
        self.share, self.words = share, spacy.blank("en")  # corruption needs only tokens

    def __getitem__(self, item: Item) -> tuple[Item, str, str]:  # type: ignore[override]
        from tqnet.paraphrase.problem import NotApplicable, Problem
        from tqnet.paraphrase.tokens import corrupt

        epoch, index, _ = item
        text = self.bank[index].content
        rng = np.random.default_rng([self.seed, epoch, index])
        try:
            return item, corrupt(Problem(text, self.words.make_doc(text)), rng, self.share), text
        except NotApplicable:
            return item, text, text

    def collate(self, rows: list[tuple[Item, str, str]]) -> Batch:  # type: ignore[override]
        """Return rows of :meth:`__getitem__` as a :class:`Batch`."""
        items, corrupted, texts = zip(*rows, strict=True)
        target = self._packed(texts)["input_ids"]
        return Batch(torch.tensor([index for _, index, _ in items]), [self._packed(corrupted)], {"target": target})

    def _packed(self, texts: Sequence[str]) -> dict[str, Tensor]:
        return self.processor.pack_text(self.processor.tokenize(texts))


class ValidationAccuracy:
    """Accuracy of next-token prediction on corrupted questions of ``valid``, given the true tokens before."""

    def __init__(self, rewriter: Rewriter, views: Restorations, batch_size: int):
        self.model, self.views, self.batch_size = rewriter.model, views, batch_size

    @torch.inference_mode()
    def __call__(self) -> dict[str, float]:
        was_training = self.model.training
        self.model.eval()
        right = count = 0
        judged = min(_JUDGED, len(self.views))
        for start in range(0, judged, self.batch_size):
            rows = [self.views[0, index, 0] for index in range(start, min(start + self.batch_size, judged))]
            batch = self.views.collate(rows).to(self.model.device)
            labels = batch.extras["target"][:, 1:]
            logits = next_token_logits(self.model, **batch.text, target=batch.extras["target"])
            real = labels != self.model.config.pad_token_id
            right += int(((logits.argmax(-1) == labels) & real).sum())
            count += int(real.sum())
        self.model.train(was_training)
        return {"valid/accuracy": right / max(1, count)}
