"""Questions with their drawn texts as a DataLoader hands them out."""

from __future__ import annotations

import torch

from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import QuestionBank
from tqnet.questions.table import hash64
from tqnet.training.data import Batch, Item, QuestionViews
from tqnet.training.paraphrases.draws import Draws


class ParaphraseViews(QuestionViews):
    """Each question's texts in rows one behind the other: itself, a positive, and a negative if there is one.

    ``Batch.extras["content"]`` int64 [b] is equal where two questions are the same text.

    Args:
        bank: The questions that ``draws`` has texts of, in its order.
    """

    def __init__(self, bank: QuestionBank, processor: TQNetProcessor, draws: Draws, seed: int, workers: int = 0):
        super().__init__(bank, processor, seed, workers=workers, read_images=False)
        self.draws = draws

    def __getitem__(self, item: Item) -> tuple[Item, tuple[str, ...]]:  # type: ignore[override]
        epoch, row, _ = item
        return item, self.draws(epoch, row)

    def collate(self, rows: list[tuple[Item, tuple[str, ...]]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`; its inputs have as many rows as there are texts."""
        texts = [text for _, of in rows for text in of]
        inputs = self.processor.pack(self.processor.tokenize(texts), [[]] * len(texts))
        content = torch.tensor([hash64(of[0]) - 2**63 for _, of in rows])
        return Batch(torch.tensor([row for (_, row, _), _ in rows]), [dict(inputs)], {"content": content})
