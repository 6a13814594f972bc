"""A view of a question is a function of the question and the generator."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tqnet.augment.view import AugmentConfig, QuestionAugmentation
from tqnet.questions import Question, QuestionBank
from tqnet.questions.images import open_figure


@pytest.fixture
def augment() -> QuestionAugmentation:
    return QuestionAugmentation(AugmentConfig(), image_size=64, mask_token="[MASK]")


def test_the_same_generator_state_gives_the_same_view(augment: QuestionAugmentation, tiny_bank: QuestionBank) -> None:
    again = QuestionAugmentation(AugmentConfig(), 64, "[MASK]")
    for i, question in enumerate(tiny_bank):
        one, other = np.random.default_rng([0, i]), np.random.default_rng([0, i])
        assert augment.text(question, one) == again.text(question, other)
        for path in question.images:
            figure = open_figure(path)
            assert np.array_equal(augment.image(figure, one), again.image(figure, other))


def test_two_views_of_a_question_differ(augment: QuestionAugmentation, sample_bank: QuestionBank) -> None:
    long = [question for question in sample_bank if len(question.stem) > 60]
    equal = 0
    for i, question in enumerate(long):
        first, second = (augment.text(question, np.random.default_rng([0, i, view])) for view in (0, 1))
        equal += first.stem == second.stem
    assert len(long) > 100
    assert equal < 0.01 * len(long)


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


def test_a_view_may_use_the_mask_token_of_any_tokenizer() -> None:
    augment = QuestionAugmentation(AugmentConfig(mask=0.5, window=1), 64, "<mask>")
    view = augment.text(Question(id="q", stem="one two three four five six"), np.random.default_rng(0))
    assert "<mask>" in view.stem
    assert "[MASK]" not in view.stem


@pytest.mark.parametrize(
    ("field", "value"), [("mask", 1.0), ("mask", -0.1), ("window", 0.0), ("window", 1.2), ("images", "strong")]
)
def test_a_wrong_setting_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: must be .*{value}"):
        QuestionAugmentation(AugmentConfig(**{field: value}), 64, "[MASK]")


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
