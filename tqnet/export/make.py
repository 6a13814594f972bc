"""Export a model: write the graphs, compare their vectors with PyTorch's in fp32, and keep them if they are close."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tqnet.evaluation.similar import evaluate_similar
from tqnet.export.encoder import ExportedEncoder
from tqnet.export.writing import Calibration, beside, sample, write
from tqnet.files import atomic_folder
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank, Similarity

log = logging.getLogger(__name__)

#: Least mean cosine between the vectors of an export and PyTorch's, by precision.
LEAST_COSINE = {"fp32": 0.999, "bf16": 0.999, "int8": 0.99}

#: Largest loss of P@5.
MOST_LOST = 0.005


class NotWrittenError(ValueError):
    """The vectors of an export are too far from PyTorch's."""


@dataclass(frozen=True)
class Check:
    """Comparison of an export's vectors with PyTorch's in fp32.

    Attributes:
        questions, figures: Numbers of those compared.
        cosine_mean, cosine_min: Over questions; the mean decides.
        torch_p5, export_p5: P@5 among these questions; None if too few are in groups.
        queries: Questions that P@5 is averaged over.
    """

    questions: int
    figures: int
    cosine_mean: float
    cosine_min: float
    torch_p5: float | None
    export_p5: float | None
    queries: int

    def faults(self, precision: str) -> list[str]:
        """Return the reasons not to use the export."""
        faults = []
        least = LEAST_COSINE[precision]
        if not self.cosine_mean >= least:
            faults.append(f"mean cosine {self.cosine_mean:.5f} is below {least} ({precision})")
        if self.torch_p5 is not None and self.export_p5 is not None and self.torch_p5 - self.export_p5 > MOST_LOST:
            lost = 100 * (self.torch_p5 - self.export_p5)
            faults.append(f"P@5 is {lost:.2f} points lower, more than {100 * MOST_LOST:g}")
        return faults

    def __str__(self) -> str:
        cosine = f"cosine to PyTorch fp32: mean {self.cosine_mean:.5f}, minimum {self.cosine_min:.5f}"
        compared = f"({self.questions:,} questions, {self.figures:,} figures)"
        if self.torch_p5 is None or self.export_p5 is None:
            return f"{cosine} {compared}; no P@5: too few questions in groups"
        p5 = f"P@5 {100 * self.torch_p5:.2f} -> {100 * self.export_p5:.2f} ({self.queries:,} queries)"
        return f"{cosine} {compared}; {p5}"


def compare(bank: QuestionBank, expected: np.ndarray, exported: np.ndarray) -> Check:
    """Compare an export's vectors of ``bank`` [questions, width] with PyTorch's, ``expected``."""
    lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(exported, axis=1)
    cosines = (expected.astype(np.float64) * exported).sum(1) / np.maximum(lengths, 1e-12)
    torch_p5, export_p5, queries = _precision(bank, [expected, exported])
    figures = sum(map(len, bank.column("images")))
    return Check(len(bank), figures, float(cosines.mean()), float(cosines.min()), torch_p5, export_p5, queries)


def _precision(bank: QuestionBank, sources: Sequence[np.ndarray]) -> tuple[float | None, float | None, int]:
    """Return P@5 of both, with every question as a query, and the number of these."""
    if not all(np.isfinite(vectors).all() for vectors in sources):
        return None, None, 0
    similarity = Similarity.from_groups(bank)
    results = [
        evaluate_similar(vectors, bank, similarity, None, parts=False, depth=5, repeats=1).overall
        for vectors in sources
    ]
    if not len(results[0]):
        return None, None, 0
    first, second = (float(result.precision.mean()) for result in results)
    return first, second, len(results[0])


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
    """Export the model in ``source`` to the folder ``out``, replacing an export there.

    Args:
        questions: Of the bank, to compare vectors on. int8 is calibrated on others, as far as there are any; the
            manifest counts those used for both.
        force: Keep the export whatever the comparison says; the manifest records it, and ``auto`` skips the export.

    Raises:
        NotWrittenError: The vectors are too far from PyTorch's; ``out`` is unchanged.
        ExportError: The format does not support this precision.
        ValueError: The bank is empty, or the model is of a kind that is not exported.
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
            log.warning("%s: kept by request, for --backend %s alone: %s", out, format, "; ".join(faults))
        if model.config.reads_images and not check.figures:
            log.warning("%s: no compared question has a figure, so the graphs of figures are unchecked", out)
        if manifest.not_quantized:
            graphs = ", ".join(manifest.not_quantized)
            log.warning("%s: stays in fp32, since no calibration question uses it: %s", out, graphs)
        calibrated = {}
        if precision == "int8":
            calibrated = {"questions": len(fitted), "also_compared": len(np.intersect1d(fitted, compared))}
        dataclasses.replace(manifest, check=asdict(check), faults=faults, calibration=calibrated).save(work)
    return check
