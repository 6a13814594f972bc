r"""The words of a question as a set of shingles, in which numbers do not count unless they are asked to.

A shingle is a run of three tokens: ``Find $x + 2$`` has ``^ find x``, ``find x +``, ``x + 0`` and ``+ 0 $``. Formulas
are read as they are spelt for the model (`tqnet.text.spelling`), so that ``\dfrac12`` and ``\frac{1}{2}`` differ in
braces alone, ``\displaystyle`` says nothing, and ``AB`` is two points rather than a word.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tqnet.questions.table import hash64
from tqnet.text.spelling import spell

_CHINESE = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"\\[A-Za-z]+|\d+(?:[.,]\d+)*|_+|[^\W\d_{_CHINESE}]+|\S")
_BEGIN, _END = "^begin", "end$"  # no token of a text is like these
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def normal_text(text: str) -> str:
    """``text`` without what typing and encoding add: compatibility characters and the kind of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded_tokens(text: str, *, fold_numbers: bool = True) -> list[str]:
    """Words in lower case, Chinese characters, signs and LaTeX commands of ``text``; a number is ``0``, or stays."""
    tokens = _TOKEN.findall(spell(normal_text(text)))
    return [
        "0" if fold_numbers and token[0].isdigit() else token if token[0] == "\\" else token.lower() for token in tokens
    ]


@dataclass(frozen=True)
class ShingleSets:
    """One set of shingles per text, each shingle as 32 bits, side by side in one array.

    Attributes:
        shingles: uint32 ``[all shingles]``, ascending within a set.
        starts: int64 ``[texts + 1]``; set ``i`` is ``shingles[starts[i] : starts[i + 1]]``.
    """

    shingles: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.shingles[self.starts[index] : self.starts[index + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """int64 ``[texts]``, at least 1."""
        return np.diff(self.starts)

    def jaccard(self, first: int, second: int) -> float:
        """Shared shingles over all shingles of two sets."""
        a, b = self[first], self[second]
        shared = len(np.intersect1d(a, b, assume_unique=True))
        return shared / (len(a) + len(b) - shared)


def shingle_sets(texts: Iterable[str], *, fold_numbers: bool = True) -> ShingleSets:
    """The shingles of each text; a text of few tokens, or of none, still has one."""
    known: dict[str, int] = {}
    shingles, starts = array("I"), array("q", [0])
    for text in texts:
        tokens = (_BEGIN, *folded_tokens(text, fold_numbers=fold_numbers), _END)
        codes = np.array([known.get(t) or known.setdefault(t, hash64(t)) for t in tokens], dtype=np.uint64)
        runs = sum(codes[i : len(codes) - 2 + i] * _MIX[i] for i in range(3)) if len(codes) > 2 else codes[:1]
        shingles.frombytes(np.unique(np.asarray(runs >> np.uint64(32), dtype=np.uint32)).tobytes())
        starts.append(len(shingles))
    return ShingleSets(np.frombuffer(shingles, dtype=np.uint32), np.frombuffer(starts, dtype=np.int64))
