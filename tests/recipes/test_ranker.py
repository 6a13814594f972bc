"""The ranking stage trains, cleans its labels, goes on where it was stopped, and is used by the commands."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finetune import ranker
from tests.recipes.conftest import WHOLE_SAMPLE
from tqnet.cli import main
from tqnet.config import ConfigError
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.search.evaluation import START
from tqnet.search.index import Index
from tqnet.search.ranker import SUREST, CrossEncoder, MultiTaskRanker
from tqnet.search.ranking import FEATURES
from tqnet.training.config import DataConfig

FEW = [
    "queries=16",
    "retrieved=4",
    "similar=1",
    "concept=1",
    "random=1",
    "max_length=64",
    "run.batch_size=8",
]
FAST = ["optim.lr=1e-3", "optim.text_lr=1e-3", "optim.warmup=0", "run.log_every=5"]


def encoder_of(ranker: Path) -> str:
    """The encoder within a ranker, in a folder of its own, where ``tqnet index`` takes it."""
    folder = ranker.with_name("encoder")
    CrossEncoder.from_pretrained(ranker, "cpu").encoder.save_pretrained(folder)
    return str(folder)


@pytest.mark.slow
def test_the_whole_way(
    train: Callable[..., Any], small_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train("finetune.ranker", WHOLE_SAMPLE, *FEW, *FAST, "folds=2", "label_noise=0.15", "run.max_steps=5")
    assert all(math.isfinite(value) for record in run.records for value in record.values())
    logged = run.records[-2]
    for task in ("questions", "analyses", "analysis"):
        assert logged.keys() >= {f"loss/{task}", f"accuracy/{task}", f"coefficient/{task}"}
    assert any("valid/map" in record for record in run.records)
    pairs = [json.loads(line) for line in (run.out / "pairs.jsonl").read_text().splitlines()]
    assert {pair["kind"] for pair in pairs} == {"similar", "retrieved", "concept", "random"}
    judged = [np.load(run.out / "folds" / str(fold) / "probabilities.npy") for fold in (0, 1)]
    assert sum(map(len, judged)) == len(pairs)
    sample = QuestionBank.load(small_bank)
    cross = CrossEncoder.from_pretrained(run.out / "model", "cpu")
    assert cross.length == 64
    assert cross.probabilities([(sample[0], sample[1])], np.zeros((1, 5))).shape == (1,)

    bank, index = str(small_bank), str(tmp_path / "index")
    assert main(["index", bank, "--model", encoder_of(run.out / "folds" / "0" / "model"), "--out", index]) == 0
    capsys.readouterr()
    ended = run.out / "folds" / "1" / "model" / "cross_encoder.json"
    ended.write_text(json.dumps({"length": 64, "searched_by": "of another model", "evidence": FEATURES}))
    assert main(["search", index, "--text", "Find x.", "--ranker", str(ended.parent)]) == 2
    assert "trained with vectors of another model (files of another model)" in capsys.readouterr().err
    named = f"ranker={run.out / 'model'}"
    out = tmp_path / "ranking"
    few = ["--first", "5", "--queries", "4"]
    assert main(["evaluate", "ranking", index, named, *few, "--json", "--out", str(out)]) == 0
    assert "rankers: `ranker: files " in (out / "results.md").read_text()
    scores = json.loads(capsys.readouterr().out)
    assert list(scores)[:3] == ["order of retrieval", "cosine", "cosine, characters"]
    assert list(scores)[-2:] == [START, "ranker"]
    # Of five candidates any order has the same five first.
    assert scores["ranker"]["p@5"] == scores[START]["p@5"]
    assert scores["ranker"]["queries"] == 4


def test_labels_that_follow_from_the_evidence_leave_it_its_doubts(tiny_model: TQNetModel) -> None:
    model = MultiTaskRanker(CrossEncoder(copy.deepcopy(tiny_model), 64), (1.0, 1.0, 1.0), entropy_floor=0.8)
    evidence = np.linspace([0, 0, 0, 0, 0], [1, 0, 0, 0, 0], 40, dtype=np.float32)
    model.calibrate(evidence, np.arange(40) >= 20)
    assert model.cross.head.scale == SUREST


@pytest.mark.slow
def test_resumed_with_the_same_pairs_and_folds(train: Callable[..., Any], tmp_path: Path) -> None:
    """One task; a bank whose valid questions are no part of it is not validated on."""
    settings = [*FEW, *FAST, "folds=2", "run.max_steps=2", "run.save_every=1", "analyses=false", "model.visual=null"]
    uninterrupted = train("finetune.ranker", *settings, out="whole")
    assert not any("loss/analyses" in record for record in uninterrupted.records)
    again = uninterrupted.killed(tmp_path / "again")
    (again.out / "folds" / "1" / "probabilities.npy").unlink()
    train("finetune.ranker", *settings, "run.resume=true", out="again")
    assert again.same_weights(uninterrupted)


@pytest.mark.slow
def test_vectors_of_an_index(train: Callable[..., Any], small_bank: Path, tmp_path: Path) -> None:
    bank, index = str(small_bank), str(tmp_path / "index")
    some = train("finetune.ranker", *FEW, "folds=0", "run.max_steps=1", out="some")
    assert main(["index", bank, "--model", encoder_of(some.out / "model"), "--out", index]) == 0
    run = train("finetune.ranker", *FEW, "folds=0", "run.max_steps=1", f"index={index}")
    cross = CrossEncoder.from_pretrained(run.out / "model")
    assert cross.searched_by == Index(Path(index)).manifest.digest
    encoded, indexed = ([json.loads(line) for line in (trained.out / "pairs.jsonl").open()] for trained in (some, run))
    assert [pair["cosine"] for pair in encoded] != [pair["cosine"] for pair in indexed]
    assert main(["index", "delete", index, indexed[0]["a"]]) == 0
    with pytest.raises(ValueError, match=f"has no question '{indexed[0]['a']}'"):
        train("finetune.ranker", *FEW, "folds=0", f"index={index}", out="other")
    with pytest.raises(ValueError, match="no index"):
        train("finetune.ranker", *FEW, "folds=0", f"index={tmp_path}", out="third")


def test_judged_pairs(train: Callable[..., Any], small_bank: Path, tmp_path: Path) -> None:
    sample = QuestionBank.load(small_bank).split("train")
    file = tmp_path / "pairs.jsonl"
    records = [{"a": sample[i].id, "b": sample[i + 1].id, "similar": i % 2} for i in range(40)]
    file.write_text("\n".join(map(json.dumps, records)))
    run = train("finetune.ranker", *FEW, f"data.pairs={file}", "folds=0", "run.max_steps=2")
    kept = [json.loads(line) for line in (run.out / "pairs.jsonl").read_text().splitlines()]
    assert {frozenset((pair["a"], pair["b"])) for pair in kept} == {frozenset((r["a"], r["b"])) for r in records}
    file.write_text("\n".join(json.dumps(record | {"similar": 1}) for record in records))
    with pytest.raises(ConfigError, match="needs both similar and dissimilar pairs"):
        train("finetune.ranker", *FEW, f"data.pairs={file}", "folds=0", out="other")


def test_queries_that_the_start_model_has_not_seen(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made, original = [], ranker.made_exercise_pairs
    monkeypatch.setattr(
        ranker,
        "made_exercise_pairs",
        lambda *arguments: made.append((arguments[0], original(*arguments))) or made[-1][1],
    )
    run = train("finetune.ranker", *FEW, "model.visual=null", "unseen=true", "folds=0", "run.max_steps=2")
    assert any("valid/map" in record for record in run.records)
    learns, chooses = ([bank[query] for query in np.unique(pairs.query)] for bank, pairs in made)
    assert {query.split for query in (*learns, *chooses)} == {"valid"}
    assert learns
    assert chooses
    assert not {query.group for query in learns} & {query.group for query in chooses}
    candidates = [bank[row].split for bank, pairs in made for row in np.unique(pairs.candidate)]
    assert set(candidates) == {"train", "valid"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unseen": True, "data": DataConfig(bank="b", pairs="p")}, "unseen: uses queries of split 'valid'"),
        ({"folds": 1}, "folds: 1"),
        ({"coefficients": [1.0, 1.0]}, "coefficients"),
        ({"coefficients": [1.0, 0.0, 1.0]}, "coefficients"),
        ({"entropy_floor": 1.5}, "entropy_floor"),
        ({"label_noise": 1.0}, "label_noise"),
        ({"retrieved": 0}, "retrieved"),
    ],
)
def test_settings_at_fault(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ranker.RankerConfig(**settings)
