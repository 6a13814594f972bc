from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tqnet.questions import BankError, Question, QuestionBank
from tqnet.questions.images import decode_image
from tqnet.questions.splits import SHOWN, show

Write = Callable[..., Path]
Figure = Callable[..., str]

QUESTIONS = [
    Question(
        id="a", stem="What is $x$?", options=("1", "2"), knowledge=(("A", "B"), ("C",)), difficulty=2.0, split="train"
    ),
    Question(
        id="b", stem="数", answer="4", analysis="so", type="t", language="zh", group="g", split="test", source="s"
    ),
    Question(id="c", stem="It reads <p>like</p> HTML", options=("&lt;", " "), group="g", split="train"),
    Question(id="d", stem="x", extras={"equation": "x=1", "nested": {"year": [1, None, 2.5]}}),
]


def test_a_bank_is_a_sequence() -> None:
    bank = QuestionBank.from_questions(QUESTIONS)
    assert len(bank) == 4
    assert list(bank) == [bank[i] for i in range(4)] == QUESTIONS
    assert bank[-1] == QUESTIONS[-1]
    assert bank[np.int64(1)] == QUESTIONS[1]
    with pytest.raises(IndexError):
        bank[4]


def test_columns_have_the_values_of_questions() -> None:
    bank = QuestionBank.from_questions(QUESTIONS)
    for name in Question.__dataclass_fields__:
        assert bank.column(name) == [getattr(question, name) for question in QUESTIONS]
    assert bank.ids == ["a", "b", "c", "d"]
    with pytest.raises(KeyError, match="no 'grade'"):
        bank.column("grade")


def test_selections() -> None:
    bank = QuestionBank.from_questions(QUESTIONS)
    assert bank.select([2, 0]).select([1]).ids == ["a"]
    assert bank.split("train").ids == ["a", "c"]
    assert len(bank.split("valid")) == 0
    assert list(bank.split("valid")) == bank.split("valid").ids == []
    with pytest.raises(ValueError, match="expected one of train, valid, test, got 'dev'"):
        bank.split("dev")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_save_and_load(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"algebra.{suffix}"
    bank = QuestionBank.from_questions(QUESTIONS)
    bank.save(file)
    loaded = QuestionBank.load(file)
    assert list(loaded) == QUESTIONS
    assert loaded.fingerprint == bank.fingerprint
    assert (loaded.name, loaded.path, loaded.skipped) == ("algebra", file, 0)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_images_are_found_from_where_the_bank_is_saved(
    suffix: str, write: Write, figure: Figure, tmp_path: Path
) -> None:
    bank = QuestionBank.load(write({"id": "a", "stem": "", "images": [figure("images/a.png"), figure("b.png")]}))
    expected = (str(tmp_path / "images/a.png"), str(tmp_path / "b.png"))
    assert bank[0].images == bank.column("images")[0] == expected
    beside, elsewhere = tmp_path / f"copy.{suffix}", tmp_path / "other" / f"copy.{suffix}"
    bank.save(beside)
    assert QuestionBank.load(beside)[0].images == expected
    elsewhere.parent.mkdir()
    bank.save(elsewhere)
    moved = elsewhere.parent.rename(tmp_path / "moved") / elsewhere.name
    copies = QuestionBank.load(moved)[0].images
    assert [Path(copy).read_bytes() for copy in copies] == [Path(image).read_bytes() for image in expected]
    assert {Path(copy).parent for copy in copies} == {moved.parent / "images"}
    assert QuestionBank.load(beside).fingerprint == bank.fingerprint


def test_names_and_places(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"id": "a", "stem": "x"}, name="algebra/questions.jsonl")
    assert QuestionBank.load(tmp_path / "algebra").name == "algebra"
    monkeypatch.chdir(tmp_path / "algebra")
    assert QuestionBank.load(".").name == "algebra"
    assert QuestionBank.load("questions.jsonl").path == Path("questions.jsonl")


def test_unusable_paths(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such bank"):
        QuestionBank.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"neither questions\.jsonl nor"):
        QuestionBank.load(tmp_path)
    (tmp_path / "bank.csv").touch()
    with pytest.raises(ValueError, match=r"\.jsonl or \.parquet"):
        QuestionBank.load(tmp_path / "bank.csv")


