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
from tqnet.errors import foreseen
from tqnet.libraries import to_device
from tqnet.modeling.lengths import Lengths, Parts
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.text.vocabulary import continuing_pieces

#: (epoch, question number, view), as drawn by a sampler.
Item = tuple[int, int, int]

#: Arguments of a model: tensors, and the `Lengths` of their rows.
Inputs = dict[str, Any]

#: Model arguments with a row per figure; all others have one per question.
PER_FIGURE = ("pixel_values", "image_cells")

#: Label that cross-entropy ignores.
IGNORED = -100


@dataclass
class Batch:
    """A packed training batch.

    Attributes:
        index: [b], question numbers in the training bank; always on the host.
        views: Model arguments, one dict per view.
        extras: Tensors added by a recipe's ``prepare``, such as labels of masked tokens.
        everywhere: [world * b], ``index`` of all processes in their order.
    """

    index: Tensor
    views: list[Inputs]
    extras: dict[str, Tensor] = field(default_factory=dict)
    everywhere: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self.views = [_measured(view) for view in self.views]

    @property
    def inputs(self) -> Inputs:
        """The first view."""
        return self.views[0]

    @property
    def text(self) -> dict[str, Tensor]:
        """Token ids and mask of the first view."""
        return {name: self.inputs[name] for name in ("input_ids", "attention_mask")}

    def pin_memory(self) -> Batch:
        """Pin the memory of all tensors, which the loader does in a thread of its own."""
        return self._map(lambda tensor: tensor.pin_memory())

    def to(self, device: torch.device) -> Batch:
        """Start to copy the batch to ``device``; its `Lengths` stay on the host."""
        return self._map(lambda tensor: to_device(tensor, device))

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        def mapped(values: Inputs) -> Inputs:
            return {name: change(value) if isinstance(value, Tensor) else value for name, value in values.items()}

        return dataclasses.replace(self, views=list(map(mapped, self.views)), extras=mapped(self.extras))

    def padding(self, parts: Parts, cells: int) -> float:
        """Return the ratio of computed to real tokens.

        Args:
            parts: Splits the rows into parts padded separately.
            cells: Visual tokens per figure.
        """
        computed = real = 0
        for view in self.views:
            text, visual = view["lengths"].text, cells * view["lengths"].figures
            real += (text + visual).sum()
            computed += sum(len(rows) * (text[rows].max() + visual[rows].max()) for rows in parts(view["lengths"]))
        return float(computed / max(1, real))


def _measured(view: Inputs) -> Inputs:
    """Add the `Lengths` of a view's questions, while it is on the host."""
    if "lengths" in view or "attention_mask" not in view:
        return view
    return {**view, "lengths": Lengths.read(view["attention_mask"], view.get("image_counts"))}


def split_questions(inputs: Inputs, size: int) -> list[Inputs]:
    """Split model arguments into chunks of at most ``size`` questions with their figures."""
    lengths = inputs.get("lengths") or Lengths.read(inputs["attention_mask"], inputs["image_counts"])
    chunks = [lengths[start : start + size] for start in range(0, len(lengths), size)]
    figures = [chunk.figures.sum().item() for chunk in chunks]
    tensors = {name: value for name, value in inputs.items() if name != "lengths"}
    split = {name: value.split(figures if name in PER_FIGURE else size) for name, value in tensors.items()}
    return [dict(zip((*split, "lengths"), values, strict=True)) for values in zip(*split.values(), chunks, strict=True)]


def twice(inputs: Inputs) -> Inputs:
    """Repeat a batch's questions, for two views that differ in dropout only."""
    lengths = inputs["lengths"]
    both = Lengths(np.tile(lengths.text, 2), np.tile(lengths.figures, 2))
    return {name: torch.cat([value, value]) for name, value in inputs.items() if name != "lengths"} | {"lengths": both}


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
        # Questions of the first view only: a second view's keys are permuted, and `unshuffle` restores their order.
        batch = Batch(torch.tensor([index for _, index, _ in items[:per_view]]), packed)
        return self.prepare(batch, items) if self.prepare else batch

    def ids(self, index: Tensor) -> list[str]:
        """Return the question ids of a batch."""
        return [self.bank[int(i)].id for i in index]


class WorkerBatches(Dataset[Any]):
    """The batches of ``views``, packed where they are loaded.

    An error with a message for the user is returned in place of the batch: torch would wrap one raised in a worker.
    """

    def __init__(self, views: QuestionViews):
        self.views = views

    def __getitems__(self, items: list[Item]) -> Batch | Exception:
        try:
            return self.views.collate([self.views[item] for item in items])
        except Exception as error:
            if not foreseen(error):
                raise
            return error

    @staticmethod
    def collate(batch: Any) -> Batch | Exception:
        """Return what :meth:`__getitems__` has packed."""
        return batch


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
        """Mask ``input_ids``; add ``masked`` and ``tokens`` [m]: places among all b * t, and their true tokens."""
        rows = [self.mask(ids, item) for ids, item in zip(batch.inputs["input_ids"].numpy(), items, strict=True)]
        input_ids, labels = (torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True))
        masked = (labels.flatten() != IGNORED).nonzero().squeeze(1)
        extras = {"masked": masked, "tokens": labels.flatten()[masked]}
        return dataclasses.replace(batch, views=[{**batch.inputs, "input_ids": input_ids}], extras=extras)

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
