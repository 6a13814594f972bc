"""Answers of tables: letters, numbers and texts of options, marks, and several that are all right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.importers.conftest import Loaded, Write


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((0, 2), ("A", "C")),
        ((1, 3), ("A", "C")),
        (("1", "1,2"), ("A", "A, B")),
        ((1, 2), ("B", "C")),
        (("6", "7"), ("B", "C")),
    ],
)
def test_numbers_of_options(write: Write, load: Callable[..., Loaded], answers: tuple, expected: tuple) -> None:
    """From 0 or 1 as all rows have it; typed numbers that fit both are Python's."""
    records = [{"question": "Which?", "options": ["5", "6", "7"], "answer": answer} for answer in answers]
    assert tuple(question.answer for question in load(write(*records))[0].values()) == expected


@pytest.mark.parametrize(
    ("records", "answers", "line"),
    [
        ([["wxyz", 2], ["wxyz", 1]], "CB", "fit from 0 and from 1; read from 0"),
        ([["wxyz", [2]], ["wxyz", [1, 3]]], ["C", "B, D"], "fit from 0 and from 1; read from 0"),
        ([["wxyz", "2"], ["wxyz", "1"]], "BA", "fit from 0 and from 1; read from 1"),
        ([["wxyz", 1], ["wxyz", 4]], "AD", ""),
        ([["1234", 3], ["1234", 0]], "DA", ""),  # MMLU: places, though they are texts of options too
        ([["1234", 3]] * 10, "C" * 10, ""),  # ten times is no chance
        ([[[3, 4, 5], 4], [[3, 4, 5], 5]], "BC", ""),
        ([["BAC", "B"], ["wxy", "C"]], "BC", ""),  # letters, as another row shows
        ([["BAC", "B"], [["Rome", "Bern"], "Bern"]], "AB", "'B' is an option, maybe the letter of another"),
        ([["123", "2"], ["pqr", 0]], "BA", ""),  # a text of an option beside a place
    ],
)
def test_what_numbers_count_from(
    write: Write, load: Callable[..., Loaded], faults: Callable, records: list, answers: Any, line: str
) -> None:
    path = write(*({"question": "?", "choices": list(choices), "answer": answer} for choices, answer in records))
    questions, imported = load(path)
    assert [question.answer for question in questions.values()] == list(answers)
    assert [line in fault for fault in faults(imported)] == [True] * bool(line)


def test_a_column_whose_name_says_that_programs_count(write: Write, load: Callable[..., Loaded]) -> None:
    path = write({"question": "?", "choices": ["x", "y"], "correct_index": "1"})
    assert load(path)[0]["bank-1"].answer == "B"


@pytest.mark.parametrize(
    ("record", "options", "answer"),
    [
        ({"choices": [{"id": "a1", "text": "x"}, {"id": "a2", "text": "y"}], "correct": "a2"}, "xy", "B"),
        ({"choices": [{"answerText": "x", "isCorrect": 0}, {"answerText": "y", "isCorrect": 1}]}, "xy", "B"),
        (
            {
                "choices": [
                    {"text": "x", "correct": True, "locked": False},
                    {"text": "y", "correct": False, "pin": True},
                ]
            },
            "xy",
            "A",
        ),
        ({"choices": ["x", "y", "z"], "correct": [False, True, True]}, "xyz", "B, C"),
        ({"choices": ["x", "y", "z"], "correct": [0, 0, 1]}, "xyz", "C"),
        ({"choices": "['x', \"y\"]", "answer": "y"}, "xy", "B"),
        ({"correct_answer": "y", "incorrect_answers": ["z", "x"]}, "xyz", "B"),
        ({"correct_answer": "y", "distractor1": "z", "distractor2": "x"}, "xyz", "B"),
        ({"final_answer": ["2", "3"]}, "", "2, 3"),
    ],
)
def test_forms_of_right_options(
    write: Write, load: Callable[..., Loaded], record: dict[str, Any], options: str, answer: str
) -> None:
    questions, imported = load(write({"question": "?"} | record))
    assert (questions["bank-1"].options, questions["bank-1"].answer) == (tuple(options), answer)
    assert imported.faults == ()


def test_rows_with_answers_in_different_columns(write: Write, load: Callable[..., Loaded]) -> None:
    """AGIEval: a choice has its answer in ``label``, a gap in ``answer``; where both are filled, one is an extra."""
    questions, _ = load(
        write(
            {"question": "1", "options": ["(A)x", "(B)y"], "label": "B", "answer": None},
            {"question": "2", "options": None, "label": None, "answer": "7"},
            {"question": "3", "options": None, "label": "8", "answer": "7"},
        )
    )
    assert [question.answer for question in questions.values()] == ["B", "7", "7"]
    assert [question.extras for question in questions.values()] == [{}, {}, {"label": "8"}]


def test_several_answers_that_are_all_right(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(write({"question": "Capital?", "answers": ["Paris", "paris"]}))
    assert (questions["bank-1"].options, questions["bank-1"].answer) == ((), "Paris")
    assert questions["bank-1"].extras == {"accepted": ["paris"]}
    assert faults(imported) == [
        "bank.jsonl:1: answer: the first of several; the others are kept as accepted (--map options=answers)"
    ]


def test_answers_with_letters_are_options(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    for number, listed in enumerate(({"A": "x", "B": "y"}, ["A. x", "B. y"])):
        questions, imported = load(write({"question": "?", "answers": listed}), out=str(number))
        assert (questions["bank-1"].options, questions["bank-1"].answer) == (("x", "y"), None)
        assert faults(imported) == ["bank.jsonl:1: answer: no column is known to hold it (--map answer=COLUMN)"]


@pytest.mark.parametrize(
    ("stem", "answer", "expected", "line"),
    [
        ("Which?(A) 4 (B) 5", "B", ("Which?", ("4", "5"), "B"), ""),
        ("2+3=（ ）A.4 B.5 C.6 D.7", "Ｂ、Ｃ", ("2+3=（ ）", ("4", "5", "6", "7"), "B, C"), ""),
        ("Name it.", "C", ("Name it.", (), "C"), "names no option: 'C'"),
        ("1. ?\nA. x\nB. y\n2. ?\nA. v\nB. w", "AB", ("1. ?\nA. x\nB. y\n2. ?\nA. v\nB. w", (), "AB"), "names no"),
        ("Solve it.", "x", ("Solve it.", (), "x"), ""),
        ("Is it?", "F", ("Is it?", (), "F"), ""),
    ],
)
def test_letters_of_options_that_the_stem_ends_with(
    write: Write, load: Callable[..., Loaded], stem: str, answer: str, expected: tuple, line: str
) -> None:
    questions, imported = load(write({"question": stem, "answer": answer}))
    question = questions["bank-1"]
    assert (question.stem, question.options, question.answer) == expected
    assert [line in fault.message for fault in imported.faults] == [True] * bool(line)


def test_answers_that_are_not_read_are_reported(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    choice = {"question": "?", "options": ["x", "y"]}
    assert faults(load(write(choice | {"answer": "x or y"}, choice | {"answer": "C"}))[1]) == [
        "bank.jsonl:1: answer: names no option: 'x or y'",
        "bank.jsonl:2: answer: names no option: 'C'",
    ]
    assert faults(load(write(choice | {"mc_targets": 1}, name="other.jsonl"), out="other")[1]) == [
        "other.jsonl:1: answer: no column is known to hold it (--map answer=COLUMN); columns left: 'mc_targets'"
    ]
