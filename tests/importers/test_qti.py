"""QTI: items, packages, what is reported and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import (
    manifest,
    picture,
    qti2_item,
    qti2_package,
    qti2_response,
    qti3_package,
    write_zip,
)
from tqnet.importers import source
from tqnet.questions import BankError


def test_items_of_qti_2(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(qti2_package(tmp_path / "bank.zip"))
    assert (imported.format, imported.left_out) == ("qti", 0)
    choice = questions["choice"]
    assert choice.stem == (
        "Is $x^2$ a < b?\nx | y\n1 | 4\n1. Draw it.\n• the base\n• the height\n2. Measure it.\nChoose two."
    )
    assert (choice.options, choice.answer) == (("one", "two & a half", "three"), "A, C")
    assert (choice.analysis, choice.language, choice.type) == ("Yes!", "en", "choice")
    assert (choice.knowledge, choice.extras) == ((("Algebra", "Powers"),), {"title": "A choice"})
    assert [Path(image).read_bytes() for image in choice.images] == [picture(30), picture(40)]
    assert (questions["entry"].stem, questions["entry"].answer) == ("The sum is ____ apples.", "7")
    assert (questions["essay"].stem, questions["essay"].type) == ("Tell a story.", "extendedText")
    inline = questions["inline"]
    assert (inline.stem, inline.options, inline.answer) == ("The ____ is a star.", ("sun", "moon"), "A")
    match = questions["match"]
    assert (match.stem, match.options, match.answer) == ("Match.\n1. cat\n2. dog", ("bark", "meow"), "1-B, 2-A")
    two = questions["two"]
    assert (two.stem, two.answer) == ("A ____ and\n(A) red\n(B) blue", "1: green; 2: B")
    assert (two.options, two.type) == ((), "composite")
    assert len(questions["spot"].images) == 1
    assert faults(imported) == [
        "unanswered.xml:2: RESPONSE: no correct response",
        "spot.xml:2: itemBody: the response to <hotspotInteraction> is not read",
    ]


def test_items_of_qti_3(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    questions, imported = load(qti3_package(tmp_path / "bank.zip"))
    assert faults(imported) == []
    choice = questions["q3-choice"]
    assert choice.stem == "A long text.\nHow long is $\\overline{AB}$?\nChoose."
    assert (choice.options, choice.answer, choice.analysis) == (("3", "4"), "B", "By the ruler.")
    assert (choice.language, [Path(image).read_bytes() for image in choice.images]) == ("de", [picture(50)])
    gaps = questions["q3-gaps"]
    assert (gaps.stem, gaps.options, gaps.answer) == (
        "Cold ____(1) and warm ____(2).",
        ("summer", "winter"),
        "1-B, 2-A",
    )


def test_a_folder_and_a_single_item(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    choice = '<simpleChoice identifier="a">x</simpleChoice>'
    body = f'<choiceInteraction responseIdentifier="RESPONSE">{choice}</choiceInteraction>'
    (folder / "one.xml").write_text(qti2_item("one", body, qti2_response("a")))
    (folder / "other.xml").write_text("<html/>")
    questions, imported = load(folder / "one.xml")
    assert (list(questions), imported.faults) == (["one"], ())
    questions, imported = load(folder, out="folder")
    assert (list(questions), imported.unread) == (["one"], 1)
    assert faults(imported) == ["other.xml:0: record: not read: of no known format"]


def test_more_choices_than_letters(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    choices = "".join(f'<simpleChoice identifier="c{place}">{place}</simpleChoice>' for place in range(30))
    body = f'<choiceInteraction responseIdentifier="RESPONSE" maxChoices="0">{choices}</choiceInteraction>'
    (tmp_path / "one.xml").write_text(qti2_item("one", body, qti2_response("c1", "c27")))
    assert load(tmp_path / "one.xml")[0]["one"].answer == "B, AB"


def test_a_manifest_that_lists_a_test_alone(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    entry = '<p>x <textEntryInteraction responseIdentifier="RESPONSE"/></p>'
    resource = '<resource identifier="t" type="imsqti_test_xmlv2p2" href="tests/all.xml"/>'
    references = "".join(
        f'<assessmentItemRef identifier="{name}" href="../{name}.xml"/>' for name in ("b", "a", "gone")
    )
    parts = {
        "imsmanifest.xml": f"<manifest><resources>{resource}</resources></manifest>",
        "tests/all.xml": '<assessmentTest><assessmentSectionRef href="part.xml"/></assessmentTest>',
        "tests/part.xml": f"<assessmentSection>{references}</assessmentSection>",
        "a.xml": qti2_item("a", entry, qti2_response("1")),
        "b.xml": qti2_item("b", entry, qti2_response("2")),
    }
    questions, imported = load(write_zip(tmp_path / "package.zip", parts))
    assert [(question.id, question.answer) for question in questions.values()] == [("b", "2"), ("a", "1")]
    assert (imported.unread, faults(imported)) == (1, ["gone.xml:0: record: not in the zip: 'gone.xml'"])


def test_items_that_are_not_listed_are_reported(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    """References are relative to the bases of the manifest."""
    entry = '<p>x <textEntryInteraction responseIdentifier="RESPONSE"/></p>'
    resource = '<resource identifier="t" type="imsqti_item_xmlv2p2" xml:base="items/" href="a.xml"/>'
    parts = {
        "imsmanifest.xml": f'<manifest><resources xml:base="all/">{resource}</resources></manifest>',
        **{f"all/items/{name}.xml": qti2_item(name, entry, qti2_response("1")) for name in "abc"},
        "all/other.xml": "<other/>",
    }
    questions, imported = load(write_zip(tmp_path / "package.zip", parts))
    message = "files of items that it does not list as such, not read: 2, such as 'all/items/b.xml'"
    assert (list(questions), faults(imported)) == (["a"], [f"imsmanifest.xml:0: record: {message}"])


@pytest.mark.parametrize("name", ["my item.xml", "a%20b.xml", "题 1#2.xml", "a?b.xml"])
def test_references_are_uris(tmp_path: Path, load: Callable[..., Loaded], name: str) -> None:
    """They are also read as names, which some programs write."""
    entry = '<p><img src="my%20pic.png?v=1"/>x <textEntryInteraction responseIdentifier="RESPONSE"/></p>'
    for number, reference in enumerate((name, quote(name), f"{quote(name)}#top")):
        resource = f'<resource identifier="t" type="imsqti_item_xmlv2p2" href="{reference}"/>'
        parts = {
            "imsmanifest.xml": f"<manifest><resources>{resource}</resources></manifest>",
            name: qti2_item("a", entry, qti2_response("1")),
            "my pic.png": picture(1),
        }
        questions, imported = load(write_zip(tmp_path / f"{number}.zip", parts), out=f"bank{number}")
        assert (len(questions["a"].images), imported.faults) == (1, ())


ORDER = (
    '<orderInteraction responseIdentifier="RESPONSE"><simpleChoice identifier="a">x</simpleChoice>'
    '<simpleChoice identifier="b">y</simpleChoice></orderInteraction>'
)
HOTTEXT = (
    '<hottextInteraction responseIdentifier="RESPONSE"><p>I <hottext identifier="h">has</hottext> it.</p>'
    "</hottextInteraction>"
)
ASSOCIATE = (
    '<associateInteraction responseIdentifier="RESPONSE">'
    '<simpleAssociableChoice identifier="a">x</simpleAssociableChoice>'
    '<simpleAssociableChoice identifier="b">y</simpleAssociableChoice></associateInteraction>'
)
SLIDER = (
    '<sliderInteraction responseIdentifier="RESPONSE" lowerBound="0" upperBound="9"><prompt>How many?</prompt>'
    "</sliderInteraction>"
)


@pytest.mark.parametrize(
    ("body", "values", "stem", "options", "answer"),
    [
        (ORDER, ["b", "a"], "", ("x", "y"), "B-A"),
        (HOTTEXT, ["h"], "I has it.", ("has",), "A"),
        (ASSOCIATE, ["b a"], "", ("x", "y"), "B-A"),
        (SLIDER, ["4"], "How many?", (), "4"),
        (ORDER, ["B,A"], "", ("x", "y"), "B-A"),
    ],
)  # fmt: skip
def test_other_interactions(
    tmp_path: Path, load: Callable[..., Loaded], body: str, values: list[str], stem: str, options: tuple, answer: str
) -> None:
    (tmp_path / "item.xml").write_text(qti2_item("i", body, qti2_response(*values, cardinality="ordered")))
    question = load(tmp_path / "item.xml")[0]["i"]
    assert (question.stem, question.options, question.answer) == (stem, options, answer)


@pytest.mark.parametrize(
    ("body", "values", "value"),
    [
        (ORDER, ["b", "zz"], "zz"),
        (ORDER, ["b,zz"], "b,zz"),
        (HOTTEXT, ["A"], "A"),
        (ASSOCIATE, ["b a", "zz a"], "zz a"),
    ],
)
def test_a_response_that_names_no_choice_is_reported(
    tmp_path: Path, load: Callable[..., Loaded], faults: Callable, body: str, values: list[str], value: str
) -> None:
    (tmp_path / "item.xml").write_text(qti2_item("i", body, qti2_response(*values, cardinality="ordered")))
    questions, imported = load(tmp_path / "item.xml")
    assert questions["i"].answer is None
    assert faults(imported) == [f"item.xml:2: RESPONSE: names no option: '{value}'"]


def test_nothing_from_outside(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    """Zip-slip, paths that lead out, links elsewhere: the good item is kept, nothing appears outside."""
    entry = '<textEntryInteraction responseIdentifier="RESPONSE"/>'
    images = "".join(
        f'<img src="{path}"/>'
        for path in ("../../secret.png", "/etc/x.png", "http://example.org/a.png", "C:\\a.png", "gone.png")
    )
    parts = {
        "imsmanifest.xml": manifest("items/good.xml", "../outside.xml", "%2e%2e/other.xml", "items/gone.xml"),
        "items/good.xml": qti2_item("good", f"<p>x {entry}</p>{images}", qti2_response("7")),
        "../../evil.png": picture(1),
        "/absolute.png": picture(2),
    }  # fmt: skip
    (tmp_path / "in").mkdir()
    questions, imported = load(write_zip(tmp_path / "in" / "bad.zip", parts), out="in/bank")
    assert (list(questions), questions["good"].images) == (["good"], ())
    messages = [fault.message for fault in imported.faults]
    assert messages[:2] == ["leads outside of the archive; not read"] * 2
    assert "leads outside of the source: '../outside.xml'" in messages
    assert "leads outside of the source: '../other.xml'" in messages
    assert "not in the zip: 'items/gone.xml'" in messages
    assert "leads outside of the source: '../../secret.png'" in messages
    assert "is no path within the source: '/etc/x.png'" in messages
    assert "lies elsewhere and is not fetched: 'http://example.org/a.png'" in messages
    assert "is no path within the source: 'C:/a.png'" in messages
    assert {file.name for file in tmp_path.rglob("*") if file.is_file()} == {"bad.zip", "questions.jsonl"}


def test_broken_items_are_reported_by_line(tmp_path: Path, load: Callable[..., Loaded], faults: Callable) -> None:
    entry = '<p>x <textEntryInteraction responseIdentifier="RESPONSE"/></p>'
    parts = {
        "a.xml": "<assessmentItem>\n<itemBody>\n</assessmentItem>",
        "b.xml": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><assessmentItem>&e;</assessmentItem>',
        "c.xml": "<other/>",
        "d.xml": qti2_item("d", entry, qti2_response("1")),
        "e.xml": qti2_item("d", entry, qti2_response("1")),
        "f.xml": qti2_item("f", ""),
        "imsmanifest.xml": manifest(*(f"{name}.xml" for name in "abcdef")),
    }
    questions, imported = load(write_zip(tmp_path / "bank.zip", parts))
    assert list(questions) == ["d", "d-2"]
    assert imported.left_out == 4
    lines = faults(imported)
    assert lines[0].startswith("a.xml:3: record: not well-formed XML")
    assert lines[1] == "b.xml:0: record: declares entities, which are not read"
    assert lines[2] == "c.xml:1: record: <other> is no item"
    assert lines[3].startswith("e.xml:2: id: 'd' is already used at ")
    assert lines[4:] == ["f.xml:2: itemBody: no interaction", "f.xml:2: stem: empty, with neither images nor options"]


def test_bombs(tmp_path: Path, load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = write_zip(tmp_path / "bomb.zip", {"imsmanifest.xml": manifest(), "a.png": bytes(30 * 2**20)})
    with pytest.raises(ValueError, match=r"'a.png' unpacks to more than 200 times its size"):
        load(zeros)
    monkeypatch.setattr(source, "MAX_TOTAL", 2**20)
    with pytest.raises(ValueError, match="unpacks to"):
        load(zeros)
    monkeypatch.setattr(source, "MAX_MEMBERS", 1)
    with pytest.raises(ValueError, match="2 files in a zip"):
        load(zeros)


def test_broken_zips(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    (tmp_path / "no.zip").write_bytes(b"PK\x03\x04 no zip")
    with pytest.raises(ValueError, match=r"no\.zip: not a zip that can be read"):
        load(tmp_path / "no.zip")
    archive = write_zip(
        tmp_path / "bank.zip", {"imsmanifest.xml": manifest("a.xml"), "a.xml": qti2_item("a", "<p>x</p>" * 50)}
    )
    content = bytearray(archive.read_bytes())
    place = content.index(b"a.xml") + 40
    content[place : place + 20] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(BankError, match=r"cannot be unpacked: 'a\.xml'"):
        load(archive)
