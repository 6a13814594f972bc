"""Which questions of a bank are all but those of labelled paraphrases, and have no part in a training."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.contamination import THRESHOLD
from tqnet.questions.minhash import alike, band_keys
from tqnet.questions.paraphrase_pairs import read_pairs
from tqnet.questions.shingles import shingle_sets


def rows_held_out(
    bank: QuestionBank, files: Sequence[str | os.PathLike[str]], threshold: float = THRESHOLD
) -> np.ndarray:
    """Rows of ``bank`` whose stem is that of an original in ``files``, but for spacing, numbers and few words.

    Args:
        files: Of questions and paraphrases (`tqnet.questions.paraphrase_pairs`).
        threshold: Least Jaccard similarity of the shingles, as of `tqnet.questions.contamination`.

    Returns:
        int64 ``[rows]``, ascending.

    Raises:
        BankError, ValueError, OSError: As :func:`read_pairs`.
    """
    originals = list(dict.fromkeys(pair.original for file in files for pair in read_pairs(file)))
    stems = bank.column("stem")
    if not originals or not stems:
        return np.zeros(0, dtype=np.int64)
    sets = shingle_sets([*stems, *originals])
    own, others = np.arange(len(stems)), np.arange(len(stems), len(sets))
    pairs = alike(band_keys(sets, own), band_keys(sets, others)).T.tolist()
    near = {row for row, original in pairs if sets.jaccard(row, len(stems) + original) >= threshold}
    return np.array(sorted(near), dtype=np.int64)
