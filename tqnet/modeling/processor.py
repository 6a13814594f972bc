"""Questions to tensors: the tokenizer and the image processor behind one call."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import AutoProcessor, BatchFeature, PreTrainedTokenizerBase
from transformers.processing_utils import ProcessorMixin

from tqnet.modeling.configuration import QuesNetConfig, TQNetConfig
from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.questions import Question, read_question
from tqnet.questions.images import open_figure
from tqnet.text.numbers import with_number_tokens
from tqnet.text.vocabulary import Legible, add_tokens, learn_tokens, spell

log = logging.getLogger(__name__)

T = TypeVar("T")

#: What may stand for a question: the record, a dict of its fields, or its stem alone.
QuestionLike = Question | Mapping[str, Any] | str


def as_question(item: QuestionLike) -> Question:
    """``item`` as a record; a dict needs no id, and no stem beside figures."""
    if isinstance(item, Question):
        return item
    if isinstance(item, str):
        # As a bank's stem: HTML is cleaned, its figures count. An empty text is no fault here.
        return read_question({"id": "-", "stem": item}) if item.strip() else Question(id="-", stem=item)
    return read_question({"id": "-", **({"stem": ""} if item.get("images") else {}), **item})


class TQNetProcessor(ProcessorMixin):
    """Packs questions into a batch: token ids, and the images of all questions one behind the other.

    Args:
        max_length, max_images: Longer texts are cut and further figures left out, both counted in
            ``cut_texts`` and ``left_out_images``.
        spell_formulas: Formulas are spelt out before tokenising (see :mod:`tqnet.text.vocabulary`). Off for an
            encoder as it comes, on once the vocabulary knows LaTeX.
        mark_numbers: Numbers are read as tokens that tell their places and kinds (:mod:`tqnet.text.numbers`), as
            a solver of word problems wants them.
    """

    def __init__(
        self,
        image_processor: TQNetImageProcessor,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int = 256,
        max_images: int = 10,
        spell_formulas: bool = False,
        mark_numbers: bool = False,
    ):
        super().__init__(image_processor, tokenizer)
        self.max_length = max_length
        self.max_images = max_images
        self.spell_formulas = spell_formulas
        self.mark_numbers = mark_numbers
        self.cut_texts = self.left_out_images = 0
        self._legible: Legible | None = None

    def __call__(self, questions: Sequence[QuestionLike], **_: Any) -> BatchFeature:
        """``input_ids`` and ``attention_mask`` [b, t], ``pixel_values`` [n, 3, s, s], ``image_counts`` [b]."""
        return self.pack_questions([as_question(question) for question in questions])

    def pack_questions(self, questions: Sequence[Question], read_images: bool = True) -> BatchFeature:
        """A batch of records; their figures are squares as they are, or left out."""
        squares = [
            [self.image_processor.fit(figure) for figure in self.open_images(question)] if read_images else []
            for question in questions
        ]
        return self.pack(self.tokenize([question.content for question in questions]), squares)

    def pack(self, ids: Sequence[Sequence[int]], squares: Sequence[Sequence[np.ndarray]]) -> BatchFeature:
        """A batch from token ids and, per question, uint8 squares of the image size."""
        images = {
            "pixel_values": self.image_processor.normalise([square for figures in squares for square in figures]),
            "image_counts": torch.tensor([len(figures) for figures in squares]),
        }
        return BatchFeature({**self.pack_text(ids), **images})

    def pack_text(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask``, padded to the longest."""
        width = max(map(len, ids))
        input_ids = torch.full((len(ids), width), self.tokenizer.pad_token_id)
        mask = torch.zeros((len(ids), width), dtype=torch.long)
        for row, tokens in enumerate(ids):
            input_ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        return {"input_ids": input_ids, "attention_mask": mask}

    def learn_vocabulary(self, texts: Iterable[str], min_count: int) -> list[str]:
        """Add the LaTeX commands and characters that ``texts`` need; formulas are spelt from now on."""
        tokens = learn_tokens(texts, self.tokenizer, min_count)
        add_tokens(self.tokenizer, tokens)
        self.spell_formulas = True
        self._legible = None
        return tokens

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text with its special tokens, at most ``max_length`` of them."""
        if self.mark_numbers:
            texts = [with_number_tokens(text) for text in texts]
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()  # a tokenizer file may pad and cut by itself
        backend.no_truncation()
        self._legible = self._legible or Legible(backend)
        texts = [self._legible(text) for text in texts]
        if self.spell_formulas:
            texts = [spell(text) for text in texts]
        ids = [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]
        self.cut_texts += sum(len(tokens) > self.max_length for tokens in ids)
        return [
            tokens if len(tokens) <= self.max_length else [*tokens[: self.max_length - 1], tokens[-1]] for tokens in ids
        ]

    def join(self, first: Sequence[int], second: Sequence[int], length: int) -> list[int]:
        """Token ids of two texts as those of one, ``[CLS] first [SEP] second [SEP]``, at most ``length`` of them.

        What is too long is cut where it is longer.
        """
        start, separator = first[0], first[-1]
        words = _within(length - 3, first[1:-1], second[1:-1])
        self.cut_texts += sum(map(len, words)) < len(first) + len(second) - 4
        return [start, *words[0], separator, *words[1], separator]

    def join_images(self, first: Sequence[str], second: Sequence[str]) -> list[str]:
        """Paths of two questions' figures that are read, at most ``max_images``; of more, where there are more."""
        kept = [path for paths in _within(self.max_images, first, second) for path in paths]
        self.left_out_images += len(first) + len(second) - len(kept)
        return kept

    def open_images(self, question: Question) -> list[np.ndarray]:
        """The question's figures, uint8 [H, W, 3] each, at most ``max_images``."""
        return [open_figure(path) for path in self.kept_images(question.images)]

    def kept_images(self, images: Sequence[str]) -> Sequence[str]:
        """Paths of a question's figures that are read: the first ``max_images``."""
        self.left_out_images += max(0, len(images) - self.max_images)
        return images[: self.max_images]

    def forget_cuts(self) -> None:
        """Count from zero."""
        self.cut_texts = self.left_out_images = 0

    def warn_of_cuts(self) -> None:
        """Say how much was left out since the last call, if anything."""
        if self.cut_texts:
            log.warning("%d texts were cut to %d tokens", self.cut_texts, self.max_length)
        if self.left_out_images:
            log.warning("%d figures beyond %d of a question left out", self.left_out_images, self.max_images)
        self.forget_cuts()


def _within(room: int, first: Sequence[T], second: Sequence[T]) -> tuple[list[T], list[T]]:
    """The beginnings of two sequences that fit into ``room`` together: the longer one is cut, at half of it both."""
    both = list(first), list(second)
    shorter, longer = sorted(both, key=len)
    if len(shorter) + len(longer) > room:
        del shorter[room // 2 :]
        del longer[room - len(shorter) :]
    return both


for _config in (TQNetConfig, QuesNetConfig):
    AutoProcessor.register(_config, TQNetProcessor)
