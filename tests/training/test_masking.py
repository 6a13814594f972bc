from collections.abc import Callable

import numpy as np
import pytest
import torch

from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.training.data import IGNORED, Batch, Item, MaskTokens, QuestionViews


@pytest.fixture
def processor(build_tiny: Callable[..., TQNetModel]) -> TQNetProcessor:
    processor = build_tiny().processor
    assert processor is not None
    return processor


def masked(
    processor: TQNetProcessor, bank: QuestionBank, items: list[Item], share: float = 0.15, seed: int = 0
) -> tuple[Batch, torch.Tensor]:
    """A masked batch, and its ids before."""
    plain = QuestionViews(bank, processor, seed, read_images=False)
    prepare = MaskTokens(processor.tokenizer, share, seed)
    batch = plain.collate([plain[item] for item in items])
    before = batch.inputs["input_ids"].clone()
    after = prepare(batch, items)
    assert torch.equal(batch.inputs["input_ids"], before)  # the given batch is left alone
    return after, before


def test_what_is_masked(processor: TQNetProcessor, sample_bank: QuestionBank) -> None:
    tokenizer = processor.tokenizer
    items: list[Item] = [(epoch, i, 0) for epoch in range(2) for i in range(400)]
    batch, before = masked(processor, sample_bank, items)
    ids, labels = batch.inputs["input_ids"], batch.extras["labels"]
    chosen = labels != IGNORED
    special = torch.isin(before, torch.tensor(tokenizer.all_special_ids))
    assert torch.equal(ids[~chosen], before[~chosen])
    assert torch.equal(labels[chosen], before[chosen])
    assert not chosen[special].any()
    assert chosen.any(1).all()  # at least one word of every question

    tokens = np.array(tokenizer.convert_ids_to_tokens(range(len(tokenizer))))
    continues = torch.from_numpy(np.char.startswith(tokens.astype(str), "##"))[before]
    assert continues.any()
    # A piece that continues a word shares its fate with the piece before: words are masked whole.
    together = chosen[:, 1:] == chosen[:, :-1]
    assert together[continues[:, 1:] & ~special[:, :-1]].all()
    words = ~special & ~continues
    assert abs(float((chosen & words).sum() / words.sum()) - 0.15) < 0.02

    fates = ids[chosen]
    swapped = (fates != tokenizer.mask_token_id) & (fates != before[chosen])
    assert abs(float((fates == tokenizer.mask_token_id).float().mean()) - 0.8) < 0.02
    assert abs(float(swapped.float().mean()) - 0.1) < 0.02
    assert not torch.isin(fates[swapped], torch.tensor(tokenizer.all_special_ids)).any()


def test_formula_tokens_are_masked_whole(processor: TQNetProcessor) -> None:
    """A command or a number of a formula is one word, never masked in part."""
    bank = QuestionBank.from_questions([Question(id="f", stem="Simplify $\\frac{12}{x}+\\sqrt{y}-37\\cdot z$.")])
    pieces = processor.tokenizer.convert_ids_to_tokens(processor.tokenize(bank.column("stem"))[0])
    assert "\\frac" in pieces
    batch, _ = masked(processor, bank, [(epoch, 0, 0) for epoch in range(300)], share=0.3)
    chosen = (batch.extras["labels"] != IGNORED)[:, 1:-1].float()
    # Every token of the formula has its own fate: no two are tied unless one continues the other.
    share = chosen.mean(0)
    assert ((share > 0.15) & (share < 0.45)).all()
    tied = [
        pieces[place + 2] for place in range(chosen.shape[1] - 1) if torch.equal(chosen[:, place], chosen[:, place + 1])
    ]
    assert all(piece.startswith("##") for piece in tied)


def test_masks_depend_on_seed_epoch_and_question_alone(processor: TQNetProcessor, sample_bank: QuestionBank) -> None:
    def mask_of(items: list[Item], seed: int = 0) -> dict[Item, tuple[list[int], list[int]]]:
        batch, _ = masked(processor, sample_bank, items, seed=seed)
        real = batch.inputs["attention_mask"].bool()
        rows = zip(batch.inputs["input_ids"], batch.extras["labels"], real, strict=True)
        return {item: (ids[m].tolist(), labels[m].tolist()) for item, (ids, labels, m) in zip(items, rows, strict=True)}

    first = mask_of([(0, 5, 0), (0, 6, 0), (0, 7, 0)])
    other = mask_of([(0, 90, 0), (0, 7, 0), (1, 7, 0), (0, 5, 0)])
    assert first[(0, 7, 0)] == other[(0, 7, 0)]
    assert first[(0, 5, 0)] == other[(0, 5, 0)]
    assert other[(0, 7, 0)] != other[(1, 7, 0)]
    assert first[(0, 7, 0)] != mask_of([(0, 7, 0)], seed=1)[(0, 7, 0)]
