"""Questions to tensors: the tokenizer and the image processor behind one call."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
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
from tqnet.text.vocabulary import SPELLING, Legible, add_tokens, learn_tokens, spell

log = logging.getLogger(__name__)

T = TypeVar("T")

#: A question: the record, a dict of its fields, or its stem alone.
QuestionLike = Question | Mapping[str, Any] | str


def as_question(item: QuestionLike) -> Question:
    """Convert ``item`` to a record; a dict needs no id, and with figures no stem."""
    if isinstance(item, Question):
        return item
    if isinstance(item, str):
        # Read like a bank's stem: HTML is cleaned, its figures count. Empty text is allowed here.
        return read_question({"id": "-", "stem": item}) if item.strip() else Question(id="-", stem=item)
    return read_question({"id": "-", **({"stem": ""} if item.get("images") else {}), **item})


class TQNetProcessor(ProcessorMixin):
    """Packs questions into a batch of token ids and concatenated images.

    Args:
        max_length, max_images: Longer texts are truncated and further figures dropped, counted in
            ``cut_texts`` and ``left_out_images``.
        spell_formulas: Spell out formulas before tokenising (see :mod:`tqnet.text.vocabulary`). Off for an
            off-the-shelf encoder, on once the vocabulary has LaTeX tokens.
        mark_numbers: Replace numbers by tokens of their index and kind (:mod:`tqnet.text.numbers`), for the
            solver of word problems.
        prompt: Prefix of every text, such as ``query: ``.
    """

    def __init__(
        self,
        image_processor: TQNetImageProcessor,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int = 256,
        max_images: int = 10,
        spell_formulas: bool = False,
        mark_numbers: bool = False,
        prompt: str = "",
    ):
        super().__init__(image_processor, tokenizer)
        self.max_length = max_length
        self.max_images = max_images
        self.spell_formulas = spell_formulas
        self.mark_numbers = mark_numbers
        self.prompt = prompt
        self.cut_texts = self.left_out_images = 0
        self.blank_unreadable = False
        """Read a blank figure, with a warning, in place of one that cannot be read."""
        self._legible: Legible | None = None

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing; see :meth:`EncoderConfig.register_for_auto_class`."""

    def __call__(self, questions: Sequence[QuestionLike], **_: Any) -> BatchFeature:
        """Return ``input_ids`` and ``attention_mask`` [b, t], ``pixel_values`` [n, 3, s, s], ``image_counts`` [b]."""
        return self.pack_questions([as_question(question) for question in questions])

    def pack_questions(self, questions: Sequence[Question], read_images: bool = True) -> BatchFeature:
        """Pack records into a batch, with unaugmented figures or none."""
        squares = [
            [self.image_processor.fit(figure) for figure in self.open_images(question)] if read_images else []
            for question in questions
        ]
        return self.pack(self.tokenize([question.content for question in questions]), squares)

    def pack(self, ids: Sequence[Sequence[int]], squares: Sequence[Sequence[np.ndarray]]) -> BatchFeature:
        """Pack token ids and, per question, uint8 squares of the image size."""
        images = {
            "pixel_values": self.image_processor.normalise([square for figures in squares for square in figures]),
            "image_counts": torch.tensor([len(figures) for figures in squares]),
        }
        return BatchFeature({**self.pack_text(ids), **images})

    def pack_text(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Return ``input_ids`` and ``attention_mask``, padded to the longest."""
        width = max(map(len, ids))
        input_ids = torch.full((len(ids), width), self.tokenizer.pad_token_id)
        mask = torch.zeros((len(ids), width), dtype=torch.long)
        for row, tokens in enumerate(ids):
            input_ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        return {"input_ids": input_ids, "attention_mask": mask}

    def learn_vocabulary(self, texts: Iterable[str], min_count: int) -> list[str]:
        """Add the LaTeX commands and characters that ``texts`` need; turns on ``spell_formulas``."""
        tokens = learn_tokens(texts, self.tokenizer, min_count)
        add_tokens(self.tokenizer, tokens)
        self.spell_formulas = True
        self._legible = None
        return tokens

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenise texts, with special tokens, to at most ``max_length`` ids each."""
        ids = [encoding.ids for encoding in self.tokenizer.backend_tokenizer.encode_batch_fast(self.legible(texts))]
        self.cut_texts += sum(len(tokens) > self.max_length for tokens in ids)
        return [
            tokens if len(tokens) <= self.max_length else [*tokens[: self.max_length - 1], tokens[-1]] for tokens in ids
        ]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of texts, special tokens included, without a cut."""
        return list(map(len, self.tokenizer.backend_tokenizer.encode_batch_fast(self.legible(texts))))

    @property
    def digest(self) -> str:
        """32 hex digits of everything that token ids depend on."""
        spelling = SPELLING if self.spell_formulas else 0
        state = repr((spelling, self.mark_numbers, self.prompt, self.tokenizer.backend_tokenizer.to_str()))
        return hashlib.blake2b(state.encode(), digest_size=16).hexdigest()

    def legible(self, texts: Sequence[str]) -> list[str]:
        """Return texts as the tokenizer reads them: formulas spelt out, numbers marked, the prompt in front."""
        if self.mark_numbers:
            texts = [with_number_tokens(text) for text in texts]
        if self._legible is None:
            backend = self.tokenizer.backend_tokenizer
            backend.no_padding()  # a tokenizer file may enable both
            backend.no_truncation()
            self._legible = Legible(backend)
        texts = [self._legible(text) for text in texts]
        if self.spell_formulas:
            texts = [spell(text) for text in texts]
        return [self.prompt + text for text in texts]

    def take_tokenizer(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Replace the tokenizer."""
        self.tokenizer, self._legible = tokenizer, None

    def join(self, first: Sequence[int], second: Sequence[int], length: int) -> list[int]:
        """Join the token ids of two texts into ``[CLS] first [SEP] second [SEP]``, at most ``length`` of them.

        The longer text is truncated first.
        """
        start, separator = first[0], first[-1]
        words = _within(length - 3, first[1:-1], second[1:-1])
        self.cut_texts += sum(map(len, words)) < len(first) + len(second) - 4
        return [start, *words[0], separator, *words[1], separator]

    def join_images(self, first: Sequence[str], second: Sequence[str]) -> list[str]:
        """Return up to ``max_images`` figure paths of two questions; the longer list is cut first."""
        kept = [path for paths in _within(self.max_images, first, second) for path in paths]
        self.left_out_images += len(first) + len(second) - len(kept)
        return kept

    def open_images(self, question: Question) -> list[np.ndarray]:
        """Open up to ``max_images`` of the question's figures, uint8 [H, W, 3] each."""
        return [self.open_figure(path) for path in self.kept_images(question.images)]

    def open_figure(self, path: str) -> np.ndarray:
        """Open a figure, uint8 [H, W, 3].

        Raises:
            OSError: It cannot be read, and ``blank_unreadable`` is off; the message has its path.
        """
        try:
            return open_figure(path)
        except OSError as error:
            if not self.blank_unreadable:
                raise
            warn_of_blank(str(error))
            return np.full((1, 1, 3), 255, dtype=np.uint8)

    def kept_images(self, images: Sequence[str]) -> Sequence[str]:
        """Return the first ``max_images`` of a question's figure paths and count the rest."""
        self.left_out_images += max(0, len(images) - self.max_images)
        return images[: self.max_images]

    def forget_cuts(self) -> None:
        """Reset the counts."""
        self.cut_texts = self.left_out_images = 0

    def warn_of_cuts(self) -> None:
        """Warn of texts cut and figures dropped since the last call."""
        if self.cut_texts:
            log.warning("%d texts were cut to %d tokens", self.cut_texts, self.max_length)
        if self.left_out_images:
            log.warning("%d figures beyond %d of a question left out", self.left_out_images, self.max_images)
        self.forget_cuts()


@cache
def warn_of_blank(problem: str) -> None:
    """Warn once of a figure that is read as a blank."""
    log.warning("%s; a blank is read in its place", problem)


def _within(room: int, first: Sequence[T], second: Sequence[T]) -> tuple[list[T], list[T]]:
    """Truncate two sequences to ``room`` together: the longer one first, never below half of ``room``."""
    both = list(first), list(second)
    shorter, longer = sorted(both, key=len)
    if len(shorter) + len(longer) > room:
        del shorter[room // 2 :]
        del longer[room - len(shorter) :]
    return both


for _config in (TQNetConfig, QuesNetConfig):
    AutoProcessor.register(_config, TQNetProcessor)
