"""GIFT, Aiken, papers as text, and PDF, written here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import picture
from tqnet.importers.figures import FigureFolder
from tqnet.importers.formats import reader
from tqnet.importers.job import Job
from tqnet.importers.source import open_source
from tqnet.importers.texts import looks_like

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "quiz.txt") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


GIFT = r"""// a comment
$CATEGORY: $course$/Algebra/Sums

::first:: Which \{1\} is \(x\=1\)? {
  // another
  =yes#good ~no ~%-50%never
  ####Because.
}

2 + 2 {#4:0.1}

It is true.{TRUE}

Two plus {=two =2} is four.

Match. {=a -> 1 =b -> 2}

[html]<b>Why</b>? {}

Just read.
"""


def test_gift(write: Write, load: Callable[..., Loaded]) -> None:
    questions, imported = load(write(GIFT))
    assert (imported.format, imported.faults) == ("gift", ())
    read = [(question.type, question.stem, question.options, question.answer) for question in questions.values()]
    assert read == [
        ("multichoice", r"Which {1} is \(x=1\)?", ("yes", "no", "never"), "A"),
        ("numerical", "2 + 2", (), "4"),
        ("truefalse", "It is true.", ("True", "False"), "A"),
        ("shortanswer", "Two plus ____ is four.", (), "two"),
        ("matching", "Match.\n1. a\n2. b", ("1", "2"), "1-A, 2-B"),
        ("essay", "Why?", (), None),
        ("description", "Just read.", (), None),
    ]
    first, number, _, short = list(questions.values())[:4]
    assert (first.knowledge, first.extras) == ((("Algebra", "Sums"),), {"name": "first"})
    assert (number.extras, short.extras) == ({"tolerance": "0.1"}, {"accepted": ["2"]})
    assert first.analysis == "Because.\nA: good"


Read = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a text as a format, checks the faults' messages, and returns the records."""

    def read(name: str, text: str, *faults: str) -> list[dict[str, Any]]:
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        job = Job(open_source(tmp_path / "a.txt"), FigureFolder(tmp_path))
        records = [draft.record for draft in reader(name)(job)]
        assert [fault.message for fault in job.faults] == list(faults)
        return records

    return read


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\\ and \\n", r"\ and \n"),
        (r"a\\nb\nc", "a\\nb\nc"),
        (r"\{\}\=\~\#\:", "{}=~#:"),
        (r"\\(\\frac\{1\}\{2\} \\neq x\\)", r"\(\frac{1}{2} \neq x\)"),  # as Moodle exports it
        (r"a\nis\\[\\begin\{array\}x\n\\nu\\end\{array\}\\]", "a\nis\\[\\begin{array}x\n\\nu\\end{array}\\]"),
        (r"$a \neq b$, $\nabla f \ni \nu$", r"$a \neq b$, $\nabla f \ni \nu$"),  # as people type it
        (r"\(\not< \neg x\n+ y\)", "\\(\\not< \\neg x\n+ y\\)"),
    ],
)
def test_gift_escapes(read: Read, written: str, text: str) -> None:
    (record,) = read("gift", f"::a {written}:: b {written} {{~c {written} =d#{written}}}")
    assert (record["extras"]["name"], record["stem"]) == (f"a {text}", f"b {text}")
    assert (record["options"], record["answer"], record["analysis"]) == ([f"c {text}", "d"], "B", f"B: {text}")


@pytest.mark.parametrize(
    ("block", "stem", "options", "answer"),
    [
        (r"Solve $\frac{1}{2}x = 3$ {=6}", r"Solve $\frac{1}{2}x = 3$", [], "6"),
        (r"Is {~$\frac{1}{2}#$ =\(y=2~z\)} so for $z = {1}$?", "Is ____ so for $z = {1}$?",
         [r"$\frac{1}{2}#$", r"\(y=2~z\)"], "B"),
        ("Map {=$x -> y$ -> a =$a->b=c$->$2->{3}$}", "Map\n1. $x -> y$\n2. $a->b=c$", ["$2->{3}$", "a"], "1-B, 2-A"),
        ("It costs $5. {=$6 ~$x=7$ ~$8}", "It costs $5.", ["$6", "$x=7$", "$8"], "A"),
        ("How many $ {~5$ =6$} or so?", "How many $ ____ or so?", ["5$", "6$"], "B"),
    ],
)  # fmt: skip
def test_gift_marks_are_outside_of_formulas(read: Read, block: str, stem: str, options: list[str], answer: str) -> None:
    (record,) = read("gift", block)
    assert (record["stem"], record.get("options", []), record["answer"]) == (stem, options, answer)


