"""OpenVINO and NNCF, imported without their telemetry."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def import_openvino() -> Any:
    """OpenVINO; what it and NNCF would send of a conversion, unasked, is not sent.

    Both do without the package that sends where it cannot be imported.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    _without_telemetry()
    import openvino

    return openvino


def import_nncf() -> Any:
    """NNCF, as :func:`import_openvino`."""
    _without_telemetry()
    import nncf

    return nncf


def _without_telemetry() -> None:
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules.setdefault("openvino_telemetry", None)
