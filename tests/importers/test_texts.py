r"""GIFT, Aiken, LaTeX's exam class, papers as text, and PDF, written here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import picture

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
    assert (first.analysis, first.knowledge, first.extras) == ("Because.", (("Algebra", "Sums"),), {"name": "first"})
    assert (number.extras, short.extras) == ({"tolerance": "0.1"}, {"accepted": ["2"]})


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


EXAM = r"""\documentclass{exam}
\begin{document}
\section{Sums}
\begin{questions}
\question[3] Find $x$ if % a comment
  $\frac{x}{2}=1$. \includegraphics[width=3cm]{fig}
  \begin{choices}
    \choice $1$
    \CorrectChoice \textbf{two}
  \end{choices}
\question Solve.
  \begin{parts}
    \part $a=\fillin[5][2cm]$
    \part \begin{align*} b &= 1 \end{align*}
  \end{parts}
  \begin{solution} Easy. \end{solution}
\end{questions}
\end{document}
"""


def test_exam(write: Write, load: Callable[..., Loaded], tmp_path: Path) -> None:
    (tmp_path / "fig.png").write_bytes(picture(1))
    questions, imported = load(write(EXAM, "quiz.tex"))
    assert (imported.format, imported.faults) == ("exam", ())
    first, second = questions.values()
    assert (first.stem, first.options, first.answer) == ("Find $x$ if\n$\\frac{x}{2}=1$.", ("$1$", "two"), "B")
    assert first.extras == {"section": "Sums", "points": "3"}
    assert Path(first.images[0]).read_bytes() == picture(1)
    assert second.stem == "Solve.\n(a) $a=____$\n(b) \\begin{align*} b &= 1 \\end{align*}"
    assert (second.answer, second.analysis) == ("5", "Easy.")


def test_a_paper_as_text(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(write("Grade 8\n\n1. One?\nA. x\nB. y\n\n2. Two?\n\nAnswers\n1. B 2. none\n"))
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("One?", ("x", "y"), "B"),
        ("Two?", (), "none"),
    ]
    assert faults(imported) == ["quiz.txt:1: paragraph: part of no question: 'Grade 8'"]


def test_a_chinese_paper_in_its_old_encoding(load: Callable[..., Loaded], tmp_path: Path) -> None:
    (tmp_path / "paper.txt").write_bytes("1. 求方程的解，并说明理由。\n答案：三\n".encode("gb18030"))
    (question,) = load(tmp_path / "paper.txt", format="text")[0].values()
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
