"""The Arrow table behind a bank: built once per state of the file, then memory-mapped."""

from __future__ import annotations

import copy
import hashlib
import json
import mmap
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from tqnet.cache import cache_folder, forget_unused, lock_of, mark_used
from tqnet.files import atomic_folder
from tqnet.parallel import batched, over_cores
from tqnet.questions.question import BankError, Fault, FieldError, Question
from tqnet.questions.reading import images_outside, parse_lines, read_fields

#: Part of the cache key; raise it whenever the table or the reading of records changes.
FORMAT = 3
BATCH = 1000

#: Bytes that any Parquet file may unpack to, and times its size that a larger one may, as in `tqnet.importers.source`.
_UNPACKED, _MOST_UNPACKED = 256 * 2**20, 200
FIELDS = tuple(Question.__dataclass_fields__)

#: ``line`` is where the record came from, ``digest`` 64 bits of its content.
SCHEMA = pa.schema(
    {
        **dict.fromkeys(FIELDS, pa.string()),
        "options": pa.list_(pa.string()),
        "images": pa.list_(pa.string()),
        "knowledge": pa.list_(pa.list_(pa.string())),
        "difficulty": pa.float64(),
        "line": pa.int64(),
        "digest": pa.uint64(),
    }
)

#: The rows of some records, and the faults of the others.
Reading = tuple[pa.RecordBatch, list[dict[str, Any]]]


