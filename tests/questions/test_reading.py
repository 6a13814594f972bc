import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions.question import SPLITS, Fault, FieldError, Question
from tqnet.questions.reading import read_fields, read_question, read_records, write_question

# Characters of HTML, LaTeX and entities, so that texts run into everything that could be taken for markup.
BITS = [*"<>/$\\&;ab 1\n()=\"'", "<p>", "</p>", "&lt;"]
TEXT = st.text() | st.lists(st.sampled_from(BITS)).map("".join)
NAME = st.text(min_size=1).filter(str.strip)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x, max_size=2))
QUESTIONS = st.builds(
    Question,
    id=NAME,
    stem=TEXT.filter(str.strip),
    options=st.lists(TEXT, max_size=3).map(tuple),
    answer=st.none() | TEXT,
    analysis=st.none() | TEXT,
    images=st.lists(st.from_regex(r"[a-z]{1,5}\.png", fullmatch=True), max_size=3, unique=True).map(tuple),
    knowledge=st.lists(st.lists(NAME, min_size=1, max_size=3).map(tuple), max_size=2).map(tuple),
    difficulty=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    type=st.none() | NAME,
    group=st.none() | NAME,
    split=st.none() | st.sampled_from(SPLITS),
    source=st.none() | NAME,
    extras=st.dictionaries(st.text().map("x-{}".format), JSON, max_size=2),
)


@given(QUESTIONS)
def test_a_written_question_reads_as_itself(question: Question) -> None:
    assert read_question(json.loads(json.dumps(write_question(question)))) == question


@given(QUESTIONS)
def test_as_dict_reads_as_itself_unless_it_has_html(question: Question) -> None:
    if write_question(question)["stem"] == question.stem:
        assert read_question(json.loads(json.dumps(asdict(question)))) == question


@given(st.dictionaries(st.sampled_from([*Question.__dataclass_fields__, "more"]), JSON))
def test_any_json_object_gives_a_question_or_named_errors(record: dict[str, Any]) -> None:
    values, errors = read_fields(record)
    if errors:
        fields = {error.field.partition("[")[0] for error in errors}
        assert fields <= Question.__dataclass_fields__.keys()
        with pytest.raises(FieldError, match=r"^\w+(\[\d+\])*: "):
            read_question(record)
    else:
        assert Question(**values) == read_question(record)


NULLS = dict.fromkeys(Question.__dataclass_fields__.keys() - {"id", "stem"})


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"id": 7}, {"id": "7"}),
        (NULLS, {}),
        ({"equation": "x=1", "extras": {"year": 2020}}, {"extras": {"equation": "x=1", "year": 2020}}),
        ({"images": ["a.png", "x/../b.png"]}, {"images": ("/banks/one/a.png", "/banks/one/x/../b.png")}),
    ],
)
def test_what_a_record_leaves_out_and_adds(record: dict[str, Any], fields: dict[str, Any]) -> None:
    assert read_question({"id": "a", "stem": "x"} | record, "/banks/one") == Question(
        **{"id": "a", "stem": "x"} | fields
    )


def test_images_of_html_come_first_and_once() -> None:
    record = {
        "id": "a",
        "stem": "<p>See <img src='b.png'></p>",
        "options": ["<img src='c.png'>", "x &lt; 3"],
        "analysis": "<p>See <img src='solution.png'></p>",
        "images": ["a.png", "./b.png"],
    }
    question = read_question(record)
    assert question.images == ("b.png", "c.png", "a.png")
    assert (question.stem, question.options, question.analysis) == ("See", ("", "x < 3"), "See")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": True}, "id"),
        ({"id": ""}, "id"),
        ({"stem": 1}, "stem"),
        ({"stem": ""}, "stem"),
        ({"options": ["a", None]}, "options[1]"),
        ({"images": ["a", "b", 3]}, "images[2]"),
        ({"knowledge": [["a"], [3]]}, "knowledge[1][0]"),
        ({"knowledge": [["a"], "b"]}, "knowledge[1]"),
        ({"difficulty": False}, "difficulty"),
        ({"difficulty": float("nan")}, "difficulty"),
        ({"difficulty": 10**400}, "difficulty"),
        ({"split": "dev"}, "split"),
        ({"split": ["train"]}, "split"),
        ({"group": ""}, "group"),
        ({"stem": "\ud800"}, "stem"),
        ({"note": {"pages": [1, math.inf]}}, "note.pages[1]"),
        ({"extras": {"note": ["\ud800"]}}, "note[0]"),
        ({"\udfff": 1}, "extras"),
        ({"note": {"\udfff": 1}}, "note"),
        ({"note": b"a"}, "note"),
        ({"images": ["a.png", "../b.png"]}, "images[1]"),
        ({"images": ["x/../../b.png"]}, "images[0]"),
        ({"images": ["/proc/self/mem"]}, "images[0]"),
    ],
)
def test_errors_name_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_question({"id": "a", "stem": "x"} | change, "bank")
    assert caught.value.field == field


def test_a_name_forges_no_line_of_a_report() -> None:
    assert (
        str(Fault("a.jsonl", 1, "x\x1b[31m\nb.jsonl:9: \ud800", "bad"))
        == r"a.jsonl:1: x\x1b[31m\nb.jsonl:9: \ud800: bad"
    )


def test_every_bad_field_is_named() -> None:
    _, errors = read_fields({"stem": 1, "split": "dev", "options": {}})
    assert {error.field for error in errors} == {"id", "stem", "split", "options"}


def test_tables_of_large_cells_and_repeated_columns(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(f"a,b,a,,\n1,{'x' * 2**18},2,,\n\n3,4\n")
    rows, faults = read_records(file, lambda record, line: [(line, record)])
    assert [(line, record["a"], len(record["b"]), record["a_2"]) for line, record in rows] == [
        (2, "1", 2**18, "2"),
        (4, "3", 1, None),
    ]
    assert [str(fault) for fault in faults] == [f"{file}:1: a: several columns have this name; the first is read"]


def test_extras_cannot_hide_a_field() -> None:
    with pytest.raises(FieldError, match="extras: 'stem' is also a field"):
        write_question(Question(id="a", stem="x", extras={"stem": "y"}))
    with pytest.raises(FieldError, match="extras: not JSON"):
        write_question(Question(id="a", stem="x", extras={"y": object()}))
