"""Graphs to files: PyTorch's own, ONNX, and OpenVINO's, the last also in int8."""

from __future__ import annotations

import copy
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from tqnet.export.calibration import Calibration
from tqnet.export.graphs import Graph, graphs
from tqnet.export.libraries import import_openvino
from tqnet.export.manifest import Manifest, check_made
from tqnet.files import content_digest
from tqnet.modeling.encoder import QuestionEncoder

_SUFFIXES = {"torch": ".pt2", "onnx": ".onnx", "openvino": ".xml"}

#: What a format is made with.
_LIBRARIES = {
    "torch": ("torch",),
    "onnx": ("torch", "onnx", "onnxscript", "onnxruntime"),
    "openvino": ("torch", "openvino"),
}


#: What a graph takes at a time.
Inputs = Sequence[np.ndarray]


def write(
    model: QuestionEncoder, source: Path, folder: Path, format: str, precision: str, calibration: Calibration
) -> Manifest:
    """Write the graphs of ``model`` to ``folder``, and what is known of them.

    Args:
        source: Folder of the model's weights.
        calibration: Inputs of each graph that int8 is fitted to.

    Raises:
        ExportError: The format is of no use in this precision.
        ValueError: A model that is not exported.
        ModuleNotFoundError: What writes the format is not installed.
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
            _WRITERS[format](graph, folder / files[graph.name], precision, fitted)
        if precision == "int8" and not fitted:
            not_quantized.append(graph.name)
    made_with = ["tqnet", *_LIBRARIES[format], *(["nncf"] if precision == "int8" else [])]
    versions = {name: version(name) for name in made_with}
    manifest = Manifest(
        format, precision, content_digest(source), files, not_quantized=not_quantized, versions=versions
    )
    manifest.save(folder)
    return manifest


def _write_torch(graph: Graph, file: Path, precision: str, fitted: Sequence[Inputs]) -> None:
    made = io.BytesIO()  # where a disk is full, PyTorch's own writer ends the process
    torch.export.save(graph.program(), made)
    file.write_bytes(made.getbuffer())


def _write_onnx(graph: Graph, file: Path, precision: str, fitted: Sequence[Inputs]) -> None:
    import onnxscript  # noqa: F401 - PyTorch's exporter would tell of it in many lines

    with torch.no_grad():
        torch.onnx.export(graph.program(), (), file, dynamo=True, external_data=False, verbose=False)


def _write_openvino(graph: Graph, file: Path, precision: str, fitted: Sequence[Inputs]) -> None:
    openvino = import_openvino()
    converted = openvino.convert_model(graph.program())
    if precision == "int8":
        from tqnet.export.quantization import quantized

        converted = quantized(converted, fitted)
    openvino.save_model(converted, file, compress_to_fp16=False)


_WRITERS = {"torch": _write_torch, "onnx": _write_onnx, "openvino": _write_openvino}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what exporters say of their own insides."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
