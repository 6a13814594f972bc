"""Moodle XML: what becomes of each type, what is reported, and the way back."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from PIL import Image

from tests.importers.conftest import Loaded
from tests.importers.generators import (
    awkward_quiz,
    moodle_answer,
    moodle_category,
    moodle_pair,
    moodle_question,
    moodle_quiz,
    moodle_text,
    picture,
)
from tqnet.importers.moodle import category_path
from tqnet.importers.moodle_export import export_moodle
from tqnet.importers.safe_xml import elements
from tqnet.questions import BankError, Question, QuestionBank
from tqnet.text.plain import plain

SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='40px' height='30'><circle r='9' cx='9' cy='9'/></svg>"


def test_types(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    questions, imported = load(quiz(awkward_quiz()))
    assert imported.format == "moodle"
    first = questions["alg-1"]
    assert first.stem == "Which $x$ satisfy $\\frac{1}{\\sqrt{x}} < 2$, if a < b?\nx | y\n1 | 4"
    assert first.options == ("all \\(x>1\\)", "none", "this")
    assert first.answer == "A"
    assert first.analysis == "Think of roots.\nA: Square it."
    assert first.knowledge == (("Algebra", "Inequalities and such"), ("Functions", "Roots"))
    assert first.extras == {"name": "Any", "tags": ["exam 2024"]}
    assert [Path(image).read_bytes() for image in first.images] == [picture(10), picture(20)]
    by_type = {question.type: question for question in questions.values() if question.id not in ("quiz-11", "quiz-13")}
    assert by_type["multichoice"].answer == "A, B"
    assert by_type["multichoice"].stem.endswith("1. Draw it.\n• the base\n• the height\n2. Measure it.")
    assert (by_type["truefalse"].options, by_type["truefalse"].answer) == (("True", "False"), "A")
    assert by_type["truefalse"].knowledge == (("Geometry/Shapes", "Triangles"),)
    assert (by_type["shortanswer"].answer, by_type["shortanswer"].extras["accepted"]) == ("Paris", ["paris"])
    assert by_type["numerical"].answer == "2.5"
    assert by_type["numerical"].extras == {"name": "Any", "tolerance": "0.01", "unit": "m"}
    assert by_type["essay"].answer == "Names both."
    assert by_type["description"].answer is None
    assert by_type["matching"].stem == "Match the animals.\n1. cat\n2. dog"
    assert (by_type["matching"].options, by_type["matching"].answer) == (("bark", "chirp", "meow"), "1-C, 2-A")
    assert by_type["cloze"].stem == "2+2=____ and it is ____ (odd / even / both)."
    assert by_type["cloze"].answer == "1: 4; 2: even"
    assert (by_type["gapselect"].stem, by_type["gapselect"].answer) == ("The ____(1) sees the ____(2).", "1-B, 2-A")


def test_what_is_reported(quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(quiz(awkward_quiz()))
    lines = faults(imported)
    assert [line.split(":", 2)[2].strip() for line in lines] == [
        "answer: none is right",
        "type: of the type 'ddmarker', the response is not read",
        "questiontext: no file embedded: 'gone.png'",
        "questiontext: lies elsewhere and is not fetched: 'http://example.org/a.png'",
    ]
    document = awkward_quiz().splitlines()
    assert all("<question" in document[fault.line - 1] for fault in imported.faults)
    assert imported.left_out == 0
    assert questions["quiz-11"].answer is None
    assert questions["quiz-13"].images == ()


def test_figures_are_kept_once_and_only_if_they_are_figures(
    quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    image = '<img src="@@PLUGINFILE@@/a.png">'
    document = moodle_quiz(
        moodle_question("essay", f"<p>one</p>{image}", files={"a.png": picture(1)}),
        moodle_question("essay", f"<p>two</p>{image}", files={"a.png": picture(1)}),
        moodle_question("essay", f"<p>three</p>{image}", files={"a.png": b"no picture"}),
        moodle_question("essay", f"<p>four</p>{image}", files={"a.png": b"<svg xmlns='x'/>"}),
        moodle_question("essay", f"<p>drawn</p>{image}<svg viewBox='0 0 2 1'><path/></svg>", files={"a.png": SVG}),
        moodle_question("essay", f"<p>five</p>{image}").replace(
            "</questiontext>", '<file name="a.png" path="/" encoding="base64">!!</file></questiontext>'
        ),
        moodle_question("essay", "<p>six</p><img src='data:image/png;base64,iVBORw0KGgo='>"),
    )
    questions, imported = load(quiz(document))
    assert len(questions) == 7
    drawn = [Image.open(path) for path in questions["quiz-5"].images]
    assert [(figure.format, figure.size) for figure in drawn] == [("PNG", (1000, 750)), ("PNG", (1000, 500))]
    assert questions["quiz-1"].images == questions["quiz-2"].images
    assert len(list((tmp_path / "bank" / "images").iterdir())) == 3
    messages = [line.partition("questiontext: ")[2] for line in faults(imported)]
    assert messages[:2] == ["corrupt image: 'a.png'", "an SVG drawing without a size: 'a.png'"]
    assert messages[2].startswith("not base64")
    assert messages[3] == "corrupt image"


def test_ids_that_recur_in_other_categories(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    document = moodle_quiz(*(moodle_question("essay", f"<p>{i}</p>", number="q") for i in range(3)))
    assert list(load(quiz(document))[0]) == ["q", "q-2", "q-3"]


def test_texts_that_are_not_html(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    plain = moodle_text("questiontext", "Is <b> a tag, and &lt;?", format="plain_text")
    document = moodle_quiz(f'<question type="essay">{plain}</question>')
    assert load(quiz(document))[0]["quiz-1"].stem == "Is <b> a tag, and &lt;?"


@pytest.mark.parametrize(
    ("damage", "stems", "left_out"),
    [
        (lambda second: second, ["one", "two", "three"], 0),
        (lambda second: second.replace("<![CDATA[two]]>", "two & &eacute; \x08 &#7;"), ["one", "two & é", "three"], 0),
        (lambda second: second.replace("</questiontext>", ""), ["one", "three"], 1),
        (lambda second: second.replace("</question>", ""), ["one", "three"], 1),
        (lambda second: second.replace("]]>", ""), ["one", "three"], 1),
        (lambda second: second.replace("two", "two <!-- "), ["one", "two <!--", "three"], 0),
        (lambda second: second.replace("<questiontext", "\xff<questiontext"), ["one", "two", "three"], 0),
        (lambda second: second.replace("two", "tw\udcff"), ["one", "tw\ufffd", "three"], 0),
    ],
)
def test_a_bad_spot_costs_one_question(
    quiz: Callable[[str], Path],
    load: Callable[..., Loaded],
    damage: Callable[[str], str],
    stems: list[str],
    left_out: int,
) -> None:
    first, second, third = (moodle_question("essay", stem) for stem in ("one", "two", "three"))
    questions, imported = load(quiz(moodle_quiz(first, damage(second), third)))
    assert [question.stem for question in questions.values()] == stems
    assert (imported.left_out, imported.unread) == (left_out, left_out)
    assert all(fault.line in (4, 5) for fault in imported.faults)


def test_a_large_attachment_costs_itself(
    quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    with_attachment = moodle_question("essay", "one", files={"talk.mp3": b"\0" * 9_000_000})
    questions, imported = load(quiz(moodle_quiz(with_attachment, moodle_question("essay", "two"))))
    assert [question.stem for question in questions.values()] == ["one", "two"]
    assert faults(imported) == ["quiz.xml:3: questiontext: a file that stem and options do not show: 'talk.mp3'"]


def test_a_file_that_ends_early(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    document = moodle_quiz(moodle_question("essay", "one"), moodle_question("essay", "two"))
    questions, imported = load(quiz(document[: document.index("two")] + "two"))
    assert [question.stem for question in questions.values()] == ["one"]
    assert (imported.unread, "not well-formed XML" in imported.faults[0].message) == (1, True)


def test_other_types_keep_what_can_be_read(
    quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    right, wrong = moodle_answer("yes", 100), moodle_answer("no", 0)
    questions, imported = load(
        quiz(
            moodle_quiz(
                moodle_question("stack", r"<p>Solve \(x\). [[input:ans1]] [[validation:ans1]]</p>"),
                moodle_question(
                    "ordering", "Sort.", moodle_answer("a", 1), moodle_answer("b", 2), moodle_answer("c", 3)
                ),
                moodle_question("oumultiresponse", "Choose.", wrong, right),
                moodle_question("shortanswerwiris", "Say.", right),
                moodle_question("pmatch", "Match.", right, moodle_answer("*", 0)),
                moodle_question("ddmatch", "Pair.", moodle_pair("", "a") + moodle_pair("<img src='data:,x'>b", "c")),
                "<!-- question: 77 -->" + moodle_question("gapfill", "Fill [x].", "<image_base64>!</image_base64>"),
                moodle_question("essay", "", moodle_text("generalfeedback", "<img src='a.png'>"), "<hint/>"),
            )
        )
    )
    read = [(question.stem, question.options, question.answer) for question in questions.values()]
    assert read == [
        (r"Solve \(x\). ____", (), None),
        ("Sort.", ("a", "b", "c"), "A-B-C"),
        ("Choose.", ("no", "yes"), "B"),
        ("Say.", (), "yes"),
        ("Match.", (), "yes"),
        ("Pair.\n1. b", ("a", "c"), "1-B"),
        ("Fill ____.", (), "x"),
    ]
    assert questions["quiz-7"].extras == {"name": "Any", "number": "77"}
    assert [line.partition(": ")[2] for line in faults(imported)] == [
        "type: of the type 'stack', the response is not read",
        "type: of the type 'pmatch', only ordinary answers are read",
        "subquestion[1]: corrupt image",
        "image: not base64: Only base64 data is allowed: ''",
        "generalfeedback: a figure outside of stem and options is not kept: 'a.png'",
        "hint: hints are not kept",
        "stem: empty, with neither images nor options",
    ]


def test_pictures_of_old_versions_that_are_not_embedded(
    quiz: Callable[[str], Path], load: Callable[..., Loaded], faults: Callable, tmp_path: Path
) -> None:
    (tmp_path / "here.png").write_bytes(picture(1))
    images = ("here.png", "gone.png", "http://example.org/a.png", "")
    questions, imported = load(
        quiz(moodle_quiz(*(moodle_question("essay", "Look.", f"<image>{name}</image>") for name in images)))
    )
    assert [len(question.images) for question in questions.values()] == [1, 0, 0, 0]
    assert [line.partition(": ")[2] for line in faults(imported)] == [
        "image: missing file: 'gone.png'",
        "image: lies elsewhere and is not fetched: 'http://example.org/a.png'",
    ]


def test_markdown_and_the_picture_of_old_versions(quiz: Callable[[str], Path], load: Callable[..., Loaded]) -> None:
    picture64 = base64.b64encode(picture(2)).decode()
    markdown = "**See** 2\\*3\n\n![it](<@@PLUGINFILE@@/a b.png>)"
    text = moodle_text("questiontext", markdown, {"a b.png": picture(1)}, format="markdown")
    old = f"<image>b.png</image><image_base64>{picture64}</image_base64>"
    questions, imported = load(quiz(moodle_quiz(f'<question type="essay">{text}{old}</question>')))
    assert (questions["quiz-1"].stem, imported.faults) == ("See 2*3", ())
    assert [Path(image).read_bytes() for image in questions["quiz-1"].images] == [picture(1), picture(2)]


@pytest.mark.parametrize("reference", ["&bomb;", "&outside;"])
def test_entities_are_not_read(quiz: Callable[[str], Path], load: Callable[..., Loaded], reference: str) -> None:
    tiers = "".join(f'<!ENTITY x{i} "{f"&x{i - 1};" * 10}">' for i in range(1, 12))
    head = f'<!DOCTYPE quiz [<!ENTITY x0 "ha">{tiers}<!ENTITY bomb "&x11;"><!ENTITY outside SYSTEM "file:///etc/hostname">]>'
    question = f'<question type="essay"><questiontext><text>{reference}</text></questiontext></question>'
    with pytest.raises(BankError, match=r"declares entities, which are not read|entity amplification factor exceeded"):
        load(quiz(moodle_quiz(question, head=head)))


def test_there_and_back(quiz: Callable[[str], Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    before, _ = load(quiz(awkward_quiz()))
    bank = QuestionBank.load(tmp_path / "bank")
    assert export_moodle(bank, tmp_path / "back.xml") == (len(bank), [])
    after, _ = load(tmp_path / "back.xml", out="again")
    assert _relative(after) == _relative(before)


def test_moodle_to_bank_to_moodle(quiz: Callable[[str], Path], load: Callable[..., Loaded], tmp_path: Path) -> None:
    """Equal are types, names, texts, files, answers with their shares, ids, categories and tags."""
    shares = [moodle_answer(text, share) for text, share in (("<p>$x$</p>", 50), ("y &lt; 2", 50), ("z", 0))]
    order = [moodle_answer(text, share) for text, share in (("first", 1), ("second", 2))]
    tags = f"<tags>{moodle_text('tag', 'exam')}{moodle_text('tag', 'Sets &gt; Pairs')}</tags>".replace(
        ' format="html"', ""
    )
    document = moodle_quiz(
        moodle_category("$course$/top/Algebra/Sums//More"),
        "<!-- question: 12 -->",
        moodle_question(
            "multichoice",
            r"<p>Which \(x\)?</p><p><img src='@@PLUGINFILE@@/a.png'></p>",
            "<single>false</single>",
            *shares,
            tags,
            files={"a.png": picture(1)},
            number="q1",
        ),
        moodle_question("shortanswer", "Say.", moodle_answer("one", 100), moodle_answer("1", 100)),
        moodle_question(
            "numerical",
            "How many?",
            moodle_answer("4", 100).replace("</answer>", "<tolerance>0.1</tolerance></answer>"),
        ),
        moodle_question("truefalse", "True?", moodle_answer("true", 100), moodle_answer("false", 0)),
        moodle_question("matching", "Match.", moodle_pair("a", "x"), moodle_pair("", "y")),
        moodle_question("cloze", r"<p>{1:MC:=\(\sqrt{2\}\)~b} {2:NUMERICAL:=3e-2:1e-3}</p>"),
        moodle_question("ordering", "Sort.", *order),
        moodle_question("essay", "Why?"),
    )
    load(quiz(document))
    bank = QuestionBank.load(tmp_path / "bank")
    assert export_moodle(bank, tmp_path / "back.xml") == (8, [])
    assert _held(tmp_path / "back.xml") == _held(tmp_path / "quiz.xml")


def _held(file: Path) -> list[object]:
    """What a Moodle file says, without its markup."""
    held: list[object] = []
    for piece in elements(file, "question"):
        question = piece.element
        answers = [
            (plain(answer.findtext("text") or "").text, answer.get("fraction"), answer.findtext("tolerance"))
            for answer in question.findall("answer")
        ]
        pairs = [
            (plain(part.findtext("text") or "").text, part.findtext("answer/text"))
            for part in question.findall("subquestion")
        ]
        text = question.findtext("questiontext/text") or ""
        files = [(file.text or "").replace("\n", "") for file in question.iter("file")]
        tags = sorted(tag for tag in question.xpath("tags/tag/text/text()"))
        name = question.findtext("name/text"), question.findtext("category/text"), piece.comment
        held.append((question.get("type"), name, plain(text).text, files, answers, pairs, tags))
    return held


def test_a_bank_of_ours_there_and_back(sample_bank: QuestionBank, load: Callable[..., Loaded], tmp_path: Path) -> None:
    """All that Moodle has a place for, and figures; types and spaces are Moodle's."""
    part = sample_bank.select(range(0, len(sample_bank), 9))
    _, faults = export_moodle(part, tmp_path / "sample.xml")
    assert all(fault.field.startswith("extras.") for fault in faults)
    after, imported = load(tmp_path / "sample.xml")
    assert [fault for fault in imported.faults if fault.field != "answer"] == []
    for question in part:
        back = after[question.id]
        assert " ".join(back.stem.split()) == " ".join(question.stem.split())
        assert (back.knowledge, back.group, back.split) == (question.knowledge, question.group, question.split)
        assert (back.language, back.difficulty) == (question.language, question.difficulty)
        assert back.options == question.options
        assert [Path(image).read_bytes() for image in back.images] == list(
            dict.fromkeys(Path(image).read_bytes() for image in question.images)
        )


