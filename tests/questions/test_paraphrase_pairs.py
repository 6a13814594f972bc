"""Pairs of a question and its paraphrase, from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tqnet.questions.faults import BankError
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_pairs


def test_csv_and_jsonl_give_the_same_pairs(tmp_path: Path) -> None:
    records = [
        {"original": 'Say "5", twice.', "paraphrase": "Twice,\nsay 5.", "label": 1},
        {"original": "Why?", "paraphrase": "为什么？", "label": None},
    ]
    (tmp_path / "pairs.jsonl").write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8")
    (tmp_path / "pairs.csv").write_text(
        '\ufefforiginal,paraphrase,label\n"Say ""5"", twice.","Twice,\nsay 5.",1\nWhy?,为什么？,\n', encoding="utf-8"
    )
    first, second = read_pairs(tmp_path / "pairs.jsonl")
    assert first == ParaphrasePair('Say "5", twice.', "Twice,\nsay 5.", 1, "1")
    assert second == ParaphrasePair("Why?", "为什么？", None, "3")
    assert [(pair.original, pair.paraphrase, pair.label) for pair in read_pairs(tmp_path / "pairs.csv")] == [
        (pair.original, pair.paraphrase, pair.label) for pair in (first, second)
    ]


def test_ids_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("id,original,paraphrase\na7,Why?,Why not?\n")
    assert read_pairs(tmp_path / "pairs.csv") == [ParaphrasePair("Why?", "Why not?", None, "a7")]


def test_a_question_with_what_was_made_of_it(tmp_path: Path) -> None:
    record = {"question": "q", "positive1": "p", "positive2": "", "negative1": "n", "neg_2": "m", "negative3": None}
    (tmp_path / "sets.jsonl").write_text(json.dumps(record))
    assert read_pairs(tmp_path / "sets.jsonl") == [
        ParaphrasePair("q", "p", 1, "1-positive1"),
        ParaphrasePair("q", "n", 0, "1-negative1"),
        ParaphrasePair("q", "m", 0, "1-neg_2"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"original": "x", "paraphrase": "y"}\n{"original": "x"}', "a.jsonl:2: paraphrase: missing"),
        ("a.jsonl", b'{"original": "x", "paraphrase": " "}', "a.jsonl:1: paraphrase: empty"),
        ("a.jsonl", b'{"original": 5, "paraphrase": "y"}', "a.jsonl:1: original: expected a string, got a number"),
        ("a.jsonl", b'{"original": "x", "paraphrase": "y", "label": 2}', "a.jsonl:1: label: expected 0 or 1, got 2"),
        ("a.jsonl", b'{"original": "x", "paraphrase": "y", "label": true}', "label: expected 0 or 1, got True"),
        ("a.jsonl", b'{"question": "x", "other": "y"}', "a.jsonl:1: positive1: no positive and no negative"),
        ("a.jsonl", b"{", "a.jsonl:1: record: not valid JSON"),
        ("a.jsonl", b"[]", "a.jsonl:1: record: expected an object, got a list"),
        ("a.jsonl", b"\xff", "a.jsonl:1: record: not UTF-8"),
        ("a.jsonl", b"\n", "a.jsonl: record: the file holds no pair"),
        (
            "a.csv",
            b"original,paraphrase,label\nx,y,1\nx,,0\nx,y,maybe\n",
            "a.csv:3: paraphrase: empty\n.*a.csv:4: label",
        ),
        ("a.csv", b"original,other\nx,y\n", "a.csv:2: paraphrase: missing"),
        ("a.csv", b"original,paraphrase\nx,\xff\n", "a.csv: record: not UTF-8"),
        ("a.csv", b"original,paraphrase\nx," + b"y" * 200_000, "record: not valid CSV: field larger than"),
    ],
)
def test_faults_name_file_line_and_field(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BankError, match=message):
        read_pairs(tmp_path / name)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pairs are read from \.csv or \.jsonl"):
        read_pairs(tmp_path / "pairs.txt")
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_pairs(tmp_path / "pairs.csv")
