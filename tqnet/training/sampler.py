"""Batch plans: functions of (seed, epoch), the same on every process.

Plans are stateless, so a resumed run only needs its step number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tqnet.config import ConfigError
from tqnet.questions import Similarity

#: Batches sorted by length together: less padding, still random.
BUCKET = 32


class BatchPlan(Protocol):
    """Global batches of an epoch: equally sized arrays of question numbers."""

    def __len__(self) -> int:
        """Return the number of batches per epoch; the last, partial one is dropped."""

    def epoch(self, epoch: int) -> list[np.ndarray]: ...


@dataclass(frozen=True)
class ShuffledBatches:
    """Batches of questions of similar length, each question once per epoch.

    Args:
        lengths: [n], sort keys that bring similar lengths together.
    """

    lengths: np.ndarray
    batch_size: int
    seed: int

    def __len__(self) -> int:
        return len(self.lengths) // self.batch_size

    def epoch(self, epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(len(self.lengths))[: len(self) * self.batch_size]
        batches = [rng.permutation(row) for row in rows_of_like_length(order, self.lengths, self.batch_size)]
        return [batches[i] for i in rng.permutation(len(batches))]


class GroupBatches:
    """Batches for supervised contrast: clusters of similar questions, plus lone ones.

    An epoch visits every question with a similar one at least once, except in the last, partial batch, which is
    dropped. Each comes in a cluster of ``members``: itself and random similar ones, unvisited first. A share ``lone``
    of each batch are questions without a similar one, negatives of all others. With ``block`` above 1, that many
    consecutive clusters share a concept (``concepts``) and lone questions come from the batch's concepts, which gives
    hard negatives.

    A batch holds no question twice: one copy would be a negative of the other. Random questions fill the slots left by
    this and by small clusters.

    Args:
        lengths: [n], sort keys that bring similar lengths together.
        concepts: [n], a concept number per question; only used with ``block`` above 1.

    Raises:
        ConfigError: The batch is too small for a cluster, or the bank for a batch.
    """

    def __init__(
        self,
        similarity: Similarity,
        lengths: np.ndarray,
        batch_size: int,
        seed: int,
        members: int = 2,
        lone: float = 0.1,
        concepts: np.ndarray | None = None,
        block: int = 1,
    ):
        self.similarity, self.lengths, self.batch_size, self.seed = similarity, lengths, batch_size, seed
        self.members, self.block = members, block
        self.concepts = concepts if concepts is not None and block > 1 else np.zeros(len(lengths), dtype=int)
        self.seeds = np.flatnonzero(similarity.has_similar)
        self.alone = np.flatnonzero(~np.asarray(similarity.has_similar))
        self.lone_count = min(round(lone * batch_size), len(self.alone))
        self.clusters_per_batch = (batch_size - self.lone_count) // members
        if not self.clusters_per_batch:
            raise ConfigError(f"run.batch_size: {batch_size} has no room for a cluster of {members}")
        # The number of clusters is constant across epochs for groups, and nearly so for pairs.
        self._batches = len(self.clusters(self._rng(0))) // self.clusters_per_batch
        if not self._batches or len(lengths) < batch_size:
            hint = "" if len(self.seeds) else "; similar ones come from group, data.pairs or data.similar_level"
            raise ConfigError(
                f"run.batch_size: {len(self.seeds)} questions with a similar one, of {len(lengths)}, are too few "
                f"for a batch of {batch_size}{hint}"
            )

    def __len__(self) -> int:
        return self._batches

    def epoch(self, epoch: int) -> list[np.ndarray]:
        rng = self._rng(epoch)
        clusters, count = self._arrange(self.clusters(rng), rng), self.clusters_per_batch
        rows = [np.concatenate(clusters[n * count : (n + 1) * count]) for n in range(len(self))]
        lone = self._draw_lone(rng) if self.block == 1 else [self._draw_hard(row, rng) for row in rows]
        batches = [self._fill(np.concatenate(parts), rng) for parts in zip(rows, lone, strict=True)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def _rng(self, epoch: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, epoch])

    def clusters(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw clusters that cover every question with a similar one; each ends with the question it grew from."""
        visited = np.zeros(len(self.lengths), dtype=bool)
        clusters = []
        for seed in rng.permutation(self.seeds):
            if not visited[seed]:
                others = rng.permutation(self.similarity.neighbours(seed))
                others = others[np.argsort(visited[others], kind="stable")]
                clusters.append(np.append(others[: self.members - 1], seed))
                visited[clusters[-1]] = True
        return clusters

    def _draw_lone(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw each batch's lone questions, bucketed by length like the clusters."""
        if not self.lone_count:
            return [self.alone[:0]] * len(self)
        whole = len(self.alone) // self.lone_count * self.lone_count
        rows: list[np.ndarray] = []
        while len(rows) < len(self):
            missing = (len(self) - len(rows)) * self.lone_count
            drawn = rng.permutation(self.alone)[: min(whole, missing)]
            rows += rows_of_like_length(drawn, self.lengths, self.lone_count)
        return rows

    def _draw_hard(self, questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw lone questions, preferring the concepts of ``questions``."""
        pool = rng.permutation(self.alone)
        near = np.isin(self.concepts[pool], self.concepts[questions])
        return pool[np.argsort(~near, kind="stable")][: self.lone_count]

    def _fill(self, questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Deduplicate ``questions`` and fill the batch with random others of similar length."""
        chosen = np.unique(questions)
        others = rng.choice(len(self.lengths), min(len(self.lengths), 2 * self.batch_size), replace=False)
        others = others[~np.isin(others, chosen)]
        distance = np.abs(self.lengths[others] - np.median(self.lengths[chosen]))
        nearest = others[np.argsort(distance, kind="stable")[: self.batch_size - len(chosen)]]
        return rng.permutation(np.append(chosen, nearest))

    def _arrange(self, clusters: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
        """Order an epoch's clusters: blocks of one concept in buckets of similar length."""
        needed = len(self) * self.clusters_per_batch
        by_concept: dict[int, list[np.ndarray]] = {}
        for i in np.resize(rng.permutation(len(clusters)), needed):
            by_concept.setdefault(int(self.concepts[clusters[i][-1]]), []).append(clusters[i])
        blocks = [
            alike[start : start + self.block]
            for alike in by_concept.values()
            for start in range(0, len(alike), self.block)
        ]
        blocks = [blocks[i] for i in rng.permutation(len(blocks))]
        bucket = max(1, BUCKET * self.clusters_per_batch // self.block)
        buckets = [blocks[start : start + bucket] for start in range(0, len(blocks), bucket)]
        return [cluster for part in buckets for block in sorted(part, key=self._block_length) for cluster in block]

    def _block_length(self, block: list[np.ndarray]) -> int:
        return int(np.mean([self.lengths[cluster].max() for cluster in block]))


@dataclass(frozen=True)
class LocalBatches:
    """Batch sampler of one process, from step ``start`` to ``stop``.

    Yields lists of (epoch, question, view). With ``views=2``, the first half are the process's queries, the second half
    its share of the keys: the global batch permuted by :func:`key_permutation`.
    """

    plan: BatchPlan
    start: int
    stop: int
    rank: int = 0
    world: int = 1
    views: int = 1
    seed: int = 0
    yielded: deque[np.ndarray] = field(default_factory=deque)
    """Questions of the global batches so far; whoever reads the batches takes them from here, in the same order."""

    def __len__(self) -> int:
        return self.stop - self.start

    def __iter__(self) -> Iterator[list[tuple[int, int, int]]]:
        current, batches = -1, []
        for step in range(self.start, self.stop):
            epoch, place = divmod(step, len(self.plan))
            if epoch != current:
                current, batches = epoch, self.plan.epoch(epoch)
            batch = batches[place]
            size = len(batch) // self.world
            local = slice(self.rank * size, (self.rank + 1) * size)
            items = [(epoch, int(i), 0) for i in batch[local]]
            if self.views == 2:
                permuted = batch[key_permutation(len(batch), self.seed, step)]
                items += [(epoch, int(i), 1) for i in permuted[local]]
            self.yielded.append(batch)
            yield items


def rows_of_like_length(order: np.ndarray, lengths: np.ndarray, width: int) -> list[np.ndarray]:
    """Split the questions ``order`` [k * width] into k rows, sorted by length within buckets of BUCKET rows."""
    rows: list[np.ndarray] = []
    for start in range(0, len(order), BUCKET * width):
        bucket = order[start : start + BUCKET * width]
        rows += list(bucket[np.argsort(lengths[bucket], kind="stable")].reshape(-1, width))
    return rows


def key_permutation(size: int, seed: int, step: int) -> np.ndarray:
    """Return the order in which a step's keys are encoded (shuffle-BN), the same on all ranks."""
    return np.random.default_rng([seed, step, 1]).permutation(size)


def unshuffle(size: int, seed: int, step: int) -> np.ndarray:
    """Return the inverse of :func:`key_permutation`."""
    return np.argsort(key_permutation(size, seed, step))
