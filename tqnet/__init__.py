"""Vectors for test questions: text with formulas, any number of figures.

After ``import tqnet``, the Auto classes of ``transformers`` know TQ-Net and QuesNet. Neither torch nor transformers is
loaded before it is needed, so that ``tqnet --help`` answers at once.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

import wrapt

from tqnet.version import __version__

if TYPE_CHECKING:
    from tqnet.modeling.configuration import QuesNetConfig, TQNetConfig
    from tqnet.modeling.model import TQNetModel
    from tqnet.modeling.processor import TQNetProcessor
    from tqnet.modeling.quesnet import QuesNetModel

__all__ = ["QuesNetConfig", "QuesNetModel", "TQNetConfig", "TQNetModel", "TQNetProcessor", "__version__"]

_MODULES = {
    "QuesNetConfig": "tqnet.modeling.configuration",
    "QuesNetModel": "tqnet.modeling.quesnet",
    "TQNetConfig": "tqnet.modeling.configuration",
    "TQNetModel": "tqnet.modeling.model",
    "TQNetProcessor": "tqnet.modeling.processor",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


@wrapt.when_imported("transformers.models.auto.configuration_auto")
def _register_config(_: ModuleType) -> None:
    importlib.import_module("tqnet.modeling.configuration")


@wrapt.when_imported("transformers.models.auto.modeling_auto")
def _register_model(_: ModuleType) -> None:
    importlib.import_module("tqnet.modeling.model")
    importlib.import_module("tqnet.modeling.quesnet")


@wrapt.when_imported("transformers.models.auto.processing_auto")
def _register_processor(_: ModuleType) -> None:
    importlib.import_module("tqnet.modeling.processor")
