"""Batches of augmented and of masked questions."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerFast

from tqnet.augment.view import AugmentConfig, QuestionAugmentation
from tqnet.modeling.lengths import Lengths, one_part, partition
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import QuestionBank
from tqnet.text.vocabulary import continuing_pieces
from tqnet.training.content import content_hashes, sort_lengths
from tqnet.training.data import IGNORED, Batch, Item, MaskTokens, QuestionViews, split_questions
from tqnet.training.sampler import LocalBatches, ShuffledBatches, key_permutation

Load = Callable[..., list[Batch]]


@pytest.fixture
def load(build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank) -> Load:
    processor = build_tiny().processor
    assert processor is not None
    augment = QuestionAugmentation(AugmentConfig(), 64, processor.tokenizer.mask_token)

    def load(workers: int = 0, epochs: range = range(2), rank: int = 0, world: int = 1) -> list[Batch]:
        views = QuestionViews(tiny_bank, processor, 0, augment, views=2)
        plan = ShuffledBatches(sort_lengths(tiny_bank, processor, 4), 8, 0)
        sampler = LocalBatches(plan, epochs.start * len(plan), epochs.stop * len(plan), rank, world, 2)
        return list(DataLoader(views, batch_sampler=sampler, collate_fn=views.collate, num_workers=workers))

    return load


def equal(first: Batch, second: Batch) -> bool:
    return torch.equal(first.index, second.index) and all(
        torch.equal(left[name], right[name])
        for left, right in zip(first.views, second.views, strict=True)
        for name in left
    )


def indices(batch: Batch, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The questions of both views."""
    return batch.index, batch.index[torch.from_numpy(key_permutation(len(batch.index), 0, step))]


def test_epochs_and_views_draw_different_augmentations(load: Load) -> None:
    views: dict[int, list[tuple[list[int], int]]] = {}
    for step, batch in enumerate(load()):
        for index, view in zip(indices(batch, step), batch.views, strict=True):
            figures = view["pixel_values"].split(view["image_counts"].tolist())
            for question, ids, mask, pixels in zip(
                index.tolist(), view["input_ids"], view["attention_mask"].bool(), figures, strict=True
            ):
                views.setdefault(question, []).append((ids[mask].tolist(), hash(pixels.numpy().tobytes())))
    drawn = [len({str(view) for view in question_views}) / len(question_views) for question_views in views.values()]
    assert len(views) == 40
    assert {len(question_views) for question_views in views.values()} == {4}  # two epochs, two views
    assert sum(drawn) / len(drawn) > 0.9


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_a_split_keeps_every_figure_with_its_question(size: int, load: Load) -> None:
    for batch in load():
        for view in batch.views:
            parts = split_questions(view, size)
            assert [len(part["input_ids"]) for part in parts] == [min(size, 8 - n) for n in range(0, 8, size)]
            for part in parts:
                assert len(part["pixel_values"]) == part["image_counts"].sum()
            lengths = view.pop("lengths")
            assert np.array_equal(np.concatenate([part["lengths"].text for part in parts]), lengths.text)
            for name, value in view.items():
                assert torch.equal(torch.cat([part[name] for part in parts]), value)


def test_content_hashes(tiny_bank: QuestionBank, draw_figure: Callable[..., str]) -> None:
    """Equal where a stream sees the same: whatever the id, the labels and the files' names."""
    question = tiny_bank[0]
    figure = draw_figure(1)
    copied = shutil.copy(figure, figure.replace(".png", "-copy.png"))
    changes: list[dict[str, Any]] = [
        {"images": (figure,)},
        {"images": (copied,), "id": "b", "group": "other", "answer": "7"},
        {"images": (draw_figure(2),), "id": "c"},
        {"images": (figure,), "id": "d", "stem": "Another."},
        {"images": (), "id": "e"},
    ]
    bank = QuestionBank.from_questions(dataclasses.replace(question, **change) for change in changes)
    classes = {
        stream: [hashes.tolist().index(value) for value in hashes] for stream, hashes in content_hashes(bank).items()
    }
    assert classes == {"fused": [0, 0, 2, 3, 4], "text": [0, 0, 0, 3, 0], "visual": [0, 0, 2, 0, 4]}


def test_padding_counts_the_tokens_of_both_streams() -> None:
    masks = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    view = {"attention_mask": masks, "image_counts": torch.tensor([0, 1, 0])}
    batch = Batch(torch.arange(3), [view])
    assert batch.padding(one_part, cells=3) == 3 * (4 + 3) / 10
    # By length 1, 4 and 2 + 3 tokens: alone nothing is padded.
    assert batch.padding(lambda lengths: np.arange(3).reshape(3, 1), cells=3) == 1


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 20)), min_size=1, max_size=9), st.integers(0, 60))
def test_parts_are_the_cheapest(rows: list[tuple[int, int]], overhead: int) -> None:
    text, visual = np.array(rows).T

    def cost(bounds: tuple[int, ...]) -> int:
        pieces = [slice(*ends) for ends in itertools.pairwise(bounds)]
        return sum((p.stop - p.start) * (text[p].max() + visual[p].max()) + overhead for p in pieces)

    parts = partition(text, visual, 4, overhead)
    bounds = (0, *(part.stop for part in parts))
    cuts = itertools.chain.from_iterable(
        itertools.combinations(range(1, len(rows)), count) for count in range(len(rows))
    )
    all_bounds = ((0, *cut, len(rows)) for cut in cuts)
    allowed = [candidate for candidate in all_bounds if max(b - a for a, b in itertools.pairwise(candidate)) <= 4]
    assert bounds[-1] == len(rows)
    assert cost(bounds) == min(map(cost, allowed))


