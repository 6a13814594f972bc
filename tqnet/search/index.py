"""An index: a folder that holds records in an engine, and says by which model their vectors were made."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.search.engine import EngineError, SearchEngine
from tqnet.search.lance import LanceEngine
from tqnet.search.records import records, schema
from tqnet.version import __version__

_MANIFEST = "index.json"
_DATA = "lance"

#: Raised when older indexes can no longer be read.
_FORMAT = 1


class IndexFolderError(ValueError):
    """A folder that is no index, one of another version, or one whose model is another."""


@dataclass(frozen=True)
class Manifest:
    """What an index has to remember.

    Attributes:
        model: Folder of the model, or ``encoder:NAME``.
        digest: Of the model's files; None of an encoder that has only a name.
        width: Numbers in a vector.
        bank: Name of the bank that it was made from.
    """

    model: str
    digest: str | None
    width: int
    bank: str
    format: int = _FORMAT
    version: str = __version__

    def save(self, folder: Path) -> None:
        """To its file in ``folder``."""
        with atomic(folder / _MANIFEST) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """From its file in ``folder``.

        Raises:
            IndexFolderError: There is none, or not one that this version reads.
        """
        file = folder / _MANIFEST
        if not file.is_file():
            raise IndexFolderError(f"{folder}: no index here ({_MANIFEST} is missing); tqnet index BANK makes one")
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["format"] != _FORMAT:
                raise IndexFolderError(f"{folder}: made by tqnet {kept['version']} in a format that is no longer read")
            return cls(**kept)
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise IndexFolderError(f"{file}: not as tqnet index writes it ({error})") from error


class Index:
    """Questions that can be searched.

    Args:
        folder: That :meth:`create` has made.

    Attributes:
        written: Tells it from another one that takes its place in the folder.

    Raises:
        IndexFolderError: It is none.
        EngineError: Its records cannot be read.
    """

    def __init__(self, folder: Path):
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.written = _written(folder)
        self.engine: SearchEngine = LanceEngine(folder / _DATA)

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Index:
        """A new one without questions.

        Raises:
            FileExistsError: There is one in ``folder``.
        """
        if (folder / _MANIFEST).exists():
            raise FileExistsError(f"{folder}: there is an index already; tqnet index sync brings it up to date")
        folder.mkdir(parents=True, exist_ok=True)
        LanceEngine(folder / _DATA, schema(manifest.width)).close()
        manifest.save(folder)
        return cls(folder)

    @property
    def facts(self) -> dict[str, str]:
        """For the head of what is measured with it."""
        return {"index": f"{self.manifest.bank}, {self.engine.count():,} questions", "model": self.manifest.model}

    def replaced(self) -> bool:
        """Whether there is another index in the folder now, as ``tqnet index --replace`` leaves it.

        Raises:
            IndexFolderError: There is none.
        """
        return self.written != _written(self.folder)

    def check_model(self, model: str, digest: str | None) -> None:
        """Whether vectors of this model belong beside those that are there.

        Raises:
            IndexFolderError: They do not.
        """
        if digest != self.manifest.digest or (digest is None and model != self.manifest.model):
            raise IndexFolderError(
                f"{self.folder}: its vectors were made by another model than {model}: {self.manifest.model} "
                f"({self.manifest.digest or 'an encoder as it comes'}); make the index anew with tqnet index --replace"
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this process writes, no other one does.

        Raises:
            EngineError: Another one writes.
        """
        try:
            with FileLock(self.folder / "lock", timeout=0):
                yield
        except Timeout:
            raise EngineError(f"{self.folder}: another process writes to this index") from None

    def add(self, questions: Sequence[Question], vectors: np.ndarray, *, known_new: bool = False) -> None:
        """Write new questions with their vectors ``[questions, width]``.

        Args:
            known_new: Their ids need not be looked for.

        Raises:
            DuplicateIdError: One is there already; none was written.
        """
        self.engine.add(self._records(questions, vectors), known_new=known_new)

    def put(self, questions: Sequence[Question], vectors: np.ndarray) -> None:
        """Write questions, each in place of the one of its id where there is one."""
        self.engine.put(self._records(questions, vectors))

    def _records(self, questions: Sequence[Question], vectors: np.ndarray) -> pa.Table:
        if vectors.shape[1:] != (self.manifest.width,):
            raise ValueError(f"vectors of width {vectors.shape[1:]} for an index of width {self.manifest.width}")
        return records(questions, vectors)

    def states(self) -> dict[str, tuple[str, str]]:
        """Id of every question -> its ``state`` and its ``content`` (`tqnet.search.records`)."""
        names = ["id", "state", "content"]
        return {
            id: (state, content)
            for table in self.engine.scan(names)
            for id, state, content in zip(*(table[name].to_pylist() for name in names), strict=True)
        }


def _written(folder: Path) -> tuple[int, int]:
    """Which file the manifest is, and of when."""
    try:
        found = (folder / _MANIFEST).stat()
    except FileNotFoundError:
        raise IndexFolderError(f"{folder}: no index here ({_MANIFEST} is missing)") from None
    return found.st_ino, found.st_mtime_ns


def restore(exported: Path, folder: Path) -> Index:
    """A new index at ``folder`` of what ``SearchEngine.export`` and ``Manifest.save`` have written.

    Raises:
        FileExistsError: There is something at ``folder``.
        IndexFolderError, EngineError: Nothing was exported to ``exported``.
    """
    manifest = Manifest.load(exported)
    if folder.exists():
        raise FileExistsError(f"{folder}: is there already")
    work = folder.with_name(f"{folder.name}.building")
    shutil.rmtree(work, ignore_errors=True)
    try:
        index = Index.create(work, manifest)
        index.engine.restore(exported)
        index.engine.optimize()
        index.engine.close()
        os.replace(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Index(folder)
