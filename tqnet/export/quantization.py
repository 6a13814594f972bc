"""OpenVINO graphs in int8, by NNCF's quantization after training."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from tqnet.export.libraries import import_nncf


def quantized(graph: Any, inputs: Sequence[Sequence[np.ndarray]]) -> Any:
    """``graph`` in int8, its ranges fitted to ``inputs``; as it is where there are none.

    Weights and activations of matrix products and convolutions become int8; NNCF's scheme for transformers leaves
    norms and the softmax, and smooths activations whose channels are of unlike size.
    """
    if not inputs:
        return graph
    nncf = import_nncf()
    nncf.set_log_level(40)
    names = [given.any_name for given in graph.inputs]
    data = nncf.Dataset(list(inputs), lambda values: dict(zip(names, values, strict=True)))
    with redirect_stdout(sys.stderr):  # its progress bars are no output of a command
        return nncf.quantize(
            graph,
            data,
            preset=nncf.QuantizationPreset.MIXED,
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(inputs),
        )
