"""Paraphrase training learns, by each method and objective, goes on where it was stopped, and says what is wrong."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finetune.paraphrase import ParaphraseConfig, english_questions
from tqnet.config import ConfigError, load_config
from tqnet.paraphrase import settings as paraphrases
from tqnet.questions import BankError, Question, QuestionBank
from tqnet.questions.paraphrase_pairs import read_paraphrase_pairs

spacy = pytest.importorskip("spacy")

load_once = functools.cache(spacy.load)

NAME = "finetune.paraphrase"
FAST = [
    "model.visual=null",
    "optim.lr=2e-3",
    "optim.text_lr=2e-3",
    "optim.warmup=0",
    "model.dropout=0.1",
]
ONE = [*FAST, "run.max_steps=1", "run.batch_size=8"]

#: Problems of our own: who, verb, unit, things.
PEOPLE = ("Maria", "Tom", "Lena", "Omar", "Ines", "Paul", "Nora", "Felix")
THINGS = (("pears", "kg"), ("rope", "m"), ("flour", "g"), ("wire", "cm"))


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 word problems of a few patterns, and some that are none in English."""
    rng = np.random.default_rng(0)
    stems = [
        f"{PEOPLE[at % 8]} buys {rng.integers(2, 90)} {unit} of {item} on Monday, {rng.integers(2, 90)} {unit} later. "
        f"How much {item} does {PEOPLE[at % 8]} buy in all?"
        for at in range(64)
        for item, unit in [THINGS[at % 4]]
    ]
    records = [{"id": f"q{at}", "stem": stem, "split": "train"} for at, stem in enumerate(stems)]
    records += [{"id": "zh", "stem": "小明有5个苹果，吃了2个。", "language": "zh", "split": "train"}]
    file = tmp_path_factory.mktemp("bank") / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def one_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model takes a second to load."""
    monkeypatch.setattr(spacy, "load", load_once)


@pytest.fixture
def valid_pairs(tmp_path: Path) -> Path:
    rows = [
        {
            "question": f"{name} buys 7 {unit} of {item}. How much {item} is it?",
            "positive1": f"{name} buys seven {unit} of {item}. How much {item} is it?",
            "negative1": f"{name} buys some {unit} of {item}. How much {item} is it?",
            "negative2": f"{name} buys 7 {unit} of {item}.",
        }
        for name, (item, unit) in zip(PEOPLE, THINGS * 2, strict=True)
    ]
    file = tmp_path / "valid.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


@pytest.fixture
def rewrites(tmp_path: Path, bank: Path) -> Path:
    """What models might have written, in place of which the order of the sentences changes."""
    stems = [json.loads(line)["stem"] for line in bank.read_text(encoding="utf-8").splitlines()[:-1]]
    rows = [
        {"text": stem, "operator": operator, "rewrites": [made]}
        for stem in stems
        for first, question in [stem.split(". ")]
        for operator, made in (("back-translation", f"{question} {first}."), ("lossy-paraphrase", f"{first}?"))
    ]
    file = tmp_path / "rewrites.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_questions_by_which_a_state_is_chosen_are_not_trained_on(
    bank: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In whatever case and spacing; nor are those in another language of which nobody said so."""
    caplog.set_level("INFO")
    mine = QuestionBank.load(bank)
    stems = mine.column("stem")
    pairs = tmp_path / "valid.jsonl"
    made = {"original": stems[0].upper().replace(" ", "  "), "paraphrase": "Why?", "label": 0}
    pairs.write_text(json.dumps(made), encoding="utf-8")
    foreign = [Question("de", "Tom hat fünf Äpfel und isst zwei davon. Wie viele Äpfel bleiben ihm nun noch übrig?")]
    config = load_config(ParaphraseConfig, [], [f"data.bank={bank}", f"data.valid_pairs={pairs}", "run.out=out"])
    kept = english_questions(QuestionBank.from_questions([*mine, *foreign]), config)
    assert set(kept.ids) == {id for id, stem in zip(mine.ids, stems, strict=True) if stem != stems[0]} - {"zh"}
    assert "2 of 66 questions are left out: without a text, or not in English" in caplog.text
    assert "questions are left out: they are in data.valid_pairs" in caplog.text


