"""Pairs of a question and a paraphrase are read as they stand, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs
from tqnet.questions.question import BankError


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_csv_and_jsonl_are_the_same(tmp_path: Path) -> None:
    csv = write(
        tmp_path / "pairs.csv",
        "id,original,paraphrase,label",
        'a,"Ann has 3 pens, Bob 4. How many?","Ann and Bob have 3 and 4 pens. How many?",1',
        "b,Why?,Wherefore?, 0",
        "c,Who?,Whose?,",
    )
    jsonl = write(
        tmp_path / "pairs.jsonl",
        '{"id": "a", "original": "Ann has 3 pens, Bob 4. How many?", '
        '"paraphrase": "Ann and Bob have 3 and 4 pens. How many?", "label": 1}',
        "",
        '{"id": "b", "original": "Why?", "paraphrase": "Wherefore?", "label": false, "source": "us"}',
        '{"id": "c", "original": "Who?", "paraphrase": "Whose?"}',
    )
    assert read_paraphrase_pairs(csv) == read_paraphrase_pairs(jsonl)
    assert read_paraphrase_pairs(csv)[1:] == [
        ParaphrasePair("Why?", "Wherefore?", 0, "b"),
        ParaphrasePair("Who?", "Whose?", None, "c"),
    ]


def test_the_kind_of_a_pair(tmp_path: Path) -> None:
    """Where the file says what was done to the question."""
    csv = write(tmp_path / "pairs.csv", "original,paraphrase,kind", "Why 5?,Why?, lost number", "Who?,Whose?,")
    jsonl = write(tmp_path / "pairs.jsonl", '{"original": "Why 5?", "paraphrase": "Why?", "kind": "lost number"}')
    assert [pair.kind for pair in read_paraphrase_pairs(csv)] == ["lost number", ""]
    assert [pair.kind for pair in read_paraphrase_pairs(jsonl)] == ["lost number"]


def test_questions_with_what_operators_made_of_them(tmp_path: Path) -> None:
    """What did not apply is empty; a negative that is the question itself is none."""
    file = write(
        tmp_path / "made.jsonl",
        '{"question": "Q 5?", "positive1": "Q five?", "positive2": "Q 5?", "positive3": "", "neg_1": "Q?", '
        '"neg_2": "Q 5?", "negative3": "5?", "positives": "no field of ours", "note": 7}',
    )
    assert read_paraphrase_pairs(file) == [
        ParaphrasePair("Q 5?", "Q five?", 1, "1-positive1"),
        ParaphrasePair("Q 5?", "Q 5?", 1, "1-positive2"),
        ParaphrasePair("Q 5?", "Q?", 0, "1-neg_1"),
        ParaphrasePair("Q 5?", "5?", 0, "1-negative3"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "record: not valid JSON"),
        ('["Why?"]', "record: expected an object, got a list"),
        ('{"paraphrase": "Why?"}', "original: missing"),
        ('{"original": "Why?", "paraphrase": null}', "paraphrase: missing"),
        ('{"original": "Why?", "paraphrase": " "}', "paraphrase: empty"),
        ('{"original": 5, "paraphrase": "Why?"}', "original: expected a string, got a number"),
        ('{"original": "Why?", "paraphrase": "Who?", "label": 2}', "label: expected 0 or 1, got 2"),
        ('{"original": "Why?", "paraphrase": "Who?", "label": "yes"}', "label: expected 0 or 1, got 'yes'"),
        ('{"original": "Why?", "paraphrase": "Who?", "id": "first"}', "id: 'first' is also the id of line 1"),
        ('{"original": "Why?", "paraphrase": "Who?", "kind": 5}', "kind: expected a string, got a number"),
        ('{"question": "", "positive1": "Why?"}', "question: empty"),
        ('{"question": "Why?", "negative1": "Why?", "positive1": ""}', "record: neither a positive1 .. nor"),
        ('{"question": "Why?", "negative1": 5}', "negative1: expected a string"),
    ],
)
def test_a_fault_has_its_file_line_and_field(line: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.jsonl", '{"original": "A?", "paraphrase": "B?", "id": "first"}', line)
    with pytest.raises(BankError) as caught:
        read_paraphrase_pairs(file)
    assert str(caught.value).startswith(f"{file}:2: {message}")


def test_what_spreadsheets_make_of_labels_and_cells(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.csv", "original,paraphrase,label", "Why?,Who?,1.0", "Why?,Whose?,0.0")
    assert [pair.label for pair in read_paraphrase_pairs(file)] == [1, 0]
    file = write(tmp_path / "made.csv", "question,positive1", "Why?,Who?", "Why, me?,Who?")
    with pytest.raises(BankError, match=r"made\.csv:3: record: more cells than columns"):
        read_paraphrase_pairs(file)


def test_a_file_of_another_kind_or_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pairs\.txt: pairs are read from \.csv or \.jsonl"):
        read_paraphrase_pairs(write(tmp_path / "pairs.txt", "x"))
    with pytest.raises(BankError, match=r"empty\.jsonl: record: the file holds no pair"):
        read_paraphrase_pairs(write(tmp_path / "empty.jsonl", ""))
    with pytest.raises(FileNotFoundError):
        read_paraphrase_pairs(tmp_path / "missing.csv")
    for name in ("latin.csv", "latin.jsonl"):
        (tmp_path / name).write_bytes("original,paraphrase\ncaf\xe9,café\n".encode("latin-1"))
        with pytest.raises(BankError, match=r"latin\.\w+.*record: not UTF-8"):
            read_paraphrase_pairs(tmp_path / name)
