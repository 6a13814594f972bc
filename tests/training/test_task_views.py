"""What multi-task pre-training reads beside a question as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.training.data import IGNORED, Batch, MaskTokens, QuestionViews
from tqnet.training.multitask import Solutions, TaskViews

QUESTIONS = [
    Question(id="two", stem="A rope is 3 m long. How long is half of it?", answer="$1.5$", analysis="Divide by two."),
    Question(id="one", stem="Find $x$ if $2x=6$.", options=("$3$", "$4$"), answer="A"),
    Question(
        id="zh", stem="已知 $a=1$，求 $a+2$。", options=("$3$", "$4$"), answer="A", analysis="把 $a=1$ 代入即可得。"
    ),
    Question(
        id="test", stem="Tom is 5. How old is he?", answer="Five years", analysis="As the text says.", split="test"
    ),
]
NAMES = ("content", "segments", "solution")


@pytest.fixture
def processor(build_tiny: Callable[..., TQNetModel]) -> TQNetProcessor:
    processor = build_tiny().processor
    assert processor is not None
    return processor


def views_of(
    processor: TQNetProcessor, epoch: int = 0, rows: tuple[int, ...] = (0, 1, 2, 3), share: float = 0.0
) -> Batch:
    """A batch of ``QUESTIONS``; a ``share`` above 0 masks words."""
    bank = QuestionBank.from_questions(QUESTIONS)
    mask = MaskTokens(processor.tokenizer, share, 0) if share else None
    prepare = TaskViews(NAMES, bank, processor, 0, mask, True, Solutions.of(bank, processor, 4))
    views = QuestionViews(bank, processor, 0, prepare=prepare, read_images=False)
    return views.collate([views[epoch, row, 0] for row in rows])


def texts(processor: TQNetProcessor, view: dict[str, torch.Tensor], row: int) -> list[int]:
    return view["input_ids"][row][view["attention_mask"][row].bool()].tolist()


def test_segments_are_in_order_or_swapped(processor: TQNetProcessor) -> None:
    """Joined by a separator, options behind both; a text that cannot be cut is as it is."""

    def joined(first: str, second: str) -> list[int]:
        one, other = processor.tokenize([first, second])
        return [*one, *other[1:]]

    options = "\n(A) $3$\n(B) $4$"
    wanted = {
        0: (
            joined("A rope is 3 m long", "How long is half of it?"),
            joined("How long is half of it?", "A rope is 3 m long"),
        ),
        2: (joined("已知 $a=1$", f"求 $a+2${options}"), joined("求 $a+2$", f"已知 $a=1${options}")),
    }
    seen: dict[int, set[int]] = {0: set(), 2: set()}
    for epoch in range(12):
        batch = views_of(processor, epoch)
        for row, ways in wanted.items():
            (swapped,) = torch.nonzero(batch.extras["order"][row])[0].tolist()
            assert texts(processor, batch.views[1], row) == ways[swapped]
            seen[row].add(swapped)
        assert not batch.extras["order"][1].any()
        assert texts(processor, batch.views[1], 1) == processor.tokenize([QUESTIONS[1].content])[0]
        assert (batch.extras["words"] == IGNORED).all()
    assert all(ways == {0, 1} for ways in seen.values())


def test_content_is_neither_masked_nor_swapped(processor: TQNetProcessor) -> None:
    batch = views_of(processor, share=0.5)
    content, segments, _ = batch.views
    for row, ids in enumerate(processor.tokenize([question.content for question in QUESTIONS])):
        assert texts(processor, content, row) == ids
    masked = batch.extras["words"] != IGNORED
    assert masked.any(1).all()
    assert (segments["input_ids"][masked] == processor.tokenizer.mask_token_id).float().mean() > 0.5
    assert not content["input_ids"].eq(processor.tokenizer.mask_token_id).any()


def test_solutions_that_are_too_short_or_of_test_are_empty(processor: TQNetProcessor) -> None:
    solutions = Solutions.of(QuestionBank.from_questions(QUESTIONS), processor, 4)
    assert solutions.present.tolist() == [True, False, True, False]
    batch = views_of(processor)
    (empty,) = processor.tokenize([""])
    for row, question in enumerate(QUESTIONS):
        (ids,) = processor.tokenize([question.solution])
        assert texts(processor, batch.views[2], row) == (ids if solutions.present[row] else empty)
    doubled = QuestionBank.from_questions([QUESTIONS[0], replace(QUESTIONS[0], id="again", stem="Other")])
    first, second = Solutions.of(doubled, processor, 1).hashes.tolist()
    assert first == second


def test_a_text_that_would_not_be_read_to_its_end_is_not_cut(build_tiny: Callable[..., TQNetModel]) -> None:
    processor = build_tiny().processor
    assert processor is not None
    processor.max_length = 12
    batch = views_of(processor)
    assert not batch.extras["order"][0].any()
    assert texts(processor, batch.views[1], 0) == texts(processor, batch.views[0], 0)


def test_views_depend_on_seed_epoch_and_question_alone(processor: TQNetProcessor) -> None:
    """Not on the batch around a question."""
    together, alone = views_of(processor, 3, share=0.3), views_of(processor, 3, rows=(2,), share=0.3)
    for view in range(3):
        assert texts(processor, together.views[view], 2) == texts(processor, alone.views[view], 0)
    assert torch.equal(together.extras["order"][2], alone.extras["order"][0])
