"""Awkward exports of learning platforms, written here: nothing in them is taken from anywhere."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, ImageDraw

FRACTION = "<math><mfrac><mn>1</mn><msqrt><mi>x</mi></msqrt></mfrac><mo>&lt;</mo><mn>2</mn></math>"
TABLE = "<table><tr><th>x</th><th>y</th></tr><tr><td><p>1</p></td><td><p>4</p></td></tr></table>"
NESTED = "<ol><li>Draw it.<ul><li>the base</li><li>the height</li></ul></li><li>Measure it.</li></ol>"


def picture(shade: int = 0, size: tuple[int, int] = (24, 16)) -> bytes:
    """A PNG of its own for each shade."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).line([(0, 0), size], fill=(shade, 0, 0), width=2)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def moodle_text(name: str, markup: str, files: Mapping[str, bytes] | None = None, **attributes: str) -> str:
    """An element of Moodle with a text and the files in it."""
    given = "".join(f' {key}="{value}"' for key, value in ({"format": "html"} | attributes).items())
    packed = "".join(
        f'<file name="{file}" path="/" encoding="base64">{base64.encodebytes(content).decode()}</file>'
        for file, content in (files or {}).items()
    )
    return f"<{name}{given}><text><![CDATA[{markup}]]></text>{packed}</{name}>"


def moodle_question(
    kind: str, stem: str, *parts: str, files: Mapping[str, bytes] | None = None, number: str = ""
) -> str:
    """A ``question`` element; the answers and all else are in ``parts``."""
    idnumber = f"<idnumber>{number}</idnumber>" if number else ""
    text = moodle_text("questiontext", stem, files)
    return f'<question type="{kind}"><name><text>Any</text></name>{text}{"".join(parts)}{idnumber}</question>'


def moodle_category(path: str) -> str:
    return f'<question type="category"><category><text>{path}</text></category></question>'


def moodle_quiz(*questions: str, head: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<quiz>\n' + "\n".join(questions) + "\n</quiz>\n"


def moodle_answer(markup: str, fraction: float, files: Mapping[str, bytes] | None = None, feedback: str = "") -> str:
    answer = moodle_text("answer", markup, files, fraction=f"{fraction:g}")
    feedback_element = moodle_text("feedback", feedback) if feedback else ""
    return answer.removesuffix("</answer>") + feedback_element + "</answer>"


def moodle_pair(question: str, answer: str) -> str:
    part = moodle_text("subquestion", question).removesuffix("</subquestion>")
    return f"{part}<answer><text>{answer}</text></answer></subquestion>"


def awkward_quiz() -> str:
    """One question of each type that is read, two that are not, and missing answers."""
    figure = {"my figure.png": picture(10)}
    return moodle_quiz(
        moodle_category("$course$/top/Algebra/Inequalities and\nsuch"),
        moodle_question(
            "multichoice",
            f'<p>Which $x$ satisfy {FRACTION}, if a &lt; b?</p>{TABLE}<img src="@@PLUGINFILE@@/my%20figure.png">',
            "<single>true</single>",
            moodle_answer("<p>all \\(x>1\\)</p>", 100, feedback="Square it."),
            moodle_answer("<p>none</p>", 0),
            moodle_answer('<img src="@@PLUGINFILE@@/o.png"> this', 0, {"o.png": picture(20)}),
            moodle_text("generalfeedback", "<p>Think of <b>roots</b>.</p>"),
            "<tags><tag><text>exam 2024</text></tag><tag><text>Functions > Roots</text></tag></tags>",
            files=figure,
            number="alg-1",
        ),
        moodle_question(
            "multichoice",
            f"<p>Choose two.</p>{NESTED}",
            "<single>false</single>",
            moodle_answer("two", 50),
            moodle_answer("four", 50),
            moodle_answer("five", -100),
        ),
        moodle_category("$course$/top/Geometry//Shapes/Triangles"),
        moodle_question("truefalse", "A square is a rhombus.", moodle_answer("true", 100), moodle_answer("false", 0)),
        moodle_question(
            "shortanswer", "The capital of <i>France</i>?", moodle_answer("Paris", 100), moodle_answer("paris", 100)
        ),
        moodle_question(
            "numerical",
            "Half of 5?",
            '<answer fraction="100"><text>2.5</text><tolerance>0.01</tolerance></answer>',
            "<units><unit><multiplier>1</multiplier><unit_name>m</unit_name></unit></units>",
        ),
        moodle_question("essay", "Explain it.", moodle_text("graderinfo", "<p>Names both.</p>")),
        moodle_question("description", "Read on."),
        moodle_question(
            "matching",
            "Match the animals.",
            moodle_pair("<p>cat</p>", "meow"),
            moodle_pair("<p>dog</p>", "bark"),
            moodle_pair("", "chirp"),
        ),
        moodle_question("cloze", "<p>2+2={1:NUMERICAL:=4:0.1} and it is {2:MC:odd~=even#yes~%50%both}.</p>"),
        moodle_question(
            "gapselect",
            "<p>The [[2]] sees the [[1]].</p>",
            *(f"<selectoption><text>{word}</text></selectoption>" for word in ("dog", "cat")),
        ),
        moodle_question("multichoice", "<p>Nobody knows.</p>", moodle_answer("a", 0), moodle_answer("b", 0)),
        moodle_question("ddmarker", "<p>Drag.</p>"),
        moodle_question(
            "shortanswer",
            '<p>See</p><img src="@@PLUGINFILE@@/gone.png"><img src="http://example.org/a.png">',
            moodle_answer("x", 100),
        ),
    )


def qti2_item(name: str, body: str, declarations: str = "", **attributes: str) -> str:
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<assessmentItem xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" '
        f'xmlns:m="http://www.w3.org/1998/Math/MathML" identifier="{name}"{given}>'
        f"{declarations}<itemBody>{body}</itemBody></assessmentItem>"
    )


