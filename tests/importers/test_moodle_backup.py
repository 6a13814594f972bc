"""Moodle backups, written here: categories, versions, files, embedded answers."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import picture

BACKUP = """<question_categories>
<question_category id="1"><name>top</name><parent>0</parent></question_category>
<question_category id="2"><name>Algebra</name><parent>1</parent><question_bank_entries>
<question_bank_entry id="5"><idnumber>alg</idnumber><question_version>
<question_versions id="1"><version>1</version><questions><question id="7"><parent>0</parent><name>old</name>
<questiontext>old</questiontext><qtype>essay</qtype></question></questions></question_versions>
<question_versions id="2"><version>2</version><questions><question id="8"><parent>0</parent><name>new</name>
<questiontext>&lt;p&gt;See &lt;img src="@@PLUGINFILE@@/a.png"&gt;&lt;/p&gt;</questiontext>
<questiontextformat>1</questiontextformat><generalfeedback>$@NULL@$</generalfeedback><qtype>multichoice</qtype>
<plugin_qtype_multichoice_question><answers>
<answer id="1"><answertext>no</answertext><answerformat>1</answerformat><fraction>0.0</fraction></answer>
<answer id="2"><answertext>yes</answertext><answerformat>1</answerformat><fraction>1.0</fraction></answer>
</answers><multichoice id="1"><single>1</single></multichoice></plugin_qtype_multichoice_question>
<tags><tag id="1"><rawname>exam</rawname></tag></tags></question></questions></question_versions>
</question_version></question_bank_entry></question_bank_entries>
<questions><question id="9"><parent>0</parent><questiontext>not current</questiontext><qtype>essay</qtype>
</question></questions>
</question_category>
<question_category id="3"><name>Gaps</name><parent>2</parent><questions>
<question id="10"><parent>0</parent><questiontext>2+2={#1}</questiontext><questiontextformat>1</questiontextformat>
<qtype>multianswer</qtype><plugin_qtype_multianswer_question><multianswer><sequence>11</sequence></multianswer>
</plugin_qtype_multianswer_question></question>
<question id="11"><parent>10</parent><qtype>numerical</qtype><answers><answer id="3"><answertext>4</answertext>
<fraction>1.0</fraction></answer></answers></question>
<question id="12"><parent>0</parent><questiontext>Match</questiontext><qtype>match</qtype><matches>
<match id="1"><questiontext>a</questiontext><answertext>x</answertext></match></matches></question>
</questions></question_category></question_categories>"""
FILES = """<files><file id="1"><contenthash>abcd</contenthash><component>question</component>
<filearea>questiontext</filearea><itemid>8</itemid><filepath>/</filepath><filename>a.png</filename></file></files>"""


def test_a_backup(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    parts = {"moodle_backup.xml": "<moodle_backup/>", "questions.xml": BACKUP, "files.xml": FILES}
    with tarfile.open(tmp_path / "course.mbz", "w:gz") as archive:
        for name, content in {**parts, "files/ab/abcd": picture(1), "../x": "out"}.items():
            packed = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(packed)
            archive.addfile(info, io.BytesIO(packed))
    questions, imported = load(tmp_path / "course.mbz")
    assert (imported.format, [fault.message for fault in imported.faults]) == (
        "mbz",
        ["leads outside of the archive; not read"],
    )
    first, gap, match = questions.values()
    assert (first.id, first.stem, first.options, first.answer) == ("alg", "See", ("no", "yes"), "B")
    assert (first.knowledge, first.extras) == ((("Algebra",),), {"name": "new", "number": "8", "tags": ["exam"]})
    assert Path(first.images[0]).read_bytes() == picture(1)
    assert (gap.stem, gap.answer, gap.knowledge) == ("2+2=____", "4", (("Algebra", "Gaps"),))
    assert (match.stem, match.options, match.answer) == ("Match\n1. a", ("x",), "1-A")
