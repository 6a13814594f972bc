"""What recipes and commands alike ask of the libraries underneath: quiet, a precision, the machine's name."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

import wrapt

if TYPE_CHECKING:
    import torch


def quiet() -> None:
    """Keep the libraries' progress bars and load reports out of ours, without importing the libraries."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    wrapt.register_post_import_hook(_quieten, "transformers.utils.logging")


def _quieten(logging: ModuleType) -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def precision(name: str, device: str | torch.device | None = None) -> str:
    """``auto`` as bf16 where the device computes in it natively, else fp32; ``fp32`` and ``bf16`` as they are.

    Args:
        device: By default CUDA's where there is one and accelerate is not told to keep to the processor.

    Raises:
        ValueError: Another name.
    """
    if name not in ("auto", "fp32", "bf16"):
        raise ValueError(f"precision: {name!r} is none of auto, fp32, bf16")
    if name != "auto":
        return name
    import torch

    if on_cuda() if device is None else torch.device(device).type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _processor_unit() else "fp32"


def machine() -> str:
    """What a process computes on here, in words, for the head of a table."""
    import torch

    if on_cuda():
        return torch.cuda.get_device_name()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    unit = f", {unit}" if (unit := _processor_unit()) else ""
    return f"{cores} processor core{'s' if cores != 1 else ''} ({torch.backends.cpu.get_cpu_capability()}{unit})"


def on_cuda() -> bool:
    """Where accelerate puts a process."""
    import torch

    return torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_CPU", "false").lower() != "true"


def out_of_memory(error: Exception) -> bool:
    """On a processor, torch has a plain RuntimeError for it."""
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def _processor_unit() -> str:
    """What the processor multiplies bf16 matrices with, where that is faster than fp32; else empty.

    With AVX512-BF16 alone, AMD's processors take half the time or less for a product, and Intel's more than in fp32.
    """
    import torch

    has = torch.cpu.get_capabilities()
    if has.get("amx_bf16"):
        return "AMX"
    return "bf16" if has.get("avx512_bf16") and str(has.get("cpu_name")).startswith("AMD") else ""
