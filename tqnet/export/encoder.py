"""An exported model that encodes questions as the model itself does."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import compress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig

from tqnet.errors import first_line
from tqnet.evaluation.sources import ENCODER, open_source
from tqnet.export.graphs import FUSED, TEXT, import_openvino
from tqnet.export.manifest import FIGURES, ExportError, Manifest
from tqnet.libraries import precision as resolved
from tqnet.modeling.encode import Batch, CellCache, accelerator, encode_by
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import figure_slots

# How exported graphs are run: one class for each format, all with the same two methods.


Key = TypeVar("Key")

#: Name of a graph and its inputs, in the order that it takes them.
Job = tuple[str, Sequence[np.ndarray]]


class Runner(Protocol):
    """Graphs that are loaded."""

    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """What the graph ``name`` makes of ``inputs``."""

    def map(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, np.ndarray]]:
        """What each job gives, in their order."""


class _OneByOne:
    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        raise NotImplementedError

    def map(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, np.ndarray]]:
        for key, (name, inputs) in jobs:
            yield key, self.run(name, inputs)


class TorchRunner(_OneByOne):
    """Programs of torch.export."""

    def __init__(self, folder: Path, manifest: Manifest, one_at_a_time: bool = False):
        self.programs = {name: torch.export.load(folder / file).module() for name, file in manifest.graphs.items()}

    @torch.inference_mode()
    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        return self.programs[name](*map(torch.from_numpy, inputs)).numpy()


class OnnxRunner(_OneByOne):
    """ONNX Runtime on the processor, with as many threads as PyTorch would take."""

    def __init__(self, folder: Path, manifest: Manifest, one_at_a_time: bool = False):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        self.sessions = {
            name: onnxruntime.InferenceSession(folder / file, options, providers=["CPUExecutionProvider"])
            for name, file in manifest.graphs.items()
        }

    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        session = self.sessions[name]
        names = [given.name for given in session.get_inputs()]
        return session.run(None, dict(zip(names, inputs, strict=True)))[0]


class OpenVinoRunner:
    """OpenVINO on the processor.

    A stream for each thread, so that no thread waits for another within a batch; ``one_at_a_time`` a single stream of
    all threads, so that a batch is soonest done.
    """

    def __init__(self, folder: Path, manifest: Manifest, one_at_a_time: bool = False):
        threads = torch.get_num_threads()
        self.streams = 1 if one_at_a_time else threads
        # What int8 leaves is computed as PyTorch would choose; bf16 on a processor without it falls back to fp32.
        hint = {"fp32": "f32", "bf16": "bf16"}[
            resolved("auto", "cpu") if manifest.precision == "int8" else manifest.precision
        ]
        settings = {
            "INFERENCE_PRECISION_HINT": hint,
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": self.streams,
        }
        core = import_openvino().Core()
        self.compiled = {
            name: core.compile_model(folder / file, "CPU", settings) for name, file in manifest.graphs.items()
        }
        self.idle: dict[str, list[Any]] = {name: [] for name in self.compiled}

    def run(self, name: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        ((_, output),) = self.map([(None, (name, inputs))])
        return output

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


def load_runner(folder: Path, manifest: Manifest, one_at_a_time: bool = False) -> Runner:
    """The graphs in ``folder``, loaded.

    Args:
        one_at_a_time: All threads compute one job; the others that run jobs do so in any case.

    Raises:
        ModuleNotFoundError: What runs them is not installed.
        ExportError: They cannot be read.
    """
    try:
        return _RUNNERS[manifest.format](folder, manifest, one_at_a_time)
    except ImportError:
        raise
    except Exception as error:  # each library has its own, none of them documented
        raise ExportError(f"{folder}: its graphs cannot be read ({first_line(error)})") from error


#: Texts are padded to multiples of it: fewer shapes, for each of which OpenVINO prepares its kernels once.
_STEP = 8

#: Figures that are convolved together, as in PyTorch.
_FIGURES_AT_A_TIME = 16

#: Rows of a batch and what a graph is given of them.
Rows = tuple[Sequence[int], Job]


class ExportedEncoder:
    """What ``encode`` needs of a model, from an export; configuration and processor are the model's own.

    Args:
        folder: Of the export.
        model: Folder of the model, whose configuration and processor are read, and none of its weights.
        one_at_a_time: All threads compute one batch, as is best where a lone query is waited for; otherwise several
            batches at a time, as is best where there are many questions.

    Raises:
        ExportError: There is no export in ``folder``, or it cannot be read.
        ModuleNotFoundError: What runs it is not installed.
    """

    def __init__(self, folder: Path, model: Path, one_at_a_time: bool = False):
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.config = AutoConfig.from_pretrained(model)
        self.processor = TQNetProcessor.from_pretrained(model)
        self.runner = load_runner(folder, self.manifest, one_at_a_time)

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
        """As :func:`tqnet.modeling.encode.encode`.

        ``device`` and ``precision`` have no say here: it is the processor, and the precision of the export.
        """
        cells = CellCache(self._convolve, self.processor) if self.config.reads_images else None

        def embed(given: Iterator[Batch]) -> Iterator[tuple[Sequence[int], np.ndarray]]:
            return self.runner.map(job for batch in given for job in jobs(batch, cells, self.processor.max_length))

        width = self.config.hidden_size
        return encode_by(embed, questions, self.processor, cells, width, batch_size, normalize, show_progress, out)

    def _convolve(self, figures: Tensor) -> Tensor:
        """Cells [n, c, features] of figures [n, 3, s, s]."""
        parts = figures.split(_FIGURES_AT_A_TIME)
        found = self.runner.map((i, (FIGURES, [part.numpy()])) for i, part in enumerate(parts))
        return torch.cat([torch.from_numpy(cells) for _, cells in found])


def jobs(batch: Batch, cells: CellCache | None, max_length: int) -> Iterator[Rows]:
    """What the graphs are to compute of a batch: rows with figures apart from those without.

    ``max_length`` is that of the processor, beyond which a text encoder may have no positions.
    """
    shown = [bool(of) for of in batch.figures] or [False] * len(batch.rows)
    if cells is None or not any(shown):
        yield batch.rows, (TEXT, _text(batch.text, max_length))
        return
    has = torch.tensor(shown)
    slots = figure_slots(torch.tensor([len(of) for of in batch.figures]))
    given = {name: value[has] for name, value in batch.text.items()}
    pictures = [cells(batch.paths, batch.squares).numpy(), slots[has].numpy()]
    yield list(compress(batch.rows, shown)), (FUSED, [*_text(given, max_length), *pictures])
    if not has.all():
        rest = {name: value[~has] for name, value in batch.text.items()}
        yield list(compress(batch.rows, (~has).tolist())), (TEXT, _text(rest, max_length))


def _text(text: dict[str, Tensor], max_length: int) -> list[np.ndarray]:
    """Token ids and mask [b, t], of the longest row's width rounded up; the mask hides what is added."""
    ids, mask = text["input_ids"], text["attention_mask"]
    width = int(mask.sum(1).max())
    ids, mask = ids[:, :width], mask[:, :width]
    room = max(0, min(-width % _STEP, max_length - width))
    return [torch.nn.functional.pad(of, (0, room)).numpy() for of in (ids, mask)]


