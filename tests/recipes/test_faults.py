"""What is wrong is said, and with it what to do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pretrain.multitask import TaskWeights
from tqnet.config import ConfigError
from tqnet.evaluation.sources import source_notes
from tqnet.questions import BankError, QuestionBank
from tqnet.training.config import DataConfig
from tqnet.training.loop import NonFiniteLossError, TrainingLoop
from tqnet.training.session import clear_errors, similar_questions, training_questions

TASKS = tuple(vars(TaskWeights()))


@pytest.fixture
def copy_bank(small_bank: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copy the small bank with its records changed."""

    def copy(change: Callable[[int, dict[str, Any]], dict[str, Any]], name: str = "copy") -> Path:
        lines = small_bank.read_text(encoding="utf-8").splitlines()
        records = [change(i, json.loads(line)) for i, line in enumerate(lines)]
        folder = tmp_path / name
        shutil.copytree(small_bank.parent / "images", folder / "images")
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "questions.jsonl").write_text(text, encoding="utf-8")
        return folder

    return copy


def test_a_bank_with_faults(copy_bank: Callable[..., Path], train: Callable[..., Any]) -> None:
    def spoil(number: int, record: dict[str, Any]) -> dict[str, Any]:
        return record | {"stem": 5} if number in (3, 40) else record

    bank = copy_bank(spoil)
    with pytest.raises(BankError) as caught:
        train("pretrain.mlm", f"data.bank={bank}", "run.max_steps=1")
    assert re.search(r":4: stem.*\n.*:41: stem", str(caught.value))
    with pytest.warns(UserWarning, match="2 of 88 records left out"):
        train("pretrain.mlm", f"data.bank={bank}", "data.on_error=skip", "run.max_steps=1")


