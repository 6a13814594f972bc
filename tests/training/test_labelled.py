"""``data.labelled``: a supervised stage learns from a share of the groups and of the questions without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tqnet.config import ConfigError
from tqnet.questions import Question, QuestionBank
from tqnet.training.config import DataConfig
from tqnet.training.session import training_questions

WORDS = ["algebra", "area", "chord", "circle", "cone", "cube", "degree", "edge", "factor", "graph", "height", "integer"]


@pytest.fixture
def bank(tmp_path: Path) -> str:
    """Ten groups of three, and ten questions without a group."""
    stems = [f"What is {word} and {other}?" for word in WORDS for other in WORDS[::2]]
    grouped = [Question(id=str(i), stem=stem, group=f"g{i // 3}", split="train") for i, stem in enumerate(stems[:30])]
    alone = [Question(id=str(i), stem=stem, split="train") for i, stem in enumerate(stems[30:40], 30)]
    QuestionBank.from_questions([*grouped, *alone]).save(tmp_path / "bank.jsonl")
    return str(tmp_path / "bank.jsonl")


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
    with pytest.raises(ConfigError, match=r"^data\.labelled: this recipe learns from all questions that it has"):
        training_questions(DataConfig(bank=bank, labelled=0.2), pretraining=True)
    with pytest.raises(ConfigError, match=r"^labelled: must be greater than 0"):
        DataConfig(bank=bank, labelled=0.0)
