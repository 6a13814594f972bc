"""What the questions of a bank hold: counts of tokens, to sort batches by, and hashes, by which copies are known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tqnet.cache import computed_once
from tqnet.modeling.processor import TQNetProcessor
from tqnet.parallel import over_cores
from tqnet.questions import QuestionBank
from tqnet.questions.table import hash64

#: A question's text as the encoder reads it, and its figures.
_Content = tuple[str, tuple[str, ...]]

#: Number of questions from which a bank's token counts and hashes are cached for later runs.
LARGE = 20_000

#: Questions per task of a worker.
_BATCH = 2000


def sort_lengths(bank: QuestionBank, processor: TQNetProcessor, cells: int = 0) -> np.ndarray:
    """Return sort keys [n] that bring questions of similar cost together: text tokens, then visual tokens.

    ``cells`` is the number of visual tokens per figure, 0 to ignore figures. Logs how many texts and figures are cut.
    """
    text, figures = _once("lengths", bank, lambda: (processor.digest,), _count, processor)
    processor.cut_texts = (text > processor.max_length).sum().item()
    processor.left_out_images = (figures - processor.max_images).clip(0).sum().item() if cells else 0
    processor.warn_of_cuts()
    text, visual = text.clip(max=processor.max_length), cells * figures.clip(max=processor.max_images)
    # With figures, texts within 16 tokens count as equal, so that questions with figures stay together.
    return text // (16 if cells else 1) * 100_000 + visual


def _once(
    kind: str,
    bank: QuestionBank,
    key: Callable[[], tuple[object, ...]],
    compute: Callable[..., np.ndarray],
    shared: object,
) -> np.ndarray:
    """Compute rows [k, n] of all questions on all cores; for a large bank, once for all processes and runs.

    Args:
        key: What the result depends on besides the bank.
        compute: ``shared`` and the contents of a batch of b questions -> [k, b].
    """

    def computed() -> np.ndarray:
        return np.concatenate(list(over_cores(compute, _contents_and_images(bank), _BATCH, shared)), axis=1)

    return computed() if len(bank) < LARGE else computed_once(kind, (bank.fingerprint, *key()), computed)


def _count(processor: TQNetProcessor, contents: list[_Content]) -> np.ndarray:
    """Count text tokens, before any cut, and figures: [2, b]."""
    return np.array([processor.count_tokens([text for text, _ in contents]), [len(images) for _, images in contents]])


def _contents_and_images(bank: QuestionBank) -> Iterator[_Content]:
    return ((question.content, question.images) for question in bank.partial("stem", "options", "images"))


def content_hashes(bank: QuestionBank, reads_images: bool = True) -> dict[str, Tensor]:
    """Hash each stream's content, ignoring ids and file names: stream -> int64 [n].

    ``text`` covers stem and options, ``visual`` the figures, ``fused`` both: questions with equal text and different
    drawings are negatives in ``visual`` and ``fused``, but never in ``text``. Without ``reads_images``, figures are
    ignored.
    """
    hashes = _once("hashes", bank, lambda: (reads_images and _latest_change(bank),), _hash, reads_images)
    return dict(zip(("fused", "text", "visual"), map(torch.from_numpy, hashes), strict=True))


def _latest_change(bank: QuestionBank) -> int:
    """Return when a figure was last replaced, in nanoseconds: the fingerprint of a bank knows only their sizes."""
    return max((_changed(path) for images in bank.column("images") for path in images), default=0)


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_ctime_ns
    except OSError:  # missing
        return 0


def _hash(reads_images: bool, contents: list[_Content]) -> np.ndarray:
    """Hash what each stream sees of questions: int64 [3, b]."""
    figure = cache(_figure_digest)
    seen = [(text, [figure(path) for path in images] if reads_images else []) for text, images in contents]
    streams = (
        [[text, *figures] for text, figures in seen],
        [[text] for text, _ in seen],
        [figures for _, figures in seen],
    )
    return np.array([[hash64("\n".join(parts)) - 2**63 for parts in stream] for stream in streams], dtype=np.int64)


def figure_hashes(bank: QuestionBank, max_figures: int) -> Tensor:
    """Hash the files of each question's first figures: int64 [n, max_figures]."""
    figure = cache(_figure_digest)
    hashes = torch.zeros((len(bank), max_figures), dtype=torch.int64)
    for row, images in enumerate(bank.column("images")):
        for place, path in enumerate(images[:max_figures]):
            hashes[row, place] = hash64(figure(path)) - 2**63
    return hashes


def _figure_digest(path: str) -> str:
    """Digest a file; one that cannot be read, which training may skip, differs from all others."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = path.encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
