"""What multi-task pre-training reads beside a question as it is: its text in two segments, masked, and its solution."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.questions.table import hash64
from tqnet.text.sentences import halves
from tqnet.training.data import Batch, Item
from tqnet.training.labels import is_told
from tqnet.training.masking import IGNORED, MaskTokens

#: Texts that are tokenised at a time.
_CHUNK = 4096


@dataclass(frozen=True)
class Solutions:
    """Which questions have a solution that may be read.

    Attributes:
        present: bool [n].
        hashes: int64 [n], equal where the solutions are.
    """

    present: Tensor
    hashes: Tensor

    @classmethod
    def of(cls, bank: QuestionBank, processor: TQNetProcessor, least: int) -> Solutions:
        """Those of at least ``least`` tokens."""
        columns = bank.batches("options", "answer", "analysis")
        texts = (
            Question(id="", stem="", options=options, answer=answer, analysis=analysis).solution
            for rows in columns
            for options, answer, analysis in zip(*rows, strict=True)
        )
        least += processor.tokenizer.num_special_tokens_to_add()
        lengths: list[int] = []
        hashes: list[int] = []
        while chunk := list(islice(texts, _CHUNK)):
            lengths += map(len, processor.tokenize(chunk))
            hashes += [hash64(text) - 2**63 for text in chunk]
        processor.warn_of_cuts()
        present = is_told(bank) & (np.array(lengths) >= least)
        return cls(torch.from_numpy(present), torch.tensor(hashes))


class TaskViews:
    """Packs the views of the tasks, beside that of the question as it is.

    NOTE: as in ALBERT, masked words and the order of segments share a view and so a forward pass. What is left of the
    text is enough for both, and neither reaches the vectors, which are of the question as it is.

    Args:
        names: Of the views that are wanted, in their order: ``content``, the question as it is; ``segments``, its text
            in two segments, in order or swapped, or in one where it cannot be cut; ``solution``, empty where there is
            none that may be read.
        mask: Masks words of ``segments``.
        order: Whether ``segments`` are cut and swapped at all.
    """

    def __init__(
        self,
        names: Sequence[str],
        bank: QuestionBank,
        processor: TQNetProcessor,
        seed: int,
        mask: MaskTokens | None,
        order: bool,
        solutions: Solutions | None,
    ):
        self.names, self.bank, self.processor, self.seed = names, bank, processor, seed
        self.mask, self.order, self.solutions = mask, order, solutions

    def __call__(self, batch: Batch, items: Sequence[Item]) -> Batch:
        """``batch`` with the views, and as extras

        ``words`` [b, t], the true tokens at masked places of ``segments`` and IGNORED elsewhere, and ``order``
        bool [b, 2], whether its segments are in order or swapped, neither where they are one.
        """
        views: dict[str, dict[str, Tensor]] = {"content": batch.inputs}
        extras: dict[str, Tensor] = {}
        if "segments" in self.names:
            views["segments"], extras = self._segments(batch, items)
        if self.solutions is not None:
            views["solution"] = self._text_view(self.processor.tokenize(self._solutions(self.solutions, items)))
        return dataclasses.replace(batch, views=[views[name] for name in self.names], extras=extras)

    def _segments(self, batch: Batch, items: Sequence[Item]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        real = batch.inputs["attention_mask"].bool()
        ids = [row[kept].numpy() for row, kept in zip(batch.inputs["input_ids"], real, strict=True)]
        order = torch.zeros((len(items), 2), dtype=torch.bool)
        if self.order:
            for row, item in enumerate(items):
                if found := self._cut(item):
                    ids[row], swapped = found
                    order[row, int(swapped)] = True
        words = torch.full((len(items), max(map(len, ids))), IGNORED)
        if self.mask is not None:
            for row, item in enumerate(items):
                ids[row], tokens = self.mask.mask(ids[row], item)
                words[row, : len(tokens)] = torch.from_numpy(tokens)
        return self._text_view([row.tolist() for row in ids]), {"words": words, "order": order}

    def _cut(self, item: Item) -> tuple[np.ndarray, bool] | None:
        """Token ids of a question's two segments, options behind the second, and whether they are swapped.

        None where its stem cannot be cut, or what would come out is too long to be read to its end.
        """
        epoch, index, view = item
        question = self.bank[index]
        ways = halves(question.stem)
        if not ways:
            return None
        rng = np.random.default_rng([self.seed, epoch, index, view, 1])  # not the draws of the mask
        first, second = ways[rng.integers(len(ways))]
        swapped = bool(rng.random() < 0.5)
        if swapped:
            first, second = second, first
        one, other = self.processor.tokenize([first, dataclasses.replace(question, stem=second).content])
        ids = np.array([*one, *other[1:]])  # [CLS] first [SEP] second [SEP]
        return (ids, swapped) if len(ids) <= self.processor.max_length else None

    def _solutions(self, solutions: Solutions, items: Sequence[Item]) -> list[str]:
        return [self.bank[index].solution if solutions.present[index] else "" for _, index, _ in items]

    def _text_view(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        return {**self.processor.pack_text(ids), "image_counts": torch.zeros(len(ids), dtype=torch.long)}
