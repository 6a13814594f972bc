"""Tiny models exported once for all tests of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tqnet.export.encoder import ExportedEncoder
from tqnet.export.make import write
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.training.config import RunConfig
from tqnet.training.frozen import FrozenEncoder

#: Format -> what has to be installed for it.
NEEDED = {"torch": (), "onnx": ("onnx", "onnxscript", "onnxruntime"), "openvino": ("openvino",)}


@pytest.fixture(scope="session")
def _exports() -> dict[Any, tuple[TQNetModel, Path]]:
    return {}


@pytest.fixture
def exported(
    _exports: dict[Any, tuple[TQNetModel, Path]],
    build_tiny: Callable[..., TQNetModel],
    tiny_bank: QuestionBank,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., tuple[TQNetModel, ExportedEncoder]]]:
    """A tiny model and its export, which runs with two threads; options are those of `ModelConfig`; ``read_out`` adds
    an untrained one with terms of that weight.

    Skips where the extra is not installed.
    """

    def export(format: str, precision: str = "fp32", **options: Any) -> tuple[TQNetModel, ExportedEncoder]:
        for package in (*NEEDED[format], *(["nncf"] if precision.startswith("int8") else [])):
            pytest.importorskip(package)
        key = (format, precision, *sorted(options.items()))
        if key not in _exports:
            read_out = options.pop("read_out", None)
            model, folder = build_tiny(awake=True, **options), tmp_path_factory.mktemp("model")
            if read_out is not None:
                model.config.visual_trained = True  # as far as FrozenEncoder asks
                FrozenEncoder(model, tiny_bank, read_out, RunConfig(out="out")).features(tiny_bank)
            model.save_pretrained(folder)
            (folder / format).mkdir()
            write(model, folder, folder / format, format, precision, tiny_bank)
            _exports[key] = model, folder
        model, folder = _exports[key]
        return model, ExportedEncoder(folder / format, folder)

    before = torch.get_num_threads()
    torch.set_num_threads(2)  # runners with several streams and with one differ in what they compute
    yield export
    torch.set_num_threads(before)


@pytest.fixture
def questions(tiny_bank: QuestionBank, draw_figure: Callable[..., str]) -> list[Question]:
    """Questions of unlike lengths with 0, 1 and 3 figures, mixed, some with a figure in common."""
    plain = [question for question in tiny_bank if not question.images][:5]
    shown = [question for question in tiny_bank if len(question.images) == 1][:3]
    three = Question("three", "Which of these is a square?", images=tuple(draw_figure(n) for n in range(3)))
    shared = Question("shared", "Is this a square, or is it not? " * 4, images=(draw_figure(1),))
    return [plain[0], three, *shown, *plain[1:], shared]
