"""CSV and Parquet: columns by map and by name, encodings, cells of all kinds."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("lxml")
pytest.importorskip("openpyxl")


from tests.importers.conftest import Loaded
from tests.importers.generators import picture, workbook
from tqnet.importers import Settings
from tqnet.importers.columns import columns_by_name
from tqnet.importers.encodings import encoding_of
from tqnet.questions import BankError


@pytest.fixture
def write_csv(tmp_path: Path) -> Callable[..., Path]:
    def write_csv(*rows: list[str], encoding: str = "utf-8", delimiter: str = ",") -> Path:
        path = tmp_path / "table.csv"
        with path.open("w", encoding=encoding, newline="") as stream:
            csv.writer(stream, delimiter=delimiter).writerows(rows)
        return path

    return write_csv


def test_columns_by_their_names(write_csv: Callable[..., Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b.png").write_bytes(picture(1))
    path = write_csv(
        ["No", "Question", "Option A", "Option B", "Option C", "Correct answer", "Topic", "Level", "Image", "Year"],
        ["7", "Find $x$.\nNow.", "A. 3", "B. 4", "", "B", "Algebra > Equations; Sums", "2,5", "in/a b.png", "2020"],
        ["", "", "", "", "", "", "", "", "", ""],
        ["8", "<p>x<sup>2</sup> &lt; 3</p>", "", "", "", "yes", "", "", "", ""],
    )  # fmt: skip
    questions, imported = load(path)
    assert imported.faults == ()
    first, second = questions.values()
    assert (first.id, first.stem, first.options, first.answer) == ("7", "Find $x$.\nNow.", ("3", "4"), "B")
    assert (first.knowledge, first.difficulty) == ((("Algebra", "Equations"), ("Sums",)), 2.5)
    assert first.extras == {"Year": "2020"}
    assert Path(first.images[0]).read_bytes() == picture(1)
    assert (second.stem, second.options, second.answer) == ("x^2 < 3", (), "yes")


def test_columns_by_map(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    path = write_csv(
        ["Task, in words", "Hint", "Choices", "Area", "Theme", "stem", "teacher"],
        ["Add.", "Slowly.", "1;2;3", "Algebra", "Sums", "not this", "Kim"],
        ["Take.", "", "1;2", "Algebra", "", "", "Lee"],
    )
    settings = Settings(
        columns={"stem": ("Task, in words", "Hint"), "options": ("Choices",), "knowledge": ("Area", "Theme")},
        separators={"options": ";"},
        fixed={"language": "en", "split": "train", "teacher": "all"},
    )
    first, second = load(path, settings=settings)[0].values()
    assert (first.stem, first.options, first.knowledge) == ("Add.\nSlowly.", ("1", "2", "3"), (("Algebra", "Sums"),))
    assert (first.language, first.split, first.extras) == ("en", "train", {"teacher": "all"})
    assert second.knowledge == (("Algebra",),)
    assert (first.id, second.id) == ("table-1", "table-2")


def test_what_is_reported(write_csv: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    path = write_csv(
        ["id", "stem", "options", "difficulty", "split", "image"],
        ["a", "good", "", "hard", "dev", "../x.png;http://example.org/x.png;gone.png"],
        ["b", "", "", "", "", ""],
        ["a", "twice", "", "", "", ""],
        ["c", "a comma, too", "", "", "", "", "many"],
        ["d", "lines", "one\ntwo", "", "third", ""],
        ["e", "one", "only", "", "", ""],
    )
    questions, imported = load(path)
    assert list(questions) == ["a", "a-2", "d", "e"]
    assert (questions["a"].split, questions["d"].options, questions["d"].split) == ("valid", ("one", "two"), None)
    assert imported.left_out == 2
    assert [line.removeprefix("table.csv:") for line in faults(imported)] == [
        "2: difficulty: no number: 'hard'; kept as difficulty_word (--levels orders words)",
        "2: images: leads outside of the source: '../x.png'",
        "2: images: lies elsewhere and is not fetched: 'http://example.org/x.png'",
        "2: images: missing file: 'gone.png'",
        "3: stem: missing",
        f"4: id: 'a' is already used at {path}:2; this is 'a-2'",
        "5: record: 7 cells under 6 columns; a comma without quotes?",
        "6: split: expected one of train, valid, test or null, got 'third'",
        "8: options: one option; what separates them? --separate options=SEPARATOR",
    ]


@pytest.mark.parametrize(
    ("encoding", "detected"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("gb18030", "gb18030")],
)
def test_encodings_that_tell(
    write_csv: Callable[..., Path], load: Callable[..., Loaded], encoding: str, detected: str
) -> None:
    path = write_csv(["题目", "答案", "知识点"], ["求方程的解，并说明理由。", "x=3", "代数 > 方程"], encoding=encoding)
    assert encoding_of(path) == detected
    question = next(iter(load(path)[0].values()))
    assert (question.stem, question.answer) == ("求方程的解，并说明理由。", "x=3")
    assert question.knowledge == (("代数", "方程"),)


def test_encodings_that_do_not(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    path = write_csv(["stem"], ["Le père était très fâché: où est l'élève?"], encoding="cp1252")
    with pytest.raises(ValueError, match=r"table\.csv: neither UTF-8 nor GB18030; name its encoding by --encoding"):
        load(path)
    questions, _ = load(path, settings=Settings(encoding="cp1252"))
    assert questions["table-1"].stem.startswith("Le père était")
    with pytest.raises(ValueError, match="not in ascii"):
        load(path, replace=True, settings=Settings(encoding="ascii"))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters(write_csv: Callable[..., Path], load: Callable[..., Loaded], delimiter: str) -> None:
    path = write_csv(["stem", "answer"], ["a, b", "c"], delimiter=delimiter)
    question = next(iter(load(path)[0].values()))
    assert (question.stem, question.answer) == ("a, b", "c")


def test_no_such_columns(write_csv: Callable[..., Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    path = write_csv(["Zadanie", "B"], ["x", "y"])
    with pytest.raises(
        ValueError, match=r"which column is the stem\? --map stem=COLUMN; the columns are 'Zadanie', 'B'"
    ):
        load(path)
    with pytest.raises(ValueError, match="--map: no column 'Task'"):
        load(path, settings=Settings(columns={"stem": ("Task",)}))
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    "names", ["Question A B Answer", "Topic Level Question Answer", "NewQuestion ID QuestionText Option Option"]
)
def test_questions_that_run_down(write_csv: Callable[..., Path], load: Callable[..., Loaded], names: str) -> None:
    """The last is Brightspace's."""
    with pytest.raises(ValueError, match=r"table\.csv: fields stand below one another \("):
        load(write_csv(*([name, "1"] for name in names.split() * 2)))


