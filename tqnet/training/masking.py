"""Masking of whole words and whole formula tokens for masked language modelling (BERT)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
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
        rows = [self.mask(ids, item) for ids, item in zip(batch.inputs["input_ids"].numpy(), items, strict=True)]
        input_ids, labels = (torch.from_numpy(np.stack(of)) for of in zip(*rows, strict=True))
        inputs = {**batch.inputs, "input_ids": input_ids}
        return dataclasses.replace(batch, views=[inputs], extras={"labels": labels})

    def mask(self, ids: np.ndarray, item: Item) -> tuple[np.ndarray, np.ndarray]:
        """Token ids [t] of a question -> masked ones, and the true tokens at masked places, IGNORED elsewhere."""
        epoch, index, view = item
        masked, labels = ids.copy(), np.full_like(ids, IGNORED)
        # Seeded by question and epoch, so that the batch around it does not matter.
        self._mask(masked, labels, np.random.default_rng([self.seed, epoch, index, view]))
        return masked, labels

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
