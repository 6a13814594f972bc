"""Token and figure counts of a batch, kept on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class Lengths:
    """Text tokens and figures of each question in a batch, on the host: int64 [b] each.

    A batch carries them because reading them from a mask on an accelerator waits for all work queued there.
    """

    text: np.ndarray
    figures: np.ndarray

    @classmethod
    def read(cls, attention_mask: Tensor, image_counts: Tensor | None = None) -> Lengths:
        """Count the tokens of a mask [b, t]; without ``image_counts`` [b], no question has figures."""
        text = attention_mask.sum(1).cpu().numpy()
        # A copy, since a data worker moves the memory of tensors that it sends.
        return cls(text, np.zeros_like(text) if image_counts is None else np.array(image_counts.cpu()))

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, rows: np.ndarray | slice) -> Lengths:
        return Lengths(self.text[rows], self.figures[rows])

    @property
    def most_figures(self) -> int:
        """Figures of the question that has the most."""
        return self.figures.max(initial=0).item()


#: Lengths of a batch -> row numbers of each part; a part is padded to its longest row.
Parts = Callable[[Lengths], Sequence[np.ndarray]]


def partition(text: np.ndarray, visual: np.ndarray, most: int, overhead: int) -> list[slice]:
    """Split rows into consecutive parts that minimise computation, padding included.

    Args:
        text, visual: [n], tokens of each row; a part is padded to the longest text and the most visual tokens in it.
        most: Maximum number of rows per part.
        overhead: Fixed cost of a part, in tokens.
    """
    least, start_of = np.zeros(len(text) + 1), np.zeros(len(text) + 1, dtype=int)
    for stop in range(1, len(text) + 1):
        starts = np.arange(max(0, stop - most), stop)
        width = sum(np.maximum.accumulate(tokens[starts][::-1])[::-1] for tokens in (text, visual))
        costs = least[starts] + (stop - starts) * width + overhead
        start_of[stop], least[stop] = starts[costs.argmin()], costs.min()
    parts, stop = [], len(text)
    while stop:
        parts.append(slice(start_of[stop], stop))
        stop = start_of[stop]
    return parts[::-1]


def one_part(lengths: Lengths) -> Sequence[np.ndarray]:
    """Return all rows as one part (`Parts`)."""
    return (np.arange(len(lengths)),)
