"""QTI 1.2: Canvas cartridges, Blackboard pools, scores, blanks and matches."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import (
    picture,
    write_zip,
)
from tqnet.questions import BankError


def qti1_item(kind: str, stem: str, *parts: str, scored: str = "") -> str:
    """An item as Canvas writes it."""
    label = (
        f"<qtimetadatafield><fieldlabel>question_type</fieldlabel><fieldentry>{kind}</fieldentry></qtimetadatafield>"
    )
    text = f'<material><mattext texttype="text/html">{html.escape(stem)}</mattext></material>'
    conditions = f"<resprocessing><outcomes><decvar/></outcomes>{scored}</resprocessing>"
    metadata = f"<itemmetadata><qtimetadata>{label}</qtimetadata></itemmetadata>"
    body = f"{metadata}<presentation>{text}{''.join(parts)}</presentation>{conditions}"
    return f'<item ident="{kind}" title="Quiz">{body}</item>'


def qti1_choices(name: str, *choices: str, prompt: str = "") -> str:
    labels = "".join(
        f'<response_label ident="{name}{number}"><material><mattext>{choice}</mattext></material></response_label>'
        for number, choice in enumerate(choices)
    )
    material = f"<material><mattext>{prompt}</mattext></material>" if prompt else ""
    return f'<response_lid ident="{name}">{material}<render_choice>{labels}</render_choice></response_lid>'


def qti1_scored(*equal: tuple[str, str], score: int = 100) -> str:
    values = "".join(f'<varequal respident="{name}">{value}</varequal>' for name, value in equal)
    return f"<respcondition><conditionvar>{values}</conditionvar><setvar>{score}</setvar></respcondition>"


def test_a_cartridge_of_canvas(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    blank = '<response_str ident="r"><render_fib><response_label ident="x"/></render_fib></response_str>'
    right = "<varequal respident='c'>c0</varequal><varequal respident='c'>c2</varequal>"
    several = f"<and>{right}<not><varequal respident='c'>c1</varequal></not></and>"
    several = f"<respcondition><conditionvar>{several}</conditionvar><setvar>100</setvar></respcondition>"
    figure = "<p>Which?<img src='$IMS-CC-FILEBASE$/a%20b.png?x=1'></p>"
    items = (
        qti1_item("choice", figure, qti1_choices("r", "4", "5"), scored=qti1_scored(("r", "r1"))),
        qti1_item("answers", "Which are odd?", qti1_choices("c", "1", "2", "3"), scored=several),
        qti1_item("short", "Say it.", blank, scored=qti1_scored(("r", "one"), ("r", "1"))),
        qti1_item(
            "matching",
            "Match.",
            qti1_choices("a", "x", "y", prompt="first"),
            qti1_choices("b", "x", "y", prompt="second"),
            scored=qti1_scored(("a", "a1"), score=50) + qti1_scored(("b", "b0"), score=50),
        ),
        qti1_item(
            "dropdowns",
            "A [u] sees a [v].",
            qti1_choices("d", "cat", "dog", prompt="u"),
            qti1_choices("e", "mouse", prompt="v"),
            scored=qti1_scored(("d", "d0"), score=50) + qti1_scored(("e", "e0"), score=50),
        ),
        qti1_item("essay", "Why?", '<response_str ident="r"><render_fib/></response_str>'),
        qti1_item("hotspot", "Where?", "<response_xy/>"),
    )
    document = (
        f'<questestinterop xmlns="x"><assessment><section>{"".join(items)}</section></assessment></questestinterop>'
    )
    file = '<file href="g1/assessment_qti.xml"/>'
    resources = f'<resource identifier="g1" type="imsqti_xmlv1p2/imscc_xmlv1p1/assessment">{file}</resource>'
    parts = {
        "imsmanifest.xml": f"<manifest><resources>{resources}</resources></manifest>",
        "g1/assessment_qti.xml": document,
        "non_cc_assessments/g1.xml.qti": document,
        "web_resources/a b.png": picture(1),
    }
    questions, imported = load(write_zip(tmp_path / "course.imscc", parts))
    assert [(question.id, question.stem, question.options, question.answer) for question in questions.values()] == [
        ("choice", "Which?", ("4", "5"), "B"),
        ("answers", "Which are odd?", ("1", "2", "3"), "A, C"),
        ("short", "Say it.", (), "one"),
        ("matching", "Match.\n1. first\n2. second", ("x", "y"), "1-B, 2-A"),
        ("dropdowns", "A ____(1) sees a ____(2).", (), "1: cat; 2: mouse"),
        ("essay", "Why?", (), None),
        ("hotspot", "Where?", (), None),
    ]
    assert Path(questions["choice"].images[0]).read_bytes() == picture(1)
    assert questions["short"].extras == {"title": "Quiz", "accepted": ["1"]}
    assert faults(imported) == ["g1.xml.qti:1: presentation: the response to <response_xy> is not read"]


def test_a_pool_of_blackboard(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    def material(text: str, kind: str = "HTML") -> str:
        text = html.escape(text)
        return f'<mat_extension><mat_formattedtext type="{kind}">{text}</mat_formattedtext></mat_extension>'

    choices = material("a < b", "PLAIN_TEXT"), material("<b>4</b>")
    item = (
        qti1_item("x", "", qti1_choices("response", *choices), scored=qti1_scored(("response", "response1")))
        .replace('<mattext texttype="text/html"></mattext>', material("<p>2<sup>2</sup>?</p>"))
        .replace("<mattext><mat_extension>", "<mat_extension>")
        .replace("</mat_extension></mattext>", "</mat_extension>")
        .replace("<setvar>100", "<setvar>SCORE.max")
    )
    kind, file = "assessment/x-bb-qti-pool", "res1.dat"
    resource = f'<resource xmlns:bb="http://www.blackboard.com/content-packaging/" bb:file="{file}" type="{kind}"/>'
    parts = {
        "imsmanifest.xml": f"<manifest><resources>{resource}</resources></manifest>",
        file: f"<questestinterop>{item}</questestinterop>",
    }
    questions, imported = load(write_zip(tmp_path / "pool.zip", parts))
    (question,) = questions.values()
    assert (question.stem, question.options, question.answer) == ("2^2?", ("a < b", "4"), "B")
    assert imported.faults == ()
    parts["imsmanifest.xml"] = '<manifest><resources><resource type="webcontent" href="a.html"/></resources></manifest>'
    with pytest.raises(BankError, match="no question; resources of the type 'webcontent' are not read"):
        load(write_zip(tmp_path / "other.zip", parts), out="other")


def qti1_file(path: Path, *items: str) -> Path:
    path.write_text(f"<questestinterop>{''.join(items)}</questestinterop>")
    return path


def test_scores_ranges_and_formulas(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    """Of single choices the best is right; a range is its middle, and a calculated answer its formula."""
    blank = '<response_str ident="r"><render_fib fibtype="Decimal"/></response_str>'
    bounds = '<vargte respident="r">2.5</vargte><varlte respident="r">3.5</varlte>'
    ranged = f"<respcondition><conditionvar>{bounds}</conditionvar><setvar>100</setvar></respcondition>"
    open_range = ranged.replace('<varlte respident="r">3.5</varlte>', "")
    formula = "<itemproc_extension><calculated><answer_tolerance>0.1</answer_tolerance><formulas><formula>5+x</formula>"
    calculated = qti1_item("calculated_question", "5 plus [x]?", blank).replace(
        "</item>", f"{formula}</formulas></calculated></itemproc_extension></item>"
    )
    half, full = qti1_scored(("c", "c0"), score=50), qti1_scored(("c", "c1"), score=100)
    single = qti1_choices("c", "True", "False")
    multiple = single.replace("<response_lid", '<response_lid rcardinality="Multiple"')
    items = (
        qti1_item("single", "Which?", single, scored=half + full),
        qti1_item("multiple", "Which?", multiple, scored=half + full),
        qti1_item("short", "Say.", blank, scored=qti1_scored(("r", "1")) + qti1_scored(("r", "one"), score=40)),
        qti1_item("range", "About?", blank, scored=ranged),
        qti1_item("endless", "About?", blank, scored=open_range),
        calculated,
        qti1_item("elsewhere", "Which?", single, scored=qti1_scored(("c", "c9"))),
    )
    questions, imported = load(qti1_file(tmp_path / "quiz.xml", *items))
    assert {name: question.answer for name, question in questions.items()} == {
        "single": "B",
        "multiple": "A, B",
        "short": "1",
        "range": "3",
        "endless": None,
        "calculated_question": "5+x",
        "elsewhere": None,
    }
    assert questions["short"].extras == {"title": "Quiz", "partial": {"one": 40}}
    assert questions["range"].extras == {"title": "Quiz", "tolerance": "0.5"}
    assert questions["calculated_question"].extras == {"title": "Quiz", "tolerance": "0.1"}
    assert faults(imported) == ["quiz.xml:1: r: no correct response", "quiz.xml:1: c: names no option: 'c9'"]


def test_blanks_and_markup_within_texts(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    def text(markup: str) -> str:
        return f"<material><mattext>{markup}</mattext></material>"

    content = base64.b64encode(picture(1)).decode()
    figure = f'<matimage imagtype="image/png" uri="a.png" embedded="base64">{content}</matimage>'
    first, second = (f'<response_str ident="{name}"><render_fib/></response_str>' for name in "rs")
    flow = f"<flow>{text('Paris is in ')}{first}{text(' and Rome in ')}{second}</flow>"
    items = (
        qti1_item(
            "dropdown", "x is [op] y.", qti1_choices("r", "more", "less", prompt="op"), scored=qti1_scored(("r", "r1"))
        ),
        f'<item ident="two"><presentation>{flow}</presentation></item>',
        f'<item ident="markup"><presentation>{text("2<sup>3</sup> is")}{first}</presentation></item>',
        qti1_item(
            *("matching_question", "Match.", qti1_choices("r", "Rome", "Paris", prompt="France")),
            scored=qti1_scored(("r", "r1")),
        ),
        qti1_item("embedded", "See.").replace("</mattext>", f"</mattext>{figure}", 1),
    )
    dropdown, two, markup, pair, embedded = load(qti1_file(tmp_path / "quiz.xml", *items))[0].values()
    assert (dropdown.stem, dropdown.options, dropdown.answer) == ("x is ____ y.", ("more", "less"), "B")
    assert (pair.stem, pair.options, pair.answer) == ("Match.\n1. France", ("Rome", "Paris"), "1-B")
    assert [Path(image).read_bytes() for image in embedded.images] == [picture(1)]
    assert (two.stem, markup.stem) == ("Paris is in ____ and Rome in ____", "2^3 is")
