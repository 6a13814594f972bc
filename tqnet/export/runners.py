"""How exported graphs are run: one class for each format, all with the same two methods."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from tqnet.errors import first_line
from tqnet.export.libraries import import_openvino
from tqnet.export.manifest import ExportError, Manifest
from tqnet.libraries import precision as resolved

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
