"""Write graphs in the formats of PyTorch, ONNX and OpenVINO, the last also in int8 (NNCF, post-training)."""

from __future__ import annotations

import copy
import io
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tqnet.export.encoder import jobs
from tqnet.export.graphs import Graph, graphs, import_nncf, import_openvino
from tqnet.export.manifest import FIGURES, Manifest, check_made
from tqnet.files import content_digest
from tqnet.modeling.encode import CellCache, batches
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank

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


def quantized(graph: Any, inputs: Sequence[Inputs]) -> Any:
    """Quantize ``graph`` to int8, with ranges fitted to ``inputs``; return it unchanged without any.

    Weights and activations of matrix products and convolutions become int8; NNCF's scheme for transformers leaves
    norms and the softmax, and smooths activations whose channels differ in size.
    """
    if not inputs:
        return graph
    nncf = import_nncf()
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


def sample(bank: QuestionBank, count: int, seed: int) -> np.ndarray:
    """Draw about ``count`` rows, whole groups first, so that P@5 has queries."""
    generator = np.random.default_rng(seed)
    groups = np.array([group or "" for group in bank.column("group")])
    rows = generator.permutation(len(bank))
    names, sizes = np.unique(groups[groups != ""], return_counts=True)
    chosen: list[int] = []
    # Groups with five questions beside a query, and none that would dominate the sample.
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


@dataclass(frozen=True)
class Calibration:
    """Questions to calibrate int8 on, in the batches that the graphs get."""

    model: QuestionEncoder
    questions: QuestionBank

    def inputs(self, name: str) -> list[Sequence[np.ndarray]]:
        """Return inputs of the graph ``name``; empty if no question uses it."""
        processor, reads_images = self.model.processor, self.model.config.reads_images
        figures: list[Inputs] = []

        def convolve(pixels: torch.Tensor) -> torch.Tensor:
            figures.append([pixels.numpy()])
            return self.model.visual.cells(pixels)

        cells = CellCache(convolve, processor) if reads_images else None
        with torch.inference_mode():
            packed = batches(processor, self.questions, _BATCH, () if reads_images else None)
            calls = [job for batch in packed for _, job in jobs(batch, cells, processor.max_length)]
        processor.forget_cuts()
        return figures if name == FIGURES else [inputs for graph, inputs in calls if graph == name]


def write(
    model: QuestionEncoder, source: Path, folder: Path, format: str, precision: str, calibration: Calibration
) -> Manifest:
    """Write the graphs of ``model``, and their manifest, to ``folder``.

    Args:
        source: Folder of the model's weights.
        calibration: For int8.

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
    not_quantized: list[str] = []
    for graph in graphs(model):
        files[graph.name] = graph.name + _SUFFIXES[format]
        with _quiet():
            fitted = calibration.inputs(graph.name) if precision == "int8" else []
            _WRITERS[format](graph, folder / files[graph.name], fitted)
        if precision == "int8" and not fitted:
            not_quantized.append(graph.name)
    made_with = ["tqnet", *_LIBRARIES[format], *(["nncf"] if precision == "int8" else [])]
    versions = {name: version(name) for name in made_with}
    manifest = Manifest(
        format, precision, content_digest(source), files, not_quantized=not_quantized, versions=versions
    )
    manifest.save(folder)
    return manifest


def _write_torch(graph: Graph, file: Path, fitted: Sequence[Inputs]) -> None:
    made = io.BytesIO()  # PyTorch's own writer ends the process if the disk is full
    torch.export.save(graph.program(), made)
    file.write_bytes(made.getbuffer())


def _write_onnx(graph: Graph, file: Path, fitted: Sequence[Inputs]) -> None:
    import onnxscript  # noqa: F401 - a clearer error than the exporter's

    with torch.no_grad():
        torch.onnx.export(graph.program(), (), file, dynamo=True, external_data=False, verbose=False)


def _write_openvino(graph: Graph, file: Path, fitted: Sequence[Inputs]) -> None:
    openvino = import_openvino()
    converted = quantized(openvino.convert_model(graph.program()), fitted)
    openvino.save_model(converted, file, compress_to_fp16=False)


_WRITERS = {"torch": _write_torch, "onnx": _write_onnx, "openvino": _write_openvino}


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
