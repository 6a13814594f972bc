"""Encode a whole bank in bounded memory: batched by length, returned in order."""

from __future__ import annotations

import mmap
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from tqnet.libraries import to_device
from tqnet.modeling.lengths import Lengths
from tqnet.modeling.processor import QuestionLike, TQNetProcessor, as_question
from tqnet.questions import Question

if TYPE_CHECKING:
    from tqnet.modeling.encoder import QuestionEncoder

#: Questions sorted by length at a time; bounds memory for a bank of any size.
WINDOW = 4096

#: Batches prepared ahead of the model.
AHEAD = 4

#: Bytes of feature-map cells to cache, so that a figure shared by many questions is convolved once.
CACHE_BYTES = 256 * 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """Questions that go through a model together.

    Attributes:
        rows: Row numbers in the bank.
        text: ``input_ids`` and ``attention_mask`` [b, t].
        figures: Figure paths per question; empty if no question has any.
        squares: Figures already opened, uint8 [s, s, 3] by path.
    """

    rows: Sequence[int]
    text: dict[str, Tensor]
    figures: Sequence[Sequence[str]]
    squares: dict[str, np.ndarray]

    @property
    def paths(self) -> list[str]:
        """Paths of all figures, question by question."""
        return [path for paths in self.figures for path in paths]


#: Batches -> row numbers and vectors [rows, width] of each, in order of completion.
Embed = Callable[[Iterator[Batch]], Iterator[tuple[Sequence[int], np.ndarray]]]


def batches(
    processor: TQNetProcessor,
    questions: Iterable[QuestionLike],
    batch_size: int,
    known: Container[str] | None = None,
) -> Iterator[Batch]:
    """Yield batches of questions of similar length, one window of the bank at a time.

    Args:
        known: Paths of cached figures, which are not opened; None reads no figures.

    Raises:
        OSError: A figure cannot be read; the message has its path.
    """
    numbered = enumerate(questions)
    while window := list(islice(numbered, WINDOW)):
        records = [as_question(question) for _, question in window]
        ids = processor.tokenize([record.content for record in records])
        # Longest first, so that memory runs out at once or never. Questions with figures go apart: one figure
        # would pad its whole batch by its visual tokens.
        order = sorted(range(len(ids)), key=lambda i: (len(records[i].images), len(ids[i])), reverse=True)
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            rows, text = [window[i][0] for i in chosen], processor.pack_text([ids[i] for i in chosen])
            figures: list[Sequence[str]] = []
            if known is not None and any(records[i].images for i in chosen):
                figures = [processor.kept_images(records[i].images) for i in chosen]
            unknown = dict.fromkeys(path for paths in figures for path in paths if path not in (known or ()))
            squares = {path: processor.image_processor.fit(processor.open_figure(path)) for path in unknown}
            yield Batch(rows, text, figures, squares)


@contextmanager
def ahead(items: Iterable[T], count: int = AHEAD) -> Iterator[Iterator[T]]:
    """Prefetch up to ``count`` of ``items`` in a thread that ends with the block.

    An error in ``items`` is raised in place of the item.
    """
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1, "batches") as thread:

        def taken() -> Iterator[T]:
            waiting = deque(thread.submit(next, iterator, end) for _ in range(count))
            while (item := waiting.popleft().result()) is not end:
                waiting.append(thread.submit(next, iterator, end))
                yield item  # type: ignore[misc]

        try:
            yield taken()
        finally:
            thread.shutdown(cancel_futures=True)


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
    """Encode ``questions`` into vectors, in order.

    A vector does not depend on the rest of the batch (to 1e-5 in fp32). A figure shared by several questions is
    convolved once, as long as its cells are among the last :data:`CACHE_BYTES` used.

    Args:
        questions: A bank or a sequence of Questions, dicts or strings; a single one gives one row.
        processor: The model's own by default.
        batch_size: Questions per batch.
        device: The accelerator by default, or the model's device if there is none.
        precision: ``fp32`` or ``bf16`` (autocast; vectors are float32 either way).
        normalize: Scale every vector to length 1.
        out: Array to write to; memory-mapped if the vectors do not fit into memory.

    Returns:
        float32 [number of questions, hidden size].

    Raises:
        ValueError: Unknown precision, or no processor.
        OSError: A figure cannot be read; the message has its path.
    """
    if precision not in ("fp32", "bf16"):
        raise ValueError(f"precision: {precision!r} is neither 'fp32' nor 'bf16'")
    processor = processor or model.processor
    if processor is None:
        raise ValueError("processor: the model came without one")
    device = torch.device(device or accelerator() or model.device)
    was_training = model.training
    model.to(device)  # type: ignore[arg-type]
    model.eval()
    cells = CellCache(model.visual.cells, processor, device) if model.config.reads_images else None

    def embed(prepared: Iterator[Batch]) -> Iterator[tuple[Sequence[int], np.ndarray]]:
        for batch in prepared:
            inputs = dict(batch.text)
            if cells is not None and batch.figures:
                inputs["image_cells"] = cells(batch.paths, batch.squares)
                inputs["image_counts"] = torch.tensor([len(paths) for paths in batch.figures])
            lengths = Lengths.read(inputs["attention_mask"], inputs.get("image_counts"))
            output = model(**{name: to_device(value, device) for name, value in inputs.items()}, lengths=lengths)
            yield batch.rows, output.embedding.float().cpu().numpy()

    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            width = model.dimensions or model.config.hidden_size
            return encode_by(embed, questions, processor, cells, width, batch_size, normalize, show_progress, out)
    finally:
        model.train(was_training)