def test_errors_of_a_recipe_name_its_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TQNET_DEBUG", raising=False)
    for error, code, message in (
        (ConfigError("queue: too large"), 2, "error: queue: too large"),
        (NonFiniteLossError("step 3: the loss"), 1, "error: step 3: the loss"),
        (torch.OutOfMemoryError("on the card"), 1, "error: out of memory: lower run.batch_size, model.max_length"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):
        with pytest.raises(SystemExit) as caught, clear_errors():
            raise error
        assert caught.value.code == code
        written = capsys.readouterr().err
        assert written.startswith(message)
        assert written.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("finetune.similar", ["run.batch_size=2000"], r"^run\.batch_size: .* too few for a batch of 2000$"),
        ("pretrain.mlm", ["run.batch_size=2000"], r"^run\.batch_size: 2000 .* leaves no step$"),
        ("pretrain.autoencoder", ["optim.visual_lr=0"], r"^optim\.visual_lr: 0 "),
        (
            "finetune.similar",
            ["optim.visual_lr=0"],
            r"^optim\.visual_lr: 0 would leave the visual stream with its random",
        ),
        (
            "finetune.similar",
            ["model.visual=null", "model.fusion=none", "optim.text_lr=0"],
            "0 leaves nothing to train",
        ),
        ("finetune.similar", ["model.visual_norm=frozen"], r"^model\.visual_norm: frozen, but .* random weights"),
        ("finetune.similar", ["model.visual=lite1"], r"^model\.visual: 'lite1' is not lite0, lite2 or"),
        ("pretrain.autoencoder", ["model.visual=null"], r"^model\.visual: .*reads no figures"),
        ("pretrain.mlm", ["model.start=/nowhere"], r"^model\.start: /nowhere: no model here"),
        ("pretrain.mlm", ["model.max_length=9000"], r"^model\.max_length: 9000"),
        ("pretrain.mlm", ["model.fusion=sum"], r"^model\.fusion: must be .*'sum'"),
        ("pretrain.mlm", ["data.bank=bank.csv"], r"bank\.csv"),
        ("pretrain.moco", ["mode=seq", "queue=16", "model.fusion=joint"], r"^mode: seq .*model\.fusion=joint"),
        (
            "pretrain.quesco",
            ["queue=32", "temperatures=[0.1,0.2]"],
            r"^temperatures: 2 for the 5 ranks of a hierarchy of 3 levels",
        ),
        ("pretrain.quesco", ["queue=32", "temperatures=[0.3,0.1,0.3,0.4,0.6]"], r"^temperatures: .*none less than"),
        ("pretrain.consert", ["model.fusion=joint"], r"^model\.fusion: joint"),
        ("pretrain.disenqnet", ["run.batch_size=1"], r"^run\.batch_size: 1 is too small"),
        ("pretrain.disenqnet", ["level=7"], r"^level: .*7"),
        ("pretrain.clip", ["run.batch_size=500"], r"^data\.bank: .* \d+ .* with a figure, too few .* 500"),
        ("pretrain.clip", ["model.fusion=joint"], r"^model\.fusion: joint"),
        ("pretrain.multitask", ["model.architecture=quesnet"], r"^model: a quesnet has no text encoder"),
        ("pretrain.multitask", ["model.fusion=joint"], r"^model\.fusion: joint .*weights\.figures"),
        ("pretrain.multitask", ["difficulty_levels=1"], r"^difficulty_levels: must be greater than or equal to 2"),
        ("pretrain.multitask", ["weights.order=-1"], r"^weights\.order: must be greater"),
        (
            "pretrain.multitask",
            ["data.show=text", *(f"weights.{task}=0" for task in TASKS if task != "figures")],
            r"^weights: .*no question takes part",
        ),
        (
            "pretrain.quesnet",
            ["model.architecture=tqnet"],
            r"^model\.architecture: this recipe trains a quesnet, not a tqnet$",
        ),
        ("finetune.similar", ["data.pairs=pairs.txt"], r"^pairs\.txt"),
        ("finetune.similar", ["block=2", "block_level=9"], r"^level: .*9$"),
        ("finetune.pairs", ["data.pairs=pairs.txt"], r"^pairs\.txt: pairs are read from"),
        ("finetune.knowledge", ["levels=[2,1,2]"], r"^levels: \[2, 1, 2\] names a level twice$"),
    ],
)
def test_settings_that_do_not_go_together(
    name: str, settings: list[str], message: str, train: Callable[..., Any]
) -> None:
    with pytest.raises((BankError, ValueError, FileNotFoundError)) as caught:
        train(name, *settings)
    match = re.search(message, str(caught.value))
    assert match, str(caught.value)
    if match.groups():
        assert int(match[2]) == int(match[1]) // 2