@pytest.mark.parametrize("above", [[], [["Topic", "Algebra"], ["Level", "2"]]])
def test_names_of_fields_in_ordinary_cells(
    write_csv: Callable[..., Path], load: Callable[..., Loaded], above: list[list[str]]
) -> None:
    rows = [["Frage", "question"], ["Antwort", "answer"], ["Thema", "topic"]]
    questions, _ = load(write_csv(*above, ["Question", "Answer"], *rows))
    assert [[question.stem, question.answer] for question in questions.values()] == rows


def test_repeated_columns_are_kept(
    write_csv: Callable[..., Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    header, row = ["stem", "note", "note_2", "note", "stem", "key", ""], ["Why?", "a", "b", "c", "How?", "x", ""]
    book = workbook(tmp_path / "book.xlsx", header, row)
    table = pa.table([[cell] for cell in row], names=header)
    pq.write_table(table, tmp_path / "table.parquet")
    for path in (write_csv(header, row), book, tmp_path / "table.parquet"):
        questions, imported = load(path, out=path.suffix)
        question = list(questions.values())[-1]
        assert question.stem == "Why?"
        assert question.extras == {"note": "a", "note_2": "b", "note_3": "c", "stem_2": "How?"}
        assert [line.split(": ", 1)[1] for line in faults(imported)] == [
            "record: names of columns that occur again get a number: 'note_3', 'stem_2'"
        ]


def test_many_columns_of_one_name_have_one_line(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    _, imported = load(write_csv(["stem", "answer", *["a"] * 101], ["?", *["1"] * 102]))
    assert [fault.message[-18:] for fault in imported.faults] == ["'a_51' and 50 more"]


def test_a_large_cell(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    """More than Python's reader takes by itself."""
    assert len(load(write_csv(["stem"], ["x" * 2**18]))[0]["table-1"].stem) == 2**18


def test_a_name_with_a_comma(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    path = write_csv(["Task,in words"], ["Add."])
    assert load(path, settings=Settings(columns={"stem": ("Task", "in words")}))[0]["table-1"].stem == "Add."


def test_an_empty_table(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    with pytest.raises(BankError, match="no question in this source"):
        load(write_csv(["stem"]))


def test_parquet(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    """Lists are lists; figures that a table holds as bytes are taken."""
    rows = {
        "problem": ["a $x$", "b"],
        "choices": [["1", "2"], None],
        "knowledge": [[["Algebra", "Sums"], ["Sets"]], []],
        "images": [[{"bytes": picture(3), "path": None}], []],
        "split": ["validation", "test"],
        "score": [1.5, None],
    }
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    first, second = load(tmp_path / "t.parquet")[0].values()
    assert (first.stem, first.options, first.split) == ("a $x$", ("1", "2"), "valid")
    assert (first.knowledge, first.extras) == ((("Algebra", "Sums"), ("Sets",)), {"score": 1.5})
    assert Path(first.images[0]).read_bytes() == picture(3)
    assert (second.options, second.images, second.extras) == ((), (), {})
    (tmp_path / "no.parquet").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"no\.parquet: not a readable Parquet file"):
        load(tmp_path / "no.parquet", out="other")


def test_html_with_figures_in_cells(
    write_csv: Callable[..., Path], load: Callable[..., Loaded], tmp_path: Path
) -> None:
    (tmp_path / "f.png").write_bytes(picture(4))
    path = write_csv(
        ["stem", "option 1", "option 2"],
        ["<p>If <math><mi>x</mi><mo>&lt;</mo><mn>2</mn></math></p>", "x &lt; 3", '<img src="f.png">'],
    )
    question = load(path)[0]["table-1"]
    assert (question.stem, question.options) == ("If $x < 2$", ("x < 3", ""))
    assert len(question.images) == 1


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["Question", "A", "B", "C"], {"stem": ("Question",), "options": ("A", "B", "C")}),
        (["题干", "选项A", "选项B"], {"stem": ("题干",), "options": ("选项A", "选项B")}),
        (["题干", "选项Ａ", "选项Ｂ"], {"stem": ("题干",), "options": ("选项Ａ", "选项Ｂ")}),
        (["text", "choice_2", "choice_1"], {"stem": ("text",), "options": ("choice_1", "choice_2")}),
        (["Topic", "Subtopic", "question text"], {"stem": ("question text",), "knowledge": ("Topic", "Subtopic")}),
        (["stem", "1", "2", "other"], {"stem": ("stem",)}),
        (["question", "stem", "answerKey"], {"stem": ("stem",), "answer": ("answerKey",)}),
        (["text", "opt1", "opt2"], {"stem": ("text",), "options": ("opt1", "opt2")}),
        (["text", "Option", "Option_2"], {"stem": ("text",), "options": ("Option", "Option_2")}),
        (
            ["Question - max 120 characters", "Answer 1 - max 75", "Answer 2 - max 75", "Correct answer(s)"],
            {
                "stem": ("Question - max 120 characters",),
                "options": ("Answer 1 - max 75", "Answer 2 - max 75"),
                "answer": ("Correct answer(s)",),
            },
        ),
        (["text", "img", "Figure 2", "diagram"], {"stem": ("text",), "images": ("img", "Figure 2", "diagram")}),
        (["Frage", "Antwort"], {"stem": ("Frage",), "answer": ("Antwort",)}),
        (["Question", "Réponse A", "Réponse B"], {"stem": ("Question",), "options": ("Réponse A", "Réponse B")}),
        (["Вопрос", "Ответ"], {"stem": ("Вопрос",), "answer": ("Ответ",)}),
        (["題目", "選項A", "選項B"], {"stem": ("題目",), "options": ("選項A", "選項B")}),
        (["text", "Correct Choice"], {"stem": ("text",), "answer": ("Correct Choice",)}),
        (["题目", "难度系数"], {"stem": ("题目",), "difficulty": ("难度系数",)}),
        (["text", "correct_answer_index"], {"stem": ("text",), "answer": ("correct_answer_index",)}),
    ],
)
def test_names_of_columns(header: list[str], columns: dict[str, tuple[str, ...]]) -> None:
    assert columns_by_name(header) == columns


def test_quotes_without_an_end(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    """They cost nothing but themselves; cells of several lines, with commas and quotes, are no fault."""
    path = tmp_path / "table.csv"
    path.write_text(
        'question,A,B,answer\n"A" grade?,1,2,A\n"open,1,2,B\nnext,1,2,A\nquoted,"1",2,B\n'
        '"two\nlines, with ""quotes""",1,2,A\nshort,"1\n2"\n"last,1,2,A\nend,1,2,B\n'
    )
    questions, imported = load(path)
    assert [question.stem for question in questions.values()] == [
        *("A grade?", "open", "next", "quoted", 'two\nlines, with "quotes"', "short", "last", "end")
    ]
    assert [question.answer for question in questions.values()] == [*"ABABA", None, "A", "B"]
    problem = "record: a quote without its end; the line is read without it"
    assert faults(imported) == [f"table.csv:3: {problem}", f"table.csv:10: {problem}"]


def test_a_text_that_is_cut(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    (tmp_path / "table.tsv").write_text('question\tanswer\none\t1\ntwo\t"cut')
    questions, imported = load(tmp_path / "table.tsv")
    assert [question.answer for question in questions.values()] == ["1", "cut"]
    assert faults(imported) == ["table.tsv:3: record: a quote without its end; the line is read without it"]


def test_an_open_quote_in_a_single_column(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    (tmp_path / "table.csv").write_text('stem\nfirst\n"open\nb\nc\n')
    questions, imported = load(tmp_path / "table.csv")
    assert [question.stem for question in questions.values()] == ["first", "open", "b", "c"]
    assert "a quote without its end" in str(imported.faults[0])


def test_a_column_that_another_one_replaces_is_named(
    write_csv: Callable[..., Path], load: Callable[..., Loaded]
) -> None:
    path = write_csv(["stem", "Task", "answer"], ["old", "1+1?", "2"])
    questions, imported = load(path, settings=Settings(columns={"stem": ("Task",)}))
    assert next(iter(questions.values())).stem == "1+1?"
    assert "another column is read for this field" in str(imported.faults[0])


def test_a_table_without_a_header(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    path = write_csv(["1+1?", "0", "2", "B"], ["2+2?", "4", "5", "A"])  # MMLU
    with pytest.raises(ValueError, match="--header-row 0 if it has no header"):
        load(path)
    settings = Settings(header_row=0, columns={"stem": ("1",), "options": ("2", "3"), "answer": ("4",)})
    questions, _ = load(path, settings=settings)
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("1+1?", ("0", "2"), "B"),
        ("2+2?", ("4", "5"), "A"),
    ]


def test_numbers_count_empty_cells(write_csv: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    path = write_csv(
        ["stem", "Option A", "Option B", "Option C", "Option D", "answer"],
        ["?", "w", "", "y", "z", "3"],
        ["?", "w", "x", "y", "z", "4"],
        ["?", "w", "", "y", "z", "C"],
    )
    assert [question.answer for question in load(path)[0].values()] == ["B", "D", "B"]


def test_figures_in_columns_of_any_name(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    """Bytes are figures whatever their column is called."""
    rows = {
        "question": ["a"],
        "image_1": [{"bytes": picture(1), "path": "x.png"}],
        "image_2": [picture(2)],
        "scan": [[picture(3)]],
        "answer": ["1"],
    }
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    question = load(tmp_path / "t.parquet")[0]["t-1"]
    assert [Path(image).read_bytes() for image in question.images] == [picture(1), picture(2), picture(3)]
    assert question.extras == {}
