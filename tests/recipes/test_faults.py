"""What is wrong is said, and with it what to do."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tqnet.questions import BankError, QuestionBank
from tqnet.training.config import ConfigError, DataConfig
from tqnet.training.loop import NonFiniteLossError, TrainingLoop
from tqnet.training.session import clear_errors, training_questions
from tqnet.training.validation import similar_questions

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


@pytest.fixture
def copy_sample(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the sample bank with its records changed; the figures are linked."""

    def copy(change: Callable[[int, dict[str, Any]], dict[str, Any]], name: str = "copy") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "images").symlink_to(SAMPLE / "images")
        lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        records = [change(i, json.loads(line)) for i, line in enumerate(lines)]
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "questions.jsonl").write_text(text, encoding="utf-8")
        return folder

    return copy


def test_a_bank_with_faults(copy_sample: Callable[..., Path], train: Callable[..., Any]) -> None:
    def spoil(number: int, record: dict[str, Any]) -> dict[str, Any]:
        return record | {"stem": 5} if number in (3, 40) else record

    bank = copy_sample(spoil)
    with pytest.raises(BankError) as caught:
        train("pretrain.mlm", f"data.bank={bank}", "run.max_steps=1")
    assert re.search(r":4: stem.*\n.*:41: stem", str(caught.value))
    with pytest.warns(UserWarning, match="2 of 797 records left out"):
        train("pretrain.mlm", f"data.bank={bank}", "data.on_error=skip", "run.max_steps=1")


def test_clear_errors(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught, clear_errors():
        raise ConfigError("queue: too large")
    assert caught.value.code == 1
    assert capsys.readouterr().err == "error: queue: too large\n"
    with pytest.raises(SystemExit), clear_errors():
        raise torch.OutOfMemoryError
    assert "lower run.batch_size" in capsys.readouterr().err
    with pytest.raises(KeyError), clear_errors():  # a fault of the program keeps its traceback
        raise KeyError


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("pretrain.moco", ["queue=5000"], r"^queue: 5000 keys; (\d+) training questions allow at most (\d+)$"),
        ("finetune.similar", ["run.batch_size=2000"], r"^run\.batch_size: .* too few for a batch of 2000$"),
        ("pretrain.mlm", ["run.batch_size=2000"], r"^run\.batch_size: 2000 .* leaves no step$"),
        ("pretrain.autoencoder", ["model.visual=null"], r"^model\.visual: .*reads no figures"),
        ("pretrain.mlm", ["model.start=/nowhere"], r"^/nowhere: no model here"),
    ],
)
def test_settings_that_do_not_go_together(
    name: str, settings: list[str], message: str, train: Callable[..., Any]
) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        train(name, *settings)
    match = re.search(message, str(caught.value))
    assert match, str(caught.value)
    if match.groups():
        assert int(match[2]) == int(match[1]) // 2


def test_a_loss_that_is_not_finite_names_the_questions(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    check = TrainingLoop._check

    def remember(loop: TrainingLoop, loss: torch.Tensor) -> None:
        seen.append(loop.views.ids(loop._batch.index))
        check(loop, loss)

    monkeypatch.setattr(TrainingLoop, "_check", remember)
    with pytest.raises(NonFiniteLossError) as caught:
        train("finetune.similar", "optim.lr=1e30", "optim.text_lr=1e30", "optim.clip=0", "optim.warmup=0")
    assert 1 < len(seen) < 20
    assert all(name in str(caught.value) for name in seen[-1])
    assert f"step {len(seen)}: the loss is not finite; lower optim.lr" in str(caught.value)


def scramble(number: int, record: dict[str, Any], splits: tuple[str, ...]) -> dict[str, Any]:
    """Other labels for the questions of ``splits``; what a vector may see stays."""
    if record["split"] not in splits:
        return record
    changed = {
        "group": f"other-{number % 7}",
        "knowledge": [["Other", f"Area {number % 3}"]],
        "difficulty": 1 + number % 5,
        "answer": f"{number}",
        "analysis": "None.",
    }
    return record | changed


@pytest.mark.parametrize(
    ("name", "settings", "splits"),
    [
        ("pretrain.mlm", [], ("train", "valid", "test")),
        ("pretrain.autoencoder", [], ("train", "valid", "test")),
        ("pretrain.moco", ["queue=32", "bn_splits=1"], ("train", "valid", "test")),
        ("finetune.similar", ["concept_weight=0.5", "block=2"], ("valid", "test")),
    ],
)
def test_no_leak(
    name: str,
    settings: list[str],
    splits: tuple[str, ...],
    train: Callable[..., Any],
    copy_sample: Callable[..., Path],
) -> None:
    """Labels that a stage may not see do not move its weights by a bit.

    The last weights count: which state is *kept* is chosen by the groups of ``valid``, by design.
    """
    settings = [*settings, "run.max_steps=5", "run.eval_every=2"]
    other = copy_sample(lambda number, record: scramble(number, record, splits))
    first, second = train(name, *settings, out="first"), train(name, *settings, f"data.bank={other}", out="second")
    assert first.same_weights(second)


def test_no_leak_of_texts(train: Callable[..., Any], copy_sample: Callable[..., Path]) -> None:
    """Pre-training does not read the stems of other splits, unless it is told to; they count as a control."""

    def rewrite(number: int, record: dict[str, Any]) -> dict[str, Any]:
        return record if record["split"] == "train" else record | {"stem": f"Quite another question {number}."}

    other = copy_sample(rewrite)
    settings = ["run.max_steps=3"]
    first = train("pretrain.mlm", *settings, out="first")
    assert first.same_weights(train("pretrain.mlm", *settings, f"data.bank={other}", out="second"))
    told = [*settings, f"data.bank={other}", "data.transductive=true"]
    assert not first.same_weights(train("pretrain.mlm", *told, out="third"))


def test_pairs_of_a_whole_bank_serve_its_splits(train: Callable[..., Any], tmp_path: Path) -> None:
    """A pairs file names questions of all splits; written from the groups, it trains as the groups do."""
    bank = QuestionBank.load(SAMPLE)
    by_group: dict[str, list[str]] = {}
    for name, group in zip(bank.ids, bank.column("group"), strict=True):
        if group:
            by_group.setdefault(group, []).append(name)
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"a": a, "b": b, "similar": 1} for of in by_group.values() for a in of for b in of if a < b]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))

    data = DataConfig(bank=str(SAMPLE), pairs=str(pairs))
    part = training_questions(data, pretraining=False)
    everyone = range(len(part))
    by_pairs, by_groups = similar_questions(part, data), similar_questions(part, DataConfig(bank=str(SAMPLE)))
    assert (by_pairs.matrix(everyone) == by_groups.matrix(everyone)).all()

    settings = ["run.max_steps=3", "run.eval_every=3"]
    grouped = train("finetune.similar", *settings, out="grouped")
    paired = train("finetune.similar", *settings, f"data.pairs={pairs}", out="paired")
    assert grouped.same_weights(paired)
    assert grouped.records[-1] == paired.records[-1]


def test_a_bank_without_splits_trains_on_all(train: Callable[..., Any], copy_sample: Callable[..., Path]) -> None:
    bank = copy_sample(lambda number, record: record | {"split": None})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run = train("finetune.similar", f"data.bank={bank}", "run.max_steps=1")
    assert json.loads((run.out / "run.json").read_text())["bank"]["questions"] == 797
    assert run.model.encode(["x"]).shape == (1, 48)  # nothing to choose by: the last state is kept
