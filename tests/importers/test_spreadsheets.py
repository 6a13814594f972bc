"""Excel workbooks: sheets, titles above a header, and cells as Excel shows them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")
pytest.importorskip("openpyxl")

from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from tests.importers.conftest import Loaded
from tests.importers.generators import picture, workbook
from tqnet.importers import Settings
from tqnet.importers.number_formats import as_shown


def test_workbooks(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = workbook(
        tmp_path / "book.xlsx",
        [],
        ["id", "Question", "A", "B", "Answer", "Level", "When"],
        [1, "2+2?", 3, 4.0, "B", 2, None],
        [2.0, "What is 1/2?", 0.5, True, "A", "#REF!", None],
        title="Second",
    )
    assert [q.stem for q in load(path, out="all")[0].values()] == ["of the first sheet", "2+2?", "What is 1/2?"]
    questions, imported = load(path, settings=Settings(sheets=["Second"]))
    assert (questions["1"].options, questions["1"].difficulty) == (("3", "4"), 2)
    assert (questions["2"].options, questions["2"].difficulty) == (("0.5", "true"), None)
    assert faults(imported) == ["book.xlsx:4: Level: a formula that failed: #REF!"]
    with pytest.raises(ValueError, match="--sheet: no sheet 'Third'; there are 'First', 'Second'"):
        load(path, out="third", settings=Settings(sheets=["Third"]))


@pytest.mark.parametrize(
    ("number_format", "value", "shown"),
    [
        ("0%", 0.2, "20%"),
        ("0.00%", 0.125, "12.50%"),
        ("0.##%", 0.125, "12.5%"),
        ('0"°"', 45, "45°"),
        ("$0.00", -4.5, "-$4.50"),
        ('_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-', 1234.5, "1,234.50 €"),
        ("0\\ [$€-407]", 3.0, "3 €"),
        ('General" cm"', 2.5, "2.5 cm"),
        ("# ?/?", 1.5, "1 1/2"),
        ("#\\ ??/??", -0.75, "-3/4"),
        ("?/8", 0.5, "4/8"),
        ("000", 7, "007"),
        ("0.00", 2.5, 2.5),
        ("#,##0_);(#,##0)", -1200, -1200),
        ("0.00E+00", 2e5, 2e5),
        ('0.0,"K"', 1500, 1500),
        ("0%", 1e300, 1e300),
        ("mm-dd-yy", datetime(2024, 1, 3), date(2024, 1, 3)),
        ("m/d/yy h:mm", datetime(2024, 1, 3), datetime(2024, 1, 3)),
    ],
)
def test_numbers_and_dates_as_excel_shows_them(number_format: str, value: Any, shown: Any) -> None:
    cell = Workbook().active["A1"]
    cell.value, cell.number_format = value, number_format
    assert as_shown(cell) == shown


def test_options_in_percent(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    path = workbook(
        tmp_path / "book.xlsx", ["Question", "A", "B", "Answer", "Level", "When"], ["?", 0.2, 0.25, "25%", 0.8, 0]
    )
    book = load_workbook(path)
    for cell in book["Sheet"]["B2:E2"][0]:
        cell.number_format = "0%"
    book["Sheet"]["F2"] = datetime(2024, 1, 3)
    book["Sheet"]["F2"].number_format = "yyyy-mm-dd"
    book.save(path)
    question = list(load(path)[0].values())[-1]
    assert (question.options, question.answer, question.difficulty) == (("20%", "25%"), "B", 0.8)
    assert question.extras == {"When": "2024-01-03"}


def test_a_header_below_a_title_and_scripts_in_cells(
    tmp_path: Path, load: Callable[..., Loaded], faults: Callable
) -> None:
    book = Workbook()
    sheet = book.active
    for row in (["Our bank"], [], ["Question", "Answer"], [None, "3"]):
        sheet.append(row)
    area = CellRichText("Volume in m", TextBlock(InlineFont(vertAlign="superscript"), "3"))
    sheet["A4"] = CellRichText(*area, " of H", TextBlock(InlineFont(vertAlign="subscript"), "10"))
    book.create_sheet("Notes").append(["nothing here"])
    book.save(tmp_path / "book.xlsx")
    questions, imported = load(tmp_path / "book.xlsx")
    assert [question.stem for question in questions.values()] == ["Volume in m^3 of H_{10}"]
    assert faults(imported) == ["book.xlsx:0: record: sheet 'Notes' is not read: it has no column for the stem"]
    questions, _ = load(tmp_path / "book.xlsx", out="row", settings=Settings(header_row=3, sheets=["Sheet"]))
    assert len(questions) == 1
    with pytest.raises(ValueError, match="--header-row: no row 40 among the first 20 of sheet 'Sheet'"):
        load(tmp_path / "book.xlsx", out="none", settings=Settings(header_row=40))


def test_merged_cells(
    tmp_path: Path, load: Callable[..., Loaded], faults: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value downwards is each row's; the second row of a header names the parts of the first."""
    path, rows = tmp_path / "book.xlsx", [["", "A", "B"], ["1+1?", 1, 2, "Sums"], ["1+3?", 4, 5, None]]
    workbook(path, ["Question", "Options", None, "Topic"], *rows)
    book = load_workbook(path)
    for cells in ("A1:A2", "B1:C1", "D1:D2", "D3:D4"):
        book["Sheet"].merge_cells(cells)
    book.save(path)
    questions = [(question.options, question.knowledge) for question in load(path)[0].values()][1:]
    assert questions == [(("1", "2"), (("Sums",),)), (("4", "5"), (("Sums",),))]
    monkeypatch.setattr("tqnet.importers.spreadsheets._MOST_MERGED", 7)
    questions = [question.knowledge for question in load(path, out="large")[0].values()][1:]
    assert questions == [(("Sums",),), ()]
    assert any("merged cells of a large workbook" in line for line in faults(load(path, out="other")[1]))


