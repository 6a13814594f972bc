"""Encoding a whole bank: sorted by length, in order again, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from tqnet.modeling.images import open_figure
from tqnet.modeling.processor import QuestionLike, TQNetProcessor, as_question
from tqnet.questions import Question

if TYPE_CHECKING:
    from tqnet.modeling.encoder import QuestionEncoder

#: Bytes of feature-map cells kept, so that a figure that many questions share is convolved once.
CACHE_BYTES = 256 * 2**20

#: Questions that are sorted by length at a time; bounds the memory of a bank of any size.
WINDOW = 4096


@torch.inference_mode()
def encode(
    model: QuestionEncoder,
    questions: Sequence[QuestionLike] | QuestionLike,
    processor: TQNetProcessor | None = None,
    batch_size: int = 32,
    device: str | torch.device | None = None,
    precision: str = "fp32",
    normalize: bool = False,
    show_progress: bool = False,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Vectors of ``questions`` in their order.

    Args:
        questions: A bank or a sequence of Questions, dicts or strings; a single one gives one row.
        processor: By default the one that was loaded or saved with the model.
        batch_size: Questions that pass the model at once.
        device: By default the accelerator where there is one, else where the model is.
        precision: ``fp32`` or ``bf16`` (autocast; the vectors are float32 all the same).
        normalize: Scale every vector to length 1.
        out: Array to write to, a memory-mapped one for a bank whose vectors do not fit into memory.

    Returns:
        float32 [number of questions, hidden size].

    Raises:
        ValueError: Another precision; no processor, neither given nor with the model.
        OSError: A figure that cannot be used; the message has its path.

    A question gets the same vector whatever the batch around it (to 1e-5 in fp32). A figure that several questions
    show is convolved once, as long as its cells are among the last :data:`CACHE_BYTES` used.
    """
    if precision not in ("fp32", "bf16"):
        raise ValueError(f"precision: {precision!r} is neither 'fp32' nor 'bf16'")
    if isinstance(questions, str | Mapping | Question):
        questions = [questions]
    processor = processor or model.processor
    if processor is None:
        raise ValueError("processor: the model came without one")
    processor.forget_cuts()  # of a training that goes on around this
    device = torch.device(device or accelerator() or model.device)
    was_training = model.training
    model.to(device)  # type: ignore[arg-type]
    model.eval()
    cells = CellCache(model, processor) if model.config.reads_images else None
    vectors = out if out is not None else np.empty((len(questions), model.config.hidden_size), dtype=np.float32)
    with (
        tqdm(total=len(questions), unit=" questions", disable=not show_progress, desc="encode") as progress,
        torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"),
    ):
        for rows, ids, records in _batches(processor, questions, batch_size):
            inputs = processor.pack_text(ids)
            if cells is not None and any(record.images for record in records):
                paths = [processor.kept_images(record.images) for record in records]
                inputs["image_cells"] = cells([path for of in paths for path in of])
                inputs["image_counts"] = torch.tensor([len(of) for of in paths])
            output = model(**{name: value.to(device) for name, value in inputs.items()})
            embedding = output.embedding.float()
            vectors[rows] = (F.normalize(embedding, dim=1) if normalize else embedding).cpu().numpy()
            progress.update(len(rows))
    processor.warn_of_cuts()
    model.train(was_training)
    return vectors


class CellCache:
    """Feature-map cells of figures by path; the least recently used ones go when the room is used up."""

    def __init__(self, model: QuestionEncoder, processor: TQNetProcessor, room: int = CACHE_BYTES):
        self.model, self.processor, self.room = model, processor, room
        self.kept: OrderedDict[str, Tensor] = OrderedDict()

    def __call__(self, paths: list[str]) -> Tensor:
        """Cells [n, c, features] of the figures at ``paths``, in order."""
        missing = [path for path in dict.fromkeys(paths) if path not in self.kept]
        if missing:
            figures = self.processor.image_processor([open_figure(path) for path in missing])
            cells = self.model.visual.cells(figures["pixel_values"].to(self.model.device))
            # Copies: a view of one figure would keep the cells of its whole batch.
            self.kept.update((path, of.clone()) for path, of in zip(missing, cells, strict=True))
        for path in paths:
            self.kept.move_to_end(path)
        wanted = torch.stack([self.kept[path] for path in paths])
        most = max(1, self.room // wanted[0].nbytes)
        while len(self.kept) > most:
            self.kept.popitem(last=False)
        return wanted


def _batches(
    processor: TQNetProcessor, questions: Sequence[QuestionLike], batch_size: int
) -> Iterator[tuple[list[int], list[list[int]], list[Question]]]:
    """Row numbers, token ids and records of questions of like length, a window of the bank at a time."""
    numbered = enumerate(iter(questions))
    while window := list(islice(numbered, WINDOW)):
        records = [as_question(question) for _, question in window]
        ids = processor.tokenize([record.content for record in records])
        # Longest first, so that memory runs out at once or never; with figures apart from without, since a
        # single figure would pad every other question of its batch by its visual tokens.
        order = sorted(range(len(ids)), key=lambda i: (len(records[i].images), len(ids[i])), reverse=True)
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            yield [window[i][0] for i in chosen], [ids[i] for i in chosen], [records[i] for i in chosen]


def accelerator() -> torch.device | None:
    """Where there is one."""
    return torch.accelerator.current_accelerator(check_available=True)
