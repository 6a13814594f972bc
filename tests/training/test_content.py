"""Lengths and hashes of questions, computed once for a large bank."""

from __future__ import annotations

import copy
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.training import content
from tqnet.training.content import content_hashes, sort_lengths


def test_lengths_and_hashes_are_computed_once(
    tiny_model: TQNetModel, sample_bank: QuestionBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """For a large bank: what is read again is equal, and says what is cut by the limits of now."""
    processor = copy.copy(tiny_model.processor)
    processor.max_length, processor.max_images = 24, 1
    fresh = sort_lengths(sample_bank, processor, 4), content_hashes(sample_bank)
    monkeypatch.setattr(content, "LARGE", 100)
    monkeypatch.setattr(content, "_BATCH", 100)
    kept = sort_lengths(sample_bank, processor, 4), content_hashes(sample_bank)
    monkeypatch.setattr(content, "_contents_and_images", None)  # the bank is not read
    caplog.clear()
    again = sort_lengths(sample_bank, processor, 4), content_hashes(sample_bank)
    for lengths, hashes in (kept, again):
        assert np.array_equal(lengths, fresh[0])
        assert all(torch.equal(hashes[stream], expected) for stream, expected in fresh[1].items())
    assert any("texts were cut to 24 tokens" in message for message in caplog.messages)
    assert any("figures beyond 1 of a question left out" in message for message in caplog.messages)
    processor.prompt = "query: "
    with pytest.raises(TypeError):
        sort_lengths(sample_bank, processor, 4)


def test_a_figure_that_is_replaced_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the same size, in a large bank, whose hashes are cached."""
    monkeypatch.setattr(content, "LARGE", 1)
    figure = tmp_path / "figure.png"
    bank = QuestionBank.from_questions([Question(id="a", stem="x", images=(str(figure),))])
    figure.write_bytes(b"one")
    before = content_hashes(bank)
    time.sleep(0.02)  # clocks of file systems are coarse
    figure.write_bytes(b"two")
    after = content_hashes(bank)
    assert torch.equal(before["text"], after["text"])
    assert not torch.equal(before["visual"], after["visual"])