@pytest.mark.parametrize(
    ("answers", "options", "answer", "extras"),
    [
        ("=%50%half =right =%100%also", [], "right", {"accepted": ["also"], "partial": {"half": 50.0}}),
        ("=right ~%50%half ~%-50%no", ["right", "half", "no"], "A", {}),
        ("~%50%a ~%25%b ~%-100%c ~d", list("abcd"), "A, B", {}),
        ("plain", [], "plain", {}),
        ("a ~b =c", list("abc"), "C", {}),
    ],
)
def test_gift_shares(read: Read, answers: str, options: list[str], answer: str, extras: dict[str, object]) -> None:
    (record,) = read("gift", f"Which? {{{answers}}}")
    assert (record.get("options", []), record["answer"], record.get("extras", {})) == (options, answer, extras)


def test_no_answer_of_gift_counts_whole(read: Read) -> None:
    (record,) = read("gift", "Which? {=%50%half =%50%other}", "none counts whole; the best, of 50 %, is taken")
    assert (record["answer"], record["extras"]) == ("half", {"accepted": ["other"]})


@pytest.mark.parametrize(
    ("answers", "analysis"),
    [
        ("~a#no =b ~c#<b>never</b> #### All.", "All.\nA: no\nC: never"),
        ("FALSE#It is false.#Right. #### All.", "All.\nIt is false.\nRight."),
        ("=a#good =%50%b#nearly", "good\nnearly"),
        ("#=4:0.1#good =%50%4:1#nearly ~#no", "good\nnearly\nno"),
        ("#### All.", "All."),
        ("T", None),
    ],
)
def test_gift_feedback_is_the_analysis(read: Read, answers: str, analysis: str | None) -> None:
    (record,) = read("gift", f"Which? {{{answers}}}")
    assert record["analysis"] == analysis


def test_gift_figures_lie_beside_the_file(
    write: Write, load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    (tmp_path / "a b.png").write_bytes(picture(1))
    (tmp_path / "b.png").write_bytes(picture(2))
    text = (
        '::T:: See <img src="@@PLUGINFILE@@/a%20b.png"> it. {=x ~[html]y <img src\\="b.png">}\n\n'
        '::U:: Why <img src="@@PLUGINFILE@@/gone.png">? {=x#<img src\\="b.png"> yes =y}'
    )
    questions, imported = load(write(text, "quiz.gift"))
    first, second = questions.values()
    assert (first.stem, first.options) == ("See it.", ("x", "y"))
    assert [Path(image).read_bytes() for image in first.images] == [picture(1), picture(2)]
    assert (second.extras, second.images) == ({"name": "U", "accepted": ["y"]}, ())
    assert sorted(faults(imported)) == [
        "quiz.gift:3: analysis: a figure of the feedback is not kept: 'b.png'",
        "quiz.gift:3: images: missing file: 'gone.png'",
    ]


def test_gift_braces_that_are_unclear(read: Read) -> None:
    text = "braces outside of formulas and without a backslash are taken for text"
    assert read("gift", "a {=b ~c", "no closing brace")[0]["options"] == ["b", "c"]
    assert read("gift", "a {=b} and {=c}", text)[0]["stem"] == "a ____ and {=c}"
    assert read("gift", "a {=x^{2}}", text)[0]["answer"] == "x^{2"


def test_aiken(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    text = "What is\n2+2?\nA. 3\nB) 4\nor so\nANSWER: B\n\nNext?\nA. x\nANSWER: C\nno answer\n"
    questions, imported = load(write(text))
    assert imported.format == "aiken"
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("What is\n2+2?", ("3", "4\nor so"), "B"),
        ("Next?", ("x",), None),
    ]
    assert faults(imported) == [
        "quiz.txt:10: answer: no option C",
        "quiz.txt:12: answer: no ANSWER line after the last question",
    ]


def test_aiken_that_moodle_refuses(read: Read) -> None:
    first, second, third = read(
        "aiken",
        "1 + 1?\na) 1\nb. 2\nAnswer: b\n\nA or B?\n(A) A\ne. coli\n(B) B\n\nANSWER : (b).\n\nNone?\nA.\nANSWER: no\n",
        "no single letter",
    )
    assert (first["stem"], first["options"], first["answer"]) == ("1 + 1?", ["1", "2"], "B")
    assert (second["stem"], second["options"], second["answer"]) == ("A or B?", ["A\ne. coli", "B"], "B")
    assert (third["options"], third["answer"]) == ([""], None)


def test_aiken_without_an_answer(read: Read) -> None:
    fault = "no ANSWER line before these options"
    text = "One?\nA. x\n\ngoes on\nB. y\n\nTwo,\n\nor three?\nA. p\nB. q\nNext?\nA. r\nB.\nANSWER: A\n"
    first, second, third = read("aiken", text, fault, fault)
    assert (first["stem"], first["options"], first["answer"]) == ("One?", ["x\ngoes on", "y"], None)
    assert (second["stem"], second["options"], second["answer"]) == ("Two,\nor three?", ["p", "q"], None)
    assert (third["stem"], third["options"], third["answer"]) == ("Next?", ["r", ""], "A")


def test_aiken_feedback_is_the_analysis(read: Read) -> None:
    first, second = read("aiken", "a\nA. x\nANSWER: A\nFEEDBACK: so\nit is\n\nb\nA. y\nANSWER: A")
    assert (first["analysis"], second["stem"]) == ("so\nit is", "b")


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("Question 1: Which?\nA. x\nAnswer: b", "text"),
        ("Q1. Which?", "text"),
        ("Aufgabe 1: Berechne 2+3.", "text"),
        ("第1題 求和", "text"),
        ("Question 12 of the exam", None),
        ("Which?\nA. x\nB. y\nanswer: b", "aiken"),
        ("1. Which?\nA. x\nB. y\nAnswer: B", "text"),
        ("1. Which?\nA. x\nB. y\nANSWER: B", "aiken"),
        ("\n \n\t::a:: b", "gift"),
        ("\n\n  第1题 求和", "text"),
        ("It is 1. of\n10. March", None),
    ],
)
def test_formats_are_told_apart(text: str, format: str | None) -> None:
    assert looks_like(text) == format