def test_predicted_knowledge_goes_back(load: Callable[..., Loaded], tmp_path: Path) -> None:
    question = Question(
        id="q", stem="Find $x < y$.\nNow.", knowledge=(("A/B", "C"), ("D", "E"), ("F",)), extras={"year": 3}
    )
    count, faults = export_moodle([question], tmp_path / "q.xml")
    assert (count, [str(fault) for fault in faults]) == (
        1,
        [f"{tmp_path / 'q.xml'}: extras.year: no place in Moodle: 1 question"],
    )
    after, _ = load(tmp_path / "q.xml")
    assert after["q"].knowledge == question.knowledge
    assert after["q"].stem == question.stem


@pytest.mark.parametrize("bit", ["<", "&", "&#0", "<?", "<question ", "<!--", "<![CDATA[", "<question><![CDATA["])
@pytest.mark.parametrize("end", ["", "]]>", "&]]>&"])
def test_openers_without_an_end_take_linear_time(bit: str, end: str, tmp_path: Path) -> None:
    """Seconds, where a search from each opener to the end of the file takes minutes."""
    (tmp_path / "quiz.xml").write_text(f"<question><![CDATA[{bit * (2**19 // len(bit))}{end}")
    started = time.process_time()
    assert list(elements(tmp_path / "quiz.xml", "question"))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$course$/top/A/B", ["A", "B"]),
        ("$course$/A", ["A"]),
        ("top/A//B/C", ["A/B", "C"]),
        ("$system$/top", []),
        ("", []),
    ],
)
def test_categories(text: str, names: list[str]) -> None:
    assert category_path(text) == names


def test_an_answer_by_the_text_of_an_option(load: Callable[..., Loaded], tmp_path: Path) -> None:
    questions = [
        Question(id="a", stem="2+2?", options=("3", "4"), answer="4"),
        Question(id="b", stem="2+2?", options=("3", "4"), answer="four"),
    ]
    export_moodle(questions, tmp_path / "q.xml")
    after, _ = load(tmp_path / "q.xml")
    assert (after["a"].options, after["a"].answer) == (("3", "4"), "B")
    assert (after["b"].stem, after["b"].answer) == ("2+2?\n(A) 3\n(B) 4", "four")


def _relative(questions: dict[str, Question]) -> list[tuple[object, ...]]:
    return [
        (q.id, q.stem, q.options, q.answer, q.analysis, [Path(i).name for i in q.images], q.knowledge, q.type, q.extras)
        for q in questions.values()
    ]
