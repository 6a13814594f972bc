"""The tree of concepts that a head predicts, siblings adjacent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import IntArray
from tqnet.questions.question import KnowledgePath

FloatMatrix = npt.NDArray[np.float32]

#: Marks the end of a path at a concept with children; no concept has this name.
STOP = ""


@dataclass(frozen=True)
class ConceptTree:
    """Concepts by level, then by name, so that the children of a parent, a family, are adjacent.

    Attributes:
        nodes: Paths of the concepts in training, with all prefixes. In a single-label tree also ``(.., STOP)`` among
            the children of a concept where some questions end.
        multi_label: Questions may have several concepts, and each is predicted separately, given its parent. Otherwise
            a question has one path, and a parent's children are exclusive.
    """

    nodes: tuple[KnowledgePath, ...]
    multi_label: bool

    @classmethod
    def of(cls, knowledge: Iterable[Sequence[KnowledgePath]]) -> ConceptTree:
        """Build the tree of the training questions' paths, at least one."""
        questions = [maximal(paths) for paths in knowledge]
        multi_label = any(len(paths) > 1 for paths in questions)
        ends = {path for paths in questions for path in paths}
        nodes = {path[:level] for path in ends for level in range(1, len(path) + 1)}
        if not multi_label:
            parents = {path[:-1] for path in nodes}
            nodes |= {(*path, STOP) for path in ends & parents}
        return cls(tuple(sorted(nodes, key=lambda path: (len(path), path))), multi_label)

    @cached_property
    def index(self) -> dict[KnowledgePath, int]:
        return {path: number for number, path in enumerate(self.nodes)}

    @cached_property
    def inner(self) -> set[KnowledgePath]:
        """Paths with children, including the root ``()``."""
        return {path[:-1] for path in self.nodes}

    @cached_property
    def parents(self) -> IntArray:
        """Parent of each node, -1 at the first level."""
        return np.array([self.index[path[:-1]] if len(path) > 1 else -1 for path in self.nodes], dtype=np.int64)

    @cached_property
    def levels(self) -> IntArray:
        """Each node's level, from 1, the coarsest; STOP has its siblings'."""
        return np.array([len(path) for path in self.nodes], dtype=np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """First node of each family."""
        return np.flatnonzero(np.diff(self.parents, prepend=-2))

    @cached_property
    def families(self) -> IntArray:
        """Family of each node."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.nodes)))

    @property
    def depth(self) -> int:
        return int(max((len(path) for path in self.nodes if path[-1] != STOP), default=0))

    def concepts(self, level: int) -> IntArray:
        """Return the nodes of a level's concepts, without STOP."""
        nodes = [i for i, path in enumerate(self.nodes) if len(path) == level and path[-1] != STOP]
        return np.array(nodes, dtype=np.int64)

    def indicators(self, knowledge: Sequence[Sequence[KnowledgePath]]) -> csr_array:
        """Return 1 for each node of a question, ``[questions, nodes]``, ignoring unknown concepts."""
        rows, columns = [], []
        for row, paths in enumerate(knowledge):
            prefixes = {path[:level] for path in paths for level in range(1, len(path) + 1)}
            prefixes |= {(*path, STOP) for path in maximal(paths)}
            known = [self.index[path] for path in prefixes if path in self.index]
            rows += [row] * len(known)
            columns += known
        shape = (len(knowledge), len(self.nodes))
        return csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)

    def log_softmax(self, scores: FloatMatrix) -> FloatMatrix:
        """Normalise scores ``[questions, nodes]`` within each family."""
        return log_softmax(scores, self.families)

    def joint(self, conditional: FloatMatrix) -> FloatMatrix:
        """Turn conditional into joint probabilities: ``p(child) = p(parent) p(child | parent)``."""
        joint = conditional.copy()
        for level in range(2, int(self.levels.max()) + 1):
            nodes = np.flatnonzero(self.levels == level)
            joint[:, nodes] *= joint[:, self.parents[nodes]]
        return joint


def log_softmax(scores: FloatMatrix, families: IntArray) -> FloatMatrix:
    """Normalise scores ``[questions, nodes]`` within each family; families ``[nodes]`` must ascend."""
    starts = np.flatnonzero(np.diff(families, prepend=-1))
    place = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(families)))
    raised = scores - np.maximum.reduceat(scores, starts, axis=1)[:, place]
    total = np.add.reduceat(np.exp(raised), starts, axis=1)
    return raised - np.log(total)[:, place]


def maximal(paths: Sequence[KnowledgePath]) -> list[KnowledgePath]:
    """Return the distinct paths that are not a prefix of another."""
    return sorted(set(paths) - {path[:level] for path in paths for level in range(1, len(path))})
