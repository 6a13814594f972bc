"""What computes vectors: PyTorch, or an export that lies beside a model's weights."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path

from tqnet.evaluation.sources import ENCODER, open_source
from tqnet.export.encoder import ExportedEncoder
from tqnet.export.manifest import ExportError, Manifest
from tqnet.modeling.encode import accelerator
from tqnet.modeling.encoder import QuestionEncoder

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
