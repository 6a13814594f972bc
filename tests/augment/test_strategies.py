"""Whatever is drawn, a question stays one: its formulas closed, its braces balanced, its figures and labels its own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tqnet.augment.formulas import texts_of
from tqnet.augment.strategies import STRATEGIES, apply_strategies, strategy_names
from tqnet.questions import Question, QuestionBank
from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.latex import Role, parse_formulas

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"

#: Questions that one example augments, and examples: a hundred thousand draws in all.
DRAWS = 250


def public_questions(most: int = 2000) -> Iterator[Question]:
    """Some questions of every bank in the folder that TQNET_DATA names."""
    for file in sorted(Path(os.environ.get("TQNET_DATA", "no folder")).glob("*/questions.jsonl")):
        lines = file.read_text(encoding="utf-8").rstrip("\n").split("\n")
        for line in lines[:: max(1, len(lines) // most)]:
            record = json.loads(line)
            yield Question(id=record["id"], stem=record["stem"], options=tuple(record.get("options") or ()))


@cache
def questions() -> list[Question]:
    return [*QuestionBank.load(SAMPLE), *public_questions()]


def shape(text: str) -> tuple[int, dict[str, int]]:
    """How many formulas a text has, and by how much its brackets of each kind are out of balance."""
    parts = list(segments(text))
    text_tokens = tokens(text)
    pairs = ("{ }", r"\{ \}", r"\left \right")
    balance = {pair: text_tokens.count(pair.split()[0]) - text_tokens.count(pair.split()[1]) for pair in pairs}
    return sum(part.is_formula for part in parts), balance


@pytest.mark.parametrize("examples", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_questions_stay_questions(examples: int) -> None:
    given_draws = given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from([*STRATEGIES, "all"]))
    phases = (Phase.explicit, Phase.generate)
    settings(max_examples=examples, deadline=None, derandomize=True, phases=phases)(given_draws(draw_and_check))()


def draw_and_check(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    names = tuple(STRATEGIES) if name == "all" else (name,)
    for place in rng.integers(len(questions()), size=DRAWS):
        before = questions()[place]
        after = apply_strategies(before, names, 0.5 if name == "all" else 1, rng)
        assert after.stem.strip()
        assert replace(after, stem=before.stem, options=before.options) == before
        for old, new in zip(texts_of(before), texts_of(after), strict=True):
            (old_count, old_balance), (new_count, new_balance) = shape(old), shape(new)
            assert new_count >= old_count if name in ("repeat", "all") else new_count == old_count
            if not any(old_balance.values()):
                assert not any(new_balance.values())
            check(name, old, new)


def check(name: str, old: str, new: str) -> None:
    """What one strategy must leave as it is."""
    if name == "rename":
        assert names(old) == names(new)
    if name in ("operator", "number"):
        pairs = list(zip(tokens(old), tokens(new), strict=True))
        assert sum(before != after for before, after in pairs) <= 1
    if name in ("swap", "delete"):
        assert tokens(old) == tokens(new)
        assert sorted(re.findall(r"\d+", old)) == sorted(re.findall(r"\d+", new))
    if name == "shuffle":
        assert sorted(old) == sorted(new)
    if name == "repeat":
        assert old in {new[:start] + new[start + len(new) - len(old) :] for start in range(len(old) + 1)}


def tokens(text: str) -> list[str]:
    return [token for part in segments(text) if part.is_formula for token in formula_tokens(part.body)]


def names(text: str) -> list[int]:
    """The variables of the formulas by where each first occurs: equal for texts that name things alike."""
    letters = [token.text for formula in parse_formulas(text) for token in formula if token.role is Role.VARIABLE]
    return [letters.index(letter) for letter in letters]


def test_each_strategy_has_its_own_chance() -> None:
    question = Question(id="q", stem="If $x=12$, and $y=34$, find $x+y$ by hand.")
    rng = np.random.default_rng(0)
    unchanged = sum(apply_strategies(question, ("number", "shuffle"), 0.3, rng) == question for _ in range(2000))
    assert unchanged / 2000 == pytest.approx(0.7**2, abs=0.04)


def test_names_and_groups() -> None:
    assert strategy_names(["structure", "swap"]) == ("swap", "shuffle", "repeat")
    assert strategy_names([]) == ()
    with pytest.raises(ValueError, match=r"'synonym' is not one of the strategies swap, .*, or groups text, formula"):
        strategy_names(["synonym"])
