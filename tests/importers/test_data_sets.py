"""Public data sets in the forms in which they are published, with problems of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.importers.conftest import Loaded
from tests.importers.generators import picture, write_zip
from tqnet.importers.json_records import boxed, split_of
from tqnet.questions import BankError


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file below ``source``, as JSON if it is no text."""

    def put(name: str, content: Any) -> Path:
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return put


WORD_PROBLEM = {
    "id": "1",
    "original_text": "小明有3个苹果，又买了2个，一共有多少个？",
    "segmented_text": "小明 有 3 个 苹果 ， 又 买 了 2 个 ， 一共 有 多少 个 ？",
    "equation": "x=3+2",
    "ans": "5",
}


@pytest.mark.parametrize(
    "document",
    [
        json.dumps([WORD_PROBLEM, WORD_PROBLEM | {"id": 2}]),
        "\n".join(
            json.dumps(record, indent=2, ensure_ascii=False) for record in (WORD_PROBLEM, WORD_PROBLEM | {"id": 2})
        ),
        "\ufeff" + "\n".join(map(json.dumps, (WORD_PROBLEM, WORD_PROBLEM | {"id": 2}))),
    ],
)
def test_math23k(put: Callable[..., Path], load: Callable[..., Loaded], document: str) -> None:
    questions, imported = load(put("math23k_train.json", document))
    assert (imported.format, list(questions), imported.faults) == ("math23k", ["1", "2"], ())
    question = questions["1"]
    assert (question.stem, question.answer) == (WORD_PROBLEM["original_text"], "5")
    assert (question.language, question.split, question.extras) == ("zh", "train", {"equation": "x=3+2"})


