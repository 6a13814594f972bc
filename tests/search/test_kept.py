"""What searches keep is bounded by bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.conftest import QUESTIONS, VECTORS, new_lance
from tqnet.search import lance, records
from tqnet.search.kept import Kept


def test_the_least_recently_used_are_dropped() -> None:
    kept: Kept[str, bytes] = Kept(room=10, size=len)
    for key in "abc":
        kept.keep(key, bytes(3))
    assert kept.get("a") == bytes(3)
    kept.keep("d", bytes(4))
    assert [key for key in "abcd" if kept.get(key) is not None] == ["a", "c", "d"]
    assert kept.bytes == 10


def test_a_value_takes_the_place_of_an_older_one() -> None:
    kept: Kept[str, bytes] = Kept(room=10, size=len)
    for length in (9, 2):
        kept.keep("a", bytes(length))
    assert (len(kept), kept.bytes) == (1, 2)
    kept.keep("b", bytes(11))  # larger than all the room
    assert (len(kept), kept.bytes) == (0, 0)


def test_most_values() -> None:
    kept: Kept[int, bytes] = Kept(room=100, size=len, most=2)
    for key in range(5):
        kept.keep(key, b"")
    assert len(kept) == 2
    none: Kept[int, bytes] = Kept(room=100, size=len, most=0)
    none.keep(0, b"")
    assert len(none) == 0


def test_records_are_kept_in_bounded_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance, "_KEPT", 10_000)
    engine = new_lance(tmp_path)
    engine.add(records.records(QUESTIONS, VECTORS))
    for vector in VECTORS:
        hits = engine.by_vector(vector, 20, (), ["question", "images"])
        assert len(hits) == 20
        assert all(hit.row["question"] for hit in hits)
    kept = engine._snapshot._kept  # type: ignore[attr-defined]
    assert 5_000 < kept.bytes <= 10_000
    assert len(kept) < 20


def test_a_vector_keeps_no_other_one(tmp_path: Path) -> None:
    engine = new_lance(tmp_path)
    engine.add(records.records(QUESTIONS, VECTORS))
    rows = records.table_rows(engine.get([question.id for question in QUESTIONS], ["id", "vector"]))
    assert all(row["vector"].base is None for row in rows)
