"""Low-rank adapters of a text encoder (Hu et al. 2022), by the library peft."""

from __future__ import annotations

import logging

from torch import Tensor, nn
from transformers import PreTrainedModel

log = logging.getLogger(__name__)

#: Parts that peft adds to the name of an adapted layer's weight, and of its adapters.
_ADAPTED, _ADAPTERS = ".base_layer.", ".lora_"


def add_adapters(encoder: PreTrainedModel, rank: int) -> None:
    """Freeze an encoder and add adapters of ``rank`` to all of its linear layers; they start at zero.

    Raises:
        ModuleNotFoundError: peft is not installed.
    """
    from peft import LoraConfig, inject_adapter_in_model

    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear"), encoder)
    trained = sum(weight.numel() for weight in encoder.parameters() if weight.requires_grad)
    log.info(
        "model.lora: %s of %s weights of the text encoder are trained", f"{trained:,}", f"{encoder.num_parameters():,}"
    )


def merged_weights(model: nn.Module) -> dict[str, Tensor] | None:
    """Return the state of a model with its adapters added to the layers that they adapt; None without any."""
    adapted = {f"{name}{_ADAPTED}weight": layer for name, layer in model.named_modules() if hasattr(layer, "lora_A")}
    if not adapted:
        return None
    return {
        name.replace(_ADAPTED, "."): weight + adapted[name].get_delta_weight("default") if name in adapted else weight
        for name, weight in model.state_dict().items()
        if _ADAPTERS not in name
    }
