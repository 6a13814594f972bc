"""Exported models: the manifest that describes one, and encoding by it as the model itself does."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig

from tqnet.errors import first_line
from tqnet.evaluation.sources import ENCODER, open_source
from tqnet.export.graphs import FIGURES, FUSED, TEXT, without_telemetry
from tqnet.files import content_digest
from tqnet.libraries import precision as resolved
from tqnet.modeling.encode import Batch, CellCache, accelerator, encode_by
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import figure_slots

log = logging.getLogger(__name__)

_FILE, _VERSION = "manifest.json", 1

#: Unsupported format and precision -> reason, and alternative.
_NOT_MADE = {
    ("onnx", "bf16"): "ONNX Runtime has no bf16 on CPUs; openvino has",
    ("onnx", "int8"): "ONNX Runtime's int8 drifts from the vectors in fp32; openvino's is calibrated",
    ("torch", "int8"): "PyTorch's int8 is not supported; openvino's is",
    ("onnx", "int8-weights"): "only openvino's is supported",
    ("torch", "int8-weights"): "only openvino's is supported",
}

#: Exports that ``auto`` takes, the faster first -> the package that runs them.
_PACKAGES = {"openvino": "openvino", "onnx": "onnxruntime"}

#: Texts are padded to multiples of this: OpenVINO prepares its kernels once for each shape.
_STEP = 8

#: Figures of a batch, as in PyTorch.
_FIGURES_AT_A_TIME = 16

Key = TypeVar("Key")

#: Name of a graph, and its inputs in order.
Job = tuple[str, Sequence[np.ndarray]]


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
        calibration: For int8, numbers of calibration questions, and of those that were compared as well.
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
            if manifest.version != _VERSION or manifest.format not in _RUNNERS:
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


class Runner:
    """Loaded graphs; a subclass for each format."""

    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Run the graph ``name``."""
        raise NotImplementedError

    def map(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, np.ndarray]]:
        """Run jobs in order, and yield their results by key."""
        for key, (name, inputs) in jobs:
            yield key, self.run(name, inputs)


class TorchRunner(Runner):
    """Programs of torch.export."""

    def __init__(self, files: Mapping[str, Path], precision: str, one_at_a_time: bool):
        self.programs = {name: torch.export.load(file).module() for name, file in files.items()}

    @torch.inference_mode()
    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        return self.programs[name](*map(torch.from_numpy, inputs)).numpy()


class OnnxRunner(Runner):
    """ONNX Runtime on the CPU, with PyTorch's number of threads."""

    def __init__(self, files: Mapping[str, Path], precision: str, one_at_a_time: bool):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        cpu = ["CPUExecutionProvider"]
        self.sessions = {name: onnxruntime.InferenceSession(file, options, cpu) for name, file in files.items()}

    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        session = self.sessions[name]
        names = [node.name for node in session.get_inputs()]
        return session.run(None, dict(zip(names, inputs, strict=True)))[0]


class OpenVinoRunner(Runner):
    """OpenVINO on the CPU, whose threads have a stream each; ``one_at_a_time`` makes a single stream of them all.

    int8-weights always have a single stream: in several, OpenVINO 2026.4.1 gets convolutions, and matrices of some
    widths (48 and 312, but not 384), wrong by orders of magnitude.
    """

    def __init__(self, files: Mapping[str, Path], precision: str, one_at_a_time: bool):
        without_telemetry()
        import openvino

        threads = torch.get_num_threads()
        self.streams = 1 if one_at_a_time or precision == "int8-weights" else threads
        # The rest of an int8 graph in PyTorch's choice of precision; without hardware bf16 falls back to fp32.
        precision = resolved("auto", "cpu") if precision.startswith("int8") else precision
        settings = {
            "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[precision],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": self.streams,
        }
        core = openvino.Core()
        self.compiled = {name: core.compile_model(file, "CPU", settings) for name, file in files.items()}
        self.idle: dict[str, list[Any]] = {name: [] for name in self.compiled}

    def map(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, np.ndarray]]:
        running: deque[tuple[Key, str, Any]] = deque()

        def finished() -> tuple[Key, np.ndarray]:
            key, name, request = running.popleft()
            request.wait()
            output = request.get_output_tensor(0).data.copy()
            self.idle[name].append(request)
            return key, output

        for key, (name, inputs) in jobs:
            if len(running) == self.streams:
                yield finished()
            request = self.idle[name].pop() if self.idle[name] else self.compiled[name].create_infer_request()
            request.start_async(dict(enumerate(inputs)))
            running.append((key, name, request))
        while running:
            yield finished()


_RUNNERS: dict[str, type[Any]] = {"torch": TorchRunner, "onnx": OnnxRunner, "openvino": OpenVinoRunner}


