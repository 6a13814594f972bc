"""Views of a question are drawn from their generator alone; text stays a question, and figures stay whole."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tqnet.augment.view import AugmentConfig, FigureAugmentation, QuestionAugmentation, clip_window, mask_words
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.questions.images import open_figure
from tqnet.text.formulas import segments, units


@pytest.fixture
def augment() -> QuestionAugmentation:
    return QuestionAugmentation(AugmentConfig(), image_size=64, mask_token="[MASK]")


def test_the_same_generator_state_gives_the_same_view(augment: QuestionAugmentation, tiny_bank: QuestionBank) -> None:
    again = QuestionAugmentation(AugmentConfig(), 64, "[MASK]")
    for i, question in enumerate(tiny_bank):
        first_rng, second_rng = np.random.default_rng([0, i]), np.random.default_rng([0, i])
        assert augment.text(question, first_rng) == again.text(question, second_rng)
        for path in question.images:
            figure = open_figure(path)
            assert np.array_equal(augment.figures(figure, first_rng), again.figures(figure, second_rng))


def test_views_keep_the_options_and_never_lose_the_stem(
    augment: QuestionAugmentation, sample_bank: QuestionBank
) -> None:
    for i, question in enumerate(sample_bank):
        view = augment.text(question, np.random.default_rng([1, i]))
        assert len(view.options) == len(question.options)
        for before, after in zip((question.stem, *question.options), (view.stem, *view.options), strict=True):
            assert bool(after.strip()) == bool(before.strip())
        assert dataclasses.replace(view, stem=question.stem, options=question.options) == question


def test_a_question_that_is_a_figure_alone_stays_one(augment: QuestionAugmentation) -> None:
    question = Question(id="q", stem="", images=("a.png",))
    assert augment.text(question, np.random.default_rng(0)) == question


def test_modality_dropout_takes_text_or_figures_of_questions_that_have_both(tiny_bank: QuestionBank) -> None:
    half = QuestionAugmentation(AugmentConfig(modality_dropout=0.5), 64, "[MASK]")
    both = next(question for question in tiny_bank if question.images and question.stem)
    views = [half.modalities(both, np.random.default_rng(seed)) for seed in range(400)]
    text_alone = sum(not view.images for view in views)
    figures_alone = sum(not view.content.strip() for view in views)
    assert 70 < text_alone < 130
    assert 70 < figures_alone < 130
    assert sum(view == both for view in views) == 400 - text_alone - figures_alone
    always = QuestionAugmentation(AugmentConfig(modality_dropout=1.0), 64, "[MASK]")
    for alone in (Question(id="q", stem="Find $x$."), Question(id="q", stem="", images=("a.png",))):
        assert always.modalities(alone, np.random.default_rng(0)) == alone


SIZE = 64


def letter() -> np.ndarray:
    """An F, which is another sign when mirrored either way."""
    picture = Image.new("RGB", (90, 100), "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((25, 10, 37, 90), fill="black")
    pen.rectangle((25, 10, 75, 22), fill="black")
    pen.rectangle((25, 45, 60, 57), fill="black")
    return np.array(picture)


def ramp(axis: int) -> np.ndarray:
    """Grey that rises from left to right (axis 1) or from top to bottom."""
    line = np.linspace(0, 255, SIZE).astype(np.uint8)
    plane = np.broadcast_to(line[None, :] if axis else line[:, None], (SIZE, SIZE))
    return np.repeat(plane[..., None], 3, axis=2)


def rises(view: np.ndarray, axis: int) -> bool:
    profile = view.astype(float).mean(axis=(2, 1 - axis))[8:-8]  # the margin may be paper
    return float(np.polyfit(np.arange(len(profile)), profile, 1)[0]) > 0


def views(kind: str, figure: np.ndarray, count: int) -> list[np.ndarray]:
    augment = FigureAugmentation(kind, SIZE)
    return [augment(figure, np.random.default_rng([7, i])) for i in range(count)]


@pytest.mark.parametrize("kind", ["figure", "mocov2", "none"])
def test_a_figure_is_drawn_from_its_generator_alone(kind: str) -> None:
    augment = FigureAugmentation(kind, SIZE)
    first = [augment(letter(), np.random.default_rng(i)) for i in range(10)]
    rng = np.random.default_rng(99)
    augment(letter(), rng)  # what was drawn before does not matter
    same_augment = FigureAugmentation(kind, SIZE)
    for i, view in enumerate(first):
        assert view.shape == (SIZE, SIZE, 3)
        assert view.dtype == np.uint8
        assert np.array_equal(augment(letter(), np.random.default_rng(i)), view)
        assert np.array_equal(same_augment(letter(), np.random.default_rng(i)), view)


@pytest.mark.parametrize("kind", ["figure", "mocov2"])
def test_different_views_differ_also_from_one_generator(kind: str) -> None:
    distinct = {view.tobytes() for view in views(kind, letter(), 60)}
    assert len(distinct) > 54
    rng, augment = np.random.default_rng(0), FigureAugmentation(kind, SIZE)
    assert len({augment(letter(), rng).tobytes() for _ in range(20)}) > 15


def test_the_mild_views_never_mirror_a_figure() -> None:
    for axis in (0, 1):
        assert all(rises(view, axis) for view in views("figure", ramp(axis), 100))


def test_the_papers_views_do_mirror_and_never_turn_upside_down() -> None:
    mirrored = [not rises(view, 1) for view in views("mocov2", ramp(1), 200)]
    assert 0.35 < np.mean(mirrored) < 0.65
    assert all(rises(view, 0) for view in views("mocov2", ramp(0), 100))


MASK = "[MASK]"
WORDS = st.lists(st.sampled_from(["area", "求", "$x^2$", r"$\frac{1}{2}AB$", "find,", "3", "$5", r"\(y\)"]), max_size=9)


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def formulas(text: str) -> list[list[str]]:
    """The tokens of each formula."""
    by_formula: dict[int, list[str]] = {}
    for unit in units(text):
        if unit.formula is not None:
            by_formula.setdefault(unit.formula, []).append(unit.text)
    return list(by_formula.values())


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
