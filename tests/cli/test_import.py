"""``tqnet import`` and ``tqnet convert``: what they print, their exit codes, and the commands of docs/import.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")
pytest.importorskip("openpyxl")

import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl import Workbook

from tests.cli.conftest import FAST, Tqnet
from tests.importers.generators import awkward_quiz, picture, qti2_package, qti3_package
from tests.importers.word import FIGURE, FRACTION, TABLE, cells, numbered, paragraph, write_docx
from tests.recipes.conftest import TINY
from tqnet.cli.importing import FORMATS
from tqnet.importers import formats, run
from tqnet.questions import QuestionBank

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "table.csv"
    path.parent.mkdir()
    path.write_text("id,stem,difficulty\na,one,1\nb,two,hard\n,,\nc,,\n", encoding="utf-8")
    return path


def test_the_formats_of_the_help_are_those_there_are() -> None:
    assert set(formats.FORMATS) == set(FORMATS)
    assert all(callable(formats.reader(name)) for name in formats.FORMATS)


def test_a_report_line_by_line(table: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "bank"
    output = tqnet("import", table, "--out", out, "--set", "language=en", "--set", "knowledge=A > B; C")
    assert tqnet.err.splitlines() == [
        f"{table}:3: difficulty: no number: 'hard'; kept as difficulty_word (--levels orders words)",
        f"{table}:5: stem: missing",
    ]
    assert output == f"{out}: 2 questions of {table} (csv), 1 left out (2 faults)\n"
    bank = QuestionBank.load(out)
    assert (bank.ids, bank[0].difficulty, bank[1].language) == (["a", "b"], 1, "en")
    assert bank[0].knowledge == (("A", "B"), ("C",))
    tqnet("check", out)


def test_stop_writes_nothing(table: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    error = tqnet.fails("import", table, "--out", tmp_path / "bank", "--on-error", "stop", code=1)
    assert f"{table}:3: difficulty: no number: 'hard'" in error
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_there_is_replaced_only_when_asked_for(table: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "bank"
    out.mkdir()
    tqnet("import", table, "--out", out)
    (out / "images").mkdir()
    (out / "images" / "old.png").write_bytes(picture())
    assert "already exists; --replace it" in tqnet.fails("import", table, "--out", out)
    tqnet("import", table, "--out", out, "--replace")
    assert [path.name for path in out.iterdir()] == ["questions.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank", "in"]
    assert "is no bank, and is not replaced" in tqnet.fails("import", table, "--out", table.parent, "--replace")
    assert table.exists()


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 1)])
def test_nothing_is_half_written(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, tqnet: Tqnet
) -> None:
    """Ctrl-C and a full disk after the first question: the bank that was there stays as it was."""
    out = tmp_path / "bank"
    tqnet("import", table, "--out", out)
    before = (out / "questions.jsonl").read_bytes()
    write, calls = run.write_question, []

    def fail(question: Any) -> object:
        calls.append(question)
        if len(calls) == 2:
            raise error
        return write(question)

    monkeypatch.setattr(run, "write_question", fail)
    tqnet("import", table, "--out", out, "--replace", code=code)
    assert (out / "questions.jsonl").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank", "in"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.csv", "--out", "x"], "gone.csv: no such file or folder"),
        (["table.csv", "--out", "table.csv"], "table.csv is a file; a bank is a folder"),
        (["table.csv", "--out", "x", "--map", "stem=Task"], "no column 'Task'; the columns are 'id', 'stem'"),
        (["table.csv", "--out", "x", "--map", "title=id"], "--map: 'title' is not one of id, stem"),
        (["table.csv", "--out", "x", "--map", "stem"], "expected FIELD=COLUMN"),
        (["table.csv", "--out", "x", "--set", "id=1"], "id differs from question to question"),
        (["table.csv", "--out", "x", "--set", "difficulty=hard"], "argument --set: 'hard' is not a number"),
        (["table.csv", "--out", "x", "--set", "split=dev"], "argument --set: 'dev' is not one of train, valid, test"),
        (["table.csv", "--out", "x", "--separate", "stem=;"], "--separate: 'stem' is not one of options"),
        (["table.csv", "--out", "x", "--encoding", "utf-9"], "--encoding: unknown encoding 'utf-9'"),
        (["table.csv", "--out", "x", "--format", "gsm8k", "--map", "stem=id"], "--map and --separate are for tables"),
        (["table.csv", "--out", "x", "--format", "xlsx"], "table.csv: not a workbook that can be read"),
        (["table.csv", "--out", "x", "--format", "moodle"], "no question in this source (moodle)"),
        (["table.csv", "--out", "x", "--format", "word"], "invalid choice: 'word'"),
        ([".", "--out", "x", "--format", "qti"], "no question in this source (qti)"),
    ],
)
def test_errors_are_one_line(
    table: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    monkeypatch.chdir(table.parent)
    assert message in tqnet.fails("import", *arguments, code=1 if "no question in" in message else 2)
    assert [path.name for path in Path().iterdir()] == ["table.csv"]


def test_each_file_of_a_folder_by_its_own_format(tmp_path: Path, tqnet: Tqnet) -> None:
    """What is in no known format, or cannot be read, is named, and ends in 1; what explains others is not."""
    folder = tmp_path / "mixed"
    (folder / "img").mkdir(parents=True)
    for name, content in {
        "a.csv": "stem,images\n1?,img/f.png\n",
        "b.gift": "2? {=2 ~3}\n",
        "c.xml": awkward_quiz(),
        "d.jsonl": '{"question": "4?"}\n',
        "e.txt": "5?\nA. x\nB. y\nANSWER: A\n",
        "README.md": "1. These are questions.",
        ".hidden": "",
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "img" / "f.png").write_bytes(picture())
    output = tqnet("import", folder, "--out", tmp_path / "bank")
    assert f"of {folder} (csv, gift, moodle, json, aiken)" in output
    stems = [question.stem for question in QuestionBank.load(tmp_path / "bank", verify_images=True)]
    assert {"1?", "2?", "4?", "5?"} <= set(stems)
    (folder / "f.csv").write_text("pupil,mark\nKim,1\n", encoding="utf-8")
    (folder / "g.rtf").write_text("6?", encoding="utf-8")
    tqnet("import", folder, "--out", tmp_path / "again", code=1)
    assert f"{folder}/f.csv: record: which column is the stem?" in tqnet.err
    assert f"{folder}/g.rtf: record: not read: of no known format" in tqnet.err
    assert len(QuestionBank.load(tmp_path / "again")) == len(stems)


def test_convert_says_what_it_leaves_out(table: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    bank, out = tmp_path / "bank", tmp_path / "back.xml"
    tqnet("import", table, "--out", bank, "--set", "teacher=Kim")
    assert tqnet("convert", bank, "--to", "moodle", "--out", out) == f"{out}: 2 questions in Moodle XML\n"
    assert f"{out}: extras.teacher: no place in Moodle: 2 questions\n" in tqnet.err


@pytest.mark.parametrize(("package", "format"), [("lxml", "moodle"), ("openpyxl", "xlsx")])
def test_a_missing_package_is_named(
    table: Path, tmp_path: Path, package: str, format: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    for name in [name for name in sys.modules if name.startswith((f"{package}.", "tqnet.importers."))]:
        if name.startswith("tqnet."):  # the package's attribute is put back with the module
            monkeypatch.setattr(name, sys.modules[name])
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    error = tqnet.fails("import", table, "--out", tmp_path / "bank", "--format", format)
    assert f"{package} is missing: pip install 'tqnet[import]'" in error


def commands() -> list[str]:
    text = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line.startswith("tqnet ")]


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet) -> None:
    """They run one after another, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    _write_sources()
    for command in commands():
        tqnet(*shlex.split(command)[1:])
    made = {path.name: len(QuestionBank.load(path, verify_images=True)) for path in Path("banks").iterdir()}
    assert set(made) == set(re.findall(r"--out banks/(\w+)", "\n".join(commands())))
    assert all(made.values())
    shutil.rmtree("banks/qti")
    tqnet("import", qti3_package(Path("third.zip")), "--out", "banks/qti")


