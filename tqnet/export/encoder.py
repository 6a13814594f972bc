"""An exported model that encodes questions as the model itself does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig

from tqnet.export.graphs import FUSED, TEXT
from tqnet.export.manifest import FIGURES, Manifest
from tqnet.export.runners import Job, load_runner
from tqnet.modeling.batches import Batch
from tqnet.modeling.encode import CellCache, encode_by
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import figure_slots

#: Texts are padded to multiples of it: fewer shapes, for each of which OpenVINO prepares its kernels once.
_STEP = 8

#: Figures that are convolved together, as in PyTorch.
_FIGURES_AT_A_TIME = 16

#: Rows of a batch and what a graph is given of them.
Rows = tuple[Sequence[int], Job]


class ExportedEncoder:
    """What ``encode`` needs of a model, from an export; configuration and processor are the model's own.

    Args:
        folder: Of the export.
        model: Folder of the model, whose configuration and processor are read, and none of its weights.
        one_at_a_time: All threads compute one batch, as is best where a lone query is waited for; otherwise several
            batches at a time, as is best where there are many questions.

    Raises:
        ExportError: There is no export in ``folder``, or it cannot be read.
        ModuleNotFoundError: What runs it is not installed.
    """

    def __init__(self, folder: Path, model: Path, one_at_a_time: bool = False):
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.config = AutoConfig.from_pretrained(model)
        self.processor = TQNetProcessor.from_pretrained(model)
        self.runner = load_runner(folder, self.manifest, one_at_a_time)

    def __str__(self) -> str:
        return f"{self.manifest.format} {self.manifest.precision}"

    def encode(
        self,
        questions: Any,
        batch_size: int = 32,
        device: Any = None,
        precision: str | None = None,
        normalize: bool = False,
        show_progress: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """As :func:`tqnet.modeling.encode.encode`.

        ``device`` and ``precision`` have no say here: it is the processor, and the precision of the export.
        """
        cells = CellCache(self._convolve, self.processor) if self.config.reads_images else None

        def embed(given: Iterator[Batch]) -> Iterator[tuple[Sequence[int], np.ndarray]]:
            return self.runner.map(job for batch in given for job in jobs(batch, cells, self.processor.max_length))

        width = self.config.hidden_size
        return encode_by(embed, questions, self.processor, cells, width, batch_size, normalize, show_progress, out)

    def _convolve(self, figures: Tensor) -> Tensor:
        """Cells [n, c, features] of figures [n, 3, s, s]."""
        parts = figures.split(_FIGURES_AT_A_TIME)
        found = self.runner.map((i, (FIGURES, [part.numpy()])) for i, part in enumerate(parts))
        return torch.cat([torch.from_numpy(cells) for _, cells in found])


def jobs(batch: Batch, cells: CellCache | None, max_length: int) -> Iterator[Rows]:
    """What the graphs are to compute of a batch: rows with figures apart from those without.

    ``max_length`` is that of the processor, beyond which a text encoder may have no positions.
    """
    shown = [bool(of) for of in batch.figures] or [False] * len(batch.rows)
    if cells is None or not any(shown):
        yield batch.rows, (TEXT, _text(batch.text, max_length))
        return
    has = torch.tensor(shown)
    slots = figure_slots(torch.tensor([len(of) for of in batch.figures]))
    given = {name: value[has] for name, value in batch.text.items()}
    pictures = [cells(batch.paths, batch.squares).numpy(), slots[has].numpy()]
    yield list(compress(batch.rows, shown)), (FUSED, [*_text(given, max_length), *pictures])
    if not has.all():
        rest = {name: value[~has] for name, value in batch.text.items()}
        yield list(compress(batch.rows, (~has).tolist())), (TEXT, _text(rest, max_length))


def _text(text: dict[str, Tensor], max_length: int) -> list[np.ndarray]:
    """Token ids and mask [b, t], of the longest row's width rounded up; the mask hides what is added."""
    ids, mask = text["input_ids"], text["attention_mask"]
    width = int(mask.sum(1).max())
    ids, mask = ids[:, :width], mask[:, :width]
    room = max(0, min(-width % _STEP, max_length - width))
    return [torch.nn.functional.pad(of, (0, room)).numpy() for of in (ids, mask)]
