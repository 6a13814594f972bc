"""Records of strangers: each is a question that can be written and read again, or a fault with its line."""

from __future__ import annotations

import codecs
import json
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.texts import records
from tqnet.questions import BankError, Question, QuestionBank
from tqnet.questions.reading import read_fields, write_question

LINES = st.one_of(
    records().map(lambda record: json.dumps(record).encode()),
    st.binary(max_size=20).filter(lambda line: b"\n" not in line and b"\r" not in line),
    st.sampled_from(
        [b'{"id": "a"', b'{"id": "a", "stem": "b", "id": "c"}', b"[" * 9999, b'{"id": 1e999}', b"9" * 9999]
    ),
)


@given(records())
def test_a_record_is_a_question_or_has_errors(record: object) -> None:
    values, errors = read_fields(record)
    assert all(error.message for error in errors)
    if not errors:
        question = Question(**values)
        written = json.loads(json.dumps(write_question(question), allow_nan=False))
        assert read_fields(written) == (values, [])


@given(st.lists(LINES, max_size=4))
def test_every_line_of_a_bank_is_a_question_or_a_fault(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "questions.jsonl")
        file.write_bytes(b"\n".join(lines))
        bank, faults = QuestionBank.read(file, None)
        faults = [fault for fault in faults if fault.line]  # but that there is no record
        written = file.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n")
        filled = [line for line in written if line.decode(errors="replace").strip()]
        assert len(bank) + len({fault.line for fault in faults}) == len(filled)
        for question in bank:
            assert all(Path(image).resolve().is_relative_to(Path(folder).resolve()) for image in question.images)
        with suppress(BankError):  # none is left
            assert len(QuestionBank.load(file, on_error="skip")) <= len(bank)


@given(records())
def test_a_question_is_saved_as_it_is(record: object) -> None:
    values, errors = read_fields(record)
    if errors or values["images"]:
        return
    with tempfile.TemporaryDirectory() as folder:
        question = Question(**values)
        for name in ("a.jsonl", "a.parquet"):
            QuestionBank.from_questions([question]).save(Path(folder, name))
            assert [*QuestionBank.load(Path(folder, name))] == [question]
