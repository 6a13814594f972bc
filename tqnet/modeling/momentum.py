"""Momentum contrast: the key encoder and the queue of its keys (He et al. 2020; TQ-Net, Eq. 2)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn


class MomentumEncoder(nn.Module):
    """A slowly moving copy of an encoder, kept in fp32 (bf16 weights with momentum 0.999 never move)."""

    def __init__(self, encoder: nn.Module, momentum: float = 0.999):
        super().__init__()
        self.encoder = copy.deepcopy(encoder).float().requires_grad_(False)
        self.momentum = momentum

    @torch.no_grad()
    def update(self, encoder: nn.Module) -> None:
        """p_key = m * p_key + (1 - m) * p_query; call it on real optimizer steps only."""
        for key, query in zip(self.encoder.parameters(), encoder.parameters(), strict=True):
            key.lerp_(query.to(key.dtype), 1 - self.momentum)

    @torch.no_grad()
    def forward(self, *args: object, **kwargs: object) -> object:
        return self.encoder(*args, **kwargs)


class KeyQueue(nn.Module):
    """The last ``size`` keys with their questions' numbers and content hashes; a ring, equal on all ranks.

    It starts empty: only the first ``valid`` entries are negatives. A new key takes the place of the oldest.
    """

    keys: Tensor
    ids: Tensor
    hashes: Tensor
    pointer: Tensor
    valid: Tensor

    def __init__(self, size: int, dimension: int):
        super().__init__()
        self.register_buffer("keys", torch.zeros(size, dimension))
        self.register_buffer("ids", torch.full((size,), -1))
        self.register_buffer("hashes", torch.zeros(size, dtype=torch.long))
        self.register_buffer("pointer", torch.zeros((), dtype=torch.long))
        self.register_buffer("valid", torch.zeros((), dtype=torch.long))

    @property
    def size(self) -> int:
        return len(self.keys)

    @torch.no_grad()
    def enqueue(self, keys: Tensor, ids: Tensor, hashes: Tensor) -> None:
        """Take in keys [b, d] of the questions ``ids`` [b]; of more than ``size`` only the last stay."""
        keys, ids, hashes = keys[-self.size :], ids[-self.size :], hashes[-self.size :]
        places = (self.pointer + torch.arange(len(keys), device=self.keys.device)) % self.size
        self.keys[places] = keys.to(self.keys.dtype)
        self.ids[places], self.hashes[places] = ids, hashes
        self.pointer.copy_((self.pointer + len(keys)) % self.size)
        self.valid.copy_((self.valid + len(keys)).clamp(max=self.size))

    def negatives(self, ids: Tensor, hashes: Tensor) -> tuple[Tensor, Tensor]:
        """Keys [k, d] that are filled, and a mask [b, k], True where a key is the same question or content."""
        filled = int(self.valid)
        same_id = ids[:, None] == self.ids[None, :filled]
        same_content = hashes[:, None] == self.hashes[None, :filled]
        return self.keys[:filled], same_id | same_content
