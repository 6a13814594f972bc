"""What a trained folder says of the model in it, without its weights."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open


@dataclass(frozen=True)
class ModelFacts:
    """Of a model's folder.

    Attributes:
        parameters: Of all its weights; None where they cannot be read.
        width: Of a vector.
        max_length: Text tokens that it reads, if it says.
        max_images: Figures of a question that it reads; 0 for none.
        transductive: Pre-training has read the questions of valid and test, unlabelled.
    """

    architecture: str
    text_encoder: str | None
    visual: str | None
    fusion: str | None
    parameters: int | None
    width: int | None
    max_length: int | None
    max_images: int
    image_size: int | None
    transductive: bool

    @classmethod
    def of(cls, folder: Path) -> ModelFacts:
        config = _json(folder / "config.json")
        processor = _json(folder / "processor_config.json")
        text = config.get("text_config") or {}
        visual = config.get("visual_backbone") if config.get("fusion") != "none" else None
        return cls(
            architecture=str(config.get("model_type", "unknown")),
            text_encoder=_text_encoder(text),
            visual=visual,
            fusion=config.get("fusion") if visual else None,
            parameters=_parameters(folder),
            width=config.get("hidden_size") or text.get("hidden_size") or config.get("d_model"),
            max_length=processor.get("max_length"),
            max_images=int(processor.get("max_images") or config.get("max_images") or 0) if visual else 0,
            image_size=config.get("image_size") if visual else None,
            transductive=bool(config.get("transductive")),
        )


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _text_encoder(config: dict[str, Any]) -> str | None:
    if not config:
        return None
    shape = f"{config.get('num_hidden_layers')} layers of {config.get('hidden_size')}"
    return f"{config.get('model_type', 'bert')} ({shape}, {config.get('vocab_size'):,} tokens)"


def _parameters(folder: Path) -> int | None:
    """Read from the heads of the weights' files."""
    total = 0
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, framework="numpy") as tensors:
                total += sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
        except (OSError, SafetensorError):
            return None
    return total or None
