"""Figures as hashes: which are the same drawing, whatever their files are called and however they were stored.

Two figures are near if at most `NEAR` of 256 bits of their difference hashes differ. Measured on three public banks
(8,700 figures; plain line drawings, graphs, photographs): up to 2 bits, pairs are one drawing that was saved twice or
lightly redrawn; at 3 to 8 bits come figures with another number or label in them, and points that lie elsewhere; from
12 bits on, other parallelograms. A crop, a rotation or a mirror image is not recognized.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from PIL import Image

from tqnet.questions.images import open_image
from tqnet.questions.minhash import alike
from tqnet.questions.table import hash64

#: Largest number of bits in which the difference hashes of near figures differ.
NEAR = 2

#: A difference hash with fewer bits set says little: bare axes, an empty box. Such figures are compared by pixels.
TELLING = 24

_SIDE, _WORDS = 16, 4

#: Difference hash in four words and, last, 64 bits of the pixels.
FigureHash = tuple[int, ...]


def hash_figure(image: Image.Image) -> FigureHash:
    """Hash of a decoded image, on white where it is transparent."""
    shown = image.convert("RGBA")
    page = Image.new("RGBA", shown.size, "white")
    page.alpha_composite(shown)
    colours = page.convert("RGB")
    pixels = hash64(repr(colours.size).encode() + colours.tobytes())
    grid = np.asarray(page.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.LANCZOS))
    darker = (grid[:, 1:] > grid[:, :-1]).reshape(-1, _WORDS)
    # Each word takes every fourth bit, so that a figure with a blank half has no blank word.
    return (*np.packbits(darker, axis=0).T.copy().view(np.uint64).ravel().tolist(), pixels)


def hash_figure_file(path: str | os.PathLike[str]) -> FigureHash:
    """As `hash_figure`; an unreadable file is told apart by its path alone."""
    image = open_image(os.fspath(path))
    return hash_name(os.fspath(path)) if isinstance(image, str) else hash_figure(image)


def hash_name(path: str) -> FigureHash:
    """For a figure that is not looked at: the same only as itself."""
    return (*(0,) * _WORDS, hash64(path))


def near_figures(queries: Sequence[FigureHash], corpus: Sequence[FigureHash]) -> np.ndarray:
    """Pairs (query, figure of the corpus) with the same pixels or near difference hashes: int64 ``[2, pairs]``.

    Each hash is expected once. No near pair is missed but where hundreds are near to one another: two bits touch
    two of four words, so that near figures agree in at least one of the six pairs of words.
    """
    asked, held = (np.array(hashes, dtype=np.uint64).reshape(-1, _WORDS + 1) for hashes in (queries, corpus))
    pairs = alike(_keys(asked), _keys(held))
    one, other = asked[pairs[0]], held[pairs[1]]
    telling = (np.bitwise_count(one[:, :_WORDS]).sum(1) >= TELLING) & (
        np.bitwise_count(other[:, :_WORDS]).sum(1) >= TELLING
    )
    apart = np.bitwise_count(one[:, :_WORDS] ^ other[:, :_WORDS]).sum(1)
    return pairs[:, (one[:, _WORDS] == other[:, _WORDS]) | (telling & (apart <= NEAR))]


def _keys(hashes: np.ndarray) -> np.ndarray:
    """Pairs of words, mixed to one key each, and the pixels: uint64 ``[7, figures]``."""
    words = hashes.T * np.uint64(0x9E3779B97F4A7C15)
    pairs = [words[a] ^ (words[b] >> np.uint64(29)) * np.uint64(2 * b + 1) for a, b in combinations(range(_WORDS), 2)]
    return np.stack([*pairs, hashes.T[_WORDS]])
