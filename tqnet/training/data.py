"""Data set of question views, seeded per view and packed into batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from tqnet.augment.view import QuestionAugmentation
from tqnet.config import ConfigError
from tqnet.modeling.encoder import Parts
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.text.vocabulary import continuing_pieces

#: (epoch, question number, view), as drawn by a sampler.
Item = tuple[int, int, int]

#: Model arguments with a row per figure; all others have one per question.
PER_FIGURE = ("pixel_values", "image_cells")

#: Label that cross-entropy ignores.
IGNORED = -100


@dataclass
class Batch:
    """A packed training batch.

    Attributes:
        index: [b], question numbers in the training bank.
        views: Model arguments, one dict per view.
        extras: Tensors added by a recipe's ``prepare``, such as labels of masked tokens.
    """

    index: Tensor
    views: list[dict[str, Tensor]]
    extras: dict[str, Tensor] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The first view."""
        return self.views[0]

    def to(self, device: torch.device) -> Batch:
        def move(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
            return {name: value.to(device, non_blocking=True) for name, value in tensors.items()}

        return Batch(self.index.to(device), list(map(move, self.views)), move(self.extras))

    def padding(self, parts: Parts, cells: int) -> float:
        """Return the ratio of computed to real tokens.

        Args:
            parts: Splits the rows into parts padded separately.
            cells: Visual tokens per figure.
        """
        computed = real = 0
        for view in self.views:
            text, visual = view["attention_mask"].sum(1), cells * view["image_counts"]
            real += int((text + visual).sum())
            computed += sum(len(rows) * int(text[rows].max() + visual[rows].max()) for rows in parts(text, visual))
        return computed / max(1, real)


def split_questions(inputs: dict[str, Tensor], size: int) -> list[dict[str, Tensor]]:
    """Split model arguments into chunks of at most ``size`` questions with their figures."""
    figures = [int(counts.sum()) for counts in inputs["image_counts"].split(size)]
    split = {name: value.split(figures if name in PER_FIGURE else size) for name, value in inputs.items()}
    return [dict(zip(split, values, strict=True)) for values in zip(*split.values(), strict=True)]


class QuestionViews(Dataset[Any]):
    """The training questions, augmented.

    Random draws depend only on (seed, epoch, question, view), so workers, processes and resumed runs agree to the
    bit.

    Args:
        augment: None leaves questions unchanged.
        views: 2 packs the second half of the items as a separate view.
        prepare: Recipe-specific step after packing, such as ``MaskTokens``.
    """

    def __init__(
        self,
        bank: QuestionBank,
        processor: TQNetProcessor,
        seed: int,
        augment: QuestionAugmentation | None = None,
        views: int = 1,
        workers: int = 0,
        prepare: Callable[[Batch, Sequence[Item]], Batch] | None = None,
        read_images: bool = True,
    ):
        self.bank, self.processor, self.seed, self.augment = bank, processor, seed, augment
        self.views, self.workers, self.prepare, self.read_images = views, workers, prepare, read_images

    def __len__(self) -> int:
        return len(self.bank)

    def __getitem__(self, item: Item) -> tuple[Item, Question, list[np.ndarray]]:
        epoch, index, view = item
        question = self.bank[index]
        if self.augment is None or (view == 0 and not self.augment.config.anchor):
            return item, question, list(map(self.processor.image_processor.fit, self._figures(question)))
        rng = np.random.default_rng([self.seed, epoch, index, view])
        question = self.augment.modalities(question, rng)
        text = self.augment.text(question, rng)
        return item, text, [self.augment.figures(figure, rng) for figure in self._figures(question)]

    def _figures(self, question: Question) -> list[np.ndarray]:
        return self.processor.open_images(question) if self.read_images else []

    def collate(self, rows: list[tuple[Item, Question, list[np.ndarray]]]) -> Batch:
        """Pack rows of :meth:`__getitem__` into a :class:`Batch`."""
        items = [item for item, _, _ in rows]
        per_view = len(rows) // self.views
        packed = []
        for start in range(0, len(rows), per_view):
            part = rows[start : start + per_view]
            ids = self.processor.tokenize([question.content for _, question, _ in part])
            packed.append(dict(self.processor.pack(ids, [squares for _, _, squares in part])))
        # Of the first view only: a second view's keys are permuted, and `unshuffle` restores their order.
        batch = Batch(torch.tensor([index for _, index, _ in items[:per_view]]), packed)
        return self.prepare(batch, items) if self.prepare else batch

    def ids(self, index: Tensor) -> list[str]:
        """Return the question ids of a batch."""
        return [self.bank[int(i)].id for i in index]


class MaskTokens:
    """Masks a share of whole words: 80 % become the mask token, 10 % a random token, 10 % stay (BERT).

    A word is a piece with those that continue it. Formulas are spelt token by token, so a command, number or variable
    is a word and never masked in part.
    """

    def __init__(self, processor: TQNetProcessor, share: float, seed: int):
        tokenizer = processor.tokenizer
        if tokenizer.mask_token is None:
            raise ConfigError("model.text: the encoder has no mask token, so no word can be masked; moco needs none")
        self.share, self.seed = share, seed
        # A text's first tokens: the mark of its beginning and the prompt.
        self.prompt = len(tokenizer.backend_tokenizer.encode(processor.prompt.rstrip()).ids) - 1
        self.mask_id = tokenizer.mask_token_id
        self.continues, self.special = np.zeros((2, len(tokenizer)), dtype=bool)
        self.continues[continuing_pieces(tokenizer)] = True
        self.special[tokenizer.all_special_ids] = True

    def __call__(self, batch: Batch, items: Sequence[Item]) -> Batch:
        """Mask ``input_ids`` and add the true tokens as ``extras["labels"]`` [b, t]."""
        rows = [self.mask(ids, item) for ids, item in zip(batch.inputs["input_ids"].numpy(), items, strict=True)]
        input_ids, labels = (torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True))
        inputs = {**batch.inputs, "input_ids": input_ids}
        return dataclasses.replace(batch, views=[inputs], extras={"labels": labels})

    def mask(self, ids: np.ndarray, item: Item) -> tuple[np.ndarray, np.ndarray]:
        """Mask token ids [t]; return them with labels [t]: true tokens at masked positions, IGNORED elsewhere."""
        masked, labels = ids.copy(), np.full_like(ids, IGNORED)
        # Seeded per question and epoch, so independent of the batch.
        rng = np.random.default_rng([self.seed, *item])
        word = np.cumsum(~self.continues[ids])
        fixed = self.special[ids]
        fixed[: self.prompt] = True
        words = np.unique(word[~fixed])
        if len(words):
            count = max(1, round(self.share * len(words)))
            chosen = np.isin(word, rng.choice(words, count, replace=False)) & ~fixed
            labels[chosen] = ids[chosen]
            fate = rng.random(len(ids))
            masked[chosen & (fate < 0.8)] = self.mask_id
            swapped = chosen & (fate >= 0.9)
            masked[swapped] = rng.choice(np.flatnonzero(~self.special), int(swapped.sum()))
        return masked, labels