class Rows:
    """Rows of a table, all of them or a selection, which leave the disk only when they are read.

    Pickled as the path of the table and the selection.

    Args:
        source: A file with the table, which is memory-mapped, or the table's bytes.
        rows: The selection, int64 ``[n]``; None for all rows.
    """

    def __init__(self, source: Path | pa.Buffer, rows: np.ndarray | None = None):
        self._source, self._rows = source, rows
        self._map: mmap.mmap | None = None
        if isinstance(source, Path):
            with source.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        buffer = pa.py_buffer(self._map) if isinstance(source, Path) else source
        self._batches = list(pa.ipc.open_stream(buffer))  # of BATCH rows but for the last

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self._source, self._rows)

    def __len__(self) -> int:
        return sum(map(len, self._batches)) if self._rows is None else len(self._rows)

    def select(self, indices: np.ndarray) -> Rows:
        """Return the rows at ``indices``, in that order."""
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(self):
            raise IndexError(f"rows {indices.min()} to {indices.max()} of a table of {len(self)}")
        selection = copy.copy(self)
        selection._rows = indices if self._rows is None else self._rows[indices]
        return selection

    def read(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return the columns ``names`` of the rows from ``start`` to ``stop``."""
        stop = min(stop, len(self))
        rows = np.arange(start, stop) if self._rows is None else self._rows[start:stop]
        runs = np.split(rows, np.flatnonzero(np.diff(rows // BATCH)) + 1)
        pieces = [_taken(self._batches[run[0] // BATCH].select(names), run % BATCH) for run in runs if len(run)]
        return pa.Table.from_batches(pieces, pa.schema([SCHEMA.field(name) for name in names]))

    def forget_pages(self, row: int) -> None:
        """Take the pages read so far out of the memory of this process, at every hundredth batch of rows."""
        if self._map is not None and row // BATCH % 100 == 99 and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _taken(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    return batch.slice(rows[0], len(rows)) if (np.diff(rows) == 1).all() else batch.take(pa.array(rows))


def bank_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of the bank at ``path`` (a file, or a folder with ``questions.*``).

    Raises:
        FileNotFoundError: There is none.
        ValueError: The file is neither ``.jsonl`` nor ``.parquet``.
    """
    path = Path(path)
    if path.is_dir():
        for name in ("questions.jsonl", "questions.parquet"):
            if (path / name).is_file():
                return path / name
        raise FileNotFoundError(f"{path}: the folder has neither questions.jsonl nor questions.parquet")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such bank")
    if path.suffix not in (".jsonl", ".parquet"):
        raise ValueError(f"{path}: a bank is a .jsonl or .parquet file, or a folder that holds one")
    return path


def open_table(file: Path) -> tuple[Rows, list[Fault]]:
    """Return the readable records of ``file`` as a memory-mapped table, and the faults of the others.

    The table comes from the cache if it was built from this very state of the file. Of several processes, one builds
    it and the others wait.

    Raises:
        BankError: The file changed while it was read.
    """
    state = _state(file)
    entry = cache_folder() / "banks" / hashlib.blake2b(state.encode(), digest_size=16).hexdigest()
    if not entry.is_dir():
        with lock_of(entry):
            if not entry.is_dir():
                forget_unused(entry.parent)
                with atomic_folder(entry) as building:
                    _build(file, building)
                    if _state(file) != state:
                        raise BankError([Fault(str(file), 0, "record", "the file changed while it was read")])
    mark_used(entry)
    report = json.loads((entry / "report.json").read_text())
    data = Rows(entry / "table.arrow")
    if report["repeated"]:
        data = data.select(np.setdiff1d(np.arange(len(data)), report["repeated"]))
    return data, [Fault(str(file), **fault) for fault in report["faults"]]


def table_in_memory(questions: Iterable[Question]) -> tuple[Rows, list[Fault]]:
    """Like `open_table`, for questions at hand; a fault's line is the question's 1-based position."""
    sink = pa.BufferOutputStream()
    rows = (_row(line, {name: getattr(q, name) for name in FIELDS}) for line, q in enumerate(questions, 1))
    report = _write(((_batch(some), []) for some in batched(rows, BATCH)), sink)
    data = Rows(sink.getvalue())
    return data, [Fault("questions", **fault) for fault in report["faults"]]


def _state(file: Path) -> str:
    """Identify the state of the file; ctime sees a replacement that was given the old mtime."""
    stat = file.stat()
    return f"{FORMAT}:{file.resolve()}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def _build(file: Path, folder: Path) -> None:
    with pa.OSFile(str(folder / "table.arrow"), "wb") as sink, file.open("rb") as stream:
        if file.suffix == ".jsonl":
            readings = over_cores(_read_lines, enumerate(stream, 1), BATCH)
        else:
            readings = over_cores(_read_records, _parquet_records(file), BATCH)
        report = _write(tqdm(readings, "records", unit=",000", disable=None), sink)
    (folder / "report.json").write_text(json.dumps(report))


def _write(readings: Iterable[Reading], sink: Any) -> dict[str, Any]:
    """Write the rows to ``sink``; return the faults and the rows that repeat the id of another."""
    faults: list[dict[str, Any]] = []
    hashes, lines = array("Q"), array("q")

    def batches() -> Iterator[pa.RecordBatch]:
        for batch, faults_of_batch in readings:
            faults.extend(faults_of_batch)
            hashes.extend(map(hash64, batch["id"].to_pylist()))
            lines.extend(batch["line"].to_pylist())
            yield batch

    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for batch in _of_equal_size(batches()):
            writer.write_batch(batch)
    repeated = repeats(np.frombuffer(hashes, dtype=np.uint64))
    for row, first in repeated:
        message = f"already used in line {lines[first]}"
        faults.append({"line": lines[row], "field": "id", "message": message})
    if not hashes and not faults:
        faults.append({"line": 0, "field": "record", "message": "the file holds no question"})
    faults.sort(key=lambda fault: fault["line"])
    return {"faults": faults, "repeated": [row for row, _ in repeated]}


def repeats(hashes: np.ndarray) -> list[tuple[int, int]]:
    """Return (row, first row with the same hash) of every row that is not the first, in order."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    origin = first[inverse]
    return [(int(row), int(origin[row])) for row in np.flatnonzero(origin != np.arange(len(hashes)))]


def _of_equal_size(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``batches`` in batches of `BATCH` rows; the last may be shorter."""
    rest = _batch([])
    for batch in batches:
        whole = pa.concat_batches([rest, batch]) if len(rest) else batch
        for start in range(0, len(whole) - BATCH + 1, BATCH):
            yield whole.slice(start, BATCH)
        rest = whole.slice(len(whole) // BATCH * BATCH)
    yield rest


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _row(line: int, values: dict[str, Any]) -> dict[str, Any]:
    """Return the table's row for the fields of a question."""
    extras = values["extras"]
    row = values | {"extras": json.dumps(extras, sort_keys=True) if extras else None}
    return row | {"digest": hash64(json.dumps(row, sort_keys=True)), "line": line}


def hash64(content: str | bytes) -> int:
    """Hash ``content`` to 64 bits, the same in every process (unlike ``hash``)."""
    data = content.encode() if isinstance(content, str) else content
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _read_lines(lines: list[tuple[int, bytes]]) -> Reading:
    return _read_records(parse_lines(lines))


def _read_records(records: Iterable[tuple[int, Any]]) -> Reading:
    rows: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    for line, record in records:
        values, errors = read_fields(record)
        errors += images_outside(values.get("images", ()))
        faults += [{"line": line, "field": error.field, "message": error.message} for error in errors]
        if not errors:
            rows.append(_row(line, values))
    return _batch(rows), faults


def _parquet_records(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        with pq.ParquetFile(file) as table:
            if repeated := [name for name, count in Counter(table.schema_arrow.names).items() if count > 1]:
                yield 0, FieldError(repeated[0], "several columns have this name")
                return
            room = max(_UNPACKED, _MOST_UNPACKED * file.stat().st_size)
            batches = _bounded(table.iter_batches(batch_size=BATCH // 10), room)
            records = (record for batch in batches for record in _as_json(batch))
            for row, record in enumerate(records, 1):
                yield row, _with_extras(record)
    except FieldError as error:
        yield 0, error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        yield 0, FieldError("record", f"not a readable Parquet file: {str(error).splitlines()[0]}")


def _bounded(batches: Iterable[pa.RecordBatch], room: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if (room := room - batch.nbytes) < 0:
            raise FieldError("record", f"the file unpacks to over {_MOST_UNPACKED} times its size")
        yield batch


def _as_json(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows, with times and decimal numbers as strings."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        is_text = not (pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type))
        try:
            columns.append(column if is_text else column.cast(pa.string()))
            columns[-1].validate(full=True)
        except pa.ArrowException as error:
            raise FieldError(name, str(error).splitlines()[0]) from None
    return pa.RecordBatch.from_arrays(columns, batch.schema.names).to_pylist()


def _with_extras(record: dict[str, Any]) -> dict[str, Any] | FieldError:
    if not isinstance(record.get("extras"), str):
        return record
    try:
        return record | {"extras": json.loads(record["extras"])}
    except (ValueError, RecursionError):
        return FieldError("extras", "not valid JSON")
