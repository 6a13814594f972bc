"""Export a model: write the graphs, compare their vectors with PyTorch's in fp32, and keep them if they are close.

Formats are those of PyTorch, ONNX and OpenVINO, the last also in int8 (NNCF, post-training).
"""

from __future__ import annotations

import copy
import dataclasses
import io
import logging
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tqnet.evaluation.similar import evaluate_similar
from tqnet.export.encoder import ExportedEncoder, Manifest, check_made, jobs
from tqnet.export.graphs import FIGURES, Graph, graphs, without_telemetry
from tqnet.files import atomic_folder, content_digest
from tqnet.modeling.build import load_model
from tqnet.modeling.encode import CellCache, batches
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank, Similarity

log = logging.getLogger(__name__)

#: Minimum mean cosine between the vectors of an export and PyTorch's, by precision.
LEAST_COSINE = {"fp32": 0.999, "bf16": 0.999, "int8": 0.99, "int8-weights": 0.99}

#: Maximum loss of P@5.
MOST_LOST = 0.005

#: Questions that int8 is calibrated on, and their batches.
QUESTIONS, _BATCH = 256, 8

_SUFFIXES = {"torch": ".pt2", "onnx": ".onnx", "openvino": ".xml"}

#: Libraries that write a format.
_LIBRARIES = {
    "torch": ("torch",),
    "onnx": ("torch", "onnx", "onnxscript", "onnxruntime"),
    "openvino": ("torch", "openvino"),
}

#: Inputs of a graph.
Inputs = Sequence[np.ndarray]


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
        if not self.cosine_mean >= (least := LEAST_COSINE[precision]):
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
    """Compare an export's vectors of ``bank`` [questions, width] with PyTorch's, ``expected``.

    P@5 takes every question as a query.
    """
    lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(exported, axis=1)
    cosines = (expected.astype(np.float64) * exported).sum(1) / np.maximum(lengths, 1e-12)
    torch_p5 = export_p5 = None
    queries = 0
    if np.isfinite(expected).all() and np.isfinite(exported).all():
        similarity = Similarity.from_groups(bank)
        results = [
            evaluate_similar(vectors, bank, similarity, None, parts=False, depth=5, repeats=1).overall
            for vectors in (expected, exported)
        ]
        if queries := len(results[0]):
            torch_p5, export_p5 = (float(result.precision.mean()) for result in results)
    figures = sum(map(len, bank.column("images")))
    return Check(len(bank), figures, float(cosines.mean()), float(cosines.min()), torch_p5, export_p5, queries)


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
        questions: Number of the bank's questions to compare vectors on. int8 is calibrated on others, as far as there
            are any; the manifest counts those used for both.
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
        manifest = write(model, source, work, format, precision, bank.select(fitted))
        chosen = bank.select(compared)
        expected = model.encode(chosen, device="cpu", show_progress=True)
        check = compare(chosen, expected, ExportedEncoder(work, source).encode(chosen, show_progress=True))
        if faults := check.faults(precision):
            if not force:
                raise NotWrittenError("; ".join([*faults, str(check)]))
            log.warning("%s: kept by request, only for --backend %s: %s", out, format, "; ".join(faults))
        if model.config.reads_images and not check.figures:
            log.warning("%s: no compared question has a figure, so the graphs of figures are unchecked", out)
        if manifest.not_quantized:
            names = ", ".join(manifest.not_quantized)
            log.warning("%s: stays in fp32, since no calibration question uses it: %s", out, names)
        calibrated = {}
        if precision == "int8":
            calibrated = {"questions": len(fitted), "also_compared": len(np.intersect1d(fitted, compared))}
        dataclasses.replace(manifest, check=asdict(check), faults=faults, calibration=calibrated).save(work)
    return check