class ExportedEncoder:
    """An export with the interface of a model's ``encode``; configuration and processor are the model's own.

    Args:
        folder: Folder of the export.
        model: Folder of the model, whose weights are not read.
        one_at_a_time: Use all threads for one batch, best for single queries; otherwise for several batches at a time,
            best for many questions (not int8-weights).

    Raises:
        ExportError: ``folder`` holds no export, or it cannot be read.
        ModuleNotFoundError: The library that runs it is not installed.
    """

    dimensions: int | None = None
    """As of :class:`~tqnet.modeling.encoder.QuestionEncoder`."""

    def __init__(self, folder: Path, model: Path, one_at_a_time: bool = False):
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.config = AutoConfig.from_pretrained(model, trust_remote_code=False)
        self.processor = TQNetProcessor.from_pretrained(model)
        files = {name: folder / file for name, file in self.manifest.graphs.items()}
        try:
            self.runner: Runner = _RUNNERS[self.manifest.format](files, self.manifest.precision, one_at_a_time)
        except ImportError:
            raise
        except Exception as error:  # undocumented errors of each library
            raise ExportError(f"{folder}: its graphs cannot be read ({first_line(error)})") from error

    def __str__(self) -> str:
        return f"{self.manifest.format} {self.manifest.precision}"

    def encode(
        self,
        questions: Any,
        batch_size: int = 32,
        device: Any = None,
        precision: str | None = None,
        normalize: bool = False,
        show_progress: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Encode as :func:`tqnet.modeling.encode.encode` does; ``device`` and ``precision`` are ignored."""
        cells = CellCache(self._convolve, self.processor) if self.config.reads_images else None

        def embed(packed: Iterator[Batch]) -> Iterator[tuple[Sequence[int], np.ndarray]]:
            return self.runner.map(job for batch in packed for job in jobs(batch, cells, self.processor.max_length))

        width = self.dimensions or self.config.hidden_size
        return encode_by(embed, questions, self.processor, cells, width, batch_size, normalize, show_progress, out)

    def _convolve(self, figures: Tensor) -> Tensor:
        """Figures [n, 3, s, s] -> cells [n, c, features]."""
        parts = figures.split(_FIGURES_AT_A_TIME)
        results = self.runner.map((i, (FIGURES, [part.numpy()])) for i, part in enumerate(parts))
        return torch.cat([torch.from_numpy(cells) for _, cells in results])


def jobs(batch: Batch, cells: CellCache | None, max_length: int) -> Iterator[tuple[Sequence[int], Job]]:
    """Split a batch into jobs, with their rows: those with figures, and those without.

    ``max_length`` is the processor's, beyond which a text encoder may have no positions.
    """
    shown = [bool(figures) for figures in batch.figures] or [False] * len(batch.rows)
    if cells is None or not any(shown):
        yield batch.rows, (TEXT, _text(batch.text, max_length))
        return
    has = torch.tensor(shown)
    slots = figure_slots(np.array(list(map(len, batch.figures))))
    text = {name: value[has] for name, value in batch.text.items()}
    pictures = [cells(batch.paths, batch.squares).numpy(), slots[shown]]
    yield list(compress(batch.rows, shown)), (FUSED, [*_text(text, max_length), *pictures])
    if not has.all():
        rest = {name: value[~has] for name, value in batch.text.items()}
        yield list(compress(batch.rows, (~has).tolist())), (TEXT, _text(rest, max_length))


def _text(text: dict[str, Tensor], max_length: int) -> list[np.ndarray]:
    """Return token ids and mask [b, t], cut to the longest row and padded to a multiple of `_STEP`."""
    ids, mask = text["input_ids"], text["attention_mask"]
    width = int(mask.sum(1).max())
    room = max(0, min(-width % _STEP, max_length - width))
    return [torch.nn.functional.pad(tensor[:, :width], (0, room)).numpy() for tensor in (ids, mask)]


def open_encoder(
    source: str, backend: str = "auto", device: str | None = None, precision: str = "auto", one_at_a_time: bool = False
) -> QuestionEncoder | ExportedEncoder:
    """Open the model ``source``, or an export of it.

    Args:
        source: As for :func:`tqnet.evaluation.sources.open_source`.
        backend: ``torch`` (the model itself), ``openvino``, ``onnx`` or ``auto``, which takes an export next to the
            weights if its library is installed, the device is the CPU, and no other precision is requested. A stale
            export is skipped with a warning, and so is one that has not passed the comparison with PyTorch.
        precision: ``auto``, ``fp32`` or ``bf16``.
        one_at_a_time: See :class:`ExportedEncoder`.

    Raises:
        ExportError: The requested export is missing, stale, damaged, or of another precision.
        ModuleNotFoundError: Its library is not installed.
        FileNotFoundError: There is no model.
    """

    def open_export(name: str, where: str = "") -> ExportedEncoder:
        """Open an export; ``where`` is the option that requests it, empty for ``auto``."""
        folder = model / name
        manifest = Manifest.load(folder)
        if content_digest(model) != manifest.weights:
            raise ExportError(f"{folder}: stale, the model next to it has changed since; repeat tqnet export")
        if not where:
            manifest.check_passed(folder)
        if device is not None and not device.startswith("cpu"):
            raise ExportError(f"{where}--device {device}: exports run on the CPU")
        if precision not in ("auto", manifest.precision):
            raise ExportError(f"{where}{folder}: is in {manifest.precision}, but --precision is {precision}")
        return ExportedEncoder(folder, model, one_at_a_time)

    model, off_the_shelf = Path(source), source.startswith(ENCODER)
    if backend not in ("auto", "torch"):
        if off_the_shelf:
            raise ExportError(f"--backend {backend}: {source} has no folder for an export")
        return open_export(backend, f"--backend {backend}: ")
    on_cpu = (accelerator() is None) if device is None else device.startswith("cpu")
    skipped: list[str] = []
    encoder: QuestionEncoder | ExportedEncoder | None = None
    if backend == "auto" and on_cpu and not off_the_shelf:
        for name, package in _PACKAGES.items():
            if not Manifest.is_in(model / name) or find_spec(package) is None:
                continue
            try:
                encoder = open_export(name)
                break
            except ExportError as error:
                skipped.append(str(error))
    if skipped:
        log.warning("%s; using %s", "; ".join(skipped), encoder or "PyTorch")
    return encoder or open_source(source)
