"""Every family of text encoders with every recipe and export, as the table in docs/encoders.md says."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.families import FAMILIES, write_encoder
from tests.recipes.conftest import ROOT
from tqnet.config import ConfigError
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank
from tqnet.search.ranker import CrossEncoder

pytestmark = pytest.mark.slow

_RECIPES = {"MLM": "pretrain.mlm", "MoCo": "pretrain.moco", "SCL": "finetune.similar"}
#: Words of the table -> those of the error.
_REASONS = {"mask token": "has no mask token", "embeddings": "embeddings of this", "decoder": "a decoder"}


def table() -> dict[str, dict[str, str]]:
    lines = (ROOT / "docs/encoders.md").read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines if line.startswith("| ")]
    head = next(row for row in rows if row[0] == "family")
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows if row[0] in FAMILIES}


def test_the_table_has_all_families() -> None:
    assert table().keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_is_true(
    family: str, train: Callable[..., Any], sample_bank: QuestionBank, small_bank: Path, tmp_path: Path
) -> None:
    folder = write_encoder(family, tmp_path / "encoder", [question.content for question in sample_bank])
    text = [f"model.text={folder}", "model.max_length=96", "model.fusion_heads=4", "run.max_steps=1"]
    uses = table()[family]
    for use, recipe in _RECIPES.items():
        settings = [*text, *(["queue=32"] if use == "MoCo" else [])]
        _as_said(uses[use], lambda r=recipe, s=settings, u=use: train(r, *s, out=u))  # type: ignore[misc]
    _as_said(uses["joint fusion"], lambda: train("pretrain.moco", *text, "queue=32", "model.fusion=joint", out="joint"))
    _as_said(uses["LoRA"], lambda: train("finetune.similar", *text, "model.lora=2", out="adapted").model)
    model = train("finetune.similar", *text, out="model").out / "model"

    def encoded() -> None:
        assert load_model(model).encode([sample_bank[0]]).shape == (1, 32)

    def exported() -> None:
        pytest.importorskip("openvino")
        from tqnet.export.make import export

        check = export(model, QuestionBank.load(small_bank), tmp_path / "export", "openvino", "fp32", questions=8)
        assert check.cosine_mean > 0.999

    _as_said(uses["encode"], encoded)
    ranks = "sep_token" in FAMILIES[family][1]
    with contextlib.nullcontext() if ranks else pytest.raises(ValueError, match="cannot rank pairs"):
        CrossEncoder(load_model(model), 64)
    _as_said(uses["export"], exported)


def _as_said(word: str, use: Callable[[], object]) -> None:
    if word == "works":
        use()
    else:
        with pytest.raises(ConfigError, match=_REASONS[word]):
            use()
