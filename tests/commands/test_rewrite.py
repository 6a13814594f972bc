"""``tqnet rewrite``: its file, a run that goes on, what it drops, and how it says no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_seq2seq
from tqnet.cli import main
from tqnet.paraphrase.rewrites import Rewrites
from tqnet.questions import Question, QuestionBank

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
    assert Rewrites.load(out).operator("paraphrase") is not None


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
        assert "1 of 2 texts are left out: more than 50,000 characters" in said.out
        assert "tqnet: 1 of 3 questions are left out: not in English" in said.err
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
    assert Rewrites.load(out).is_stand_in("back-translation")


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
        (("paraphrase", bart), ("--split", "test"), "no question with an English text in split 'test'"),
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
