"""Settings of the libraries for recipes and commands: quiet, a precision, the name of the device."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

import wrapt

if TYPE_CHECKING:
    import numpy as np
    import torch


def quiet() -> None:
    """Turn off the libraries' progress bars and load reports."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    wrapt.register_post_import_hook(_quieten, "transformers.utils.logging")


def _quieten(logging: ModuleType) -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def precision(name: str, device: str | torch.device | None = None) -> str:
    """Resolve ``auto`` to bf16 where the device computes in it natively, else fp32; keep ``fp32`` and ``bf16``.

    Args:
        device: By default the device that accelerate uses.

    Raises:
        ValueError: Another name.
    """
    if name not in ("auto", "fp32", "bf16"):
        raise ValueError(f"precision: {name!r} is not one of auto, fp32, bf16")
    if name != "auto":
        return name
    import torch

    if on_cuda() if device is None else torch.device(device).type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _processor_unit() else "fp32"


def machine() -> str:
    """Name the device of this process for the head of a table."""
    import torch

    if on_cuda():
        return torch.cuda.get_device_name()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    unit = f", {unit}" if (unit := _processor_unit()) else ""
    return f"{cores} processor core{'s' if cores != 1 else ''} ({torch.backends.cpu.get_cpu_capability()}{unit})"


def to_device(values: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy from the host to a device without waiting for what the device has still to do."""
    import torch

    host = torch.as_tensor(values)
    if device.type == "cuda" and host.device.type == "cpu":
        host = host.pin_memory()
    return host.to(device, non_blocking=True)


def on_cuda() -> bool:
    """Return True if accelerate puts this process on a GPU."""
    import torch

    return torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_CPU", "false").lower() != "true"


def _processor_unit() -> str:
    """Name the unit of the CPU that multiplies bf16 matrices faster than fp32; empty without one.

    With AVX512-BF16 alone, AMD's take half the time or less for a product, and Intel's more than in fp32.
    """
    import torch

    has = torch.cpu.get_capabilities()
    if has.get("amx_bf16"):
        return "AMX"
    return "bf16" if has.get("avx512_bf16") and str(has.get("cpu_name")).startswith("AMD") else ""