# What computes vectors: PyTorch, or an export that lies beside a model's weights.


log = logging.getLogger(__name__)

#: ``torch`` is the model itself.
BACKENDS = ("auto", "torch", "openvino", "onnx")

#: Exports that are taken without being asked for, the faster first -> the package that runs them.
_PACKAGES = {"openvino": "openvino", "onnx": "onnxruntime"}


def open_encoder(
    source: str,
    backend: str = "auto",
    device: str | None = None,
    precision: str = "auto",
    one_at_a_time: bool = False,
) -> QuestionEncoder | ExportedEncoder:
    """What encodes by the model ``source``.

    Args:
        source: As for :func:`tqnet.evaluation.sources.open_source`.
        backend: One of :data:`BACKENDS`. ``auto`` takes an export beside the weights where what runs it is installed,
            the device is the processor, and no other precision is asked for. A stale one is passed over with a warning,
            and so is one that has failed its comparison with PyTorch, or whose graphs of figures were not in it.
        precision: ``auto``, ``fp32`` or ``bf16``.
        one_at_a_time: Of an export, as for :class:`tqnet.export.encoder.ExportedEncoder`.

    Raises:
        ExportError: The export that is asked for is not there, stale, damaged, or of another precision.
        ModuleNotFoundError: What runs it is not installed.
        FileNotFoundError: There is no model.
    """
    if backend == "torch":
        return open_source(source)
    model = Path(source)
    if backend != "auto":
        if source.startswith(ENCODER):
            raise ExportError(f"--backend {backend}: {source} has no folder that an export could lie in")
        return _open(model / backend, model, device, precision, one_at_a_time, f"--backend {backend}: ")
    on_processor = (accelerator() is None) if device is None else device.startswith("cpu")
    passed_over: list[str] = []
    encoder: QuestionEncoder | ExportedEncoder | None = None
    if on_processor and not source.startswith(ENCODER):
        for name, package in _PACKAGES.items():
            if not Manifest.is_in(model / name) or find_spec(package) is None:
                continue
            try:
                encoder = _open(model / name, model, device, precision, one_at_a_time)
                break
            except ExportError as error:
                passed_over.append(str(error))
    if passed_over:
        log.warning("%s; %s is used", "; ".join(passed_over), encoder or "PyTorch")
    return encoder or open_source(source)


def _open(
    folder: Path, model: Path, device: str | None, precision: str, one_at_a_time: bool, where: str = ""
) -> ExportedEncoder:
    """The export in ``folder``; ``where`` is the option that asks for it, empty where none does."""
    manifest = Manifest.load(folder)
    manifest.check_fresh(folder, model)
    if not where:
        manifest.check_passed(folder)
    if device is not None and not device.startswith("cpu"):
        raise ExportError(f"{where}--device {device}: exports run on the processor")
    if precision not in ("auto", manifest.precision):
        raise ExportError(f"{where}{folder}: is in {manifest.precision}, and --precision {precision} is asked for")
    return ExportedEncoder(folder, model, one_at_a_time)
