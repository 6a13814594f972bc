"""How the libraries underneath are set up, for recipes and commands alike."""

from __future__ import annotations

import os

import torch
import transformers


def quiet() -> None:
    """Keep the libraries' progress bars and load reports out of ours."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def precision(name: str) -> str:
    """``auto`` as bf16 where the device computes in it natively, else fp32; other names as they are."""
    if name != "auto":
        return name
    if torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_CPU", "false").lower() != "true":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    # Without AMX, a Xeon with AVX512-BF16 multiplies matrices half as fast in bf16 as in fp32.
    return "bf16" if torch.cpu._is_amx_tile_supported() else "fp32"
