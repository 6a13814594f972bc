"""Real questions of a bank as inputs of graphs, and a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tqnet.export.encoder import jobs
from tqnet.export.graphs import graph_names
from tqnet.export.manifest import FIGURES
from tqnet.modeling.batches import batches
from tqnet.modeling.encode import CellCache
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank

#: Questions that int8 is fitted to, and how many pass together.
QUESTIONS, _TOGETHER = 256, 8


def sample(bank: QuestionBank, count: int, seed: int) -> np.ndarray:
    """Row numbers of about ``count`` questions, whole groups before those without one, so that P@5 has queries."""
    generator = np.random.default_rng(seed)
    groups = np.array([group or "" for group in bank.column("group")])
    rows = generator.permutation(len(bank))
    names, sizes = np.unique(groups[groups != ""], return_counts=True)
    chosen: list[int] = []
    # At least five similar questions beside a query, and no group that would be most of the sample.
    fit = names[(sizes > 5) & (sizes <= max(6, count // 8))]
    for name in generator.permutation(fit):
        if len(chosen) >= count * 3 // 4:
            break
        chosen += np.flatnonzero(groups == name).tolist()
    known = set(chosen)
    chosen += [row for row in rows.tolist() if row not in known][: max(0, count - len(chosen))]
    return np.sort(np.array(chosen, dtype=np.int64))


def beside(compared: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Row numbers of :data:`QUESTIONS` of ``count`` questions; such as are ``compared`` only where others run out."""
    generator = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(count), compared)
    return np.sort(np.concatenate([generator.permutation(others), generator.permutation(compared)])[:QUESTIONS])


@dataclass(frozen=True)
class Calibration:
    """Questions that int8 is fitted to, in batches as the graphs will get them."""

    model: QuestionEncoder
    questions: QuestionBank

    def inputs(self, name: str) -> list[Sequence[np.ndarray]]:
        """Of the graph ``name``; empty if no question has to do with it."""
        processor, reads_images = self.model.processor, self.model.config.reads_images
        figures: list[Sequence[np.ndarray]] = []

        def convolve(pixels: torch.Tensor) -> torch.Tensor:
            figures.append([pixels.numpy()])
            return self.model.visual.cells(pixels)

        cells = CellCache(convolve, processor) if reads_images else None
        with torch.inference_mode():
            given = batches(processor, self.questions, _TOGETHER, () if reads_images else None)
            found = [job for batch in given for _, job in jobs(batch, cells, processor.max_length)]
        processor.forget_cuts()
        assert name in graph_names(reads_images)
        return figures if name == FIGURES else [inputs for graph, inputs in found if graph == name]
