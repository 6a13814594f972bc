"""MAWPS, ASDiv and SVAMP in the forms in which they are published, and rows of them that are not as they should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.importers.conftest import Loaded
from tqnet.solver.problems import Alphabet, read_problem

ROW = {
    "Question": "he had number0 sacks of number1 oranges . how many has he ?",
    "Numbers": "29.0 7",
    "Equation": "* number0 number1",
    "Answer": 203.0,
    "id": "2272",
}


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., Path]:
    def rows(*rows: dict[str, Any], name: str = "train.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return rows


def test_numbers_are_put_back(rows: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    percent = {
        "Question": "a coat of number0 dollars has number1 % off . what is saved ?",
        "Numbers": "120.50 25.0",
        "Equation": "* number0 * number1 0.01",
        "Answer": 30.125,
        "Type": "Multiplication",
    }
    questions, imported = load(rows(ROW, percent))
    assert (imported.format, list(questions), imported.faults) == ("mawps", ["2272", "train-2"], ())
    question = questions["2272"]
    assert question.stem == "he had 29 sacks of 7 oranges . how many has he ?"
    assert (question.answer, question.extras, question.split) == ("203", {"equation": "29 * 7"}, "train")
    assert questions["train-2"].extras == {"equation": "120.50 * 25%"}
    assert questions["train-2"].type == "Multiplication"
    filled = {
        "Ques": "how many ?",
        "question": "he had 29.0 sacks",
        "equation": "* 29.0 7",
        "ans": 203,
        "Body": "he had",
    }
    published = rows(ROW | filled | {"number position": [2, 5]})
    assert load(published, out="published")[1].format == "mawps"
    for read in questions.values():
        assert float(read_problem(read.stem, read.extras["equation"], Alphabet()).answer) == float(read.answer or 0)


def test_the_form_of_svamp(rows: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    row = {"ID": "chal-1", "Body": "Each pack costs 76 dollars, 25 less on sale.", "Question": "What is it on sale?"}
    questions, imported = load(rows(row | {"Equation": "( 76.0 - 25.0 )", "Answer": 51.0}, name="SVAMP.json"))
    assert (imported.format, imported.faults) == ("mawps", ())
    assert questions["chal-1"].stem == "Each pack costs 76 dollars, 25 less on sale. What is it on sale?"
    assert questions["chal-1"].extras == {"equation": "76 - 25"}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"Question": None}, "Question: missing"),
        ({"Numbers": "29"}, "Numbers: 1 of them, but the question has number1"),
        ({"Numbers": "29 seven"}, "Numbers: no number: 'seven'"),
        ({"Equation": None}, "Equation: missing"),
        ({"Equation": "* number0"}, "Equation: * number0: not one complete equation"),
        ({"Equation": "* number0 number5"}, "Equation: number5: there are 2 numbers"),
        ({"Equation": "* number0 two"}, "Equation: 'two' is neither a number nor an operator"),
        ({"Equation": "/ number0 - number1 number1"}, "Equation: 29 is divided by zero"),
        ({"Answer": None}, "Answer: missing"),
        ({"Answer": "many"}, "Answer: no number: 'many'"),
        ({"Answer": 36}, "Answer: 36, but the equation gives 203; neither is taken"),
    ],
)
def test_malformed_rows(
    fault: dict[str, Any],
    message: str,
    rows: Callable[..., Path],
    load: Callable[..., Loaded],
    faults: Callable[..., list[str]],
) -> None:
    questions, imported = load(rows(ROW, ROW | {"id": "bad"} | fault))
    assert faults(imported) == [f"train.jsonl:2: {message}"]
    assert ("bad" in questions) == (next(iter(fault)) in ("Equation", "Answer"))
    if "bad" in questions:
        told = "Answer" in fault and fault["Answer"] != 36
        assert bool(questions["bad"].extras) == told


@pytest.mark.skipif(not DATA, reason="TQNET_DATA is not set")
@pytest.mark.parametrize("name", ["raw_train", "raw_svamp_a"])
def test_published_files(name: str, load: Callable[..., Loaded]) -> None:
    questions, imported = load(Path(DATA or "") / "mawps_asdiv" / f"{name}.jsonl")
    assert imported.format == "mawps"
    assert len(imported.faults) < len(questions) / 100
    assert not any("number0" in question.stem for question in questions.values())
