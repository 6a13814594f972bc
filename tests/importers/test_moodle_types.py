"""Moodle's types of questions: answers right in part, texts of unusual types, gaps, texts with unescaped markup."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import moodle_answer, moodle_question, moodle_quiz, moodle_text, picture
from tqnet.importers.moodle_export import export_moodle
from tqnet.importers.moodle_types import cloze
from tqnet.questions import QuestionBank


@pytest.mark.parametrize(
    ("text", "filled", "answers"),
    [
        ("{1:SA:=x~%50%y#half}!", "_!", ["x"]),
        ("{:MCS:a~=b\\}c~d}", "_ (a / b}c / d)", ["b}c"]),
        ("{2:NUMERICAL:%100%-1.5:0.1}", "_", ["-1.5"]),
        ("{1:MR:=a~=b~c}", "_ (a / b / c)", ["a and b"]),
        ("{x:1} and \\{1:SA:=a}", "{x:1} and \\{1:SA:=a}", []),
        ("{1:SA:wrong}", "_", [""]),
        (
            r"{1:MC:=\(\frac{1}{\sqrt{2}}\)#yes~b} {1:SA:=a{b}",
            r"_ (\(\frac{1}{\sqrt{2}}\) / b) _",
            [r"\(\frac{1}{\sqrt{2}}\)", "a{b"],
        ),
        (r"{1:MC:=\(\frac{1\}{2\}\)~\(\pi\)}", r"_ (\(\frac{1}{2}\) / \(\pi\))", [r"\(\frac{1}{2}\)"]),
        ("{1:NUMERICAL:=3e-2:1e-3~%50%.5:.1}", "_", ["3e-2"]),
        (r"{1:MC:=\(\{1,2\\}\)~\(\{3\\}\)} {1:SA:=b}", r"_ (\(\{1,2\}\) / \(\{3\}\)) _", [r"\(\{1,2\}\)", "b"]),
        (r"{1:SA:=\{\frac{1}{x_{2}}\\}}.", "_.", [r"\{\frac{1}{x_{2}}\}"]),
        (r"{1:SA:=\sqrt{\{2\\}}}.", "_.", [r"\sqrt{\{2\}}"]),
        (r"{1:MC:=\sqrt{5\}~\frac{1\}{2\}}. {1:SA:=3}", r"_ (\sqrt{5} / \frac{1}{2}). _", [r"\sqrt{5}", "3"]),
        (r"{1:SA:=never\}" + r"x{a\}" * 50, r"{1:SA:=never\}" + r"x{a\}" * 50, []),
    ],
)
def test_gaps(text: str, filled: str, answers: list[str]) -> None:
    assert cloze(text, "_") == (filled, answers)


def test_fractions(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    """One that counts in part is not the answer where one counts whole."""
    answers = [moodle_answer("a", 50), moodle_answer("b", 100), moodle_answer("c", 0)]
    document = moodle_quiz(moodle_question("multichoice", "?", "<single>true</single>", *answers))
    assert load(quiz(document))[0]["quiz-1"].answer == "B"


def test_markup_that_nobody_escaped(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    """Texts with elements, and elements without a text, are read whole."""
    stem = "<questiontext format='html'><text>Solve <b>for</b> x<sup>2</sup> &lt; 4.</text></questiontext>"
    bare = "<questiontext format='html'><p>Bare <i>words</i></p></questiontext>"
    answers = (
        "<answer fraction='100'>two<feedback><text>Good.</text></feedback></answer>",
        "<answer fraction='0'><text>y<sub>1</sub></text></answer>",
    )
    document = moodle_quiz(
        *(
            f"<question type='multichoice'><name>Name</name>{text}{''.join(answers)}</question>"
            for text in (stem, bare)
        ),
        f"<question type='shortanswer'>{bare}{answers[0]}</question>",
    )
    questions, imported = load(quiz(document))
    assert imported.faults == ()
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("Solve for x^2 < 4.", ("two", "y_1"), "A"),
        ("Bare words", ("two", "y_1"), "A"),
        ("Bare words", (), "two"),
    ]
    assert (questions["quiz-1"].analysis, questions["quiz-1"].extras) == ("A: Good.", {"name": "Name"})


def test_several_right_answers_and_those_right_in_part(
    quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    answers = [moodle_answer(text, share) for text, share in (("-5", 100), ("5", 100), ("4.9", 40), ("0", 0))]
    choices = [moodle_answer(text, share) for text, share in (("a", 30), ("b", 60), ("c", 0))]
    document = moodle_quiz(
        moodle_question("numerical", "A root of 25?", *answers),
        moodle_question("multichoice", "Best?", "<single>true</single>", *choices),
        moodle_question("cloze", "{1:SA:%50%half}"),
    )
    before, imported = load(quiz(document))
    root, best, gap = before.values()
    assert (root.answer, root.extras) == ("-5", {"name": "Any", "accepted": ["5"], "partial": {"4.9": 40}})
    assert (best.answer, best.extras["partial"], gap.answer) == ("B", {"A": 30}, "half")
    assert [line.split(": ", 1)[1] for line in faults(imported)] == [
        "answer: none counts whole; the best, of 60 %, is taken",
        "questiontext: gap 1: none counts whole; the best, of 50 %, is taken",
    ]
    assert export_moodle(QuestionBank.load(tmp_path / "bank"), tmp_path / "back.xml") == (3, [])
    after, _ = load(tmp_path / "back.xml", out="again")
    assert [(question.answer, question.extras) for question in after.values()] == [
        (question.answer, question.extras) for question in before.values()
    ]


def test_texts_of_other_types(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    """Parts of Formulas, rows of choices, drags and what they go onto, choices that are figures."""
    parts = "".join(
        f"<answers><placeholder><text>{name}</text></placeholder>{moodle_text('subqtext', f'part {i}')}</answers>"
        for i, name in enumerate(("#1", "", "#3"))
    )
    rows = "".join(f"<row number='{i}'>{moodle_text('optiontext', f'row {i}')}</row>" for i in (1, 2))
    ground = f"<file name='bg.png' encoding='base64'>{base64.b64encode(picture(1)).decode()}</file>"
    drags = "".join(f"<drag><no>{i}</no><text>drag {i}</text></drag>" for i in (1, 2))
    images = (f'<img src="@@PLUGINFILE@@/{name}.png">' for name in "abc")
    gap = "{}See {{1:MC:={}~%50%{}~no}}.".format(*images)
    files = {f"{name}.png": picture(number) for number, name in enumerate("abc", 2)}
    document = moodle_quiz(
        moodle_question("formulas", "First {#1}, then", parts),
        moodle_question("mtf", "Rate.", f"<rows>{rows}</rows>"),
        moodle_question("ddimageortext", "Drag.", ground, drags),
        moodle_question("cloze", gap, files=files),
        moodle_question(
            "gapfill", "The [cat|dog] in [0, 1] is [red].", moodle_answer("cat|dog", 100), moodle_answer("red", 100)
        ),
    )
    formulas, table, drawing, cloze_, gaps = load(quiz(document))[0].values()
    assert formulas.stem == "First part 0, then\npart 1\npart 2"
    assert (table.options, drawing.options) == (("row 1", "row 2"), ("drag 1", "drag 2"))
    assert [Path(image).read_bytes() for image in drawing.images] == [picture(1)]
    assert (cloze_.stem, cloze_.answer) == ("See ____ ((figure 2) / (figure 3) / no).", "(figure 2)")
    assert len(cloze_.images) == 3
    assert (gaps.stem, gaps.answer) == ("The ____ in [0, 1] is ____.", "1: cat / dog; 2: red")
