"""An index: a folder that says where the records are, and which model made their vectors."""

from __future__ import annotations

import json
import logging
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.search.engine import EngineError, Place
from tqnet.search.records import records, schema
from tqnet.version import __version__

log = logging.getLogger(__name__)

_MANIFEST = "index.json"

#: Increased when older indexes can no longer be read.
_FORMAT = 1


class IndexFolderError(ValueError):
    """A folder without an index, or with one of another version or model."""


@dataclass(frozen=True)
class Manifest(Place):
    """The settings of an index, and the place of its records.

    Attributes:
        model: Folder of the model, or ``encoder:NAME``.
        digest: Of the model's files; None for an off-the-shelf encoder.
        width: Length of a vector.
        bank: Name of the indexed bank.
    """

    model: str
    digest: str | None
    width: int
    bank: str
    format: int = _FORMAT
    version: str = __version__

    def save(self, folder: Path) -> None:
        """Write it to ``folder``."""
        with atomic(folder / _MANIFEST) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read it from ``folder``, or raise an `IndexFolderError` if it is missing, damaged or in another format."""
        file = folder / _MANIFEST
        if not file.is_file():
            raise _missing(folder)
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            if values["format"] == _FORMAT:
                return cls(**values)
            version = values["version"]
        except (KeyError, TypeError, ValueError) as error:
            raise IndexFolderError(f"{file}: not as tqnet index writes it ({error})") from error
        raise IndexFolderError(f"{folder}: made by tqnet {version} in a format that is no longer read")


class Index:
    """An index of questions.

    Attributes:
        written: Identifies this index, should another one replace it in the folder.

    Raises:
        IndexFolderError: The folder holds none.
        EngineError: Its records cannot be read.
    """

    def __init__(self, folder: Path):
        self.written = _written(folder)  # first: if the index is replaced meanwhile, the manifest is the new one's
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.engine = self.manifest.open(folder)

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Index:
        """Make an empty index in the new ``folder``, with a collection of its own on a server."""
        folder.mkdir(parents=True, exist_ok=True)
        if manifest.engine == "milvus":
            manifest = replace(manifest, records=f"{manifest.collection}_{uuid.uuid4().hex}")
        manifest.save(folder)  # first, so that a collection can always be traced to its folder
        manifest.open(folder, schema(manifest.width)).close()
        return cls(folder)

    @property
    def facts(self) -> dict[str, str]:
        """Bank and model, for reports."""
        source, digest = self.manifest.model, self.manifest.digest
        if Path(source).is_relative_to(Path.cwd()):
            source = str(Path(source).relative_to(Path.cwd()))
        model = source + (f", files {digest}" if digest else "")
        return {"index": f"{self.manifest.bank}, {self.engine.count():,} questions", "model": model}

    def replaced(self) -> bool:
        """Return True if the folder holds another index now; raise an `IndexFolderError` if it holds none."""
        return self.written != _written(self.folder)

    def check_model(self, model: str, digest: str | None) -> None:
        """Raise an `IndexFolderError` if the vectors are of another model."""
        if digest != self.manifest.digest or (digest is None and model != self.manifest.model):
            raise IndexFolderError(
                f"{self.folder}: its vectors were made by another model than {model}: {self.manifest.model} "
                f"({self.manifest.digest or 'an off-the-shelf encoder'}); rebuild it with tqnet index --replace"
            )

    def add(self, questions: Sequence[Question], vectors: np.ndarray, *, known_new: bool = False) -> None:
        """Write new questions with their vectors ``[questions, width]`` (`SearchEngine.add`)."""
        self.engine.add(self._records(questions, vectors), known_new=known_new)

    def put(self, questions: Sequence[Question], vectors: np.ndarray) -> None:
        """Insert or replace questions by id."""
        self.engine.put(self._records(questions, vectors))

    def _records(self, questions: Sequence[Question], vectors: np.ndarray) -> pa.Table:
        if vectors.shape[1:] != (self.manifest.width,):
            raise ValueError(f"vectors of width {vectors.shape[1:]} for an index of width {self.manifest.width}")
        return records(questions, vectors)

    def states(self) -> dict[str, tuple[str, str]]:
        """Return id -> hashes of the whole question and of its content (`tqnet.search.records`)."""
        tables = self.engine.scan(["id", "state", "content"])
        return {row["id"]: (row["state"], row["content"]) for table in tables for row in table.to_pylist()}


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Lock the index at ``folder``, which need not exist, or raise an `EngineError` if another process writes to it.

    Open the index within: before, it may be replaced by another model's.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f".{folder.name}.lock"), timeout=0):
            yield
    except Timeout:
        raise EngineError(f"{folder}: another process writes to this index") from None


def _written(folder: Path) -> tuple[int, int]:
    try:
        status = (folder / _MANIFEST).stat()
    except FileNotFoundError:
        raise _missing(folder) from None
    return status.st_ino, status.st_mtime_ns


def _replaced(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.replaced")


def _missing(folder: Path) -> IndexFolderError:
    if (replaced := _replaced(folder)).is_dir():
        return IndexFolderError(f"{folder}: no index here, but {replaced} is one that was being replaced")
    return IndexFolderError(f"{folder}: no index here ({_MANIFEST} is missing); tqnet index BANK makes one")


def check_alias(place: Place, replaced: Place | None = None) -> None:
    """Raise a FileExistsError if an index but ``replaced`` has the alias of ``place``."""
    with place.connected() as server:
        if server is None or not server.has(place.collection):
            return
        aliases = server.aliases(replaced.records) if replaced and replaced.uri == place.uri else []
    if place.collection not in aliases:
        raise FileExistsError(f"{place.uri}: there is a collection {place.collection} already; choose another name")


def publish(work: Path, folder: Path) -> None:
    """Rename the finished index at ``work`` to ``folder``, in place of the index there.

    If a call is killed, either a whole index has the name and :func:`clear` removes the other one, or none has it and
    :func:`clear` puts the old one back.
    """
    manifest, replaced = Manifest.load(work), _replaced(folder)
    with manifest.connected() as server:
        if server:
            server.set_alias(manifest.records, manifest.collection)
    if folder.exists():
        os.replace(folder, replaced)
    os.replace(work, folder)
    try:
        remove_index(replaced)
    except EngineError as error:
        log.warning("%s: the index that it replaces is still there, as %s: %s", folder, replaced, error)


def clear(work: Path, folder: Path) -> None:
    """Remove indexes that killed runs have left, and put the old one back if its name is free."""
    replaced = _replaced(folder)
    if replaced.exists() and not folder.exists():
        os.replace(replaced, folder)
    for leftover in (replaced, work):
        try:
            remove_index(leftover)
        except EngineError as error:
            raise EngineError(f"{leftover}: left by an earlier run, and cannot be removed ({error})") from None


def remove_index(folder: Path) -> None:
    """Remove an index, complete or not: its records first, so that a killed removal can be repeated."""
    if (folder / _MANIFEST).exists():
        manifest = Manifest.load(folder)
        with manifest.connected() as server:
            if server:
                server.drop(manifest.records)
    shutil.rmtree(folder, ignore_errors=True)


def restore(exported: Path, folder: Path, place: Place | None = None) -> Index:
    """Make an index at ``folder`` from what ``SearchEngine.export`` and ``Manifest.save`` wrote.

    Args:
        place: For its records; by default files in ``folder``, wherever they came from.

    Raises:
        FileExistsError: ``folder`` exists, or ``place`` holds another index's records.
        IndexFolderError, EngineError: ``exported`` holds no export.
    """
    manifest = replace(Manifest.load(exported), **asdict(place or Place()))
    if folder.exists():
        raise FileExistsError(f"{folder}: is there already")
    work = folder.with_name(f"{folder.name}.building") / "index"
    with writing(folder):
        clear(work, folder)
        check_alias(manifest)
        try:
            index = Index.create(work, manifest)
            index.engine.restore(exported)
            index.engine.optimize()
            index.engine.close()
            publish(work, folder)
        finally:
            remove_index(work)
            shutil.rmtree(work.parent, ignore_errors=True)
    return Index(folder)