def test_a_loss_that_is_not_finite_names_the_questions(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    step = TrainingLoop.step

    def remember(loop: TrainingLoop, loss: torch.Tensor, logged: dict[str, Any]) -> None:
        seen.append(loop.views.ids(loop._batch.index))
        step(loop, loss * float("inf") if len(seen) == 3 else loss, logged)

    monkeypatch.setattr(TrainingLoop, "step", remember)
    with pytest.raises(NonFiniteLossError) as caught:
        train("finetune.similar", "run.epochs=3")
    assert len(seen) == 3
    assert all(name in str(caught.value) for name in seen[-1])
    assert f"step {len(seen)}: the loss is not finite; lower optim.lr" in str(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_figure_that_cannot_be_read_in_training(
    workers: int, train: Callable[..., Any], tmp_path: Path, draw_figure: Callable[..., str], caplog: Any
) -> None:
    """It was there when the bank was checked; figures of validation are read by the same rule."""
    paths = [draw_figure(number) for number in range(24)]
    records = [
        {"id": str(i), "stem": f"Find $x$ in {i}.", "images": [Path(path).name], "group": f"g{i % 2}", "split": split}
        for i, (path, split) in enumerate(zip(paths, ["train"] * 12 + ["valid"] * 12, strict=True))
    ]
    bank = tmp_path / "bank.jsonl"
    bank.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    given = [f"data.bank={bank}", f"data.workers={workers}", "data.verify_images=false", "run.batch_size=8"]
    for path in (paths[0], paths[20]):
        Path(path).write_bytes(b"no figure")
    with pytest.raises(OSError, match="corrupt image"):
        train("finetune.similar", *given)
    run = train("finetune.similar", *given, "data.on_error=skip", out="skipped")
    assert run.model.config.reads_images
    assert f"{paths[20]}: corrupt image; a blank is read in its place" in caplog.text


@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_a_gradient_that_is_not_finite_reaches_no_weight(
    clip: float, train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The loss is finite; the root of zero in the first of two micro-batches has no gradient. Both are named."""
    seen: list[str] = []
    loops: list[tuple[TrainingLoop, dict[str, torch.Tensor]]] = []
    step = TrainingLoop.step

    def spoil(loop: TrainingLoop, loss: torch.Tensor, logged: dict[str, Any]) -> None:
        if not seen:
            loops.append((loop, {name: value.clone() for name, value in loop.trained.state_dict().items()}))
            loss = loss + sum((0 * parameter.sum()).sqrt() for parameter in loop.trained.parameters())
        seen.extend(loop.views.ids(loop._batch.index))
        step(loop, loss, logged)

    monkeypatch.setattr(TrainingLoop, "step", spoil)
    with pytest.raises(NonFiniteLossError, match="step 1: the gradient is not finite") as caught:
        train("pretrain.mlm", f"optim.clip={clip}", "run.accumulate=2", "run.max_steps=3")
    assert len(seen) == 32
    assert all(name in str(caught.value) for name in seen)
    ((loop, before),) = loops
    assert all(torch.equal(value, before[name]) for name, value in loop.trained.state_dict().items())
    assert not list((tmp_path / "run").rglob("*.pt"))


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
        "type": f"type {number % 3}",
    }
    return record | changed


@pytest.mark.parametrize(
    ("name", "settings", "splits"),
    [
        ("pretrain.mlm", [], ("train", "valid", "test")),
        ("pretrain.autoencoder", [], ("train", "valid", "test")),
        ("pretrain.moco", ["queue=32", "bn_splits=1"], ("train", "valid", "test")),
        ("pretrain.quesco", ["queue=32", "bn_splits=1"], ("valid", "test")),
        ("pretrain.quesco", ["queue=32", "bn_splits=1", "hierarchy=false"], ("train", "valid", "test")),
        ("pretrain.consert", [], ("train", "valid", "test")),
        ("pretrain.disenqnet", ["data.transductive=true"], ("valid", "test")),
        ("pretrain.clip", [], ("train", "valid", "test")),
        ("pretrain.multitask", ["data.transductive=true"], ("valid", "test")),
        ("pretrain.quesnet", ["holes=0.5"], ("train", "valid", "test")),
        ("finetune.similar", ["concept_weight=0.5", "block=2"], ("valid", "test")),
        ("finetune.knowledge", [], ("valid", "test")),
        ("finetune.pairs", [], ("valid", "test")),
        ("finetune.paraphrase", ["model.visual=null"], ("train", "valid", "test")),
    ],
)
def test_no_leak(
    name: str,
    settings: list[str],
    splits: tuple[str, ...],
    train: Callable[..., Any],
    copy_bank: Callable[..., Path],
) -> None:
    """Labels that a stage may not see do not move its weights by a bit.

    The last weights count: which state is *kept* is chosen by the groups of ``valid``, by design.
    """
    settings = [*settings, "run.max_steps=2", "run.eval_every=2"]
    scrambled = copy_bank(lambda number, record: scramble(number, record, splits))
    first, second = train(name, *settings, out="first"), train(name, *settings, f"data.bank={scrambled}", out="second")
    assert first.same_weights(second)


def test_a_task_takes_the_questions_that_have_its_field(
    train: Callable[..., Any], copy_bank: Callable[..., Path], small_bank: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Batches of two, of which many have nothing for a task: it says nothing of them, and no loss is NaN."""
    fields = {"answer": None, "analysis": None, "type": None, "difficulty": None, "knowledge": [], "images": []}

    def strip(number: int, record: dict[str, Any]) -> dict[str, Any]:
        return record if number % 8 == 0 else record | fields

    caplog.set_level("INFO")
    settings = ["run.batch_size=2", "run.max_steps=24", "run.log_every=1"]
    run = train("pretrain.multitask", f"data.bank={copy_bank(strip)}", *settings)
    left = QuestionBank.load(small_bank).column("split")[::8].count("train")
    for task in ("solution", "type", "difficulty", "knowledge"):
        assert f"{task}: {left} of 64 questions take part" in caplog.text
    steps = [record for record in run.records if "loss" in record]
    assert all("words/loss" in record for record in steps)
    for task in ("solution", "type", "difficulty", "knowledge", "figures"):
        assert 0 < sum(f"{task}/loss" in record for record in steps) < len(steps), task


def test_no_leak_of_texts(train: Callable[..., Any], copy_bank: Callable[..., Path]) -> None:
    """Pre-training does not read the stems of other splits, unless it is told to; they count as a control."""

    def rewrite(number: int, record: dict[str, Any]) -> dict[str, Any]:
        return record if record["split"] == "train" else record | {"stem": f"Quite another question {number}."}

    rewritten = copy_bank(rewrite)
    settings = ["run.max_steps=3"]
    first = train("pretrain.mlm", *settings, out="first")
    assert first.same_weights(train("pretrain.mlm", *settings, f"data.bank={rewritten}", out="second"))
    told = [*settings, f"data.bank={rewritten}", "data.transductive=true"]
    third = train("pretrain.mlm", *told, out="third")
    assert not first.same_weights(third)
    last = train("finetune.similar", f"model.start={third.out / 'model'}", "run.max_steps=2", out="last")
    assert [len(source_notes(str(run.out / "model"))) for run in (first, third, last)] == [0, 1, 1]  # and says so


def test_pairs_of_a_whole_bank_serve_its_splits(train: Callable[..., Any], small_bank: Path, tmp_path: Path) -> None:
    """A pairs file names questions of all splits; written from the groups, it trains as the groups do."""
    bank = QuestionBank.load(small_bank)
    by_group: dict[str, list[str]] = {}
    for name, group in zip(bank.ids, bank.column("group"), strict=True):
        if group:
            by_group.setdefault(group, []).append(name)
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"a": a, "b": b, "similar": 1} for names in by_group.values() for a in names for b in names if a < b]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))

    data = DataConfig(bank=str(small_bank), pairs=str(pairs))
    part = training_questions(data, pretraining=False)
    everyone = range(len(part))
    by_pairs, by_groups = similar_questions(part, data), similar_questions(part, DataConfig(bank=str(small_bank)))
    assert (by_pairs.matrix(everyone) == by_groups.matrix(everyone)).all()

    settings = ["run.max_steps=3", "run.eval_every=3"]
    grouped = train("finetune.similar", *settings, out="grouped")
    paired = train("finetune.similar", *settings, f"data.pairs={pairs}", out="paired")
    assert grouped.same_weights(paired)
    assert grouped.learning == paired.learning


def test_questions_without_a_split_are_counted(
    copy_bank: Callable[..., Path], small_bank: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    complete = DataConfig(bank=str(small_bank))
    train = len(training_questions(complete, pretraining=False))
    assert "split" not in caplog.text
    nothing = DataConfig(bank=str(copy_bank(lambda number, record: record | {"split": None}, "nothing")))
    assert len(training_questions(nothing, pretraining=True)) == 88  # no label is read, so none is tested on
    assert "split" not in caplog.text
    partly = copy_bank(lambda number, record: record | {"split": None} if number % 2 else record, "partly")
    part = training_questions(DataConfig(bank=str(partly)), pretraining=False)
    assert 0 < len(part) < train
    assert "44 of 88 questions have no split: they are left out" in caplog.text
