"""How far word overlap alone finds the groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

_WORD = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\d+|[\u4e00-\u9fff]")


def words_of(text: str) -> list[str]:
    """Words, LaTeX commands, numbers and single Chinese characters."""
    return _WORD.findall(text.lower())


def tfidf_precision(texts: Sequence[str], groups: Sequence[str | None], k: int = 5, seed: int = 0) -> np.ndarray:
    """P@k of TF-IDF cosine for every question in a group, the query left out.

    Ties are broken at random: questions with equal stems are equally far.

    Returns:
        One value per question, ``nan`` for those without a group.
    """
    vectors = TfidfVectorizer(analyzer=words_of).fit_transform(texts)
    scores = (vectors @ vectors.T).toarray()
    scores = np.round(scores, 9) + np.random.default_rng(seed).random(scores.shape) * 1e-9
    np.fill_diagonal(scores, -1.0)
    nearest = np.argsort(-scores, axis=1)[:, :k]
    precision = np.full(len(texts), np.nan)
    for i, group in enumerate(groups):
        if group is not None:
            precision[i] = np.mean([groups[j] == group for j in nearest[i]])
    return precision


def content_of(question: Mapping[str, Any]) -> str:
    """What a text encoder reads of a record: the stem and the lettered options."""
    lettered = (f"({chr(ord('A') + k)}) {option}" for k, option in enumerate(question["options"]))
    return "\n".join((question["stem"], *lettered))
