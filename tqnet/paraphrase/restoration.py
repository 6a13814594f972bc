"""Corrupted questions and what they were: what a rewriter learns from (ParaQD, f_b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.paraphrase.seq2seq import Rewriter, next_token_logits
from tqnet.questions import QuestionBank
from tqnet.training.data import Batch, Item, QuestionViews

#: Questions of ``valid`` on which a state is judged.
JUDGED = 500


def check_installed() -> None:
    """ImportError where spaCy is missing."""
    if find_spec("spacy") is None:
        raise ImportError("corrupting questions needs the package spacy: pip install 'tqnet[paraphrase]'")


class Restorations(QuestionViews):
    """Corrupted questions, and as ``extras["target"]`` what they were: token ids [b, u] with their special tokens.

    Words are moved, left out, replaced and inserted anew in each epoch (`tqnet.paraphrase.test_operators.corrupt`).
    A question too short to be corrupted is copied.

    Args:
        share: Of the words that each of these befalls.
        max_length: Tokens; what is longer is cut.
    """

    def __init__(
        self, bank: QuestionBank, rewriter: Rewriter, seed: int, share: float, max_length: int, workers: int = 0
    ):
        check_installed()
        import spacy

        processor = TQNetProcessor(TQNetImageProcessor(), rewriter.tokenizer, max_length)
        super().__init__(bank, processor, seed, workers=workers, read_images=False)
        self.share, self.words = share, spacy.blank("en")  # tokens are all that corruption asks of a parse

    def __getitem__(self, item: Item) -> tuple[Item, str, str]:  # type: ignore[override]
        from tqnet.paraphrase.problem import NotApplicable, Problem
        from tqnet.paraphrase.test_operators import corrupt

        epoch, index, _ = item
        text = self.bank[index].content
        rng = np.random.default_rng([self.seed, epoch, index])
        try:
            return item, corrupt(Problem(text, self.words.make_doc(text)), rng, self.share), text
        except NotApplicable:
            return item, text, text

    def collate(self, rows: list[tuple[Item, str, str]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`."""
        items, corrupted, texts = zip(*rows, strict=True)
        target = self._packed(texts)["input_ids"]
        return Batch(torch.tensor([index for _, index, _ in items]), [self._packed(corrupted)], {"target": target})

    def _packed(self, texts: Sequence[str]) -> dict[str, Tensor]:
        return self.processor.pack_text(self.processor.tokenize(texts))


class ValidationAccuracy:
    """Share of the tokens of corrupted questions of ``valid`` that are guessed right, told those before them."""

    def __init__(self, rewriter: Rewriter, views: Restorations, batch_size: int):
        self.rewriter, self.views, self.batch_size = rewriter, views, batch_size

    @torch.inference_mode()
    def __call__(self) -> dict[str, float]:
        model = self.rewriter.model
        was_training = model.training
        model.eval()
        right = count = 0
        for batch in self._batches():
            target = batch.extras["target"]
            logits = next_token_logits(model, **batch.inputs, target=target)
            real = target[:, 1:] != model.config.pad_token_id
            right += int(((logits.argmax(-1) == target[:, 1:]) & real).sum())
            count += int(real.sum())
        model.train(was_training)
        return {"valid/accuracy": right / max(1, count)}

    def _batches(self) -> Iterator[Batch]:
        items: Iterator[Any] = iter(range(min(JUDGED, len(self.views))))
        while rows := [self.views[0, index, 0] for index in islice(items, self.batch_size)]:
            yield self.views.collate(rows).to(self.rewriter.model.device)