def sample(bank: QuestionBank, count: int, seed: int) -> np.ndarray:
    """Draw about ``count`` rows, whole groups first, so that P@5 has queries."""
    generator = np.random.default_rng(seed)
    groups = np.array([group or "" for group in bank.column("group")])
    rows = generator.permutation(len(bank))
    names, sizes = np.unique(groups[groups != ""], return_counts=True)
    chosen: list[int] = []
    # Groups with five questions besides a query, and none that would dominate the sample.
    fit = names[(sizes > 5) & (sizes <= max(6, count // 8))]
    for name in generator.permutation(fit):
        if len(chosen) >= count * 3 // 4:
            break
        chosen += np.flatnonzero(groups == name).tolist()
    known = set(chosen)
    chosen += [row for row in rows.tolist() if row not in known][: max(0, count - len(chosen))]
    return np.sort(np.array(chosen, dtype=np.int64))


def beside(compared: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Draw :data:`QUESTIONS` of ``count`` rows, ``compared`` ones only if the others run out."""
    generator = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(count), compared)
    return np.sort(np.concatenate([generator.permutation(others), generator.permutation(compared)])[:QUESTIONS])


def write(
    model: QuestionEncoder, source: Path, folder: Path, format: str, precision: str, questions: QuestionBank
) -> Manifest:
    """Write the graphs of ``model``, and their manifest, to ``folder``.

    Args:
        source: Folder of the model's weights.
        questions: Questions to calibrate int8 on.

    Raises:
        ExportError: The format does not support this precision.
        ValueError: The model is of a kind that is not exported.
        ModuleNotFoundError: A library of the format is not installed.
    """
    check_made(format, precision)
    model = copy.deepcopy(model).cpu().eval()
    if (format, precision) == ("torch", "bf16"):
        model = model.bfloat16()
    files: dict[str, str] = {}
    with _quiet():
        fitted = _calibration(model, questions) if precision == "int8" else {}
        for graph in graphs(model):
            files[graph.name] = graph.name + _SUFFIXES[format]
            _write_graph(graph, folder / files[graph.name], precision, fitted.get(graph.name, []))
    not_quantized = [name for name in files if precision == "int8" and not fitted.get(name)]
    made_with = ["tqnet", *_LIBRARIES[format], *(["nncf"] if precision.startswith("int8") else [])]
    versions = {name: version(name) for name in made_with}
    digest = content_digest(source)
    manifest = Manifest(format, precision, digest, files, not_quantized=not_quantized, versions=versions)
    manifest.save(folder)
    return manifest


def _calibration(model: QuestionEncoder, questions: QuestionBank) -> dict[str, list[Inputs]]:
    """Return the inputs of each graph that a question uses, in the batches that encoding makes."""
    processor, reads_images = model.processor, model.config.reads_images
    inputs: dict[str, list[Inputs]] = defaultdict(list)

    def convolve(pixels: torch.Tensor) -> torch.Tensor:
        inputs[FIGURES].append([pixels.numpy()])
        return model.visual.cells(pixels)

    cells = CellCache(convolve, processor) if reads_images else None
    with torch.inference_mode():
        for batch in batches(processor, questions, _BATCH, () if reads_images else None):
            for _, (name, given) in jobs(batch, cells, processor.max_length):
                inputs[name].append(given)
    processor.forget_cuts()
    return inputs


def _write_graph(graph: Graph, file: Path, precision: str, fitted: Sequence[Inputs]) -> None:
    """Write a graph in the format of the file's suffix; that of OpenVINO in int8 if there are inputs to fit it to, or
    with weights alone in int8.
    """
    if file.suffix == ".pt2":
        made = io.BytesIO()  # PyTorch's own writer ends the process if the disk is full
        torch.export.save(graph.program(), made)
        file.write_bytes(made.getbuffer())
    elif file.suffix == ".onnx":
        import onnxscript  # noqa: F401 - a clearer error than the exporter's

        with torch.no_grad():
            torch.onnx.export(graph.program(), (), file, dynamo=True, external_data=False, verbose=False)
    else:
        without_telemetry()
        import openvino

        converted = openvino.convert_model(graph.program())
        if fitted:
            converted = _quantized(converted, fitted)
        elif precision == "int8-weights":
            converted = _compressed(converted)
        openvino.save_model(converted, file, compress_to_fp16=False)


def _compressed(graph: Any) -> Any:
    """Round the weights of a graph of OpenVINO to int8, with a scale and zero point for each row."""
    import nncf

    nncf.set_log_level(40)
    with redirect_stdout(sys.stderr):  # its progress bars
        return nncf.compress_weights(graph, mode=nncf.CompressWeightsMode.INT8_ASYM)


def _quantized(graph: Any, inputs: Sequence[Inputs]) -> Any:
    """Quantize a graph of OpenVINO to int8, with ranges fitted to ``inputs``.

    Weights and activations of matrix products and convolutions become int8; NNCF's scheme for transformers leaves
    norms and the softmax, and smooths activations whose channels differ in size.
    """
    import nncf

    nncf.set_log_level(40)
    names = [given.any_name for given in graph.inputs]
    data = nncf.Dataset(list(inputs), lambda values: dict(zip(names, values, strict=True)))
    with redirect_stdout(sys.stderr):  # its progress bars
        return nncf.quantize(
            graph,
            data,
            preset=nncf.QuantizationPreset.MIXED,
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(inputs),
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporters' logs and warnings."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