def test_math23k_without_its_text_or_equation(
    put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    lines = [
        json.dumps({"id": "1", "segmented_text": "3 加 2 ？", "ans": 5}),
        '{"id": "2",',
        "[1, 2]",
        json.dumps(WORD_PROBLEM),
    ]
    questions, imported = load(put("m.jsonl", "\n".join(lines)), format="math23k")
    assert questions["1"].stem == "3加2？"
    assert [line.split(": ", 1)[0] + ": " + line.split(": ", 2)[1] for line in faults(imported)][:2] == [
        "m.jsonl:1: equation",
        "m.jsonl:2: record",
    ]
    assert "already used" in faults(imported)[-1]


def test_mathqa(put: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    problem = {
        "Problem": "what is half of 8 ?",
        "Rationale": '"half of 8 is 4 . answer b"',
        "options": "a ) 3 , b ) 4 , c ) none of these",
        "correct": "b",
        "annotated_formula": "divide(8, 2)",
        "linear_formula": "divide(n0,n1)|",
        "category": "general",
    }
    put("dev.json", [problem])
    questions, imported = load(put("train.json", [problem, problem]).parent)
    assert (imported.format, list(questions)) == ("mathqa", ["dev-1", "train-1", "train-2"])
    question = questions["dev-1"]
    assert (question.options, question.answer) == (("3", "4", "none of these"), "B")
    assert (question.analysis, question.knowledge) == ("half of 8 is 4 . answer b", (("general",),))
    assert question.extras == {"equation": "divide(8, 2)", "linear_formula": "divide(n0,n1)|"}
    assert [q.split for q in questions.values()] == ["valid", "train", "train"]


def test_aqua(put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    problem = {"question": "Half of 8?", "options": ["A)3", "B)4"], "rationale": "8/2=4", "correct": "B"}
    lines = [json.dumps(problem), json.dumps(problem | {"correct": None}), json.dumps(problem | {"options": "A)3"})]
    questions, imported = load(put("test.json", "\n".join(lines)))
    assert imported.format == "aqua"
    assert list(questions) == ["test-1", "test-2"]
    assert (questions["test-1"].options, questions["test-1"].answer) == (("3", "4"), "B")
    assert (questions["test-1"].analysis, questions["test-1"].split) == ("8/2=4", "test")
    assert faults(imported) == [
        "test.json:2: correct: missing",
        "test.json:3: options: expected a list, got a string",
    ]


def test_gsm8k(put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    answer = "Half is 8/2=<<8/2=4>>4.\nTwice that is <<4*2=8>>8.\n#### 8"
    lines = [{"question": "Tom halves 8.", "answer": answer}, {"question": "No end?", "answer": "Who knows."}]
    questions, imported = load(put("train.jsonl", "\n".join(map(json.dumps, lines))))
    assert imported.format == "gsm8k"
    first, second = questions.values()
    assert (first.answer, first.analysis) == ("8", "Half is 8/2=4.\nTwice that is 8.")
    assert first.extras == {"equation": "8/2=4; 4*2=8"}
    assert (second.answer, second.analysis) == (None, "Who knows.")
    assert faults(imported) == ["train.jsonl:2: answer: no #### before an answer"]


def test_math(put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    problem = {
        "problem": "Find $x$.",
        "level": "Level 4",
        "type": "Algebra",
        "solution": r"Not $\boxed{1}$ but $\boxed{\frac{1}{2}}$.",
    }
    put("train/algebra/7.json", problem)
    put(
        "test/geometry/7.json",
        problem | {"level": "Level ?", "problem": "See\n[asy]draw((0,0));[/asy]", "solution": "No."},
    )
    folder = put("README.md", "nothing").parent
    questions, imported = load(folder)
    assert (imported.format, list(questions)) == ("math", ["test/geometry/7", "train/algebra/7"])
    train, test = questions["train/algebra/7"], questions["test/geometry/7"]
    assert (train.answer, train.difficulty, train.split) == (r"\frac{1}{2}", 4, "train")
    assert (train.knowledge, test.stem, test.answer) == ((("Algebra",),), "See", None)
    assert [line.removeprefix("7.json:1: ") for line in faults(imported)] == [
        r"solution: no \boxed answer",
        "problem: a drawing in Asymptote: not read",
        "level: no number: 'Level ?'",
    ]


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"$\boxed 5$.", "5"),
        (r"\fbox{a}", "a"),
        (r"\boxed{never ends", None),
        ("none", None),
    ],
)
def test_boxes(solution: str, answer: str | None) -> None:
    assert boxed(solution) == answer


def test_geometry3k(put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    problem = {
        "problem_text": "Find $x$.",
        "choices": ["3", r"2 \sqrt { 3 }"],
        "precise_value": [3.0, 3.46],
        "answer": "B",
        "id": 12,
        "problem_type_graph": ["Triangle", "Circle"],
        "problem_type_goal": ["Length"],
    }
    put("train/12/data.json", problem)
    put("train/12/logic_form.json", {"text": []})
    (tmp_path / "source/train/12/img_diagram.png").write_bytes(picture(7))
    folder = put("val/13/data.json", problem | {"id": 13}).parents[2]
    questions, imported = load(folder)
    assert (imported.format, list(questions)) == ("geometry3k", ["12", "13"])
    question = questions["12"]
    assert (question.options, question.answer) == (("3", r"$2 \sqrt { 3 }$"), "B")
    assert (question.knowledge, question.split) == ((("Triangle",), ("Circle",)), "train")
    assert question.extras == {"goal": ["Length"], "values": [3.0, 3.46]}
    assert Path(question.images[0]).read_bytes() == picture(7)
    assert questions["13"].images == ()
    assert faults(imported) == ["data.json:1: images: missing file: 'val/13/img_diagram.png'"]


def test_scienceqa(put: Callable[..., Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    problem = {
        "question": "Which is warm?",
        "choices": ["ice", "fire"],
        "answer": 1,
        "hint": "Look.",
        "image": "image.png",
        "task": "closed choice",
        "grade": "grade2",
        "subject": "natural science",
        "topic": "physics",
        "category": "Heat",
        "skill": "Compare temperatures",
        "lecture": "Heat flows.",
        "solution": "Fire is warm.",
        "split": "val",
    }
    problems = {
        "1": problem,
        "2": problem | {"image": None, "answer": 5},
        "3": problem,
        "4": {"question": None},
        "5": 5,
    }
    folder = put("problems.json", problems).parent
    put("pid_splits.json", {"val": ["1"]})
    for place in ("images/val/1", "val/3"):
        (folder / place).mkdir(parents=True)
        (folder / place / "image.png").write_bytes(picture(9))
    questions, imported = load(folder)
    assert (imported.format, list(questions)) == ("scienceqa", ["1", "2", "3"])
    question = questions["1"]
    assert (question.stem, question.options, question.answer) == ("Look.\nWhich is warm?", ("ice", "fire"), "B")
    assert question.knowledge == (("physics", "Heat", "Compare temperatures"),)
    assert (question.analysis, question.split) == ("Heat flows.\nFire is warm.", "valid")
    assert question.extras == {"subject": "natural science", "grade": "grade2", "task": "closed choice"}
    assert questions["1"].images == questions["3"].images
    assert imported.left_out == 2
    assert faults(imported)[0] == "problems.json#2:0: answer: no place of a choice: 5"


def test_a_zip_of_a_data_set(put: Callable[..., Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    lines = json.dumps({"question": "1+1?", "answer": "#### 2"})
    questions, imported = load(write_zip(tmp_path / "gsm8k.zip", {"train.jsonl": lines}))
    assert (imported.format, questions["train-1"].answer) == ("gsm8k", "2")


def test_sources_that_say_nothing(put: Callable[..., Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    unknown = "cannot tell its format; --format names one of csv, xlsx"
    for name, content, message in (
        ("a/x.json", [], r"no question in this source \(json\)"),
        ("b/x.json", "no JSON {", "x.json:1: record: not valid JSON: Expecting value, column 1"),
        ("c/x.txt", "text", unknown),
        ("d/x.xml", "<a/>", unknown),
    ):
        with pytest.raises(ValueError, match=message):
            load(put(name, content).parent)
    with pytest.raises(ValueError, match="a bank already"):
        load(put("e/x.jsonl", {"id": "a", "stem": "x"}))
    (tmp_path / "source/a/x.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(BankError, match=r"x\.json:? ?.*record: not UTF-8"):
        load(tmp_path / "source/a/x.json", format="gsm8k")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("MATH/train/algebra/1.json", "train"),
        ("devset.json", "valid"),
        ("validation.jsonl", "valid"),
        ("challenge_test.json", "test"),
        ("devices.json", None),
        ("latest.json", None),
        ("math23k_train.json", "train"),
    ],
)
def test_splits_in_names(name: str, split: str | None) -> None:
    assert split_of(name) == split


def test_a_problem_without_the_mark_of_its_data_set(put: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    """Of MATH's files, one without a boxed answer is told by its keys."""
    problem = {"problem": "1+1?", "level": "Level 1", "type": "Algebra", "solution": r"\boxed{2}"}
    put("MATH/train/algebra/1.json", problem | {"solution": "It is 2."})
    folder = put("MATH/train/algebra/2.json", problem).parents[2]
    put("MATH/README.md", "1. This explains it.")
    put("MATH/LICENSE", "Free.")
    questions, imported = load(folder)
    assert (imported.format, len(questions), imported.unread) == ("math", 2, 0)
