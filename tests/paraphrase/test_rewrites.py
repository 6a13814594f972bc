"""The file of rewritings: what is read from it, what is added to it, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from spacy.matcher.levenshtein import levenshtein

from tqnet.paraphrase.problem import NotApplicable, Parser
from tqnet.paraphrase.rewrites import Rewrites, RewritesFile, farthest_first, joined
from tqnet.questions.question import BankError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.jsonl"


def row(text: str, operator: str, *rewrites: str, **fields: object) -> str:
    return json.dumps({"text": text, "operator": operator, "rewrites": list(rewrites), **fields})


def test_operators_of_a_file(path: Path, parse: Parser) -> None:
    lines = [
        row("Tom ran.", "back-translation", "Tom was running.", "Tom has run."),
        row("Tom ran.", "back-translation", "Tom has run.", "Off ran Tom.", stand_in=True),
        row("Ann ran.", "back-translation"),
        row("Tom ran.", "lossy-paraphrase", "Tom."),
        row("Tom ran.", "paraphrase"),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    rewrites = Rewrites(path)
    translate, lose = rewrites.operator("back-translation"), rewrites.operator("lossy-paraphrase")
    assert translate is not None
    assert lose is not None
    drawn = [translate(parse("Tom ran."), np.random.default_rng(seed)) for seed in (*range(60), *range(60))]
    assert drawn[:60] == drawn[60:]
    assert set(drawn) == {"Tom was running.", "Tom has run.", "Off ran Tom."}
    assert lose(parse("Tom ran."), np.random.default_rng(0)) == "Tom."
    for text, reason in (("Ann ran.", "none of its rewritings was worth"), ("He ran.", "it is not in the file")):
        with pytest.raises(NotApplicable, match=reason):
            translate(parse(text), np.random.default_rng(0))
    assert rewrites.operator("reconstruction") is rewrites.operator("paraphrase") is None
    assert rewrites.is_stand_in("back-translation")
    assert not rewrites.is_stand_in("lossy-paraphrase")
    texts = ["Tom ran.", "Ann ran.", "He ran."]
    assert (rewrites.count("back-translation", texts), rewrites.count("paraphrase", texts)) == (1, 0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "record: not JSON"),
        ("3", "record: expected a JSON object"),
        ('{"operator": "paraphrase", "rewrites": []}', "text: missing"),
        (row("a", "translation"), "operator: expected one of back-translation"),
        ('{"text": "a", "operator": [], "rewrites": []}', "operator: expected one of"),
        ('{"text": "a", "operator": "paraphrase"}', "rewrites: expected a list of texts"),
        (row("a", "paraphrase", " "), "rewrites: expected a list of texts"),
        (row("a", "paraphrase", stand_in=1), "stand_in: expected true or false, got 1"),
        (row("a", "paraphrase", made_by=1), "made_by: expected a text, got 1"),
    ],
)
def test_a_wrong_line_is_named(path: Path, line: str, message: str) -> None:
    path.write_text(f"{row('Tom ran.', 'paraphrase', 'Tom.')}\n{line}\n", encoding="utf-8")
    with pytest.raises(BankError) as caught:
        Rewrites(path)
    assert f"made.jsonl:2: {message}" in str(caught.value)
    assert len(caught.value.faults) == 1


def test_a_last_line_without_an_end_is_kept(path: Path) -> None:
    path.write_text(row("a", "paraphrase", "A"), encoding="utf-8")  # as editors leave it
    RewritesFile(path, "lossy-paraphrase").add([("b", ["B"])])
    assert [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()] == ["a", "b"]


def test_a_file_of_another_kind_stays_as_it_is(path: Path) -> None:
    for content in ('{"id": "q1", "stem": "Why?"}\n{"id": "q2", "stem": "Who?"}', '{"id": "q1", "stem": "Why?"}\n{"id'):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(BankError, match=r"made.jsonl:1: operator: expected one of"):
            RewritesFile(path, "paraphrase")
        assert path.read_text(encoding="utf-8") == content


def test_a_run_after_another(path: Path) -> None:
    RewritesFile(path, "paraphrase", made_by="one").add([("é", ["e", "ê"]), ("b", [])])
    RewritesFile(path, "lossy-paraphrase", stand_in=True, made_by="two").add([("é", ["x"])])
    with path.open("a") as stream:
        stream.write('{"text": "c", "oper')  # killed here
    again = RewritesFile(path, "paraphrase", made_by="one")
    assert again.done == {"é", "b"}
    again.add([("b", ["double"]), ("c", ["C"])])
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["text"], line["operator"], line["rewrites"], line["stand_in"]) for line in lines] == [
        ("é", "paraphrase", ["e", "ê"], False),
        ("b", "paraphrase", [], False),
        ("é", "lossy-paraphrase", ["x"], True),
        ("c", "paraphrase", ["C"], False),
    ]
    with pytest.raises(BankError, match=r"made.jsonl:1: made_by: paraphrase by other models or settings"):
        RewritesFile(path, "paraphrase", made_by="three")


def test_the_farthest_comes_first() -> None:
    text = "Tom ran home."
    candidates = ["Tom ran.", "Tom  ran home.", "He went back to where he lives.", "Tom ran.", " ?", "", "Tom ran off."]
    ordered = farthest_first(text, candidates)
    assert ordered == ["He went back to where he lives.", "Tom ran.", "Tom ran off."]
    distances = [levenshtein(text, candidate) for candidate in ordered]
    assert distances == sorted(distances, reverse=True)
    assert farthest_first(text, [text]) == []


def test_texts_of_rewritten_sentences() -> None:
    assert joined(["", " ", "!"], [["A", "a"], ["B"]]) == ["A B!", "a B!"]
    assert joined(["all"], []) == []
