"""What is written beside exported graphs: what they were made from, how, and how near they are to PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqnet.errors import first_line
from tqnet.files import content_digest

_FILE, _VERSION = "manifest.json", 1

#: The graph that models have which read figures.
FIGURES = "figures"

FORMATS = ("openvino", "onnx", "torch")
PRECISIONS = ("fp32", "bf16", "int8")

#: Where a format is of no use in a precision -> why, and what is.
_NOT_MADE = {
    ("onnx", "bf16"): "ONNX Runtime has no bf16 on processors; openvino has",
    ("onnx", "int8"): "ONNX Runtime's int8 drifts from the vectors in fp32; openvino's is calibrated",
    ("torch", "int8"): "PyTorch's int8 is not made here; openvino's is",
}


class ExportError(ValueError):
    """A folder that holds no export, a stale one, or one that cannot be read or made."""


def check_made(format: str, precision: str) -> None:
    """Raises ExportError for a format that is not written in a precision."""
    if reason := _NOT_MADE.get((format, precision)):
        raise ExportError(f"--format {format} --precision {precision}: {reason}")


@dataclass(frozen=True)
class Manifest:
    """About the graphs in a folder.

    Attributes:
        weights: Digest of the model's files that they were made from (:func:`tqnet.files.content_digest`).
        graphs: Name of each graph -> its file.
        check: What comparing them with PyTorch in fp32 gave (:meth:`tqnet.export.make.Check.to_dict`).
        faults: What is not as it has to be in it, of an export that was written all the same.
        calibration: Of int8: how many questions its ranges are fitted to, and how many of them were compared as well.
        not_quantized: Graphs of an export in int8 that are in fp32, as no question of these has to do with them.
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
        """Raises ExportError where none can be read."""
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
        """Whether the export in ``folder`` may be taken without being asked for.

        Raises:
            ExportError: It has failed its comparison with PyTorch, or some of its graphs were not in it.
        """
        if self.faults:
            raise ExportError(f"{folder}: its vectors are too far from PyTorch's ({'; '.join(self.faults)})")
        if not self.check.get("questions"):
            raise ExportError(f"{folder}: was not compared with PyTorch")
        if FIGURES in self.graphs and not self.check.get("figures"):
            raise ExportError(f"{folder}: its graphs of figures were not compared with PyTorch")

    def check_fresh(self, folder: Path, model: Path) -> None:
        """Whether the model at ``model`` is the one that the export in ``folder`` was made from.

        Raises:
            ExportError: It is not.
        """
        if content_digest(model) != self.weights:
            raise ExportError(f"{folder}: stale, the model beside it has changed since; tqnet export makes it anew")
