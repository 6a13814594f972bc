"""A saved folder gives the same vectors, whichever way it is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoProcessor

from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fusion": "joint", "pooling": "per_modality"},
        {"pooling": "gated"},
        {"fusion": "none"},
        {"visual": None},
        {"visual_norm": "group"},
        {"visual_norm": "frozen", "fusion_layers": 2},
    ],
    ids=str,
)
def test_a_saved_model_gives_equal_vectors_whichever_way_it_is_loaded(
    build_tiny: Callable[..., TQNetModel], mixed_questions: list[Question], tmp_path: Path, options: dict
) -> None:
    model = build_tiny(awake=True, **options)
    if model.config.reads_images:
        for buffer in (b for name, b in model.visual.named_buffers() if name.endswith("running_mean")):
            buffer.uniform_(-0.1, 0.1)
    wanted = model.encode(mixed_questions)
    model.save_pretrained(tmp_path)
    for load in (load_model, TQNetModel.from_pretrained, AutoModel.from_pretrained):
        loaded = load(tmp_path)
        assert type(loaded) is TQNetModel
        assert not loaded.training
        assert loaded.dtype == torch.float32
        assert loaded.config.to_dict().keys() == model.config.to_dict().keys()
        assert np.array_equal(loaded.encode(mixed_questions), wanted)
    processor = AutoProcessor.from_pretrained(tmp_path)
    assert type(processor) is TQNetProcessor
    assert np.array_equal(model.encode(mixed_questions, processor=processor), wanted)


def test_a_gate_that_was_not_saved_is_shut(tiny_model: TQNetModel, tmp_path: Path) -> None:
    tiny_model.save_pretrained(tmp_path)
    gated = TQNetModel.from_pretrained(tmp_path, pooling="gated")
    assert gated.figure_gate is not None
    assert not gated.figure_gate.any()


@pytest.mark.slow
def test_loading_warns_of_nothing(tiny_model: TQNetModel, tmp_path: Path) -> None:
    tiny_model.save_pretrained(tmp_path)
    code = f"from tqnet import TQNetModel; TQNetModel.from_pretrained({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[transformers]" not in done.stderr


def test_a_second_save_gives_the_same_files(tiny_model: TQNetModel, tmp_path: Path) -> None:
    tiny_model.save_pretrained(tmp_path / "one")
    load_model(tmp_path / "one").save_pretrained(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in ("model.safetensors", "tokenizer.json", "processor_config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing: no model here"):
        load_model(tmp_path / "nothing")


class Hostile:
    """Runs code when it is unpickled."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.mark.parametrize("model_type", ["tqnet", "bert", "of its own"])
def test_no_code_of_a_model_folder_runs(model_type: str, tmp_path: Path) -> None:
    folder, ran = tmp_path / "model", tmp_path / "ran"
    folder.mkdir()
    code = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoTokenizer": ["evil.Tokenizer", None]}
    (folder / "config.json").write_text(json.dumps({"model_type": model_type, "auto_map": code}))
    (folder / "evil.py").write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    torch.save({"weight": Hostile(ran)}, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=str(folder)):
        load_model(folder)
    with pytest.raises(ValueError, match=str(folder)):
        build_model(ModelConfig(text=str(folder), visual=None, fusion="none"), ["a"])
    assert not ran.exists()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["scratch", "gru"])
def test_auto_classes_without_an_import_of_tqnet(text: str, tmp_path: Path) -> None:
    """As from a repository of the Hub: by ``auto_map``, which the user has to trust."""
    shape = ModelConfig(text=text, scratch_hidden=48, scratch_layers=1, visual=None, fusion="none")
    model, _ = build_model(shape, ["Find x."] * 5)
    model.save_pretrained(tmp_path)
    program = f"""
import sys
from transformers import AutoModel, AutoProcessor
kinds = AutoModel, AutoProcessor
model, processor = (kind.from_pretrained({str(tmp_path)!r}, trust_remote_code=True) for kind in kinds)
vectors = model.eval()(**processor(["Find $x$."])).embedding
model.save_pretrained({str(tmp_path / "again")!r})
print(*vectors[0].tolist())
"""
    environment = os.environ | {"HF_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    again = json.loads((tmp_path / "again" / "config.json").read_text(encoding="utf-8"))
    assert again["auto_map"] == json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["auto_map"]
    expected = model.encode(["Find $x$."], device="cpu")[0]
    assert [float(word) for word in done.stdout.split()] == pytest.approx(expected.tolist(), abs=1e-5)
