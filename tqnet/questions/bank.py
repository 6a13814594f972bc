"""`QuestionBank`: the questions of a file in a memory-mapped table."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tqnet.files import atomic
from tqnet.parallel import batched
from tqnet.questions.images import Inspect, decode_images, image_problems, stat_images
from tqnet.questions.question import SPLITS, BankError, Fault, KnowledgePath, Question, report_faults
from tqnet.questions.reading import write_question
from tqnet.questions.table import BATCH, FIELDS, SCHEMA, Rows, bank_file, hash64, open_table, table_in_memory


class QuestionBank:
    """An immutable sequence of questions, read from disk when needed, so that a bank may be larger than memory.

    A selection (`select`, `split`) shares the table. Banks can be pickled to worker processes.

    Attributes:
        path: The file of the records; None for a bank made in memory.
        skipped: How many records were left out because of faults.
    """

    def __init__(self, data: Rows, path: Path | None, skipped: int = 0):
        self.path = path
        self.skipped = skipped
        self._data = data
        self._folder = "" if path is None else os.path.abspath(path.parent)
        self._decoders: dict[str, Callable[[Any], Any]] = {
            "options": tuple,
            "images": partial(_resolve, self._folder),
            "knowledge": _paths,
            "extras": _extras,
        }

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], on_error: Literal["stop", "skip"] = "stop", verify_images: bool = False
    ) -> QuestionBank:
        """Load the bank at ``path``: a .jsonl or .parquet file, or a folder with ``questions.jsonl``/``.parquet``.

        Args:
            path: In a folder with both files, the JSONL counts.
            on_error: ``stop`` raises on any fault; ``skip`` leaves the faulty records out with a warning.
            verify_images: Decode every image rather than only check that it exists.

        Raises:
            FileNotFoundError: No such bank.
            BankError: Faults, one line each; with ``skip`` only if no record is left.
        """
        bank, faults = cls.read(path, decode_images if verify_images else stat_images)
        report_faults(bank.path, "records", faults, bank.skipped, len(bank), on_error)
        return bank

    @classmethod
    def read(cls, path: str | os.PathLike[str], inspect: Inspect | None) -> tuple[QuestionBank, list[Fault]]:
        """Return the bank of faultless records at ``path`` (as for `load`), and the faults of the others in file order.

        Args:
            inspect: Yields the problem of the image at each path; None looks at no image.
        """
        file = bank_file(path)
        data, faults = open_table(file)
        bank = cls(data, file)
        bad = {fault.line for fault in faults if fault.line}
        if inspect:
            problems = image_problems(bank.rows_with_images, bank._folder, inspect)
            broken_images = [Fault(str(file), *problem) for problem in problems]
            if broken := {fault.line for fault in broken_images}:
                bank = bank.select(np.flatnonzero(~np.isin(bank.column("line"), list(broken))))
            faults = sorted(faults + broken_images, key=lambda fault: fault.line)
            bad |= broken
        bank.skipped = len(bad)
        return bank, faults

    @classmethod
    def from_questions(cls, questions: Iterable[Question]) -> QuestionBank:
        """Make a bank in memory; image paths are kept unchecked.

        Raises:
            BankError: Two questions have the same id.
        """
        data, faults = table_in_memory(questions)
        if any(fault.field == "id" for fault in faults):
            raise BankError(faults)
        return cls(data, None)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int) -> Question:
        """Return the question at ``index`` (negative: from the end); raise IndexError outside of the bank."""
        index = range(len(self))[index]
        row = self._data.read(index, index + 1, FIELDS).to_pylist()[0]
        values = {name: row[name] for name in FIELDS}
        for name, decode in self._decoders.items():
            values[name] = decode(values[name])
        return Question(**values)

    def __iter__(self) -> Iterator[Question]:
        return self.partial(*FIELDS)

    def __repr__(self) -> str:
        return f"QuestionBank({self.name!r}, {len(self)} questions)"

    @property
    def name(self) -> str:
        """The folder's name for ``questions.*``, the file's stem otherwise."""
        if self.path is None:
            return "memory"
        return self.path.absolute().parent.name if self.path.stem == "questions" else self.path.stem

    @property
    def ids(self) -> list[str]:
        return self.column("id")

    @property
    def fingerprint(self) -> str:
        """16 hex digits of the records, their order, and the figures' names and sizes, wherever the bank lies."""
        digest = hashlib.blake2b(digest_size=8)
        for (digests,) in self.batches("digest"):
            digest.update(np.array(digests, dtype="<u8").tobytes())
        for (images,) in self.batches("images"):
            sizes = [_size(path) for paths in images for path in paths]
            digest.update(np.asarray(sizes, dtype="<i8").tobytes())
        return digest.hexdigest()

    def partial(self, *names: str) -> Iterator[Question]:
        """Yield the questions with only the fields ``names``, to read them all with little memory."""
        for batch in self.batches(*names):
            for values in zip(*batch, strict=True):
                yield Question(**{"id": "", "stem": ""} | dict(zip(names, values, strict=True)))

    def column(self, name: str) -> list[Any]:
        """Return the values of one field for all questions, as `Question` has them, or ``line`` (of the file)."""
        return [value for (batch,) in self.batches(name) for value in batch]

    def batches(self, *names: str) -> Iterator[tuple[list[Any], ...]]:
        """Yield the columns ``names`` piece by piece, to read all questions with little memory."""
        for name in names:
            if name not in SCHEMA.names:
                raise KeyError(f"a question has no {name!r}; it has {', '.join(FIELDS)}")
        for table in self._tables(*names):
            columns = []
            for name in names:
                values = table.column(name).to_pylist()
                decode = self._decoders.get(name)
                columns.append(list(map(decode, values)) if decode else values)
            yield tuple(columns)

    def select(self, indices: Sequence[int] | np.ndarray) -> QuestionBank:
        """Return the questions at ``indices``, in that order."""
        data = self._data.select(np.asarray(indices, dtype=np.int64))
        return QuestionBank(data, self.path, self.skipped)

    def split(self, name: str) -> QuestionBank:
        """Return the questions of the split ``train``, ``valid`` or ``test``."""
        if name not in SPLITS:
            raise ValueError(f"split: expected one of {', '.join(SPLITS)}, got {name!r}")
        return self.select(np.flatnonzero(np.asarray(self.column("split"), dtype=object) == name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bank to ``path`` (.jsonl or .parquet); the file appears whole or not at all.

        Images that are not beneath the new file's folder are copied to ``images/`` there.
        """
        path = Path(path)
        if path.suffix not in (".jsonl", ".parquet"):
            raise ValueError(f"{path}: a bank is saved as .jsonl or .parquet")
        folder = path.absolute().parent
        records = (
            write_question(replace(question, images=tuple(_beside(image, folder) for image in question.images)), folder)
            for question in self
        )
        with atomic(path) as temporary:
            (_save_jsonl if path.suffix == ".jsonl" else _save_parquet)(records, temporary)

    def rows_with_images(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, image paths as the file has them) of each question with images."""
        for table in self._tables("line", "images"):
            for line, images in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if images:
                    yield line, images

    def _tables(self, *names: str) -> Iterator[pa.Table]:
        for start in range(0, len(self), BATCH):
            yield self._data.read(start, start + BATCH, names)
            self._data.forget_pages(start)


class Texts(Sequence[str]):
    """The texts of a bank's questions, stem and options, as an encoder reads them; not held in memory."""

    def __init__(self, bank: QuestionBank):
        self._bank = bank

    def __len__(self) -> int:
        return len(self._bank)

    def __iter__(self) -> Iterator[str]:
        return (question.content for question in self._bank.partial("stem", "options"))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, int):
            return self._bank[index].content
        return list(Texts(self._bank.select(range(len(self))[index])))


def _paths(knowledge: list[list[str]]) -> tuple[KnowledgePath, ...]:
    return tuple(map(tuple, knowledge))


def _extras(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


def _resolve(folder: str, images: list[str]) -> tuple[str, ...]:
    return tuple(os.path.join(folder, image) for image in images)


def _beside(image: str, folder: Path) -> str:
    """Return the path beneath ``folder`` of an image, or of a copy of it."""
    if not os.path.relpath(image, folder).startswith(os.pardir):
        return image
    content = Path(image).read_bytes() if os.path.isfile(image) else image.encode(errors="replace")
    copy = folder / "images" / f"{hash64(content):016x}{os.path.splitext(image)[1]}"
    if os.path.isfile(image) and not copy.exists():
        copy.parent.mkdir(exist_ok=True)
        with atomic(copy) as temporary:
            temporary.write_bytes(content)
    return str(copy)


def _size(path: str) -> int:
    """Return the bytes of a file; -1 if it is missing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _save_jsonl(records: Iterable[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _save_parquet(records: Iterable[dict[str, Any]], path: Path) -> None:
    schema = pa.schema([SCHEMA.field(name) for name in FIELDS])
    with pq.ParquetWriter(path, schema) as writer:
        for rows in batched(records, BATCH):
            for row in rows:
                extras = {key: row.pop(key) for key in list(row) if key not in FIELDS}
                row["extras"] = json.dumps(extras) if extras else None
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
