"""An export from start to end: written aside, compared with PyTorch, and given its name if it is near enough."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.evaluation.similar import evaluate_similar
from tqnet.export.encoder import ExportedEncoder
from tqnet.export.writing import Calibration, beside, sample, write
from tqnet.files import atomic_folder
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank, Similarity

# An export against PyTorch in fp32, on real questions.


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


log = logging.getLogger(__name__)


class NotWrittenError(ValueError):
    """The vectors of an export are too far from PyTorch's."""


def export(
    source: Path,
    bank: QuestionBank,
    out: Path,
    format: str,
    precision: str,
    questions: int = 512,
    seed: int = 0,
    force: bool = False,
) -> Check:
    """Export the model in ``source`` to the folder ``out``, in place of an export that is there.

    Args:
        questions: Of the bank, on which vectors are compared. int8 is calibrated on others, as far as there are; the
            manifest tells of how many of those compared it was too.
        force: Write it whatever the comparison says; the manifest tells what it said, and ``auto`` passes it over.

    Raises:
        NotWrittenError: The vectors are too far from PyTorch's; ``out`` is as it was.
        ExportError: The format is of no use in this precision.
        ValueError: The bank is empty, or the model of a kind that is not exported.
    """
    if not len(bank):
        raise ValueError(f"{bank.path}: no question to compare vectors on")
    model = load_model(source)
    compared = sample(bank, questions, seed)
    fitted = beside(compared, len(bank), seed)
    with atomic_folder(out) as work:
        manifest = write(model, source, work, format, precision, Calibration(model, bank.select(fitted)))
        chosen = bank.select(compared)
        expected = model.encode(chosen, device="cpu", show_progress=True)
        check = compare(chosen, expected, ExportedEncoder(work, source).encode(chosen, show_progress=True))
        faults = check.faults(precision)
        if faults:
            if not force:
                raise NotWrittenError("; ".join([*faults, str(check)]))
            log.warning("%s: written all the same, for --backend %s alone: %s", out, format, "; ".join(faults))
        if model.config.reads_images and not check.figures:
            log.warning("%s: no question compared has a figure; the graphs of figures are not checked", out)
        if manifest.not_quantized:
            named = ", ".join(manifest.not_quantized)
            log.warning("%s: stays in fp32, no question that int8 is calibrated on has to do with it: %s", out, named)
        calibrated = {}
        if precision == "int8":
            calibrated = {"questions": len(fitted), "also_compared": len(np.intersect1d(fitted, compared))}
        dataclasses.replace(manifest, check=check.to_dict(), faults=faults, calibration=calibrated).save(work)
    return check
