import json
import multiprocessing
import os
import time
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tqnet.questions import table
from tqnet.questions.question import BankError
from tqnet.questions.table import open_table

Write = Callable[..., Path]


def _column(rows: table.Rows, name: str = "id") -> list[Any]:
    return rows.read(0, len(rows), [name])[name].to_pylist()


def _ids(file: Path) -> list[str]:
    return _column(open_table(file)[0])


def test_the_second_time_the_file_is_not_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write({"id": "a", "stem": "x"}, {"id": "a", "stem": "y"}, {"id": "b"})
    first, first_faults = open_table(file)
    monkeypatch.setattr(table, "_build", None)
    second, second_faults = open_table(file)
    assert _column(first) == _column(second) == ["a"]
    assert first_faults == second_faults
    assert [fault.line for fault in first_faults] == [2, 3]


def test_a_changed_file_is_read_again(write: Write) -> None:
    stat = os.stat(write({"id": "a", "stem": "x"}))
    assert _ids(write({"id": "a", "stem": "x"})) == ["a"]
    file = write({"id": "b", "stem": "x"})
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size and time, as `cp -p` may leave it
    assert _ids(file) == ["b"]


def test_a_file_that_changes_while_it_is_read(write: Write, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    file = write({"id": "a", "stem": "x"})

    def build_and_change(source: Path, folder: Path) -> None:
        build(source, folder)
        source.write_text('{"id": "b", "stem": "another"}')

    build = table._build
    monkeypatch.setattr(table, "_build", build_and_change)
    with pytest.raises(BankError, match="changed while it was read"):
        open_table(file)
    monkeypatch.setattr(table, "_build", build)
    assert _ids(file) == ["b"]
    assert len(list((cache / "banks").iterdir())) == 1  # nothing half-built stays behind


def _load(file: Path, barrier: "multiprocessing.synchronize.Barrier", results: "multiprocessing.Queue[int]") -> None:
    barrier.wait()
    results.put(len(open_table(file)[0]))


def test_two_processes_at_once(write: Write, cache: Path) -> None:
    file = write(*({"id": i, "stem": "x"} for i in range(3000)))
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_load, args=(file, barrier, results)) for _ in range(2)]
    for process in processes:
        process.start()
    assert [results.get(timeout=60) for _ in processes] == [3000, 3000]
    for process in processes:
        process.join()
    assert len(list((cache / "banks").iterdir())) == 1


def test_what_a_killed_process_left_is_no_obstacle(write: Write, cache: Path) -> None:
    """Even to one with the same number, as the first process of a container has."""
    file = write({"id": "a", "stem": "x"})
    (entry,) = (_ids(file), *(cache / "banks").iterdir())[1:]
    os.rename(entry, entry.with_name(f".{entry.name}.{os.getpid()}.tmp"))
    assert _ids(file) == ["a"]
    assert list((cache / "banks").iterdir()) == [entry]


def test_a_table_that_nobody_uses_is_forgotten(tmp_path: Path, cache: Path) -> None:
    long_ago = time.time() - 100 * 24 * 3600
    for name in ("old", "used", "new"):
        file = tmp_path / f"{name}.jsonl"
        file.write_text('{"id": "a", "stem": "x"}')
        if name == "new":
            for entry in (cache / "banks").iterdir():
                os.utime(entry, (long_ago, long_ago))
            assert _ids(tmp_path / "used.jsonl") == ["a"]
        assert _ids(file) == ["a"]
    assert len(list((cache / "banks").iterdir())) == 2


def test_lines_are_counted_over_blank_ones_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes('\ufeff{"id": "a", "stem": "x"}\r\n\r\n{"id": "b", "stem": "x\u2028"}\n{"id": "c"}'.encode())
    data, faults = open_table(file)
    assert _column(data, "line") == [1, 3]
    assert [str(fault) for fault in faults] == [f"{file}:4: stem: missing"]


def test_json_without_end(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    nested = "[" * 200_000 + "]" * 200_000
    file.write_text(f'{{"id": "a", "stem": "x", "deep": {nested}}}\n{{"id": "b", "stem": "x", "long": {"9" * 5000}}}\n')
    assert [(fault.line, fault.field) for fault in open_table(file)[1]] == [(1, "record"), (2, "record")]


def test_parquet_of_others(tmp_path: Path) -> None:
    file = tmp_path / "questions.parquet"
    rows = [
        {"id": 1, "stem": "x", "year": 2020, "options": ["a"]},
        {"id": 2, "stem": None, "year": 2021, "options": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)
    data, faults = open_table(file)
    assert _column(data, "extras")[0] == '{"year": 2020}'
    assert [str(fault) for fault in faults] == [f"{file}:2: stem: expected a string, got null"]


NOW = datetime(2026, 1, 2, 3, 4, 5)
COLUMNS = [
    (pa.array([NOW]), "2026-01-02 03:04:05.000000"),
    (pa.array([NOW.date()]), "2026-01-02"),
    (pa.array([NOW.time()]), "03:04:05.000000"),
    (pa.array([NOW - datetime(2026, 1, 1)]), "97445000000"),
    (pa.array([Decimal("1.50")]), "1.50"),
    (pa.array(["a"]).dictionary_encode(), "a"),
    (pa.array([b"a"]), "expected a value of JSON, got bytes"),
    (pa.array([[NOW]]), "expected a value of JSON, got datetime"),
    (pa.array([float("nan")]), "not a finite number"),
    (pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]), "UTF8"),
]


@pytest.mark.parametrize(("column", "expected"), COLUMNS)
def test_parquet_columns_beyond_json(column: pa.Array, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "questions.parquet"
    pq.write_table(pa.table({"id": ["a"], "stem": ["x"], "note": column}), file)
    data, faults = open_table(file)
    notes = [fault.message for fault in faults if fault.field.startswith("note")] or [
        json.loads(extras)["note"] for extras in _column(data, "extras")
    ]
    assert len(notes) == 1
    assert expected in notes[0]


def test_parquet_columns_of_one_name(tmp_path: Path) -> None:
    file = tmp_path / "questions.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"])] * 3, ["id", "stem", "stem"]), file)
    assert [str(fault) for fault in open_table(file)[1]] == [f"{file}: stem: several columns have this name"]


def test_parquet_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_UNPACKED", 10**6)
    file = tmp_path / "questions.parquet"
    rows = [{"id": str(number), "stem": "x" * 10_000} for number in range(1000)]
    pq.write_table(pa.Table.from_pylist(rows), file, compression="zstd")
    data, faults = open_table(file)
    assert [str(fault) for fault in faults] == [f"{file}: record: the file unpacks to over 200 times its size"]
    assert len(data) == 0


def test_parquet_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "questions.parquet"
    file.write_bytes(b"PAR1 and nothing more")
    (fault,) = open_table(file)[1]
    assert str(fault).startswith(f"{file}: record: not a readable Parquet file: ")
