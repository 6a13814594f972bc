"""The concepts that a head can predict, as a tree whose siblings lie side by side."""

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

#: Ends a path that goes no further where others do; no concept has this name.
STOP = ""


@dataclass(frozen=True)
class ConceptTree:
    """Concepts by level, then by name, so that the children of one parent are neighbours: a family.

    Attributes:
        nodes: Paths of the concepts seen in training, every prefix of one included. In a single-label tree also
            ``(.., STOP)``, beside the children of a concept that some questions end in.
        multi_label: Whether a question may have several concepts: each is then there or not, given its parent. Else
            every question has one path, and a parent's children exclude one another.
    """

    nodes: tuple[KnowledgePath, ...]
    multi_label: bool

    @classmethod
    def of(cls, knowledge: Iterable[Sequence[KnowledgePath]]) -> ConceptTree:
        """The tree of the training questions' paths, of which at least one is there."""
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
        """Paths that have children, the root ``()`` among them."""
        return {path[:-1] for path in self.nodes}

    @cached_property
    def parents(self) -> IntArray:
        """Node above each, -1 for those of the first level."""
        return np.array([self.index[path[:-1]] if len(path) > 1 else -1 for path in self.nodes], dtype=np.int64)

    @cached_property
    def levels(self) -> IntArray:
        """1 is the coarsest; a STOP counts with its siblings."""
        return np.array([len(path) for path in self.nodes], dtype=np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """Where each family begins."""
        return np.flatnonzero(np.diff(self.parents, prepend=-2))

    @cached_property
    def families(self) -> IntArray:
        """Number of the family of each node."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.nodes)))

    @property
    def depth(self) -> int:
        return int(max((len(path) for path in self.nodes if path[-1] != STOP), default=0))

    def concepts(self, level: int) -> IntArray:
        """Nodes of the concepts of a level."""
        return np.array(
            [i for i, path in enumerate(self.nodes) if len(path) == level and path[-1] != STOP], dtype=np.int64
        )

    def indicators(self, knowledge: Sequence[Sequence[KnowledgePath]]) -> csr_array:
        """Which nodes each question has, ``[questions, nodes]``; what the tree does not know is left out."""
        rows, columns = [], []
        for row, paths in enumerate(knowledge):
            own = {path[:level] for path in paths for level in range(1, len(path) + 1)}
            own |= {(*path, STOP) for path in maximal(paths)}
            known = [self.index[path] for path in own if path in self.index]
            rows += [row] * len(known)
            columns += known
        shape = (len(knowledge), len(self.nodes))
        return csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)

    def log_softmax(self, scores: FloatMatrix) -> FloatMatrix:
        """Within each family, ``[questions, nodes]``."""
        return log_softmax(scores, self.families)

    def joint(self, conditional: FloatMatrix) -> FloatMatrix:
        """Of each node's probability given its parent, that of the node: ``p(child) = p(parent) p(child | parent)``."""
        whole = conditional.copy()
        for level in range(2, int(self.levels.max()) + 1):
            own = np.flatnonzero(self.levels == level)
            whole[:, own] *= whole[:, self.parents[own]]
        return whole


def log_softmax(scores: FloatMatrix, families: IntArray) -> FloatMatrix:
    """Within each family.

    Shape:
        - scores: ``[questions, nodes]``
        - families: ``[nodes]``, ascending, that of each node
    """
    starts = np.flatnonzero(np.diff(families, prepend=-1))
    place = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(families)))
    raised = scores - np.maximum.reduceat(scores, starts, axis=1)[:, place]
    total = np.add.reduceat(np.exp(raised), starts, axis=1)
    return raised - np.log(total)[:, place]


def maximal(paths: Sequence[KnowledgePath]) -> list[KnowledgePath]:
    """The paths that are no beginning of another, each once."""
    own = set(paths)
    inner = {path[:level] for path in own for level in range(1, len(path))}
    return sorted(own - inner)