def _write_sources() -> None:
    Path("school.csv").write_text("Question,Option A,Option B,Correct answer\n1+1?,1,2,B\n", encoding="utf-8")
    Path("mmlu_test.csv").write_text("1+1?,1,2,3,4,B\n", encoding="utf-8")
    Path("topics.csv").write_text("Task;Area;Theme;options\nFür 1+1?;Algebra;Sums;\n", encoding="cp1252")
    Path("quiz.gift").write_text("1+1? {=2 ~3}\n", encoding="utf-8")
    Path("quiz.txt").write_text("1+1?\nA. 2\nB. 3\nANSWER: A\n", encoding="utf-8")
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Questions"
    sheet.append(["Task", "A", "B", "C", "D", "Right"])
    sheet.append(["1+1?", 1, 2, 3, None, "B"])
    book.save("school.xlsx")
    pq.write_table(pa.table({"question": ["1+1?"], "answer": ["2"]}), "table.parquet")
    Path("quiz.xml").write_text(awkward_quiz(), encoding="utf-8")
    qti2_package(Path("package.zip"))
    _put("math23k_train.json", [{"id": "1", "original_text": "1加1？", "equation": "x=1+1", "ans": "2"}])
    _put("MathQA/train.json", [{"Problem": "1 + 1 ?", "options": "a ) 1 , b ) 2", "correct": "b"}])
    row = {"Question": "number0 and number1 ?", "Numbers": "1.0 1.0", "Equation": "+ number0 number1", "Answer": 2.0}
    _put("mawps_asdiv/train.jsonl", row)
    _put("SVAMP.json", [{"Body": "1 pen.", "Question": "And 1 more?", "Equation": "( 1.0 + 1.0 )", "Answer": 2.0}])
    _put("AQuA/train.json", {"question": "1+1?", "options": ["A)1", "B)2"], "rationale": "", "correct": "B"})
    _put("gsm8k/train.jsonl", {"question": "1+1?", "answer": "<<1+1=2>>2\n#### 2"})
    _put(
        "MATH/train/algebra/1.json",
        {"problem": "1+1?", "level": "Level 1", "type": "Algebra", "solution": "\\boxed{2}"},
    )
    problem = {"problem_text": "Find x.", "choices": ["1", "2"], "answer": "B", "id": 1, "problem_type_graph": []}
    _put("geometry3k/train/1/data.json", problem)
    Path("geometry3k/train/1/img_diagram.png").write_bytes(picture(1))
    problem = {"question": "1+1?", "choices": ["1", "2"], "answer": 1, "split": "train", "lecture": "", "skill": "Add"}
    _put("ScienceQA/problems.json", {"1": problem})
    _put("questions.jsonl", {"question": "1+1?", "level": "hard"})
    write_docx(Path("exam.docx"), paragraph("1. What is 1+1?"))


