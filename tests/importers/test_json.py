"""JSON and JSON Lines as tables: names of columns, forms of options and answers, data sets that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.importers.conftest import Loaded, Write
from tests.importers.generators import picture
from tqnet.importers import Settings
from tqnet.questions import BankError


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {
                "qid": 3,
                "question": "求 $1+1$。",
                "options": ["2", "3"],
                "answer": "A",
                "knowledge": ["加法"],
                "difficulty": 0.4,
            },
            {
                "id": "3",
                "stem": "求 $1+1$。",
                "options": ("2", "3"),
                "answer": "A",
                "difficulty": 0.4,
                "language": None,
            },
        ),
        (  # AGIEval
            {
                "passage": "Five birds sit.",
                "question": "Who left?",
                "options": ["(A)one", "(B)two"],
                "label": "B",
                "answer": None,
            },
            {"stem": "Five birds sit.\nWho left?", "options": ("one", "two"), "answer": "B"},
        ),
        (  # MATH-500
            {
                "problem": "$2x=1$?",
                "solution": "So $x$.",
                "answer": r"\frac{1}{2}",
                "subject": "Algebra",
                "level": 2,
                "unique_id": "t/7",
            },
            {
                "id": "t/7",
                "answer": r"\frac{1}{2}",
                "analysis": "So $x$.",
                "knowledge": (("Algebra",),),
                "difficulty": 2,
            },
        ),
        (  # MMLU
            {"question": "1+1?", "subject": "sums", "choices": ["1", "3", "2"], "answer": 0},
            {"options": ("1", "3", "2"), "answer": "A"},
        ),
        (  # NuminaMath
            {
                "source": "olympiads",
                "problem": "Prove it.",
                "solution": "Done.",
            },
            {"stem": "Prove it.", "analysis": "Done.", "source": "olympiads"},
        ),
        (  # TAL-SCQ5K
            {
                "queId": "ab12",
                "difficulty": "2",
                "qtype": "single_choice",
                "problem": "How many?",
                "answer_option_list": [[{"aoVal": "A", "content": "$5$ "}], [{"aoVal": "B", "content": "$6$"}]],
                "knowledge_point_routes": ["Sums->Add", "Shapes"],
                "answer_analysis": ["Count."],
                "answer_value": "B",
            },
            {
                "id": "ab12",
                "options": ("$5$", "$6$"),
                "answer": "B",
                "knowledge": (("Sums", "Add"), ("Shapes",)),
                "analysis": "Count.",
                "type": "single_choice",
                "difficulty": 2,
            },
        ),
        (  # ARC
            {"question": "Hot?", "choices": {"text": ["ice", "fire"], "label": ["1", "2"]}, "answerKey": "2"},
            {"options": ("ice", "fire"), "answer": "B"},
        ),
        (
            {
                "question": {
                    "stem": "Hot?",
                    "choices": [{"text": "ice", "label": "A"}, {"text": "fire", "label": "B"}],
                },
                "answerKey": "B",
            },
            {"stem": "Hot?", "options": ("ice", "fire"), "answer": "B"},
        ),
        (
            {"stem": "Which?", "options": {"A": "x", "B": "y", "C": "z"}, "answer": ["C", "A"]},
            {"options": ("x", "y", "z"), "answer": "A, C"},
        ),
        (
            {"text": "Which?", "options": [{"text": "x", "correct": False}, {"text": "y", "correct": True}]},
            {"options": ("x", "y"), "answer": "B"},
        ),
        ({"题目": "选哪个？", "选项": "A. 一 B. 二", "答案": "二"}, {"options": ("一", "二"), "answer": "B"}),
        (
            {"题目": "选哪个？", "选项": "A. 一；\nB. 二；", "知识点": "数论＞整除、质数"},
            {"options": ("一", "二"), "knowledge": (("数论", "整除"), ("质数",))},
        ),
        (  # SQuAD
            {
                "context": "Bob ate.",
                "question": "Who ate?",
                "answers": {"text": ["Bob", "Bob"], "answer_start": [0, 0]},
            },
            {"stem": "Bob ate.\nWho ate?", "options": (), "answer": "Bob"},
        ),
        (  # GSM8K's form, with further fields
            {
                "question": "?",
                "answer": "So <<48/2=24>>24.\n#### 24",
                "options": ["24", "48"],
                "explanation": "see",
                "difficulty": 3,
                "grade": "5",
            },
            {
                "options": ("24", "48"),
                "answer": "A",
                "analysis": "So 24.",
                "difficulty": 3,
                "language": None,
                "source": None,
                "extras": {"equation": "48/2=24", "explanation": "see", "grade": "5"},
            },
        ),
        (
            {"question": "?", "answer": "So. #### 2", "analysis": "a", "tags": ["x"]},
            {"answer": "2", "analysis": "a", "knowledge": (("x",),), "extras": {"derivation": "So."}},
        ),
        (  # MATH's
            {
                "problem": "p",
                "solution": r"So $\boxed{7}$",
                "level": "Level 3",
                "type": "Algebra",
                "difficulty": 2,
                "hint": "h",
            },
            {
                "answer": "7",
                "difficulty": 2,
                "type": "Algebra",
                "source": None,
                "extras": {"level": "Level 3", "hint": "h"},
            },
        ),
        (  # Math23K's
            {"original_text": "1+1?", "segmented_text": "1 + 1 ?", "equation": "x=1+1", "ans": "2", "difficulty": 1},
            {"stem": "1+1?", "answer": "2", "difficulty": 1, "language": None},
        ),
        ({"question": "?", "answers": {"text": [], "answer_start": []}}, {"options": (), "answer": None}),
        ({"question": "?", "answers": [{"text": "Bob", "answer_start": 0}]}, {"options": (), "answer": "Bob"}),
        ({"question": "?", "options": ["x", "y"], "answers": ["y"]}, {"options": ("x", "y"), "answer": "B"}),
        ({"question": "?", "answers": ["x", "y"], "correct": "y"}, {"options": ("x", "y"), "answer": "B"}),
        (
            {"question": "?", "answers": [{"text": "x", "correct": False}, {"text": "y", "correct": True}]},
            {"options": ("x", "y"), "answer": "B"},
        ),
        (  # COPA
            {"premise": "I fell.", "question": "effect", "choice1": "It hurt.", "choice2": "I flew.", "label": 0},
            {"stem": "I fell.\neffect", "options": ("It hurt.", "I flew."), "answer": "A"},
        ),
        ({"question": "Why?", "answer": "Because."}, {"stem": "Why?", "answer": "Because.", "source": None}),
        ({"question": "Which?", "choice_1": "x", "choice_2": "y", "answer": "choice 2"}, {"answer": "B"}),
        ({"question": "Which?", "optionA": "x", "optionB": "y", "answer": "optionB"}, {"answer": "B"}),
        ({"question": "Which?", "options": ["4", "5"], "answer": "B. 5"}, {"answer": "B"}),
        ({"question": "Which?", "options": ["4", "5", "6"], "answer": "a | c"}, {"answer": "A, C"}),
        ({"question": "Which?", "options": ["1", "2", "3"], "answer": "ABC"}, {"answer": "A, B, C"}),
        ({"question": "Which?", "options": ["3", "4", "5"], "answer": "4"}, {"answer": "B"}),
        (
            {"question": "Which?", "options": [{"parts": ["a", None]}, {"label": "B", "text": {"en": "b"}}]},
            {"options": ('{"parts": ["a", null]}', '{"en": "b"}')},
        ),
        (
            {
                "question": "Which?",
                "options": [{"key": "A", "word": "one", "right": False}, {"key": "B", "word": "or"}],
            },
            {"options": ("one", "or")},
        ),
        ({"question": "Which?", "options": {"text": ["a", "b"], "label": []}}, {"options": ("a", "b")}),
        ({"question": "Which?", "options": {"A": {"text": "a"}, "B": {"text": "b"}}}, {"options": ("a", "b")}),
        (
            {"question": "?", "knowledge": [["Algebra", None], [None], "Sets", ["Sums", 2]]},
            {"knowledge": (("Algebra",), ("Sets",), ("Sums", "2"))},
        ),
        (
            {
                "question": "?",
                "answer": "1",
                "year": 2,
                "extras": {"teacher": "Kim", "more": {"a": None}, "none": None},
            },
            {"extras": {"year": 2, "teacher": "Kim", "more": {"a": None}}},
        ),
        ({"question": "?", "extras": '{"teacher": "Kim"}'}, {"extras": {"teacher": "Kim"}}),  # tqnet's Parquet
    ],
)
def test_records(write: Write, load: Callable[..., Loaded], record: dict[str, Any], expected: dict[str, Any]) -> None:
    questions, imported = load(write(record))
    (question,) = questions.values()
    assert (imported.format, imported.faults) == ("json", ())
    assert {name: getattr(question, name) for name in expected} == expected


def test_a_file_with_one_list(write: Write, load: Callable[..., Loaded]) -> None:
    document = {
        "keywords": "exam",
        "example": [{"question": "1?", "answer": ["A"]}, {"question": "2?", "answer": ["B"]}],
    }
    questions, _ = load(write(document, name="gaokao.json"))
    assert [question.answer for question in questions.values()] == ["A", "B"]


def test_columns_of_unknown_names_ask_for_a_map(write: Write, load: Callable[..., Loaded]) -> None:
    path = write({"q": "1+1?", "a": "2"})
    with pytest.raises(ValueError, match=r"which column is the stem\? --map stem=COLUMN; the columns are 'q', 'a'"):
        load(path)
    assert load(path, settings=Settings(columns={"stem": ("q",), "answer": ("a",)}))[0]["bank-1"].answer == "2"


def test_words_of_difficulty(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    path = write(*({"question": "?", "level": level} for level in ("Hard", "easy", "Level 3", "hard")))
    questions, imported = load(path)
    assert [question.difficulty for question in questions.values()] == [None, None, 3, None]
    assert questions["bank-1"].extras == {"difficulty_word": "Hard"}
    assert len(faults(imported)) == 2  # once a word
    questions, imported = load(path, out="ordered", settings=Settings(levels=["easy", "medium", "hard"]))
    assert [question.difficulty for question in questions.values()] == [3, 1, 3, 3]
    assert imported.faults == ()


def test_columns_given_make_a_table_of_a_data_set(write: Write, load: Callable[..., Loaded]) -> None:
    path = write({"question": "1+1?", "answer": "So #### 2"})
    assert load(path)[1].format == "gsm8k"
    questions, imported = load(
        path, out="table", settings=Settings(columns={"stem": ("question",), "analysis": ("answer",)})
    )
    assert (imported.format, questions["bank-1"].analysis) == ("json", "So #### 2")


def test_extras_that_are_none_cost_themselves(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    path = write(
        {"question": "?", "answer": "1", "year": 1, "extras": ["x"]},
        {"question": "?", "year": 1, "extras": {"stem": "x", "year": 2, "teacher": "Kim"}},
    )
    questions, imported = load(path)
    assert [question.extras for question in questions.values()] == [{"year": 1}, {"year": 1, "teacher": "Kim"}]
    assert faults(imported) == [
        "bank.jsonl:1: extras: expected an object, got a list",
        "bank.jsonl:2: extras: 'stem' is also a field of the record",
        "bank.jsonl:2: extras: 'year' is also a field of the record",
    ]


def test_a_bad_line_costs_itself(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_bytes(
        b'{"question": "a"}\n{"question": \n["no object"]\n{"question": "\xff"}\n{"question": "b"}\n'
        b'{"question": "c", "answer": ' + b"[" * 800 + b"]" * 800 + b"}\n"
    )
    questions, imported = load(path)
    assert [question.stem for question in questions.values()] == ["a", "b"]
    assert (imported.left_out, len(faults(imported))) == (4, 4)


@pytest.mark.parametrize("name", ["bank.json", "bank.jsonl"])
def test_utf_16(load: Callable[..., Loaded], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"question": "Größe?", "answer": "1"}\n' * 2, encoding="utf-16")
    questions, imported = load(tmp_path / name)
    assert [question.stem for question in questions.values()] == ["Größe?"] * 2
    assert imported.faults == ()


def test_keys_given_twice_are_named(load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    twice = '{"question": "?", "answer": "1", "answer": "2"}'
    (tmp_path / "list.json").write_text(f"[{twice}]")
    questions, imported = load(tmp_path / "list.json")
    assert questions["list-1"].answer == "2"
    assert faults(imported) == ["list.json:1: answer: given more than once; the last is taken"]
    (tmp_path / "lines.jsonl").write_text(f'{twice}\n{{"question": "?"}}')
    _, imported = load(tmp_path / "lines.jsonl", out="lines")
    assert faults(imported) == ["lines.jsonl:1: answer: given more than once"]
    assert (imported.left_out, imported.unread) == (1, 0)


def test_numbers_that_are_none_are_reported(load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"question": "?", "answer": 1e400}\n{"question": "?", "answer": NaN}')
    questions, imported = load(tmp_path / "x.jsonl")
    assert [question.answer for question in questions.values()] == [None, None]
    assert faults(imported) == [
        "x.jsonl:1: answer: no finite number (NaN, or too large); left empty, also in other rows"
    ]


def test_figures_of_markdown_with_their_sources_apart(
    write: Write, load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    (tmp_path / "a b.png").write_bytes(picture(1))
    stem = 'See ![the graph][1] and [1].\n\n[1]: a%20b.png "A graph"\n[note]: kept'
    questions, imported = load(
        write({"question": stem, "options": ["![a]\n[a]: b.png", "![b] or ![G][]\n[g]: <a%20b.png>"]})
    )
    question = questions["bank-1"]
    assert (question.stem, question.options) == ("See and [1].\n[note]: kept", ("", "![b] or"))
    assert len(question.images) == 1
    assert faults(imported) == ["bank.jsonl:1: options[0]: missing file: 'b.png'"]


def test_figures_of_options(write: Write, load: Callable[..., Loaded], tmp_path: Path) -> None:
    for number, name in enumerate("abc"):
        (tmp_path / f"{name}.png").write_bytes(picture(number))
    choices = [
        {"text": "x < 2", "image": "a.png"},
        {"text": "", "image": "b.png"},
        {"label": "C", "img": {"path": "c.png"}},
    ]
    question = load(write({"question": "?", "choices": choices, "answer": "B"}))[0]["bank-1"]
    assert (question.options, question.answer) == (("x < 2", "", ""), "B")
    assert [Path(image).read_bytes() for image in question.images] == [picture(0), picture(1), picture(2)]


@pytest.mark.parametrize(
    ("document", "stems"),
    [
        ({"data": {"questions": [{"question": "1?"}, {"question": "2?"}]}, "version": 1}, ["1?", "2?"]),
        (
            {
                "tools": [],
                "messages": [{"role": role, "content": f"{role}?"} for role in ("system", "user", "assistant")],
            },
            ["user?"],
        ),
        ({"train": [{"question": "1?"}], "test": [{"question": "2?"}]}, ["1?", "2?"]),
        ({"article": "Read.", "questions": ["1?", "2?"], "answers": ["A", "B"], "id": "r"}, ["Read.\n1?", "Read.\n2?"]),
    ],
)
def test_lists_within_objects(write: Write, load: Callable[..., Loaded], document: Any, stems: list[str]) -> None:
    questions, _ = load(write(document, name="x.json"))
    assert [question.stem for question in questions.values()] == stems
    if "train" in document:
        assert [question.split for question in questions.values()] == ["train", "test"]
    if "messages" in document:
        assert [question.answer for question in questions.values()] == ["assistant?"]
    if "article" in document:
        assert [(id, q.group, q.answer) for id, q in questions.items()] == [("r-1", "r", "A"), ("r-2", "r", "B")]


def test_backslashes_that_json_took_for_escapes(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text(
        r'{"question": "$\frac{1}{2} \times \neq \theta$, a\ttab and\nline"}'.replace("\\\\", "\\") + "\n"
        r'{"question": "$x$\n\\alpha, a\ttext"}'
    )
    questions, imported = load(path)
    assert questions["bank-1"].stem.startswith(r"$\frac{1}{2} \times \neq \theta$, a")
    assert questions["bank-1"].stem.endswith("and\nline")
    assert "\\text" not in questions["bank-2"].stem
    assert len(imported.faults) == 1
    assert "LaTeX's backslashes, which are put back" in imported.faults[0].message
    (tmp_path / "bad.json").write_text('[\n{"question": "\\alpha"}]')
    with pytest.raises(BankError, match=r"bad\.json:2: record: not valid JSON: Invalid .escape, column 15"):
        load(tmp_path / "bad.json", out="bad")
