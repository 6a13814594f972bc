"""Masking of whole words and whole formula tokens for masked language modelling (BERT)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from tqnet.training.data import Batch, Item

#: Label of a place that is not predicted; cross-entropy leaves it out.
IGNORED = -100


class MaskTokens:
    """Masks a share of the words: 80 % become the mask token, 10 % a random token, 10 % stay (BERT).

    A word is a word piece with the pieces that continue it. Formulas are spelt token by token, so a command,
    a number or a variable is a word of its own and is never masked in part.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, share: float, seed: int):
        self.share, self.seed = share, seed
        self.mask_id = tokenizer.mask_token_id
        vocabulary = tokenizer.get_vocab()
        self.continues = np.zeros(len(tokenizer), dtype=bool)
        self.continues[[number for token, number in vocabulary.items() if token.startswith("##")]] = True
        self.special = np.zeros(len(tokenizer), dtype=bool)
        self.special[tokenizer.all_special_ids] = True

    def __call__(self, batch: Batch, items: Sequence[Item]) -> Batch:
        """``batch`` with masked ``input_ids`` and the true tokens as ``extras["labels"]`` [b, t]."""
        input_ids, labels = self.mask(batch.inputs["input_ids"], items)
        inputs = {**batch.inputs, "input_ids": input_ids}
        return dataclasses.replace(batch, views=[inputs], extras={"labels": labels})

    def mask(self, input_ids: Tensor, items: Sequence[Item]) -> tuple[Tensor, Tensor]:
        """Token ids [b, t] of the questions ``items`` -> masked ones, and the true tokens, IGNORED elsewhere."""
        masked = input_ids.numpy().copy()
        labels = np.full_like(masked, IGNORED)
        for row, (epoch, index, view) in enumerate(items):
            # Seeded by question and epoch, so that the batch around it does not matter.
            rng = np.random.default_rng([self.seed, epoch, index, view])
            self._mask(masked[row], labels[row], rng)
        return torch.from_numpy(masked), torch.from_numpy(labels)

    def _mask(self, ids: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> None:
        word = np.cumsum(~self.continues[ids])
        words = np.unique(word[~self.special[ids]])
        if not len(words):
            return
        count = max(1, round(self.share * len(words)))
        chosen = np.isin(word, rng.choice(words, count, replace=False)) & ~self.special[ids]
        labels[chosen] = ids[chosen]
        fate = rng.random(len(ids))
        ids[chosen & (fate < 0.8)] = self.mask_id
        swapped = chosen & (fate >= 0.9)
        ordinary = np.flatnonzero(~self.special)
        ids[swapped] = rng.choice(ordinary, int(swapped.sum()))
