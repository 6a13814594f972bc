from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tqnet.cli import main
from tqnet.questions import check_bank

Write = Callable[..., Path]
Figure = Callable[..., str]


def _question(name: str, stem: str = "x", **fields: Any) -> dict[str, Any]:
    return {"id": name, "stem": stem, **fields}


def test_counts(write: Write, figure: Figure) -> None:
    file = write(
        _question("a", split="train", language="en", images=[figure("1.png"), figure("2.png", 9)]),
        _question("b", split="train", language="zh", images=["1.png"], group="g"),
        _question("c", split="test", group="g"),
        _question("d", group="h"),
        _question("e", split="dev"),
    )
    report = check_bank(file)
    assert (report.questions, report.skipped) == (4, 1)
    assert report.splits == {"train": 2, "test": 1, "none": 1}
    assert report.languages == {"none": 2, "en": 1, "zh": 1}
    assert (report.images.questions, report.images.total, report.images.most) == (2, 3, 2)
    assert (report.groups.count, report.groups.questions, report.groups.alone) == (2, 3, 1)
    assert (report.groups.largest, report.groups.median, report.groups.across_splits) == (2, 1.5, 1)
    assert [str(fault) for fault in report.faults] == [
        f"{file}:5: split: expected one of train, valid, test or null, got 'dev'"
    ]


def test_knowledge(write: Write) -> None:
    file = write(
        _question("a", knowledge=[["A", "X"], ["B", "X", "Y"]]), _question("b", knowledge=[["A", "X"]]), _question("c")
    )
    known = check_bank(file).knowledge
    assert (known.depth, known.classes, known.missing, known.ambiguous) == (3, [2, 2, 1], 1, 1)
    assert known.path_depths == {2: 2, 3: 1}
    assert len(check_bank(file, unique_names=True).faults) == 1


def test_lengths_in_characters(write: Write) -> None:
    lengths = check_bank(write(*(_question(str(n), "x" * n) for n in range(1, 101)))).lengths
    assert (lengths.unit, lengths.median, lengths.most, lengths.unknown_rate) == ("characters", 50.5, 100, None)
    assert lengths.percentile_95 == pytest.approx(95, abs=1)


def test_lengths_in_tokens(write: Write) -> None:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "one": 3, "two": 4}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", model_max_length=3
    )
    lengths = check_bank(
        write(_question("a", "one two three four"), _question("b", "one one")), lambda _: tokenizer
    ).lengths
    assert (lengths.unit, lengths.median, lengths.most) == ("tokens", 5, 6)
    assert lengths.unknown_rate == 2 / 6  # of the words; [CLS] and [SEP] are in the length only


def test_duplicates(write: Write, figure: Figure) -> None:
    file = write(
        _question("a", "one  two", split="train", images=[figure("1.png")]),
        _question("b", "one two ", split="train", images=[figure("copy of 1.png")]),
        _question("c", "one two", split="test", images=["1.png"]),
        _question("other figure", "one two", split="test", images=[figure("2.png", 200)]),
        _question("no figure", "one two", split="test"),
        _question("options", "one two", split="test", options=["3"]),
    )
    duplicates = check_bank(file).duplicates
    assert (duplicates.within_splits, duplicates.across_splits) == (1, 1)
    assert duplicates.examples == [("a", "b"), ("a", "c")]
    # Without a look into the files, only the same path is the same figure.
    assert check_bank(file, images=False).duplicates.examples == [("a", "c")]


def test_doubles_between_train_and_what_is_measured(write: Write, figure: Figure) -> None:
    first_stem, second_stem = (
        "How long is the side $AB$ of 12 squares?",
        "A farmer has some sheep, and sells every third.",
    )
    file = write(
        _question("a", first_stem, split="train"),
        _question("b", second_stem, split="train", images=[figure("1.png")]),
        _question("c", first_stem, split="test"),
        _question("d", first_stem.replace("12", "7"), split="valid"),
        _question("e", "What is drawn here?", split="test", images=[figure("copy.png")]),
        _question("f", second_stem, split="test", images=[figure("2.png", 200)]),
    )
    report = check_bank(file)
    assert report.overlap is not None
    assert report.overlap.questions == {"valid": 1, "test": 3}
    assert report.overlap.doubles == {
        "valid": {"exact": 0, "near": 1, "figure": 0},
        "test": {"exact": 1, "near": 0, "figure": 1},
    }
    assert report.to_dict()["overlap"]["examples"] == [("exact", "c", "a"), ("near", "d", "a"), ("figure", "e", "b")]
    assert (
        "valid with train: exact 0, near 1, figure 0 (100.0% of 1); test with train: exact 1, near 0, figure 1 "
        "(66.7% of 3); e.g. c = a (exact), d = a (near), e = b (figure)"
    ) in report.render()
    # Without a look into the files, a figure is known by its path.
    unseen = check_bank(file, images=False).overlap
    assert unseen is not None
    assert unseen.doubles["test"] == {"exact": 1, "near": 0, "figure": 0}


@pytest.mark.parametrize("splits", [("train", "train"), ("test", None)])
def test_doubles_take_two_splits(write: Write, splits: tuple[str | None, str | None]) -> None:
    report = check_bank(write(*(_question(str(i), split=split) for i, split in enumerate(splits))))
    assert "overlap     not checked: needs questions of train and of valid or test" in report.render()


def test_images_may_be_left_out(write: Write) -> None:
    file = write(_question("a", images=["gone.png"]))
    assert len(check_bank(file).faults) == 1
    assert check_bank(file, images=False).faults == ()


def test_the_report_in_words_and_as_json(write: Write, figure: Figure) -> None:
    file = write(
        _question("a", split="train", images=[figure("1.png")], knowledge=[["A"], ["B", "A"]], group="g"),
        _question("b", split="valid", images=["1.png"]),
        _question("b"),
    )
    report = check_bank(file)
    text = report.render()
    assert "questions   2 (1 left out)\nsplits      train 1, valid 1\n" in text
    assert "2 in 100.0% of the questions, at most 1 in one" in text
    assert "2 levels of 2 / 1 classes; path lengths differ (1 1, 2 1); 1 questions without; 1 ambiguous names" in text
    assert "0 within a split, 1 across splits, e.g. a = b" in text
    assert text.endswith(f"\nfaults      1\n{file}:3: id: already used in line 2")
    values = json.loads(json.dumps(report.to_dict()))
    assert values["faults"] == [{"file": str(file), "line": 3, "field": "id", "message": "already used in line 2"}]
    assert values["images"]["total"] == 2


def test_a_bank_without_one_good_record(write: Write) -> None:
    report = check_bank(write({"id": "a"}))
    assert (report.questions, report.lengths.most, len(report.faults)) == (0, 0, 1)
    assert "questions   0 (1 left out)" in report.render()


FOLDER = Path(__file__).parents[1] / "broken_banks"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_faults(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER)
    options = ["--unique-names"] if name.startswith("unique_names") else []
    assert main(["check", name, *options]) == 1
    faults = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name}/")]
    assert faults == (FOLDER / name / "expected.txt").read_text(encoding="utf-8").splitlines()
