"""Labelled pairs from a file, and those that come with the project."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tqnet.questions import BankError, Question, QuestionBank
from tqnet.questions.pairs import RELATIONS, read_labelled_pairs

CHECKED = Path(__file__).parents[2] / "assets" / "pairs.jsonl"


@pytest.fixture
def bank() -> QuestionBank:
    return QuestionBank.from_questions(Question(id=name, stem=f"Find {name}.") for name in "xyz")


@pytest.fixture
def write(tmp_path: Path):
    def write(*rows: object) -> Path:
        file = tmp_path / "pairs.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file

    return write


def test_ids_and_questions(write, bank: QuestionBank) -> None:
    given = {"stem": "Find w.", "options": ["1", "2"]}
    pairs = read_labelled_pairs(
        write({"a": "x", "b": "y", "label": "similar"}, {"a": given, "b": "z", "label": "variant", "reason": "one"}),
        bank,
    )
    assert [(pair.a.stem, pair.b.stem, pair.relation) for pair in pairs] == [
        ("Find x.", "Find y.", "similar"),
        ("Find w.", "Find z.", "variant"),
    ]
    assert pairs[1].a.options == ("1", "2")


def test_figures_lie_beside_the_file(write, tmp_path: Path) -> None:
    row = {"a": {"stem": "x", "images": ["f.png"]}, "b": {"stem": "x"}, "label": "unrelated"}
    (pair,) = read_labelled_pairs(write(row))
    assert pair.a.images == (str(tmp_path / "f.png"),)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": "x", "b": "y", "label": "equal"}, "label: expected one of duplicate, similar, variant, unrelated"),
        ({"a": "x", "b": "y"}, "label: expected one of"),
        ({"a": "x", "b": "w", "label": "similar"}, "b: no question 'w' in the bank"),
        ({"a": "x", "b": "x", "label": "similar"}, "b: the same question as a"),
        ({"a": {"options": []}, "b": "x", "label": "similar"}, r"a\.stem: missing"),
        ({"a": "y", "b": "x", "label": "variant"}, "label: contradicts line 1"),
        ([1], "record: expected an object"),
    ],
)
def test_faults(row: object, message: str, write, bank: QuestionBank) -> None:
    file = write({"a": "x", "b": "y", "label": "similar"}, row)
    with pytest.raises(BankError, match=message):
        read_labelled_pairs(file, bank)
    with pytest.warns(UserWarning, match="1 of 2 pairs left out"):
        assert len(read_labelled_pairs(file, bank, "skip")) == 1


def test_ids_need_a_bank_and_a_file_needs_pairs(write) -> None:
    with pytest.raises(BankError, match="a: an id, and no bank to look for it"):
        read_labelled_pairs(write({"a": "x", "b": "y", "label": "similar"}))
    with pytest.raises(BankError, match="the file holds no pair"):
        read_labelled_pairs(write())


def test_the_checked_pairs() -> None:
    """Thirty of each relation in two languages, each with its reason."""
    pairs = read_labelled_pairs(CHECKED)
    rows = [json.loads(line) for line in CHECKED.read_text(encoding="utf-8").splitlines()]
    assert Counter(pair.relation for pair in pairs) == dict.fromkeys(RELATIONS, 30)
    assert all(row["reason"].strip() for row in rows)
    chinese = Counter(pair.relation for pair in pairs if any("\u4e00" <= letter <= "\u9fff" for letter in pair.a.stem))
    assert chinese == dict.fromkeys(RELATIONS, 15)
    assert all(Path(image).is_file() for pair in pairs for end in (pair.a, pair.b) for image in end.images)
