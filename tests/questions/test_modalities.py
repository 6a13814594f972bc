"""Showing a model a part of every question."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.questions import Question, QuestionBank
from tqnet.questions.splits import SHOWN, show


def test_all_is_the_bank_itself(tiny_bank: QuestionBank) -> None:
    assert show(tiny_bank, "all") is tiny_bank


@pytest.mark.parametrize("what", SHOWN)
def test_labels_stay(what: str, tiny_bank: QuestionBank) -> None:
    shown = show(tiny_bank, what)
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
    with pytest.raises(ValueError, match="'audio' is none of all, text, figures, shuffled"):
        show(tiny_bank, "audio")
