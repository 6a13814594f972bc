r"""Documents in LaTeX's exam class: formulas, tables, blanks, parts with choices, and texts between questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import picture
from tqnet.importers.exam import read_exam
from tqnet.importers.figures import FigureFolder
from tqnet.importers.job import Job
from tqnet.importers.source import open_source

Read = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a document, checks the faults' messages, and returns the records."""

    def read(text: str, *faults: str) -> list[dict[str, Any]]:
        (tmp_path / "a.tex").write_text(text, encoding="utf-8")
        job = Job(open_source(tmp_path / "a.tex"), FigureFolder(tmp_path))
        records = [draft.record for draft in read_exam(job)]
        assert [fault.message for fault in job.faults] == list(faults)
        return records

    return read


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


def test_exam(load: Callable[..., Loaded], tmp_path: Path) -> None:
    (tmp_path / "fig.png").write_bytes(picture(1))
    (tmp_path / "quiz.tex").write_text(EXAM)
    questions, imported = load(tmp_path / "quiz.tex")
    assert (imported.format, imported.faults) == ("exam", ())
    first, second = questions.values()
    assert (first.stem, first.options, first.answer) == ("Find $x$ if\n$\\frac{x}{2}=1$.", ("$1$", "two"), "B")
    assert first.extras == {"section": "Sums", "points": "3"}
    assert Path(first.images[0]).read_bytes() == picture(1)
    assert second.stem == "Solve.\n(a) $a=____$\n(b) \\begin{align*} b &= 1 \\end{align*}"
    assert (second.answer, second.analysis) == ("5", "Easy.")


@pytest.mark.parametrize(
    ("source", "stem"),
    [
        ("\\begin{align*}\nx&=1\\\\ % c\ny&=2\n\\end{align*}", "\\begin{align*}\nx&=1\\\\\ny&=2\n\\end{align*}"),
        ("\\[\\begin{array}{c} 1 \\\\\n2 \\end{array}\\]", "\\[\\begin{array}{c} 1 \\\\\n2 \\end{array}\\]"),
        ("one\\\\two \\\\% c\nthree", "one\ntwo\nthree"),
        (
            "\\begin{tabular}{|p{2cm}|c|}\\hline $a & b$ & \\textbf{c} \\\\ \\hline\n"
            "\\multicolumn{1}{c}{d \\& e} & f\n\\end{tabular}",
            "$a & b$ | c\nd \\& e | f",
        ),
        ("\\begin{tabularx}{3cm}{cc} 1 & 2 \\end{tabularx}", "1 | 2"),
        (r"$\underline{AB}+\textrm{cm}\hspace{1cm}x$ \textbf{$y$}", r"$\underline{AB}+\textrm{cm}\hspace{1cm}x$ $y$"),
        ("\\underline{\\hspace{2cm}} or \\underline{\\phantom{xxx}}", "____ or ____"),
        ("\\rule{2cm}{0.4pt} is\\rule{0pt}{3ex} 50\\%", "____ is 50\\%"),
        ("\\begin{verbatim}\n  if x: % 5\n\\end{verbatim}", "  if x: % 5"),
        ("\\begin{minipage}[t]{5cm} It \\end{minipage} is", "It is"),
    ],
)  # fmt: skip
def test_exam_texts(read: Read, source: str, stem: str) -> None:
    (record,) = read(f"\\begin{{questions}}\n\\question {source}\n\\end{{questions}}")
    assert record["stem"] == stem


def test_exam_answers_and_titles(read: Read) -> None:
    named, bonus, parts, twice, blank = read(
        r"""\begin{questions}
        \titledquestion{Cities}[2] Capital \fillin[Paris][2cm] of \answerline[$\{1\}$]
        \bonusquestion[3] More? \begin{choices}\choice a \CorrectChoice b\end{choices}
        \question Both \begin{parts}
        \part p \begin{choices}\CorrectChoice a \choice b\end{choices}
        \part q \begin{choices}\choice c \CorrectChoice d\end{choices}
        \end{parts}
        \question Or \fillin[x] \begin{choices}\choice x \CorrectChoice y\end{choices}
        \question Or \fillin[B] \begin{choices}\choice x \choice y\end{choices}
        \end{questions}""",
        "'x' in the blanks, but the right choice is B",
    )
    assert (named["stem"], named["answer"], named["extras"]) == (
        "Capital ____ of",
        r"Paris; $\{1\}$",
        {"name": "Cities", "points": "2"},
    )
    assert (bonus["options"], bonus["answer"], bonus["extras"]) == (["a", "b"], "B", {"points": "3", "bonus": True})
    assert (parts["stem"], parts["options"], parts["answer"]) == (
        "Both\n(a) p\nA. a\nB. b\n(b) q\nA. c\nB. d",
        [],
        "(a) A; (b) B",
    )
    assert (twice["answer"], blank["answer"]) == ("B", "B")


def test_exam_texts_between_questions(read: Read) -> None:
    records = read(
        r"""\newcommand{\R}{R}\begin{document} Write your name.
        \begin{questions} \question a \R \begin{tikzpicture}\draw;\end{tikzpicture}
        \uplevel{Use $x$ {here}} \question b \begin{parts}\uplevel{c}\part d\end{parts}
        \begin{solution} \includegraphics{gone} e \end{solution}
        \begin{EnvFullwidth}More\end{EnvFullwidth}
        \end{questions} Between \question f \end{document} \question g""",
        r"macros of the document stay as they are: \R",
        "text outside of the questions: 'Write your name.'",
        "a drawing (tikzpicture) is not read",
        "a figure of no stem is not kept: 'gone'",
        "text outside of the questions: 'Between'",
    )
    assert [(record["stem"], record["extras"].get("section")) for record in records] == [
        (r"a \R", None),
        ("b\nc\n(a) d", "Use $x$ {here}"),
        ("f", "More"),
    ]
    assert records[1]["analysis"] == "e"