@pytest.fixture
def merged(tmp_path: Path) -> Callable[..., Path]:
    """Writes a workbook whose cells at ``areas`` are merged."""

    def merged(header: list[str], *rows: list[Any], areas: str) -> Path:
        path = workbook(tmp_path / "book.xlsx", header, *rows)
        book = load_workbook(path)
        for area in areas.split():
            book["Sheet"].merge_cells(area)
        book.save(path)
        return path

    return merged


def test_options_below_a_merged_stem(
    merged: Callable[..., Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    """They are one question, which may have a mark for each; a merged header is none."""
    rows = [["Even?", 3, "B", "mc"], [None, 4, None, "mc"], [None] * 4, [None, date(2024, 3, 1), None, "one"]]
    rows.append(["1+1?", "A. 1 B. 2", "B", None])
    header = ["Question", "Options", "Answer", "Type"]
    path = merged(header, [None] * 4, *rows, areas="A1:A2 B1:B2 C1:C2 A3:A6 C3:C6")
    questions, imported = load(path)
    assert [(question.options, question.answer, question.type) for question in questions.values()][1:] == [
        (("3", "4", "2024-03-01"), "B", "mc\none"),
        (("1", "2"), "B", None),
    ]
    assert "book.xlsx:3: Type: several in the rows of a question: 'mc, one'" in faults(imported)


@pytest.mark.parametrize(
    ("marks", "answer"),
    [
        (["No", "Yes", "Yes"], "B, C"),
        (["N", "Y", "N"], "B"),
        (["X", "√", "X"], "B"),
        (["Incorrect", "Correct", "Correct"], "B, C"),
        ([None, "x", None], "B"),
        (["√", None, None], "A"),
        ([None, "C", None], "C"),
        ([6, None, None], "C"),
    ],
)
def test_marks_below_a_merged_stem(
    merged: Callable[..., Path], load: Callable[..., Loaded], marks: list[Any], answer: str
) -> None:
    rows = [["Even?", 3, marks[0]], [None, 4, marks[1]], [None, 6, marks[2]]]
    question = [*load(merged(["Question", "Option", "Correct"], *rows, areas="A2:A4"))[0].values()][1]
    assert (question.options, question.answer) == (("3", "4", "6"), answer)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (
            ["Problem", "Part", "A", "B", "Answer"],
            [["At 60 km/h", "how far?", 60, 120, "B"], [None, "when?", 1, 2, "A"]],
        ),
        (["Problem", "Options", "ID"], [["Which?", 1, "p1"], [None, 2, "p2"]]),
        (["Problem", "Options"], [["Which?", "A. 1 B. 2"], [None, "A. 3 B. 4"]]),
        (["Problem", "Options"], [["Which?", "10\n20"], [None, "1\n2"]]),
    ],
)
def test_questions_below_a_merged_stem(
    merged: Callable[..., Path], load: Callable[..., Loaded], header: list[str], rows: list[list[Any]]
) -> None:
    questions = [*load(merged(header, *rows, areas="A2:A3"))[0].values()][1:]
    assert [question.stem for question in questions] == [rows[0][0]] * 2


def test_columns_without_a_name_are_reported(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = workbook(tmp_path / "book.xlsx", ["Question", "Options", None], ["1+1?", "1", "2"])
    assert "book.xlsx:2: record: a cell of a column without a name is not read, also in other rows" in faults(
        load(path)[1]
    )


def test_formulas_without_a_value_are_reported(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = workbook(tmp_path / "book.xlsx", ["stem", "answer"], ["1+1?", "=1+1"])
    _, imported = load(path)
    assert "book.xlsx:0: record: formulas without a stored value: 1; save the workbook in Excel" in faults(imported)


def test_workbooks_that_are_none(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    (tmp_path / "book.xlsx").write_text("stem\nx")
    with pytest.raises(ValueError, match=r"book\.xlsx: not a workbook that can be read"):
        load(tmp_path / "book.xlsx")
    path = workbook(tmp_path / "other.xlsx", ["stem"])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/evil.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    with pytest.raises(ValueError, match=r"xl/evil\.xml declares a document type"):
        load(path)


def test_pictures_of_a_workbook_are_reported(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    path = workbook(tmp_path / "book.xlsx")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/media/image1.png", picture(1))
    assert faults(load(path)[1]) == [
        "book.xlsx:0: images: pictures within the workbook are not read; name files in a column"
    ]
