"""Encoding a bank: order, kinds of input, what is cut, what is computed only once, and what is prepared ahead."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tqnet.modeling import encode as batching
from tqnet.modeling import encode as encoding
from tqnet.modeling.encode import ahead
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank


def test_a_question_may_be_a_record_a_dict_or_a_string_one_or_many(tiny_model: TQNetModel) -> None:
    stem, options = "Find $x$.", ("$1$", "$2$")
    record = Question(id="q", stem=stem, options=options, answer="A", analysis="because", knowledge=(("Algebra",),))
    fields = {"stem": stem, "options": list(options)}
    wanted = tiny_model.encode([record])
    assert wanted.shape == (1, 48)
    assert wanted.dtype == np.float32
    for same in (
        record,
        dataclasses.asdict(record),
        fields,
        [fields],
        {"id": "other", **fields},
        "Find $x$.\n(A) $1$\n(B) $2$",
    ):
        np.testing.assert_allclose(tiny_model.encode(same), wanted, atol=1e-6)
    mixed = tiny_model.encode([stem, record, fields, {"stem": stem}])
    np.testing.assert_allclose(mixed[[1, 2]], wanted[[0, 0]], atol=1e-5)
    np.testing.assert_allclose(mixed[0], mixed[3], atol=1e-6)
    assert np.abs(mixed[0] - mixed[1]).max() > 1e-3
    assert tiny_model.encode([]).shape == (0, 48)


def test_a_question_may_be_figures_alone(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> None:
    figures = list(next(question.images for question in tiny_bank if question.images))
    vector = tiny_model.encode({"images": figures})
    np.testing.assert_allclose(vector, tiny_model.encode({"stem": "", "images": figures}), atol=1e-6)
    assert np.abs(vector - tiny_model.encode("")).max() > 1e-3


def test_a_bank_is_encoded_in_its_order(
    tiny_model: TQNetModel, tiny_bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tiny_model.encode(tiny_bank)
    one_by_one = np.concatenate([tiny_model.encode(question) for question in tiny_bank])
    np.testing.assert_allclose(vectors, one_by_one, atol=1e-5)
    monkeypatch.setattr(batching, "WINDOW", 7)
    np.testing.assert_allclose(tiny_model.encode(tiny_bank, batch_size=3), one_by_one, atol=1e-5)


def test_vectors_may_be_written_to_a_file(
    tiny_model: TQNetModel, tiny_bank: QuestionBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "WINDOW", 7)
    monkeypatch.setattr(encoding, "WINDOW", 7)
    out = np.lib.format.open_memmap(tmp_path / "v.npy", mode="w+", dtype=np.float32, shape=(len(tiny_bank), 48))
    assert tiny_model.encode(tiny_bank, batch_size=3, out=out) is out
    np.testing.assert_allclose(out, tiny_model.encode(tiny_bank), atol=1e-5)
    out.flush()
    assert np.array_equal(np.load(tmp_path / "v.npy"), out)


def test_normalized_vectors_have_length_one_and_the_same_direction(tiny_model: TQNetModel) -> None:
    texts = ["Find $x$.", "求面积。", ""]
    plain, unit = tiny_model.encode(texts), tiny_model.encode(texts, normalize=True)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6)


def test_only_distinct_figures_are_convolved(
    tiny_model: TQNetModel, mixed_questions: list[Question], convolved: Callable
) -> None:
    with convolved(tiny_model) as images:
        tiny_model.encode(mixed_questions * 2, batch_size=2)
    assert sum(images) == len({path for question in mixed_questions for path in question.images}) == 7


def test_the_cache_keeps_no_more_than_its_room(tiny_model: TQNetModel, draw_figure: Callable[..., str]) -> None:
    size = 4 * tiny_model.visual.backbone.num_features * 4
    cache = encoding.CellCache(tiny_model.visual.cells, tiny_model.processor, room=2 * size)
    paths = [draw_figure(n) for n in range(5)]
    with torch.no_grad():
        cells = cache(paths)
        assert list(cache.kept) == paths[-2:]
        assert sum(kept.untyped_storage().nbytes() for kept in cache.kept.values()) == 2 * size
        torch.testing.assert_close(cache([paths[4], paths[0]]), cells[[4, 0]], atol=1e-5, rtol=0)
        assert list(cache.kept) == [paths[4], paths[0]]


def test_figures_beyond_the_limit_are_left_out_and_counted(
    tiny_model: TQNetModel, draw_figure: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    many = Question(id="q", stem="Which?", images=tuple(draw_figure(n) for n in range(6)))
    few = dataclasses.replace(many, images=many.images[:4])
    with caplog.at_level(logging.WARNING):
        vector = tiny_model.encode(few)
        assert not caplog.messages
        np.testing.assert_allclose(tiny_model.encode([many, few, many]), vector[[0, 0, 0]], atol=1e-5)
    assert caplog.messages == ["4 figures beyond 4 of a question left out"]


def test_long_texts_are_cut_and_counted(tiny_model: TQNetModel, caplog: pytest.LogCaptureFixture) -> None:
    processor = tiny_model.processor
    processor.max_length = 8
    long = "the area of the side of the area of the side"
    (cut,) = processor.tokenize([long])
    processor.cut_texts = 0
    (uncut,) = processor.tokenizer([long])["input_ids"]
    assert cut == [*uncut[:7], processor.tokenizer.sep_token_id]
    with caplog.at_level(logging.WARNING):
        first, second = tiny_model.encode([long, long + " and more"])
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert caplog.messages == ["2 texts were cut to 8 tokens"]
    caplog.clear()
    tiny_model.encode("area")
    assert not caplog.messages


def test_answers_labels_and_ids_do_not_enter_the_vector(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> None:
    bare = [Question(id=f"x{i}", stem=q.stem, options=q.options, images=q.images) for i, q in enumerate(tiny_bank)]
    assert np.array_equal(tiny_model.encode(bare), tiny_model.encode(tiny_bank))


def test_a_model_without_a_processor_says_so(tiny_model: TQNetModel) -> None:
    processor, tiny_model.processor = tiny_model.processor, None
    with pytest.raises(ValueError, match="processor"):
        tiny_model.encode("Find $x$.")
    assert tiny_model.encode("Find $x$.", processor=processor).shape == (1, 48)


def test_an_error_is_raised_where_its_item_would_have_come() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("figure.png: no image")

    with ahead(items()) as made:
        assert next(made) == 1
        with pytest.raises(OSError, match=r"figure.png: no image"):
            next(made)


def test_who_stops_early_leaves_no_thread() -> None:
    def forever() -> Iterator[int]:
        while True:
            yield 1

    before = threading.active_count()
    with ahead(forever(), 2) as made:
        assert next(made) == 1
    assert threading.active_count() == before
