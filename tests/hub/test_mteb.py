"""A trained folder as a model of mteb: the numbers of `tqnet evaluate similar`, and mteb's own retrieval tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

pytest.importorskip("mteb")

import mteb
from mteb.models.models_protocols import EncoderProtocol
from torch.utils.data import DataLoader

from tqnet.cli import main
from tqnet.evaluation.similar import evaluate_similar
from tqnet.hub.mteb import TQNetEncoder, similar_questions_task
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank, Similarity


@pytest.fixture
def folder(build_tiny: Callable[..., TQNetModel], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A tiny model in which figures count; a test may have another."""
    options = getattr(request, "param", {})
    build_tiny(awake=True, **options).save_pretrained(tmp_path / "run" / "model")
    return tmp_path / "run" / "model"


@pytest.fixture(scope="module")
def bank(sample_bank: QuestionBank) -> QuestionBank:
    """Whole groups with and without figures, and a few questions without a group."""
    groups = np.array([group or "" for group in sample_bank.column("group")])
    chosen = [name for name in dict.fromkeys(groups.tolist()) if name][:20]
    lone = np.flatnonzero(groups == "")[:10]
    return sample_bank.select(np.union1d(np.flatnonzero(np.isin(groups, chosen)), lone))


def run_task(encoder: Any, task: Any) -> dict[str, Any]:
    result = mteb.evaluate(encoder, task, cache=None, show_progress_bar=False, co2_tracker=False)
    return next(iter(result.task_results[0].scores.values()))[0]


@pytest.mark.parametrize("folder", [{}, {"visual": None}], ids=["figures", "text"], indirect=True)
@pytest.mark.parametrize("split", ["test", None])
def test_the_numbers_are_those_of_evaluate_similar(folder: Path, bank: QuestionBank, split: str | None) -> None:
    encoder = TQNetEncoder(str(folder), device="cpu")
    similarity = Similarity.from_groups(bank)
    vectors = encoder.encoder.encode(bank)
    wanted = evaluate_similar(vectors, bank, similarity, split).overall
    task = similar_questions_task(bank, similarity, split, figures=encoder.encoder.config.reads_images)
    scores = run_task(encoder, task)
    queries = task.dataset["default"][split or "all"]["queries"]
    assert len(queries) == len(wanted) > 5
    summary = wanted.summary()
    assert 0.01 < summary["precision"] < 0.99  # type: ignore[operator]
    assert scores["main_score"] == scores["precision_at_5"] == pytest.approx(summary["precision"], abs=2e-5)
    assert scores["recall_at_5"] == pytest.approx(summary["recall"], abs=2e-5)
    assert scores["ndcg_at_5"] == pytest.approx(summary["ndcg"], abs=2e-5)


def test_equal_texts_tie_as_in_evaluate_similar(folder: Path, bank: QuestionBank) -> None:
    """Of figure-only questions, a model that is shown texts alone sees a dozen sentences."""
    encoder = TQNetEncoder(str(folder), device="cpu")
    texts = [question.content for question in bank]
    similarity = Similarity.from_groups(bank)
    wanted = evaluate_similar(encoder.encoder.encode(texts), bank, similarity, None).overall.summary()
    scores = run_task(encoder, similar_questions_task(bank, similarity, None, figures=False))
    assert len(set(texts)) < len(texts)
    assert scores["precision_at_5"] == pytest.approx(wanted["precision"], abs=2e-5)


