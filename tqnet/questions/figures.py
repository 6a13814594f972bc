"""Figures by their hashes: the same drawings under any name and in any format.

Two figures are near if at most `NEAR` of 256 bits of their difference hashes differ. On three public banks
(8,700 figures; plain line drawings, graphs, photographs): up to 2 bits, pairs are one drawing that was saved twice or
lightly redrawn; at 3 to 8 bits come figures with another number or label in them, and points that lie elsewhere; from
12 bits on, other parallelograms. A crop, a rotation or a mirror image is not recognized.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from PIL import Image
from tqdm import tqdm

from tqnet.questions.bank import QuestionBank
from tqnet.questions.images import on_white, open_image
from tqnet.questions.near_duplicates import alike
from tqnet.questions.table import hash64

#: Maximum number of bits in which the difference hashes of near figures differ.
NEAR = 2

#: Figures with fewer bits set (bare axes, an empty box) are compared by their pixels.
TELLING = 24

#: Maximum mean difference of grey (0 to 255) in any of 16 x 16 blocks of the same drawing.
ALIKE = 14.0

_SIDE, _WORDS = 16, 4
_GREY_SIDE, _BLOCKS = 128, 16

#: Difference hash in four words and, last, 64 bits of the pixels.
FigureHash = tuple[int, ...]


def hash_figure(image: Image.Image) -> FigureHash:
    """Hash a decoded image, on white where it is transparent."""
    page = on_white(image)
    pixels = hash64(repr(page.size).encode() + page.tobytes())
    grid = np.asarray(page.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.LANCZOS))
    darker = (grid[:, 1:] > grid[:, :-1]).reshape(-1, _WORDS)
    # Each word takes every fourth bit, so that a figure with a blank half has no blank word.
    return (*np.packbits(darker, axis=0).T.copy().view(np.uint64).ravel().tolist(), pixels)


def hash_figure_file(path: str | os.PathLike[str]) -> FigureHash:
    """Hash a figure file; an unreadable one is identified by its path alone."""
    image = open_image(os.fspath(path))
    return hash_name(os.fspath(path)) if isinstance(image, str) else hash_figure(image)


def hash_name(path: str) -> FigureHash:
    """Hash the path of a figure that is not decoded: it equals only itself."""
    return (*(0,) * _WORDS, hash64(path))


def near_figures(queries: Sequence[FigureHash], corpus: Sequence[FigureHash]) -> np.ndarray:
    """Return pairs (query, figure of the corpus) with the same pixels or near difference hashes: int64 ``[2, pairs]``.

    Each hash should occur once. No near pair is missed except where hundreds are near to one another: two bits touch
    two of four words, so near figures agree in at least one of the six pairs of words.
    """
    left, right = (np.array(hashes, dtype=np.uint64).reshape(-1, _WORDS + 1) for hashes in (queries, corpus))
    pairs = alike(_keys(left), _keys(right))
    left, right = left[pairs[0]], right[pairs[1]]
    left_bits, right_bits, distance = (
        np.bitwise_count(hashes[:, :_WORDS]).sum(1) for hashes in (left, right, left ^ right)
    )
    near = (np.minimum(left_bits, right_bits) >= TELLING) & (distance <= NEAR)
    return pairs[:, (left[:, _WORDS] == right[:, _WORDS]) | near]


def same_drawing(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Return True if two figures agree down to their labels: near by hash (`near_figures`), then in all places.

    Two balances with other numbers on their weights are near by hash, since a digit is smaller than a cell of it. Of
    figures of 200 pixels, copies with fewer colours, as JPEG (quality 50) or half as large again stay within `ALIKE`;
    those that differ in a digit do not, nor does a figure that was halved.
    """
    paths = os.fspath(first), os.fspath(second)
    if paths[0] == paths[1]:
        return True
    a, b = map(_hashed, paths)
    if a[_WORDS] == b[_WORDS]:
        return True
    if not near_figures([a], [b]).size:
        return False
    (shape, grey), (other_shape, other_grey) = map(_grey, paths)
    apart = np.abs(grey - other_grey).reshape(_BLOCKS, _GREY_SIDE // _BLOCKS, _BLOCKS, _GREY_SIDE // _BLOCKS)
    return abs(shape / other_shape - 1) < 0.03 and bool(apart.mean((1, 3)).max() <= ALIKE)


@lru_cache(maxsize=100_000)
def _hashed(path: str) -> FigureHash:
    return hash_figure_file(path)


@lru_cache(maxsize=1000)
def _grey(path: str) -> tuple[float, np.ndarray]:
    """Return width by height, and the figure on white as float32 ``[128, 128]``."""
    image = open_image(path)
    if isinstance(image, str):
        raise OSError(f"{path}: {image}")
    page = on_white(image)
    small = page.convert("L").resize((_GREY_SIDE, _GREY_SIDE), Image.Resampling.LANCZOS)
    return page.width / page.height, np.asarray(small, dtype=np.float32)


def _keys(hashes: np.ndarray) -> np.ndarray:
    """Return pairs of words, mixed to one key each, and the pixels: uint64 ``[7, figures]``."""
    words = hashes.T * np.uint64(0x9E3779B97F4A7C15)
    pairs = [words[a] ^ (words[b] >> np.uint64(29)) * np.uint64(2 * b + 1) for a, b in combinations(range(_WORDS), 2)]
    return np.stack([*pairs, hashes.T[_WORDS]])


class BankFigures:
    """The figures of a bank's questions, numbered so that those with the same pixels share a number.

    Attributes:
        numbers: Numbers of the figures of each question, in order; () for most.
        hashes: Hash of each number.
        paths: The path of one such figure for each number.
    """

    def __init__(self, bank: QuestionBank, hash_image: Callable[[str], FigureHash]):
        number_of_hash: dict[FigureHash, int] = {}
        number_of_path: dict[str, int] = {}
        self.numbers: list[tuple[int, ...]] = []
        self.paths: list[str] = []
        with tqdm(desc="figures", unit="", disable=None) as progress:
            for (images,) in bank.batches("images"):
                for path in (path for paths in images for path in paths if path not in number_of_path):
                    number_of_path[path] = number_of_hash.setdefault(hash_image(path), len(number_of_hash))
                    self.paths += [path] * (len(number_of_hash) - len(self.paths))
                    progress.update()
                self.numbers += [tuple(number_of_path[path] for path in paths) for paths in images]
        self.hashes = list(number_of_hash)

    def near(self, queries: Iterable[int], corpus: Iterable[int]) -> dict[int, list[int]]:
        """Return, for each figure of the questions ``queries``, the near ones of the questions ``corpus``."""
        query_figures, corpus_figures = (
            sorted({f for row in rows for f in self.numbers[row]}) for rows in (queries, corpus)
        )
        near: dict[int, list[int]] = {figure: [] for figure in query_figures}
        hashes = ([self.hashes[f] for f in figures] for figures in (query_figures, corpus_figures))
        for query, other in near_figures(*hashes).T.tolist():
            near[query_figures[query]].append(corpus_figures[other])
        return near
