"""``tqnet prototypes``: groups by equation, and the equations that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tqnet.cli import main
from tqnet.questions import load_bank

PROBLEMS = [
    ("Tom has 3 pens and buys 5 more.", "x=3+5"),
    ("Of 12 cakes and 7 pies, how many are there?", "x=12+7"),
    ("A pen costs 4 yuan and there are 9.", "9*4"),
    ("A number is missing from 8.", "8*17"),
    ("A parenthesis is missing, 5 of 6.", "(5+6"),
    ("3 is not told.", None),
]


def _write(path: Path, problems: list[tuple[str, str | None]]) -> Path:
    records = [{"id": f"q{i}", "stem": stem, "group": "old"} for i, (stem, _) in enumerate(problems)]
    for record, (_, equation) in zip(records, problems, strict=True):
        record |= {"equation": equation} if equation else {}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_groups_and_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank, out = _write(tmp_path / "bank.jsonl", PROBLEMS), tmp_path / "grouped.jsonl"
    assert main(["prototypes", str(bank), "--out", str(out)]) == 0
    assert list(load_bank(out).column("group")) == ["n1 + n2", "n1 + n2", "n1 * n2", None, None, None]
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("line 4: q3: equation: 17 is neither in the text nor a constant")
    assert told[1].startswith("line 5: q4: equation: '(5+6': a parenthesis is not closed")
    assert told[2] == "line 6: q5: equation: has no field 'equation'"
    assert "6 questions, 2 prototypes, most often n1 + n2 (2), n1 * n2 (1); 3 equations not read" in told[3]


def test_a_bank_without_equations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = _write(tmp_path / "bank.jsonl", [("What is it?", None)])
    assert main(["prototypes", str(bank), "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "no question has a field 'equation'" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
