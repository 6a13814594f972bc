"""The graphs of an exported model, up to three, with dynamic shapes, that together do what ``encode`` does.

``text``: token ids to vectors, of questions without figures; no convolution is in it. ``figures``: figures to
feature-map cells, all convolutions and nothing else, so that a figure in many questions passes once and its cells are
cached. ``fused``: token ids and cells to vectors. A single graph with a condition would convolve a shared figure for
every question that shows it, and runtimes do not optimise across conditions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.gru import GRUConfig
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.text_encoders import most_tokens
from tqnet.modeling.visual import feature_cells

TEXT, FIGURES, FUSED = "text", "figures", "fused"

#: Maximum number of questions, and of figures, of a batch.
_MOST = 4096


class TextGraph(nn.Module):
    """input_ids [b, t], attention_mask [b, t] -> vectors [b, h]."""

    def __init__(self, model: TQNetModel):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask = attention_mask.bool()
        visual = mask.new_zeros((mask.shape[0], 0, self.model.config.hidden_size), dtype=self.model.dtype)
        return _embedding(self.model, input_ids, mask, visual, mask.new_zeros((mask.shape[0], 0)))


class FiguresGraph(nn.Module):
    """pixel_values [n, 3, s, s] -> cells [n, c, features]."""

    def __init__(self, model: TQNetModel):
        super().__init__()
        self.backbone = model.visual.backbone
        self.dtype = model.dtype

    def forward(self, pixel_values: Tensor) -> Tensor:
        return feature_cells(self.backbone, pixel_values.to(self.dtype)).float()


class FusedGraph(nn.Module):
    """input_ids, attention_mask [b, t], image_cells [n, c, features], image_slots [b, f] -> vectors [b, h].

    ``image_slots`` has the numbers of each question's figures, padded by -1
    (:func:`tqnet.modeling.visual.figure_slots`); f is at least 1.
    """

    def __init__(self, model: TQNetModel):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, image_cells: Tensor, image_slots: Tensor) -> Tensor:
        visual, visual_mask = self.model.visual.placed(image_cells.to(self.model.dtype), image_slots)
        return _embedding(self.model, input_ids, attention_mask.bool(), visual, visual_mask)


def _embedding(model: TQNetModel, input_ids: Tensor, mask: Tensor, visual: Tensor, visual_mask: Tensor) -> Tensor:
    _, tokens, joined = model.fused(input_ids, mask, visual, visual_mask)
    return model.vector(tokens.float(), joined, input_ids)


@dataclass(frozen=True)
class Graph:
    """A part of a model to export.

    Attributes:
        inputs: Name -> example, in the order of ``module.forward``.
        shapes: Name -> its dynamic dimensions.
    """

    name: str
    module: nn.Module
    inputs: dict[str, Tensor]
    shapes: dict[str, dict[int, Any]]

    def program(self) -> ExportedProgram:
        """Export the graph by PyTorch."""
        with torch.no_grad():
            return torch.export.export(self.module, tuple(self.inputs.values()), dynamic_shapes=self.shapes)


def graphs(model: QuestionEncoder) -> list[Graph]:
    """Return the graphs of ``model`` in eval mode; ValueError for other models than TQ-Net, or with GRUs."""
    if not isinstance(model, TQNetModel):
        raise ValueError(f"a {model.config.model_type} is not exported, only a tqnet is: its LSTMs would gain nothing")
    if model.config.text_config.model_type == GRUConfig.model_type:
        raise ValueError("a tqnet of model.text=gru is not exported: its GRUs would gain nothing")
    longest = most_tokens(model.text) or 512
    b, t, n, f = Dim("b", max=_MOST), Dim("t", min=2, max=longest), Dim("n", max=_MOST), Dim("f", max=_MOST)
    mask = (torch.arange(7) < torch.tensor([[7], [4], [6]])).long()
    text = {"input_ids": torch.full((3, 7), 5), "attention_mask": mask}
    varying: dict[str, dict[int, Any]] = {"input_ids": {0: b, 1: t}, "attention_mask": {0: b, 1: t}}
    text_graph = Graph(TEXT, TextGraph(model).eval(), text, varying)
    if not model.config.reads_images:
        return [text_graph]
    size = model.config.image_size
    pixels = torch.zeros(5, 3, size, size)
    with torch.no_grad():
        cells = model.visual.cells(pixels.to(model.dtype)).float()
    shown = {**text, "image_cells": cells, "image_slots": torch.tensor([[0, 1, 2], [3, -1, -1], [4, -1, -1]])}
    varying_shown = varying | {"image_cells": {0: n}, "image_slots": {0: b, 1: f}}
    return [
        text_graph,
        Graph(FIGURES, FiguresGraph(model).eval(), {"pixel_values": pixels}, {"pixel_values": {0: n}}),
        Graph(FUSED, FusedGraph(model).eval(), shown, varying_shown),
    ]


def without_telemetry() -> None:
    """Turn off the telemetry of OpenVINO and NNCF, which need the package that sends it."""
    modules: dict[str, Any] = sys.modules
    modules.setdefault("openvino_telemetry", None)