def cast_once(model: nn.Module) -> None:
    """Keep the weights of linear layers in bf16, for a model that will only be called under autocast.

    Autocast casts them in every pass, which takes longer than a short query on a CPU. The vectors stay the same.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.to(torch.bfloat16)


def encode_by(
    embed: Embed,
    questions: Sequence[QuestionLike] | QuestionLike,
    processor: TQNetProcessor,
    cells: CellCache | None,
    width: int,
    batch_size: int,
    normalize: bool,
    show_progress: bool,
    out: np.ndarray | None,
) -> np.ndarray:
    """Encode ``questions`` with any backend, in order; see :func:`encode`.

    Args:
        embed: Computes the vectors; a thread prepares the next batches meanwhile.
        cells: Cells by figure path; None for a model that reads no figures.
        width: Coordinates of a vector to keep.
    """
    if isinstance(questions, str | Mapping | Question):
        questions = [questions]
    processor.forget_cuts()  # counted by surrounding training
    vectors = out if out is not None else np.empty((len(questions), width), dtype=np.float32)
    width = vectors.shape[1]
    prepared = batches(processor, questions, batch_size, None if cells is None else cells.kept)
    done = 0
    with (
        tqdm(total=len(questions), unit=" questions", disable=not show_progress, desc="encode") as progress,
        ahead(prepared) as waiting,
    ):
        for rows, whole in embed(waiting):
            embedding = whole[:, :width]
            vectors[rows] = F.normalize(torch.from_numpy(embedding), dim=1).numpy() if normalize else embedding
            progress.update(len(rows))
            done += len(rows)
            if done % WINDOW < len(rows):
                _leave_to_disk(vectors)
    processor.warn_of_cuts()
    return vectors


def shorten(encoder: Any, dimensions: int | None) -> None:
    """Let a model or an export keep only the first ``dimensions`` coordinates of its vectors; None keeps all.

    Raises:
        ValueError: Its vectors are shorter.
    """
    hidden = encoder.config.hidden_size
    if dimensions is not None and dimensions > hidden:
        raise ValueError(f"--dimensions: {dimensions}, but the model's vectors have {hidden}")
    encoder.dimensions = dimensions


def _leave_to_disk(vectors: np.ndarray) -> None:
    """Flush memory-mapped vectors and drop their pages from this process's memory."""
    if isinstance(vectors.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        vectors.base.flush()
        vectors.base.madvise(mmap.MADV_DONTNEED)


class CellCache:
    """LRU cache of feature-map cells by figure path.

    Args:
        convolve: Figures [n, 3, s, s] -> cells [n, c, features].
        device: Device of ``convolve``.
        room: Capacity in bytes.
    """

    def __init__(
        self,
        convolve: Callable[[Tensor], Tensor],
        processor: TQNetProcessor,
        device: torch.device | str = "cpu",
        room: int = CACHE_BYTES,
    ):
        self.convolve, self.processor, self.device, self.room = convolve, processor, device, room
        self.kept: OrderedDict[str, Tensor] = OrderedDict()

    def __call__(self, paths: list[str], squares: Mapping[str, np.ndarray] | None = None) -> Tensor:
        """Return the cells [n, c, features] of the figures at ``paths``, in order.

        ``squares`` are figures already opened, uint8 [s, s, 3] by path.
        """
        if missing := [path for path in dict.fromkeys(paths) if path not in self.kept]:
            opened, images = squares or {}, self.processor.image_processor
            figures = [
                opened[path] if path in opened else images.fit(self.processor.open_figure(path)) for path in missing
            ]
            cells = self.convolve(images.normalise(figures).to(self.device))
            # Clone: a view would keep the whole batch alive.
            self.kept.update((path, cell.clone()) for path, cell in zip(missing, cells, strict=True))
        for path in paths:
            self.kept.move_to_end(path)
        wanted = torch.stack([self.kept[path] for path in paths])
        while len(self.kept) > max(1, self.room // wanted[0].nbytes):
            self.kept.popitem(last=False)
        return wanted


def accelerator() -> torch.device | None:
    """Return the machine's accelerator, if any."""
    return torch.accelerator.current_accelerator(check_available=True)
