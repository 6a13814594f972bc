"""The manifest of an export: its source, format and precision, and the comparison with PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqnet.errors import first_line
from tqnet.files import content_digest

_FILE, _VERSION = "manifest.json", 1

#: Name of the graph of figures.
FIGURES = "figures"

FORMATS = ("openvino", "onnx", "torch")
PRECISIONS = ("fp32", "bf16", "int8")

#: Unsupported format and precision -> reason, and alternative.
_NOT_MADE = {
    ("onnx", "bf16"): "ONNX Runtime has no bf16 on CPUs; openvino has",
    ("onnx", "int8"): "ONNX Runtime's int8 drifts from the vectors in fp32; openvino's is calibrated",
    ("torch", "int8"): "PyTorch's int8 is not supported; openvino's is",
}


class ExportError(ValueError):
    """A missing, stale or unreadable export, or one that cannot be made."""


def check_made(format: str, precision: str) -> None:
    """Raise ExportError if the format does not support the precision."""
    if reason := _NOT_MADE.get((format, precision)):
        raise ExportError(f"--format {format} --precision {precision}: {reason}")


@dataclass(frozen=True)
class Manifest:
    """Facts about the graphs in a folder.

    Attributes:
        weights: Digest of the model's files that they were made from (:func:`tqnet.files.content_digest`).
        graphs: Name of each graph -> its file.
        check: Comparison with PyTorch in fp32 (:class:`tqnet.export.make.Check`).
        faults: Failures of that comparison, of an export kept by request.
        calibration: Of int8: numbers of calibration questions, and of those that were compared as well.
        not_quantized: Graphs of an int8 export that stay in fp32 for want of calibration questions.
        versions: Library -> its version.
    """

    format: str
    precision: str
    weights: str
    graphs: Mapping[str, str]
    check: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[str] = ()
    calibration: Mapping[str, int] = field(default_factory=dict)
    not_quantized: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    version: int = _VERSION

    def save(self, folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest; raise ExportError if it is missing or damaged."""
        file = folder / _FILE
        try:
            manifest = cls(**json.loads(file.read_text(encoding="utf-8")))
            if manifest.version != _VERSION or manifest.format not in FORMATS:
                raise ValueError("of another version")
        except FileNotFoundError:
            raise ExportError(f"{folder}: no export here ({_FILE} is missing); tqnet export makes one") from None
        except (OSError, ValueError, TypeError) as error:
            raise ExportError(f"{file}: not as tqnet export writes it ({first_line(error)})") from None
        return manifest

    @staticmethod
    def is_in(folder: Path) -> bool:
        return (folder / _FILE).is_file()

    def check_passed(self, folder: Path) -> None:
        """Raise ExportError unless all graphs in ``folder`` have passed the comparison with PyTorch."""
        if self.faults:
            raise ExportError(f"{folder}: its vectors are too far from PyTorch's ({'; '.join(self.faults)})")
        if not self.check.get("questions"):
            raise ExportError(f"{folder}: was not compared with PyTorch")
        if FIGURES in self.graphs and not self.check.get("figures"):
            raise ExportError(f"{folder}: its graphs of figures were not compared with PyTorch")

    def check_fresh(self, folder: Path, model: Path) -> None:
        """Raise ExportError unless the export in ``folder`` was made from the present weights of ``model``."""
        if content_digest(model) != self.weights:
            raise ExportError(f"{folder}: stale, the model beside it has changed since; repeat tqnet export")
