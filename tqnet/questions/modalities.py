"""A bank of which a model is shown only a part: what is a modality worth?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import Question

#: What a model is shown of a question. ``shuffled``: figures of another question of the same split, so that text
#: and figure are as they always are but for belonging together.
SHOWN = ("all", "text", "figures", "shuffled")


def show(bank: QuestionBank, what: str, seed: int = 0) -> QuestionBank:
    """The bank with its text or figures taken away, or its figures shuffled; in memory unless ``all``.

    Raises:
        ValueError: ``what`` is none of SHOWN.
    """
    if what not in SHOWN:
        raise ValueError(f"{what!r} is none of {', '.join(SHOWN)}")
    if what == "all":
        return bank
    source = exchanged_figures(bank, seed) if what == "shuffled" else np.arange(len(bank))
    return QuestionBank.from_questions(_shown(bank, what, source))


def _shown(bank: QuestionBank, what: str, source: np.ndarray) -> Iterator[Question]:
    images = bank.column("images")
    for question, other in zip(bank, source, strict=True):
        if what == "figures":
            yield replace(question, stem="", options=())
        else:
            yield replace(question, images=() if what == "text" else images[other])


def exchanged_figures(bank: QuestionBank, seed: int) -> np.ndarray:
    """[n], the question whose figures each one gets: another with figures of its split where there is one."""
    rng = np.random.default_rng(seed)
    source = np.arange(len(bank))
    splits = np.asarray([split or "" for split in bank.column("split")])
    has_figure = np.array([bool(images) for images in bank.column("images")])
    for split in np.unique(splits):
        ring = rng.permutation(np.flatnonzero(has_figure & (splits == split)))
        source[ring] = np.roll(ring, 1)  # a ring leaves nobody its own
    return source
