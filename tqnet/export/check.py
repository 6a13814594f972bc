"""An export against PyTorch in fp32, on real questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tqnet.evaluation.similar import evaluate_similar
from tqnet.questions import QuestionBank, Similarity

#: The least mean cosine between the vectors of an export and PyTorch's, by precision.
LEAST_COSINE = {"fp32": 0.999, "bf16": 0.999, "int8": 0.99}

#: What P@5 may lose.
MOST_LOST = 0.005


@dataclass(frozen=True)
class Check:
    """How near vectors are to PyTorch's in fp32.

    Attributes:
        questions, figures: How many were compared.
        cosine_mean, cosine_min: Over questions; the mean decides.
        torch_p5, export_p5: P@5 among the questions compared; None where too few are in groups.
        queries: Questions that P@5 is the mean of.
    """

    questions: int
    figures: int
    cosine_mean: float
    cosine_min: float
    torch_p5: float | None
    export_p5: float | None
    queries: int

    def faults(self, precision: str) -> list[str]:
        """What is not as it has to be; empty for an export that may be used."""
        found = []
        least = LEAST_COSINE[precision]
        if not self.cosine_mean >= least:
            found.append(f"mean cosine {self.cosine_mean:.5f} is below {least} ({precision})")
        if self.torch_p5 is not None and self.export_p5 is not None and self.torch_p5 - self.export_p5 > MOST_LOST:
            lost = 100 * (self.torch_p5 - self.export_p5)
            found.append(f"P@5 is {lost:.2f} points lower, more than {100 * MOST_LOST:g}")
        return found

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        cosine = f"cosine to PyTorch fp32: mean {self.cosine_mean:.5f}, minimum {self.cosine_min:.5f}"
        of = f"({self.questions:,} questions, {self.figures:,} figures)"
        if self.torch_p5 is None or self.export_p5 is None:
            return f"{cosine} {of}; no P@5: too few questions in groups"
        p5 = f"P@5 {100 * self.torch_p5:.2f} -> {100 * self.export_p5:.2f} ({self.queries:,} queries)"
        return f"{cosine} {of}; {p5}"


def compare(bank: QuestionBank, expected: np.ndarray, found: np.ndarray) -> Check:
    """Vectors ``found`` of ``bank`` [questions, width] against PyTorch's, ``expected``."""
    cosines = _cosines(expected, found)
    torch_p5, export_p5, queries = _precision(bank, [expected, found])
    figures = sum(map(len, bank.column("images")))
    return Check(len(bank), figures, float(cosines.mean()), float(cosines.min()), torch_p5, export_p5, queries)


def _cosines(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(found, axis=1)
    return (expected.astype(np.float64) * found).sum(1) / np.maximum(lengths, 1e-12)


def _precision(bank: QuestionBank, vectors: Sequence[np.ndarray]) -> tuple[float | None, float | None, int]:
    """P@5 of both, every question of the bank asking, and of how many questions it is the mean."""
    if not all(np.isfinite(of).all() for of in vectors):
        return None, None, 0
    similarity = Similarity.from_groups(bank)
    results = [evaluate_similar(of, bank, similarity, None, parts=False, depth=5, repeats=1).overall for of in vectors]
    if not len(results[0]):
        return None, None, 0
    first, second = (float(result.precision.mean()) for result in results)
    return first, second, len(results[0])
