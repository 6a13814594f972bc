"""Which labels of pairs are to be believed (confident learning, Northcutt et al. 2021; FSE, "Confidence Learning")."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np


def check_installed() -> None:
    """ImportError where cleanlab is missing."""
    if find_spec("cleanlab") is None:
        raise ImportError("folds: confident learning needs the package cleanlab: pip install 'tqnet[rank]'")


def confident(similar: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Whose label stays, by the joint distribution of given and true labels.

    From each kind of pair as many are pruned as are estimated to be labelled wrongly, those that the model doubts most.

    Args:
        similar: bool [p], the labels.
        probability: [p], that a pair is similar, from a model that was trained without it.

    Returns:
        bool [p].
    """
    from cleanlab.filter import find_label_issues

    if similar.all() or not similar.any():  # of one kind nothing can be confused
        return np.ones(len(similar), dtype=bool)
    odds = np.stack([1 - probability, probability], axis=1).astype(np.float64)
    return ~find_label_issues(similar.astype(int), odds, filter_by="prune_by_noise_rate", n_jobs=1)
