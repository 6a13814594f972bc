"""The file of rewritings: what is read from it, what is added to it, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tqnet.paraphrase.operators import training_operators
from tqnet.paraphrase.problem import NotApplicable, Parser
from tqnet.paraphrase.rewrites import Rewrites, RewritesFile
from tqnet.questions.question import BankError


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(text: str, operator: str, *rewrites: str, **fields: object) -> dict[str, object]:
    return {"text": text, "operator": operator, "rewrites": list(rewrites), **fields}


def test_operators_of_a_file(tmp_path: Path, parse: Parser) -> None:
    file = write(
        tmp_path / "made.jsonl",
        row("Tom ran.", "back-translation", "Tom was running.", "Tom has run."),
        row("Tom ran.", "back-translation", "Tom has run.", "Off ran Tom.", stand_in=True),
        row("Ann ran.", "back-translation"),
        row("Tom ran.", "lossy-paraphrase", "Tom."),
        row("Tom ran.", "paraphrase"),
    )
    rewrites = Rewrites.load(file)
    translate, lose = rewrites.operator("back-translation"), rewrites.operator("lossy-paraphrase")
    assert translate is not None
    assert lose is not None
    drawn = {translate(parse("Tom ran."), np.random.default_rng(seed)) for seed in range(60)}
    assert drawn == {"Tom was running.", "Tom has run.", "Off ran Tom."}
    assert lose(parse("Tom ran."), np.random.default_rng(0)) == "Tom."
    first, again = (translate(parse("Tom ran."), np.random.default_rng(7)) for _ in "ab")
    assert first == again
    for text, reason in (
        ("Ann ran.", "no rewriting of it was worth keeping"),
        ("He ran.", "the file does not have it"),
    ):
        with pytest.raises(NotApplicable, match=reason):
            translate(parse(text), np.random.default_rng(0))
    assert rewrites.operator("reconstruction") is rewrites.operator("paraphrase") is None
    assert rewrites.is_stand_in("back-translation")
    assert not rewrites.is_stand_in("lossy-paraphrase")
    assert [
        rewrites.count(name, ["Tom ran.", "Ann ran.", "He ran."]) for name in ("back-translation", "paraphrase")
    ] == [1, 0]
    symbols = [one.symbol for one in training_operators(translate=translate, lose=lose)]
    assert {"f1", "f9"} <= set(symbols)
    with pytest.raises(ValueError, match="operator: 'translation' is none of back-translation, lossy-paraphrase"):
        rewrites.operator("translation")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "made.jsonl:2: record: not JSON"),
        ("3", "made.jsonl:2: record: expected a JSON object"),
        ('{"operator": "paraphrase", "rewrites": []}', "made.jsonl:2: text: missing"),
        (json.dumps(row("a", "translation")), "made.jsonl:2: operator: expected one of back-translation"),
        ('{"text": "a", "operator": [], "rewrites": []}', "made.jsonl:2: operator: expected one of"),
        ('{"text": "a", "operator": "paraphrase"}', "made.jsonl:2: rewrites: expected a list of texts"),
        (json.dumps(row("a", "paraphrase", " ")), "made.jsonl:2: rewrites: expected a list of texts"),
        (json.dumps(row("a", "paraphrase", stand_in=1)), "made.jsonl:2: stand_in: expected true or false, got 1"),
        (json.dumps(row("a", "paraphrase", made_by=1)), "made.jsonl:2: made_by: expected a text, got 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "made.jsonl"
    file.write_text(json.dumps(row("Tom ran.", "paraphrase", "Tom.")) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(BankError) as caught:
        Rewrites.load(file)
    assert message in str(caught.value)
    assert len(caught.value.faults) == 1


def test_a_last_line_without_an_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps(row("a", "paraphrase", "A")), encoding="utf-8")  # as editors leave it
    RewritesFile(path, "lossy-paraphrase").add([("b", ["B"])])
    assert [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()] == ["a", "b"]


def test_a_file_of_another_kind_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    for content in ('{"id": "q1", "stem": "Why?"}\n{"id": "q2", "stem": "Who?"}', '{"id": "q1", "stem": "Why?"}\n{"id'):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(BankError, match=r"questions.jsonl:1: operator: expected one of"):
            RewritesFile(path, "paraphrase")
        assert path.read_text(encoding="utf-8") == content


def test_a_run_after_another(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    RewritesFile(path, "paraphrase", made_by="one").add([("é", ["e", "ê"]), ("b", [])])
    RewritesFile(path, "lossy-paraphrase", stand_in=True, made_by="two").add([("é", ["x"])])
    with path.open("a") as stream:
        stream.write('{"text": "c", "oper')  # killed here
    again = RewritesFile(path, "paraphrase", made_by="one")
    assert again.done == {"é", "b"}
    again.add([("b", ["double"]), ("c", ["C"])])
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["text"], line["operator"], line["rewrites"]) for line in lines] == [
        ("é", "paraphrase", ["e", "ê"]),
        ("b", "paraphrase", []),
        ("é", "lossy-paraphrase", ["x"]),
        ("c", "paraphrase", ["C"]),
    ]
    assert [line["stand_in"] for line in lines] == [False, False, True, False]
    with pytest.raises(BankError, match=r"made.jsonl:1: made_by: paraphrase by other models or settings"):
        RewritesFile(path, "paraphrase", made_by="three")