def qti2_response(*values: str, cardinality: str = "single", name: str = "RESPONSE") -> str:
    inner = "".join(f"<value>{value}</value>" for value in values)
    return (
        f'<responseDeclaration identifier="{name}" cardinality="{cardinality}" baseType="identifier">'
        f"<correctResponse>{inner}</correctResponse></responseDeclaration>"
    )


def manifest(*resources: str, metadata: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """``imsmanifest.xml`` that lists item files, with a taxon path for some."""
    listed = []
    for i, name in enumerate(resources):
        taxons = "".join(
            f"<taxon><entry><string>{entry}</string></entry></taxon>" for entry in (metadata or {}).get(name, ())
        )
        lom = f"<metadata><lom><classification><taxonPath>{taxons}</taxonPath></classification></lom></metadata>"
        listed.append(
            f'<resource identifier="r{i}" type="imsqti_item_xmlv2p1" href="{name}">{lom if taxons else ""}</resource>'
        )
    return (
        f'<manifest xmlns="http://www.imsglobal.org/xsd/imscp_v1p1"><resources>{"".join(listed)}</resources></manifest>'
    )


def write_zip(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def qti2_package(path: Path) -> Path:
    """Items of QTI 2 in a folder of their own, figures in another."""
    items = {
        "choice": qti2_item(
            "choice",
            f"<p>Is <m:math><m:msup><m:mi>x</m:mi><m:mn>2</m:mn></m:msup></m:math> a &lt; b?</p>{TABLE}{NESTED}"
            '<p><img src="../media/a.png" alt="a"/><object data="../media/b.png" type="image/png">b</object></p>'
            '<choiceInteraction responseIdentifier="RESPONSE" shuffle="true" maxChoices="2">'
            "<prompt>Choose <b>two</b>.</prompt>"
            '<simpleChoice identifier="ONE">one'
            '<feedbackInline outcomeIdentifier="F" identifier="ONE">Yes!</feedbackInline>'
            '</simpleChoice><simpleChoice identifier="TWO">two &amp; a half</simpleChoice>'
            '<simpleChoice identifier="THREE">three</simpleChoice></choiceInteraction>',
            qti2_response("THREE", "ONE", cardinality="multiple"),
            title="A choice",
            **{"xml:lang": "en-GB"},
        ),
        "entry": qti2_item(
            "entry",
            '<p>The sum is <textEntryInteraction responseIdentifier="RESPONSE"/> apples.</p>',
            '<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="string"><mapping>'
            '<mapEntry mapKey="seven" mappedValue="0.5"/><mapEntry mapKey="7" mappedValue="1"/>'
            "</mapping></responseDeclaration>",
        ),
        "essay": qti2_item(
            "essay",
            '<rubricBlock view="scorer"><p>Ten points.</p></rubricBlock>'
            '<extendedTextInteraction responseIdentifier="RESPONSE"><prompt>Tell a story.</prompt>'
            "</extendedTextInteraction>",
        ),
        "inline": qti2_item(
            "inline",
            '<p>The <inlineChoiceInteraction responseIdentifier="RESPONSE">'
            '<inlineChoice identifier="s">sun</inlineChoice>'
            '<inlineChoice identifier="m">moon</inlineChoice>'
            "</inlineChoiceInteraction> is a star.</p>",
            qti2_response("s"),
        ),
        "match": qti2_item(
            "match",
            '<matchInteraction responseIdentifier="RESPONSE"><prompt>Match.</prompt><simpleMatchSet>'
            '<simpleAssociableChoice identifier="C">cat</simpleAssociableChoice>'
            '<simpleAssociableChoice identifier="D">dog</simpleAssociableChoice></simpleMatchSet><simpleMatchSet>'
            '<simpleAssociableChoice identifier="B">bark</simpleAssociableChoice>'
            '<simpleAssociableChoice identifier="M">meow</simpleAssociableChoice></simpleMatchSet></matchInteraction>',
            qti2_response("C M", "D B", cardinality="multiple"),
        ),
        "two": qti2_item(
            "two",
            '<p>A <textEntryInteraction responseIdentifier="R1"/> and</p>'
            '<choiceInteraction responseIdentifier="R2"><simpleChoice identifier="a">red</simpleChoice>'
            '<simpleChoice identifier="b">blue</simpleChoice></choiceInteraction>',
            qti2_response("green", name="R1") + qti2_response("b", name="R2"),
        ),
        "unanswered": qti2_item(
            "unanswered",
            '<choiceInteraction responseIdentifier="RESPONSE"><prompt>Who knows?</prompt>'
            '<simpleChoice identifier="a">I</simpleChoice><simpleChoice identifier="b">you</simpleChoice>'
            "</choiceInteraction>",
        ),
        "spot": qti2_item(
            "spot",
            '<p>Click the peak.</p><hotspotInteraction responseIdentifier="RESPONSE"><object data="../media/a.png" '
            'type="image/png"/><hotspotChoice identifier="p" shape="circle" coords="1,1,2"/></hotspotInteraction>',
        ),
    }
    names = [f"items/{name}.xml" for name in items]
    return write_zip(
        path,
        {
            "imsmanifest.xml": manifest(*names, metadata={"items/choice.xml": ("Algebra", "Powers")}),
            **dict(zip(names, items.values(), strict=True)),
            "media/a.png": picture(30),
            "media/b.png": picture(40),
        },
    )


def qti3_package(path: Path) -> Path:
    """The same kinds in the words of QTI 3, with a passage that two items share."""
    head = 'xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0"'
    choice = (
        f'<qti-assessment-item {head} identifier="q3-choice" title="T" xml:lang="de">'
        '<qti-response-declaration identifier="RESPONSE" cardinality="single" base-type="identifier">'
        "<qti-correct-response><qti-value>B</qti-value></qti-correct-response></qti-response-declaration>"
        '<qti-assessment-stimulus-ref identifier="s" href="passage.xml"/><qti-item-body>'
        '<p>How long is <math xmlns="http://www.w3.org/1998/Math/MathML"><mover><mi>AB</mi><mo>¯</mo></mover></math>?</p>'
        '<qti-choice-interaction response-identifier="RESPONSE" max-choices="1"><qti-prompt>Choose.</qti-prompt>'
        '<qti-simple-choice identifier="A">3</qti-simple-choice><qti-simple-choice identifier="B">4</qti-simple-choice>'
        "</qti-choice-interaction></qti-item-body>"
        '<qti-modal-feedback outcome-identifier="F" identifier="x"><qti-content-body><p>By the ruler.</p>'
        "</qti-content-body></qti-modal-feedback></qti-assessment-item>"
    )
    gaps = (
        f'<qti-assessment-item {head} identifier="q3-gaps">'
        '<qti-response-declaration identifier="RESPONSE" cardinality="multiple" base-type="directedPair">'
        "<qti-correct-response><qti-value>W G1</qti-value><qti-value>S G2</qti-value></qti-correct-response>"
        "</qti-response-declaration><qti-item-body>"
        '<qti-gap-match-interaction response-identifier="RESPONSE"><qti-gap-text identifier="S">summer</qti-gap-text>'
        '<qti-gap-text identifier="W">winter</qti-gap-text><p>Cold <qti-gap identifier="G1"/> and warm '
        '<qti-gap identifier="G2"/>.</p></qti-gap-match-interaction></qti-item-body></qti-assessment-item>'
    )
    passage = (
        f'<qti-assessment-stimulus {head} identifier="s"><qti-stimulus-body><p>A long text.</p>'
        '<img src="p.png" alt=""/></qti-stimulus-body></qti-assessment-stimulus>'
    )
    listed = manifest("q3-choice.xml", "q3-gaps.xml").replace("imsqti_item_xmlv2p1", "imsqti_item_xmlv3p0")
    parts = {"imsmanifest.xml": listed, "q3-choice.xml": choice, "q3-gaps.xml": gaps, "passage.xml": passage}
    return write_zip(path, parts | {"p.png": picture(50)})


def workbook(path: Path, *rows: list[object], title: str = "Sheet") -> Path:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "First"
    sheet.append(["stem"])
    sheet.append(["of the first sheet"])
    second = book.create_sheet(title)
    for row in rows:
        second.append(row)
    book.save(path)
    return path
