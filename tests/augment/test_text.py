"""Masked and clipped questions stay questions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.augment.view import clip_window, mask_words
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.text.formulas import segments, units

MASK = "[MASK]"
WORDS = st.lists(st.sampled_from(["area", "求", "$x^2$", r"$\frac{1}{2}AB$", "find,", "3", "$5", r"\(y\)"]), max_size=9)


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def formulas(text: str) -> list[list[str]]:
    """The tokens of each formula."""
    found: dict[int, list[str]] = {}
    for unit in units(text):
        if unit.formula is not None:
            found.setdefault(unit.formula, []).append(unit.text)
    return list(found.values())


def test_a_masked_unit_is_one_mask_token_to_the_model(sample_bank: QuestionBank, tiny_model: TQNetModel) -> None:
    processor = tiny_model.processor
    processor.max_length = 10_000
    for i, question in enumerate(sample_bank.select(range(60))):
        masked = mask_words(question, 0.3, rng(1, i))
        (ids,) = processor.tokenize([masked.content])
        assert ids.count(processor.tokenizer.mask_token_id) == masked.content.count(MASK)


def test_the_share_of_masked_units_is_that_asked_for(sample_bank: QuestionBank) -> None:
    masked = total = 0
    for i, question in enumerate(sample_bank):
        masked += mask_words(question, 0.15, rng(2, i)).stem.count(MASK)
        total += sum(unit.text not in set("{}^_&()") for unit in units(question.stem))
    assert masked / total == pytest.approx(0.15, abs=0.015)


@given(WORDS, st.floats(0, 0.99), st.integers(0, 2**31))
def test_something_is_always_left_to_read(words: list[str], share: float, seed: int) -> None:
    question = Question(id="q", stem=" ".join(words), options=tuple(words[:3]))
    masked = mask_words(question, share, rng(seed))
    assert len(masked.options) == len(question.options)
    for before, after in zip((question.stem, *question.options), (masked.stem, *masked.options), strict=True):
        left = [unit.text for unit in units(after) if unit.text != MASK]
        assert bool(left) == bool(units(before))


@given(st.floats(0.05, 1.0), st.integers(0, 2**31), st.integers(0, 60))
def test_a_clipped_stem_is_one_stretch_of_at_least_the_share_asked_for(least: float, seed: int, length: int) -> None:
    words = [f"w{i}" if i % 3 else f"$x_{i}$" for i in range(length)]
    question = Question(id="q", stem=" ".join(words), options=("$1$", "two words"))
    clipped = clip_window(question, least, rng(seed))
    before, after = ([unit.text for unit in units(q.stem)] for q in (question, clipped))
    assert len(after) >= math.ceil(least * len(before))
    assert any(before[i : i + len(after)] == after for i in range(len(before) - len(after) + 1))
    assert clipped.options == question.options
    assert bool(clipped.stem) == bool(question.stem)


def test_clipped_stems_of_the_bank_have_whole_formulas(sample_bank: QuestionBank) -> None:
    shorter = 0
    for i, question in enumerate(sample_bank):
        clipped = clip_window(question, 0.5, rng(3, i))
        before = [(unit.text, unit.formula is None) for unit in units(question.stem)]
        after = [(unit.text, unit.formula is None) for unit in units(clipped.stem)]
        assert any(before[j : j + len(after)] == after for j in range(len(before) - len(after) + 1))
        assert all(segment.body.strip() for segment in segments(clipped.stem) if segment.is_formula)
        shorter += len(after) < len(before)
    assert shorter > 0.8 * len(sample_bank)