def test_it_learns_to_tell_them_apart(
    train: Callable[..., Any], bank: Path, valid_pairs: Path, rewrites: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    settings = [f"data.bank={bank}", f"data.valid_pairs={valid_pairs}", f"data.rewrites={rewrites}", "run.epochs=10"]
    run = train(NAME, *FAST, *settings, "objective=triplet_euclidean", "run.log_every=5")
    assert all(math.isfinite(value) for record in run.records for value in record.values())
    assert run.losses[-1] < run.losses[0] - 0.2
    first, *_, last = [record for record in run.records if "loss" in record]
    assert last["positive"] - last["negative"] > first["positive"] - first["negative"] + 0.2
    scored = [record["valid/separation"] for record in run.records if "valid/separation" in record]
    assert max(scored) > scored[0] + 0.1
    pairs = read_paraphrase_pairs(valid_pairs)
    texts = [text for pair in pairs for text in (pair.original, pair.paraphrase)]
    first_of, second_of = run.model.encode(texts, normalize=True).reshape(len(pairs), 2, -1).swapaxes(0, 1)
    cosines, labels = (first_of * second_of).sum(1), np.array([pair.label for pair in pairs])
    kept = cosines[labels == 1].mean() - cosines[labels == 0].mean()  # of the best state, not of the last
    assert kept == pytest.approx(max(scored), abs=0.02)
    assert "1 of 65 questions are left out: without a text, or not in English" in caplog.text
    assert "left out:" not in caplog.text.replace("left out: without a text", "")


@pytest.mark.parametrize(
    "settings",
    [
        ["objective=mnr"],
        ["objective=mnr", "hard_negatives=false"],
        ["objective=triplet", "margin=0.5", "operators=[f3,f8]"],
        ["method=uda", "objective=triplet"],
        ["method=uda", "objective=mnr", "pseudo=true", "pseudo_threshold=0.99"],
    ],
    ids=" ".join,
)
def test_each_objective_and_method(settings: list[str], train: Callable[..., Any], bank: Path) -> None:
    run = train(
        NAME,
        *FAST,
        f"data.bank={bank}",
        *settings,
        "run.max_steps=2",
        "run.log_every=1",
        "questions=40",
    )
    logged = [record for record in run.records if "loss" in record]
    assert [record["step"] for record in logged] == [1, 2]
    assert all(math.isfinite(value) for record in logged for value in record.values())
    assert {"positive", "negative"} <= logged[0].keys()
    assert json.loads((run.out / "run.json").read_text())["bank"]["questions"] == 40
    labels = run.out / "pseudo_labels.json"
    assert labels.exists() == ("pseudo=true" in settings)
    if labels.exists():
        counts = json.loads(labels.read_text())
        assert counts["positive"] + counts["negative"] == 32
        assert counts["positive_percent"] + counts["negative_percent"] == pytest.approx(100, abs=0.02)
        assert logged[0]["labelled_positive"] <= 1


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, list[str]]]:
    """What models have made of texts before training."""
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))

    def read() -> dict[str, list[str]]:
        (file,) = (tmp_path / "cache" / "made").glob("*.jsonl")
        return dict(json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line)

    return read


def test_ssmba_by_a_run_of_mlm(train: Callable[..., Any], bank: Path, made: Callable[[], dict[str, list[str]]]) -> None:
    mlm = train("pretrain.mlm", f"data.bank={bank}", "model.visual=null", "run.max_steps=1", out="mlm")
    settings = [f"data.bank={bank}", "method=ssmba", "refills=2", "run.max_steps=2"]
    run = train(NAME, *FAST, *settings, f"masked_model={mlm.out}", "run.save_every=1", "run.log_every=1")
    refills = made()
    assert len(refills) == 40  # two batches of 16, and a quarter more
    assert all(text not in others and len(others) <= 2 for text, others in refills.items())
    assert sum(map(len, refills.values())) > 40
    (run.out / "checkpoints" / "step-00000002.pt").unlink()
    again = train(NAME, *FAST, *settings, f"masked_model={mlm.out}", "run.save_every=1", "run.resume=true")
    assert again.losses[:2] == run.losses[:2]
    with pytest.raises(ConfigError, match=r"^masked_model: .*an encoder without its head; the folder of the run"):
        train(NAME, *FAST, *settings, f"masked_model={mlm.out / 'model'}", out="other")


def test_resumed_with_other_workers_it_ends_with_the_same_weights(
    train: Callable[..., Any], bank: Path, made: Callable[[], dict[str, list[str]]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    settings = [*FAST, f"data.bank={bank}", "run.max_steps=3", "run.save_every=1", "run.batch_size=8"]
    uninterrupted = train(NAME, *settings, out="whole")
    again = train(NAME, *settings, out="again")
    assert "left out: back-translation (f1), lossy-paraphrase (f9); data.rewrites: not given" in caplog.text
    assert "data.valid_pairs: not given, so the last state is kept, not the best" in caplog.text
    assert any(made().values())  # once for both runs
    for name in ("step-00000002.pt", "step-00000003.pt"):
        (again.out / "checkpoints" / name).unlink(missing_ok=True)
    again = train(NAME, *settings, "run.resume=true", "data.workers=1", out="again")
    assert again.same_weights(uninterrupted)


def test_what_a_run_cannot_do_without(train: Callable[..., Any], bank: Path, tmp_path: Path, rewrites: Path) -> None:
    given = [*ONE, f"data.bank={bank}"]
    with pytest.raises(ConfigError, match=r"^operators: of f1, f6, no positive is left"):
        train(NAME, *given, "operators=[f1,f6]")
    with pytest.raises(ConfigError, match=r"^parser: en_no_such_model: "):
        train(NAME, *given, "parser=en_no_such_model")
    with pytest.raises(FileNotFoundError):
        train(NAME, *given, f"data.rewrites={tmp_path / 'missing.jsonl'}")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"original": "Why?"}')
    with pytest.raises(BankError, match=r"broken\.jsonl:1: paraphrase: missing"):
        train(NAME, *given, f"data.valid_pairs={broken}")
    chinese = tmp_path / "chinese.jsonl"
    chinese.write_text('{"id": "1", "stem": "小明有5个苹果。", "language": "zh"}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^data\.bank: .* has no training question in English"):
        train(NAME, *ONE, f"data.bank={chinese}")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(paraphrases, "find_spec", lambda name: None if name in ("spacy", "pint") else find_spec(name))
    with pytest.raises(ImportError) as caught:
        importlib.import_module(NAME).main(ParaphraseConfig())
    message = "spacy, pint: missing, and needed to make paraphrases: pip install 'tqnet[paraphrase]'"
    assert str(caught.value) == message
