"""Sources of strangers: whatever they hold, the bank that is made of them can be read, and nothing else is written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml")

from tests.fuzz.doubling import in_xml
from tests.fuzz.texts import MARKUP, TEXTS, pieces
from tests.importers import word
from tests.importers.generators import moodle_answer, moodle_question, moodle_quiz, qti2_item
from tqnet.importers import import_bank
from tqnet.questions import BankError, QuestionBank

_GIFT = [
    "::a::",
    "Which? ",
    "{",
    "}",
    "=",
    "~",
    "#",
    "%50%",
    "->",
    "T",
    "\n\n",
    "$CATEGORY: a/b\n",
    "//",
    "[html]",
    "####",
]
_EXAM = [
    *(
        "\\begin{questions}",
        "\\end{questions}",
        "\\question",
        "[2]",
        " a ",
        "\\begin{choices}",
        "\\end{choices}",
        "\\part",
    ),
    *("\\choice", "\\CorrectChoice", "\\fillin[x]", "\\begin{solution}", "\\end{solution}", "\\includegraphics{../a}"),
    *("\\begin{tabular}{ll}", "\\end{tabular}", "&", "\\\\", "$x$", "{", "}", "%", "\n", "\\verb|x|"),
]
_PAPER = [
    "1. ",
    "2. ",
    "Which?",
    "\n",
    "\n\n",
    "A. ",
    "B) ",
    "x",
    "Answers\n",
    "1. B",
    "Part II\n",
    "（1）",
    "答案：",
    "ANSWER: A\n",
]
_CELLS = ["stem", "options", "answer", "id", ",", ";", "\n", '"', "A. x", "1", "image", "../a.png", "\t"]
_XML = [
    "<quiz>",
    "</quiz>",
    "<question type='essay'>",
    "</question>",
    "<text>",
    "</text>",
    "<!DOCTYPE a [<!ENTITY b 'c'>]>",
    "&b;",
]


def _check(file: str, content: str | bytes, format: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in", file), Path(folder, "out")
        source.parent.mkdir()
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = sorted(Path(folder).rglob("*"))
        try:
            imported = import_bank(source, out, format=format)
        except (BankError, ValueError):  # no question at all, no column for the stem
            assert sorted(Path(folder).rglob("*")) == before
            return
        assert len(QuestionBank.load(out, verify_images=True)) == imported.questions
        assert all(fault.field and fault.message for fault in imported.faults)
        assert [path for path in Path(folder).iterdir() if path.name not in ("in", "out")] == []


@given(st.one_of(pieces(_GIFT), TEXTS))
def test_gift(text: str) -> None:
    _check("quiz.gift", text, "gift")


@given(st.one_of(pieces(_EXAM), TEXTS))
def test_exam(text: str) -> None:
    _check("exam.tex", text, "exam")


@given(st.one_of(pieces(_PAPER), TEXTS), st.sampled_from(["text", "aiken"]))
def test_papers(text: str, format: str) -> None:
    _check("paper.txt", text, format)


@given(st.one_of(pieces(_CELLS), TEXTS.map("stem,answer\n{}".format)))
def test_tables(text: str) -> None:
    _check("bank.csv", text, "csv")


@given(st.sampled_from(["multichoice", "shortanswer", "cloze", "matching", "gapselect"]), MARKUP, MARKUP)
def test_moodle(kind: str, stem: str, answer: str) -> None:
    question = moodle_question(kind, stem, moodle_answer(answer, 100))
    _check("quiz.xml", moodle_quiz(question, moodle_question("essay", "Why?")), "moodle")


@given(pieces(_XML))
def test_moodle_as_xml(text: str) -> None:
    _check("quiz.xml", text, "moodle")


@given(MARKUP)
def test_qti(markup: str) -> None:
    _check("item.xml", qti2_item("a", markup), "qti")


@given(st.lists(st.one_of(pieces(_PAPER), TEXTS), max_size=6))
def test_word(paragraphs: list[str]) -> None:
    blocks = [f"<w:p><w:r><w:t>{in_xml(text)}</w:t></w:r></w:p>" for text in paragraphs]
    with tempfile.TemporaryDirectory() as folder:
        document = word.write_docx(Path(folder, "paper.docx"), word.paragraph("1. Which?"), *blocks)
        _check("paper.docx", document.read_bytes(), "docx")
