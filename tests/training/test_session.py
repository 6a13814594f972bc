"""The questions that a run learns from, what is similar, what it is measured on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tqnet.config import ConfigError
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.training import session
from tqnet.training.config import DataConfig, RecipeConfig, RunConfig
from tqnet.training.session import similar_questions, training_questions, validation

WORDS = ["algebra", "area", "chord", "circle", "cone", "cube", "degree", "edge", "factor", "graph", "height", "integer"]


@pytest.fixture
def bank(tmp_path: Path) -> str:
    """Ten groups of three, and ten questions without a group."""
    stems = [f"What is {word} and {other_word}?" for word in WORDS for other_word in WORDS[::2]]
    grouped = [Question(id=str(i), stem=stem, group=f"g{i // 3}", split="train") for i, stem in enumerate(stems[:30])]
    alone = [Question(id=str(i), stem=stem, split="train") for i, stem in enumerate(stems[30:40], 30)]
    QuestionBank.from_questions([*grouped, *alone]).save(tmp_path / "bank.jsonl")
    return str(tmp_path / "bank.jsonl")


def test_a_recipe_that_reads_no_figures_leaves_them_as_they_are(small_bank: Path) -> None:
    config = RecipeConfig(data=DataConfig(bank=str(small_bank)), run=RunConfig(out="out"))
    config.model.text, config.model.scratch_layers, config.model.visual = "scratch", 1, "test_resnet"
    bank = QuestionBank.load(small_bank)
    for read_images in (True, False):
        model = session.build(config, bank, read_images)
        assert {weight.requires_grad for weight in model.visual.parameters()} == {read_images}


def test_whole_groups_are_drawn(bank: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    half, fifth = (training_questions(DataConfig(bank=bank, labelled=share), pretraining=False) for share in (0.5, 0.2))
    assert f"data.labelled: {len(half)} of 40 questions, 0.5 of groups and of others" in caplog.text
    for part, units in ((half, 10), (fifth, 4)):
        groups = part.column("group")
        assert len(set(filter(None, groups))) + groups.count(None) == units
        assert len(part) == 3 * len(set(filter(None, groups))) + groups.count(None)
    assert set(fifth.ids) < set(half.ids)
    assert len(training_questions(DataConfig(bank=bank, labelled=1e-6), pretraining=False)) in (1, 3)


def test_what_is_held_out_is_no_part_of_the_share(bank: str, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"original": "What is area and cube?", "paraphrase": "Which?", "label": 1}))
    data = DataConfig(bank=bank, held_out=[str(pairs)])
    left = training_questions(data, pretraining=False)
    half = training_questions(DataConfig(bank=bank, held_out=[str(pairs)], labelled=0.5), pretraining=False)
    units = {group or name for group, name in zip(left.column("group"), left.ids, strict=True)}
    drawn = {group or name for group, name in zip(half.column("group"), half.ids, strict=True)}
    assert len(drawn) == round(len(units) / 2)


def test_who_learns_from_all_refuses_a_share(bank: str) -> None:
    with pytest.raises(ConfigError, match=r"^data\.labelled: this recipe does not follow it; leave it at 1"):
        training_questions(DataConfig(bank=bank, labelled=0.2), pretraining=True)
    with pytest.raises(ConfigError, match=r"^data\.held_out: this recipe does not follow it; leave it at \[\]"):
        DataConfig(bank=bank, held_out=["pairs.csv"]).refuse("labelled", "held_out")
    with pytest.raises(ConfigError, match=r"^labelled: must be greater than 0"):
        DataConfig(bank=bank, labelled=0.0)


SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


def test_distractors_join_the_corpus_and_ask_nothing(
    build_tiny: Callable[..., TQNetModel], sample_bank: QuestionBank
) -> None:
    model, size = build_tiny(), len(sample_bank.split("valid"))
    alone, among = (
        validation(RecipeConfig(data=DataConfig(bank=str(SAMPLE), distractors=count), run=RunConfig(out="out")), model)
        for count in (0, 100)
    )
    assert alone is not None
    assert among is not None
    assert (len(alone.bank), len(among.bank)) == (size, size + 100)
    splits = np.asarray(among.bank.column("split"), dtype=object)
    assert set(splits[:size]) == {"valid"}
    assert set(splits[size:]) == {"train"}
    assert 0 < among()["valid/p@5"] <= alone()["valid/p@5"]  # the same queries, searched in more


def test_pairs_of_records_that_are_skipped_are_skipped(tmp_path: Path) -> None:
    bank, pairs = tmp_path / "questions.jsonl", tmp_path / "pairs.csv"
    bank.write_text('{"id": "1", "stem": "x"}\n{"id": "2"}\n{"id": "3", "stem": "y"}\n', encoding="utf-8")
    pairs.write_text("a,b,similar\n1,2,1\n1,3,1\n", encoding="utf-8")
    data = DataConfig(bank=str(bank), on_error="skip", pairs=str(pairs))
    with (
        pytest.warns(UserWarning, match="1 of 3 records left out"),
        pytest.warns(UserWarning, match="1 of 2 pairs left out, .* no question '2' in the bank"),
    ):
        assert similar_questions(data.load(), data).neighbours(0).tolist() == [1]