def test_faults_stop(write: Write) -> None:
    file = write({"id": "a"}, {"id": "b", "stem": "x"}, *({"id": "c", "stem": 1} for _ in range(25)))
    with pytest.raises(BankError) as caught:
        QuestionBank.load(file)
    lines = str(caught.value).splitlines()
    assert len(caught.value.faults) == 26
    assert lines[0] == f"{file}:1: stem: missing"
    assert lines[1] == f"{file}:3: stem: expected a string, got a number"
    assert lines[20:] == ["... and 6 more faults (26 in all)"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_faults_are_skipped(write: Write, figure: Figure) -> None:
    file = write(
        {"id": "a", "stem": "x", "split": "dev", "group": 1},
        {"id": "b", "stem": "x", "images": [figure("b.png")]},
        {"id": "c", "stem": "x", "images": ["gone.png", "lost.png"]},
        {"id": "b", "stem": "again"},
    )
    with pytest.warns(UserWarning, match=r"3 of 4 records left out, 5 faults; the first: .*:1: group"):
        bank = QuestionBank.load(file, on_error="skip")
    assert bank.ids == ["b"]
    assert bank.skipped == 3


def test_nothing_left_to_skip_to(write: Write) -> None:
    with pytest.raises(BankError, match="stem: missing"):
        QuestionBank.load(write({"id": "a"}), on_error="skip")
    with pytest.raises(BankError, match="holds no question"):
        QuestionBank.load(write())


def test_images_are_looked_at_even_if_the_table_is_cached(write: Write, figure: Figure, tmp_path: Path) -> None:
    file = write({"id": "a", "stem": "x", "images": [figure("a.png")]})
    QuestionBank.load(file)
    (tmp_path / "a.png").unlink()
    with pytest.raises(BankError, match=r"images\[0\]: missing file: 'a.png'"):
        QuestionBank.load(file)


def test_verify_images_decodes(write: Write, tmp_path: Path) -> None:
    Image.effect_noise((40, 40), 90).save(tmp_path / "cut.png")
    os.truncate(tmp_path / "cut.png", 700)
    file = write({"id": "a", "stem": "x", "images": ["cut.png"]})
    assert len(QuestionBank.load(file)) == 1
    with pytest.raises(BankError, match=r"images\[0\]: corrupt image: 'cut.png'"):
        QuestionBank.load(file, verify_images=True)


def test_a_figure_that_cannot_be_opened_now_is_no_fault_of_the_bank(
    write: Write, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write({"id": "a", "stem": "x", "images": [figure("a.png")]})
    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", _too_many_open_files)
        with pytest.raises(OSError, match=r"Too many open files: .*a\.png"):
            decode_image(str(Path(file).parent / "a.png"))
    assert len(QuestionBank.load(file, verify_images=True)) == 1  # not remembered


def _too_many_open_files(path: str, *args: Any) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)


def test_repeated_ids_in_memory() -> None:
    with pytest.raises(BankError, match="questions:3: id: already used in line 1"):
        QuestionBank.from_questions([QUESTIONS[0], QUESTIONS[1], QUESTIONS[0]])


def test_fingerprint_depends_on_content_only(write: Write) -> None:
    records = [{"id": "a", "stem": "x"}, {"id": "b", "stem": "y", "group": "g"}]
    bank = QuestionBank.load(write(*records, name="one.jsonl"))
    assert QuestionBank.load(write(*records, name="far/two.jsonl")).fingerprint == bank.fingerprint
    assert QuestionBank.load(write(*records[::-1])).fingerprint != bank.fingerprint
    assert QuestionBank.load(write(records[0], records[1] | {"group": "h"})).fingerprint != bank.fingerprint
    assert bank.select([0]).fingerprint != bank.fingerprint
    assert bank.select([0, 1]).fingerprint == bank.fingerprint


def test_banks_travel_to_worker_processes(write: Write) -> None:
    bank = QuestionBank.load(write({"id": "a", "stem": "x"}, {"id": "b", "stem": "y"})).select([1])
    assert pickle.loads(pickle.dumps(bank)).ids == ["b"]
    memory = QuestionBank.from_questions(QUESTIONS)
    assert list(pickle.loads(pickle.dumps(memory))) == QUESTIONS


def test_fingerprint_knows_a_figure_that_was_drawn_anew(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"one figure")
    bank = QuestionBank.from_questions([Question(id="1", stem="s", images=(str(tmp_path / "a.png"),))])
    before = bank.fingerprint
    assert bank.fingerprint == before
    (tmp_path / "a.png").write_bytes(b"another figure")
    assert bank.fingerprint != before


@pytest.mark.parametrize("what", SHOWN)
def test_labels_stay(what: str, tiny_bank: QuestionBank) -> None:
    shown = show(tiny_bank, what)
    assert (shown is tiny_bank) == (what == "all")
    for field in ("id", "group", "split", "knowledge", "difficulty"):
        assert shown.column(field) == tiny_bank.column(field)
    assert (shown.fingerprint == tiny_bank.fingerprint) == (what == "all")


def test_one_modality_is_taken_away(tiny_bank: QuestionBank) -> None:
    text, figures = show(tiny_bank, "text"), show(tiny_bank, "figures")
    assert not any(text.column("images"))
    assert text.column("stem") == tiny_bank.column("stem")
    assert not any(question.content.strip() for question in figures)
    assert figures.column("images") == tiny_bank.column("images")


def test_shuffled_figures_are_those_of_another_question_of_the_split() -> None:
    kinds = [("train", 1), ("train", 0), ("train", 2), ("test", 1), ("test", 3), ("train", 1), ("valid", 1)]
    bank = QuestionBank.from_questions(
        Question(id=str(i), stem="s", split=split, images=tuple(f"{i}-{n}.png" for n in range(count)))
        for i, (split, count) in enumerate(kinds)
    )
    before, after = bank.column("images"), show(bank, "shuffled").column("images")
    assert sorted(before) == sorted(after)
    moved = [i for i in range(len(bank)) if before[i] != after[i]]
    assert moved == [0, 2, 3, 4, 5]  # no figure, and nobody to exchange with, stay
    splits = np.array([split for split, _ in kinds])
    for i in moved:
        assert splits[int(after[i][0].split("-")[0])] == splits[i]
    assert show(bank, "shuffled").column("images") == after
    assert show(bank, "shuffled").column("stem") == bank.column("stem")


def test_an_unknown_part_is_refused(tiny_bank: QuestionBank) -> None:
    with pytest.raises(ValueError, match="'audio' is not one of all, text, figures, shuffled"):
        show(tiny_bank, "audio")