def test_rows_with_figures_pass_apart_from_those_without(tiny_model: TQNetModel) -> None:
    """By length alone, texts of four tokens with a figure of five would stand beside texts of nine, all padded."""
    figures = torch.tensor([0, 1, 0, 0] * 16)
    masks = torch.ones(64, 9)
    masks[figures == 1, 4:] = 0
    without, pictured = tiny_model.parts(Lengths.read(masks, figures))
    assert pictured.tolist() == list(range(1, 64, 4))
    assert without.tolist() == figures.eq(0).nonzero().flatten().tolist()
    batch = Batch(torch.arange(64), [{"attention_mask": masks, "image_counts": figures}])
    assert batch.padding(tiny_model.parts, cells=5) == 1


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
    prepare = MaskTokens(processor, share, seed)
    batch = plain.collate([plain[item] for item in items])
    before = batch.inputs["input_ids"].clone()
    after = prepare(batch, items)
    assert torch.equal(batch.inputs["input_ids"], before)  # the given batch is left alone
    return after, before


def labels_of(batch: Batch) -> torch.Tensor:
    """The true tokens at masked places, IGNORED elsewhere, [b, t]."""
    labels = torch.full_like(batch.inputs["input_ids"], IGNORED)
    labels.view(-1)[batch.extras["masked"]] = batch.extras["tokens"]
    return labels


def test_what_is_masked(processor: TQNetProcessor, sample_bank: QuestionBank) -> None:
    tokenizer = processor.tokenizer
    items: list[Item] = [(epoch, i, 0) for epoch in range(2) for i in range(400)]
    batch, before = masked(processor, sample_bank, items)
    ids, labels = batch.inputs["input_ids"], labels_of(batch)
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


def test_masks_depend_on_seed_epoch_and_question_alone(processor: TQNetProcessor, sample_bank: QuestionBank) -> None:
    def mask_of(items: list[Item], seed: int = 0) -> dict[Item, tuple[list[int], list[int]]]:
        batch, _ = masked(processor, sample_bank, items, seed=seed)
        real = batch.inputs["attention_mask"].bool()
        rows = zip(batch.inputs["input_ids"], labels_of(batch), real, strict=True)
        return {item: (ids[m].tolist(), labels[m].tolist()) for item, (ids, labels, m) in zip(items, rows, strict=True)}

    first = mask_of([(0, 5, 0), (0, 6, 0), (0, 7, 0)])
    second = mask_of([(0, 90, 0), (0, 7, 0), (1, 7, 0), (0, 5, 0)])
    assert first[(0, 7, 0)] == second[(0, 7, 0)]
    assert first[(0, 5, 0)] == second[(0, 5, 0)]
    assert second[(0, 7, 0)] != second[(1, 7, 0)]
    assert first[(0, 7, 0)] != mask_of([(0, 7, 0)], seed=1)[(0, 7, 0)]


@pytest.mark.parametrize(
    ("family", "pieces", "starts_word"),
    [
        ("xlm-roberta", ["▁un", "believ", "able", "求", "▁#", "##"], [True, False, False, True, True, True]),
        ("bert", ["un", "##believ", "##able", "求", "#"], [True, False, False, True, True]),
        ("roberta", ["Ġun", "believ", "able", "æ±Ĥ", "éĿ¢"], [True, False, False, True, True]),
    ],
)
def test_words_of_every_tokenizer(family: str, pieces: list[str], starts_word: list[bool]) -> None:
    model: Any = {
        "xlm-roberta": lambda: models.Unigram([("<unk>", 0.0), *((piece, -1.0) for piece in pieces)], 0),
        "bert": lambda: models.WordPiece({piece: i for i, piece in enumerate(["[UNK]", *pieces])}, unk_token="[UNK]"),
        "roberta": lambda: models.BPE({piece: i for i, piece in enumerate(["<s>", *pieces])}, []),
    }[family]()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model))
    continuing = continuing_pieces(tokenizer)
    assert [tokenizer.convert_tokens_to_ids(piece) not in continuing for piece in pieces] == starts_word


def test_the_prompt_is_not_masked(build_tiny: Callable[..., TQNetModel], sample_bank: QuestionBank) -> None:
    processor = build_tiny(prompt="find the ").processor
    batch, _ = masked(processor, sample_bank, [(0, i, 0) for i in range(100)], share=0.9)
    count = len(processor.tokenizer.tokenize("find the"))
    assert not (labels_of(batch)[:, : count + 1] != IGNORED).any()
    assert (labels_of(batch)[:, count + 1] != IGNORED).any()
