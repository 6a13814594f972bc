"""``tqnet duplicates`` and ``tqnet evaluate pairs``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import FAST, Tqnet
from tqnet.modeling.build import load_model
from tqnet.modeling.pairs import PairClassifier
from tqnet.questions import QuestionBank
from tqnet.questions.pairs import RELATIONS

CHECKED = Path(__file__).parents[2] / "assets" / "pairs.jsonl"


@pytest.fixture(scope="module")
def bank(sample_bank: QuestionBank, tmp_path_factory: pytest.TempPathFactory) -> str:
    """40 questions, and three of them again: as they are, in other letters, with other options' order."""
    some = [sample_bank[row] for row in range(40)]
    with_options = next(question for question in some if question.options)
    more = [
        replace(some[0], id="again"),
        replace(some[0], id="letters", stem=f"  {some[0].stem.upper() if some[0].stem.isascii() else some[0].stem} "),
        replace(with_options, id="options", options=with_options.options[::-1]),
    ]
    folder = tmp_path_factory.mktemp("doubled")
    QuestionBank.from_questions([*some, *more]).save(folder / "questions.jsonl")
    return str(folder)


@pytest.fixture(scope="module")
def pairs_model(model_folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A head as it starts."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("pairs") / "model"
    PairClassifier(load_model(model_folder), hidden=8).save_pretrained(folder)
    return str(folder)


def test_clusters(bank: str, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "clusters.jsonl"
    shown = tqnet("duplicates", bank, "--out", out, "--show", "1")
    clusters = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    first = QuestionBank.load(bank)[0].id
    assert [first, "again", "letters"] in [cluster["ids"] for cluster in clusters]
    assert any("options" in cluster["ids"] for cluster in clusters)
    assert clusters[0]["links"][0] == {"a": first, "b": "again", "why": "equal text", "score": 1.0}
    assert f"{first} again letters  equal text" in shown
    assert "... and 1 more" in shown
    assert "2 clusters of 5 of 43 questions; keeping one of each removes 3" in shown
    assert tqnet.lines("duplicates", bank) == clusters


def test_a_pair_classifier_decides(bank: str, pairs_model: str, tqnet: Tqnet) -> None:
    call = ["duplicates", bank, "--pairs-model", pairs_model, "--threshold", "0.99", *FAST]
    shown = tqnet(*call)
    assert "equal text" in shown
    assert "candidates by the model: " in shown
    assert tqnet(*call, "--model", pairs_model) == shown


def test_pairs_are_evaluated(pairs_model: str, tqnet: Tqnet) -> None:
    call = ["evaluate", "pairs", "--model", pairs_model, "--pairs", CHECKED, *FAST]
    shown = tqnet(*call, "--errors")
    assert all(f"{relation} (30)" in shown for relation in RELATIONS)
    assert ", predicted " in shown
    numbers = tqnet.json(*call)
    assert numbers["pairs"] == 120
    assert sum(sum(numbers[relation]["taken_for"].values()) for relation in RELATIONS) == 120


def test_the_rule_for_near_texts_is_evaluated(tqnet: Tqnet) -> None:
    numbers = tqnet.json("evaluate", "pairs", "--pairs", CHECKED)
    assert numbers["duplicate"]["precision"] == 1
    assert numbers["duplicate"]["taken_for"]["similar"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs-model", "nowhere"], "nowhere: no pair classifier here"),
        (["--model", "encoder:minilm"], "needs --pairs-model"),
        (["--out", "nowhere/at/all.jsonl"], "no such folder"),
    ],
)
def test_what_is_refused(bank: str, arguments: list[str], message: str, tqnet: Tqnet) -> None:
    assert message in tqnet.fails("duplicates", bank, *arguments)
