"""Vectors of a stage are kept while nothing changed, and computed anew when something did."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tqnet.evaluation import sources
from tqnet.evaluation.sources import Encoding, shortest_length, source_vectors
from tqnet.questions import Question, QuestionBank


class Encoder:
    def encode(self, bank, **options: object) -> np.ndarray:
        return np.ones((len(bank), 2), dtype=np.float32)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []

    def open_source(source: str, max_length: int | None = None) -> Encoder:
        calls.append(source)
        return Encoder()

    monkeypatch.setattr(sources, "open_source", open_source)
    return calls


def test_vectors_are_kept_while_nothing_changed(bank, opened: list[str], tmp_path: Path) -> None:
    model, cache = tmp_path / "run" / "model", tmp_path / "cache"
    model.mkdir(parents=True)
    weights, tokenizer = model / "model.safetensors", model / "tokenizer.json"
    weights.write_bytes(b"1")
    tokenizer.write_bytes(b"1")

    def encodings(chosen=bank, encoding: Encoding = Encoding()) -> int:  # noqa: B008
        before = len(opened)
        assert source_vectors(str(model), chosen, encoding, cache).shape == (len(chosen), 2)
        return len(opened) - before

    assert [encodings(), encodings()] == [1, 0]
    weights.write_bytes(b"12")
    assert [encodings(), encodings()] == [1, 0]
    os.utime(tokenizer, ns=(1, 1))
    assert [encodings(), encodings()] == [1, 0]
    assert encodings(bank.select([0, 1])) == 1
    assert encodings(encoding=Encoding(precision="bf16")) == 1
    assert encodings(encoding=Encoding(max_length=7)) == 0  # a trained model knows its own
    assert encodings(encoding=Encoding(batch_size=7)) == 0


def test_only_the_rows_that_are_asked_for_are_encoded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    encoded: list[int] = []

    class Counting:
        def encode(self, bank, **options: object) -> np.ndarray:
            encoded.append(len(bank))
            return np.array([[float(id.removeprefix("q"))] for id in bank.ids])

    monkeypatch.setattr(sources, "open_source", lambda *_: Counting())
    bank = QuestionBank.from_questions(Question(id=f"q{i}", stem=f"Find {i}.") for i in range(9))
    rows, encoding = np.array([7, 2, 3]), Encoding()

    def vectors(cache: str | None, rows: np.ndarray | None = rows) -> list[float]:
        return source_vectors("encoder:any", bank, encoding, tmp_path / cache if cache else None, rows)[:, 0].tolist()

    assert vectors(None) == vectors("some") == vectors("some") == [7, 2, 3]
    assert encoded == [3, 3]
    assert vectors("some", None) == list(range(9))  # those of some are no whole bank
    assert vectors("whole", None) == list(range(9))
    assert vectors("whole") == [7, 2, 3]  # of the whole bank's
    assert encoded == [3, 3, 9, 9]


def test_the_shortest_length(tmp_path: Path) -> None:
    assert shortest_length(["encoder:minilm"]) is None
    with pytest.raises(FileNotFoundError, match="no model here"):
        shortest_length([str(tmp_path)])
