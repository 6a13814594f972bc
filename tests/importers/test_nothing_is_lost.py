"""Whatever an importer reads, a question, formula or figure that does not arrive has a line in the report."""

from __future__ import annotations

import base64
import html
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.generators import moodle_quiz, picture
from tqnet.importers import import_bank
from tqnet.questions import QuestionBank

#: A word that must arrive, and how editors may write it.
_KATEX = "<math><semantics><mi>{0}</mi><annotation encoding='application/x-tex'>{0}</annotation></semantics></math>"
_FORMULAS = [
    "${}$",
    r"\({}\)",
    "<math><mi>{}</mi></math>",
    "<img class='equation_image' src='/e' data-equation-content='{}'>",
    "<script type='math/tex'>{}</script>",
    f"<span class='katex'>{_KATEX}<span aria-hidden='true'>x</span></span>",
    "«math»«mi»{}«/mi»«/math»",
    "[tex]{}[/tex]",
]
_PLAIN = [
    *("{}", "<b>{}</b>", "<td>{}", "<li>{}", "&lt;{}&gt;", "<p>{}", "<sup>{}</sup>", "<unknown>{}</unknown>", "a<{}"),
    *("<o:p>{}</o:p>", "<select><option>{}", "<pre>{}", "<h1>{}</h1>", "<!-- x -->{}"),
    *("<title>{}", "<map>{}</map>", "<u>{}</u>", "$5 <i>{}</i> $6", "{{mlang en}}{}{{mlang}}", "<area of <b>{}</b>>"),
]
_FIGURES = [
    "<img src='data:image/png;base64,{}'>",
    "<img alt='' src='http://example.org/{}.png'>",
    "![it](gone{}.png)",
]


@dataclass
class Stem:
    """A text, the words in it, the figures embedded in it, and how many lie elsewhere."""

    text: str
    words: list[str]
    embedded: set[int]
    elsewhere: int


@st.composite
def stems(draw: Callable) -> Stem:
    stem, pieces = Stem("", [], set(), 0), []
    for form in draw(st.lists(st.sampled_from([*_FORMULAS, *_PLAIN, *_FIGURES]), min_size=1, max_size=5)):
        if "base64" in form:
            shade = draw(st.integers(0, 9))
            stem.embedded.add(shade)
            pieces.append(form.format(base64.b64encode(picture(shade)).decode()))
        elif form in _FIGURES:
            stem.elsewhere += 1
            pieces.append(form.format(stem.elsewhere))
        else:
            stem.words.append("w" + draw(st.text("abcdeghkmqruvz", min_size=3, max_size=5)))
            pieces.append(form.format(stem.words[-1]))
    stem.text = f"w {' '.join(pieces)}"
    return stem


def _jsonl(folder: Path, texts: list[str]) -> Path:
    lines = (json.dumps({"question": text, "answer": "1"}) for text in texts)
    (folder / "bank.jsonl").write_text("\n".join(lines))
    return folder / "bank.jsonl"


def _moodle(folder: Path, texts: list[str]) -> Path:
    questions = (
        f'<question type="essay"><questiontext format="html"><text>{html.escape(text)}</text></questiontext></question>'
        for text in texts
    )
    (folder / "quiz.xml").write_text(moodle_quiz(*questions))
    return folder / "quiz.xml"


def _csv(folder: Path, texts: list[str]) -> Path:
    lines = (f'"{text.replace(chr(34), chr(34) * 2)}",1' for text in texts)
    (folder / "bank.csv").write_text("\n".join(["question,answer", *lines]))
    return folder / "bank.csv"


@pytest.mark.parametrize("write", [_jsonl, _moodle, _csv])
@settings(max_examples=40, deadline=None)
@given(made=st.lists(stems(), min_size=1, max_size=4))
def test_words_and_figures_arrive_or_are_reported(write: Callable[[Path, list[str]], Path], made: list[Stem]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        imported = import_bank(write(folder, [stem.text for stem in made]), folder / "bank")
        questions = list(QuestionBank.load(folder / "bank"))
    assert (len(questions), imported.left_out) == (len(made), 0)
    for question, stem in zip(questions, made, strict=True):
        assert all(word in question.stem for word in stem.words)
        assert len(question.images) == len(stem.embedded)
    assert len(imported.faults) == sum(stem.elsewhere for stem in made)


@settings(max_examples=60, deadline=None)
@given(damage=st.lists(st.sampled_from(["", "", " & ", "\x07", "</p></td>", "<table><tr>", "<!--", "]]>"]), max_size=6))
def test_damaged_questions_are_counted(damage: list[str]) -> None:
    template = '<question type="essay"><questiontext><text>q{}</text></questiontext></question>'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "quiz.xml").write_text(moodle_quiz(template.format("ok"), *map(template.format, damage)))
        imported = import_bank(folder / "quiz.xml", folder / "bank")
    assert imported.questions + imported.left_out == len(damage) + 1
    assert imported.unread == imported.left_out <= sum(bad not in ("", " & ", "\x07") for bad in damage)
    assert len(imported.faults) == sum(bad != "" for bad in damage)