PIECES = [
    *("\n", " ", "\t\n", "{", "{ ", "=", ":", "::", "#", "%", "//\n", "答案", "1.", "1. ", "A.", "A.\n"),
    *("$", "$ ", "$1", "\\", "\\(", "\\\\[", "\\label[", "\\question[", "\\question\n", "\\section{"),
    *("\\documentclass[", "ANSWER:", "ANSWER: \n"),
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("before", ["", "a {=", "\\question a\n\\choice ", "a\nA. b\n"])
def test_time_is_linear(tmp_path: Path, before: str, piece: str) -> None:
    text = before + piece * (40_000 // len(piece))
    (tmp_path / "a.txt").write_text(text)
    start = time.process_time()
    looks_like(text)
    for name in ("gift", "aiken", "exam"):
        list(reader(name)(Job(open_source(tmp_path / "a.txt"), FigureFolder(tmp_path))))
    assert time.process_time() - start < 10  # quadratic: half a minute


def test_a_paper_as_text(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(write("Grade 8\n\n1. One?\nA. x\nB. y\n\n2. Two?\n\nAnswers\n1. B 2. none\n"))
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("One?", ("x", "y"), "B"),
        ("Two?", (), "none"),
    ]
    assert faults(imported) == ["quiz.txt:1: paragraph: part of no question: 'Grade 8'"]


@pytest.mark.parametrize("mark", ["1. ", "1．", "第1题"])
def test_a_chinese_paper_in_its_old_encoding(load: Callable[..., Loaded], tmp_path: Path, mark: str) -> None:
    (tmp_path / "paper.txt").write_bytes(f"{mark}求方程的解，并说明理由。\n答案：三\n".encode("gb18030"))
    (question,) = load(tmp_path / "paper.txt")[0].values()
    assert (question.stem, question.answer) == ("求方程的解，并说明理由。", "三")


def test_pdf(load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(tmp_path / "paper.pdf") as pages:
        for lines in (["1. What is drawn?", "", "A. a line  B. a word", "Answer: A", "2. Two?"], []):
            figure = plt.figure(figsize=(4, 3))
            for number, line in enumerate(lines):
                figure.text(0.1, 0.9 - number * 0.15, line)
            if lines:
                figure.figimage(
                    plt.imread(tmp_path / "a.png") if (tmp_path / "a.png").exists() else [[0.0, 1.0]] * 8, 90, 210
                )
            pages.savefig(figure)
            plt.close(figure)
    questions, imported = load(tmp_path / "paper.pdf")
    first, second = questions.values()
    assert (first.stem, first.options, first.answer) == ("What is drawn?", ("a line", "a word"), "A")
    assert (len(first.images), second.stem, second.images) == (1, "Two?", ())
    assert imported.unread == 1
    assert faults(imported)[-1] == "paper.pdf#2:0: record: a page without text, perhaps scanned"


def test_the_furniture_of_pages(load: Callable[..., Loaded], faults: Callable, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_pdf import PdfPages

    pages = (
        ["Maths", "1. Which?", "A. x", "B. y", "1"],
        ["Maths", "Part II", "", "2. Which?", "2"],
        ["C", "Page 3 of 3"],
    )
    with PdfPages(tmp_path / "paper.pdf") as document:
        for number, lines in enumerate(pages):
            figure = plt.figure(figsize=(4, 3))
            for place, line in enumerate(lines):
                figure.text(0.1, 0.9 - place * 0.15 if line != "C" else 0.5, line)
            if number == 1:
                figure.figimage([[0.0, 1.0]] * 8, 90, 155)
            document.savefig(figure)
            plt.close(figure)
    questions, imported = load(tmp_path / "paper.pdf")
    assert [(question.stem, question.options) for question in questions.values()] == [
        ("Which?", ("x", "y")),
        ("Which?\nC", ()),
    ]
    assert faults(imported) == [
        "paper.pdf#1:0: paragraph: a running head, at one height on 2 pages, is dropped: 'Maths'",
        "paper.pdf#2:0: paragraph: part of no question: a figure",
    ]