def test_it_is_an_encoder_of_mteb(folder: Path) -> None:
    encoder = TQNetEncoder(str(folder), device="cpu")
    assert isinstance(encoder, EncoderProtocol)
    meta = encoder.mteb_model_meta
    assert meta is not None
    assert (meta.name, meta.embed_dim, meta.modalities) == ("tqnet/run", 48, ["text", "image"])
    texts = ["Find $x$.", "求 $x$。", "How many?"]
    batches: Any = DataLoader(Dataset.from_dict({"text": texts}), batch_size=2)
    vectors = encoder.encode(batches)
    np.testing.assert_allclose(vectors, encoder.encoder.encode(texts), atol=1e-5)
    unit = torch.nn.functional.normalize(torch.from_numpy(vectors))
    np.testing.assert_allclose(encoder.similarity(vectors, vectors), unit @ unit.T, atol=2e-6)
    half = TQNetEncoder(str(folder), device="cpu", precision="bf16").encode(batches)
    assert 0 < np.abs(half - vectors).max() < 0.2


def test_a_retrieval_task_of_its_own(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFCorpus as it is, but for where its data lie: its loader reads a local data set of the same form."""
    data = tmp_path / "nfcorpus"
    configurations = {
        "corpus": [
            {"_id": f"d{i}", "title": f"Triangle {i}", "text": f"Find the area of triangle {i}."} for i in range(9)
        ],
        "queries": [{"_id": f"q{i}", "text": f"Triangle {i} Find the area of triangle {i}."} for i in range(3)],
        "default": [{"query-id": f"q{i}", "corpus-id": f"d{i}", "score": 1} for i in range(3)],
    }
    splits = {"corpus": "corpus", "queries": "queries", "default": "test"}
    head = ["---", "configs:"]
    for name, rows in configurations.items():
        file = data / name / f"{splits[name]}.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        head += [f"- config_name: {name}", "  data_files:", f"  - split: {splits[name]}", f"    path: {name}/*.jsonl"]
    (data / "README.md").write_text("\n".join([*head, "---", ""]))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    task = mteb.get_task("NFCorpus")
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": str(data), "revision": "local"}})
    scores = run_task(TQNetEncoder(str(folder), device="cpu"), task)
    assert scores["precision_at_1"] == 1.0  # each query is the text of its document
    assert scores["ndcg_at_10"] == 1.0


def test_the_command(folder: Path, bank: QuestionBank, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bank").mkdir()
    bank.save(tmp_path / "bank" / "questions.jsonl")
    own_bank = str(tmp_path / "bank")
    common = ["--model", str(folder), "--bank", own_bank, "--device", "cpu", "--precision", "fp32"]
    assert main(["evaluate", "mteb", *common, "--out", str(tmp_path / "out")]) == 0
    assert "SimilarQuestions-bank" in capsys.readouterr().out
    scores = json.loads((tmp_path / "out" / "results.json").read_text())["mteb"]["SimilarQuestions-bank"]
    assert main(["evaluate", "similar", *common, "--no-baselines", "--json"]) == 0
    similar = json.loads(capsys.readouterr().out)["model"]["similar"]["overall"]
    assert scores["test: precision_at_5"] == pytest.approx(similar["precision"], abs=2e-5)
    assert list((tmp_path / "out" / "mteb").rglob("SimilarQuestions-bank.json"))
    assert main(["card", str(folder), "--results", str(tmp_path / "out" / "results.json")]) == 0
    assert f"{scores['test: precision_at_5']:.4f}" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "out"], "--bank or --tasks: nothing to measure"),
        (["--out", "out", "--tasks", "NoSuchTask"], "--tasks: "),
        (["--out", "out", "--bank", "BANK", "--k", "99"], "no question of split 'test' has 99 similar ones"),
    ],
)
def test_what_cannot_be_measured(
    folder: Path,
    bank: QuestionBank,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    bank.save(tmp_path / "questions.jsonl")
    given = [str(tmp_path / "questions.jsonl") if argument == "BANK" else argument for argument in arguments]
    assert main(["evaluate", "mteb", "--model", str(folder), *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("tqnet: error: ")
    assert message in error


def test_what_is_no_encoder(folder: Path) -> None:
    (folder / "solver.json").write_text("{}")
    with pytest.raises(ValueError, match="a solver of word problems, not an encoder of questions"):
        TQNetEncoder(str(folder))