@pytest.mark.slow
def test_a_word_paper_is_trained_on_and_searched(tmp_path: Path, tqnet: Tqnet) -> None:
    """Formulas, figures, options and a table, from the document to the answer of a search."""
    blocks: list[str] = []
    for number in range(40):
        blocks += [
            numbered("Solve ", f"<m:oMath>{FRACTION}</m:oMath>", f" = {number} for x."),
            TABLE.format(cells("x", f"{number + 1}")),
            numbered(f"{2 * number - 1}", level=1),
            numbered(f"{2 * number}", level=1),
            paragraph("Answer: A"),
            paragraph("Topic: Equations"),
            *([paragraph(FIGURE)] if number % 4 == 0 else []),
        ]
    bank, out = tmp_path / "bank", tmp_path / "run"
    write_docx(tmp_path / "paper.docx", *blocks)
    output = tqnet("import", tmp_path / "paper.docx", "--out", bank, "--set", "split=train", "--set", "language=en")
    assert "40 questions" in output
    assert "fault" not in output
    tqnet("check", bank)
    command = [sys.executable, "-m", "tqnet.cli", "train", "moco", "--config", "small/moco", "--cpu", *TINY]
    settings = [f"data.bank={bank}", f"run.out={out}", "queue=16", "run.max_steps=2", "optim.visual_lr=1e-4"]
    subprocess.run([*command, *settings], check=True)
    tqnet("index", bank, "--model", out / "model", "--out", tmp_path / "index", *FAST)
    hits = tqnet.json("search", tmp_path / "index", "--text", r"Solve $\frac{x+1}{2} = 7$ for x.", "-k", 3)
    assert hits


def _put(name: str, content: object) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(json.dumps(content), encoding="utf-8")
