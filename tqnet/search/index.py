"""An index: a folder that says where records are, and by which model their vectors were made."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.search.engine import EngineError, Place, check_free, create_engine, give_alias, named, open_engine, remove
from tqnet.search.records import records, schema
from tqnet.version import __version__

log = logging.getLogger(__name__)

_MANIFEST = "index.json"

#: Raised when older indexes can no longer be read.
_FORMAT = 1


class IndexFolderError(ValueError):
    """A folder that is no index, one of another version, or one whose model is another."""


@dataclass(frozen=True)
class Manifest(Place):
    """What an index has to remember, and where its records are.

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
            raise _missing(folder)
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["format"] != _FORMAT:
                raise IndexFolderError(f"{folder}: made by tqnet {kept['version']} in a format that is no longer read")
            return cls(**kept)
        except IndexFolderError:
            raise
        except (KeyError, TypeError, ValueError) as error:
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
        self.written = _written(folder)  # first: of an index that is replaced meanwhile, the manifest is the new one's
        self.folder, self.manifest = folder, Manifest.load(folder)
        self.engine = open_engine(folder, self.manifest)

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Index:
        """A new one without questions; in a collection of its own, where ``manifest`` names a server.

        Raises:
            FileExistsError: There is one in ``folder``.
            EngineError: The server does not answer.
        """
        if (folder / _MANIFEST).exists():
            raise FileExistsError(f"{folder}: there is an index already; tqnet index sync brings it up to date")
        folder.mkdir(parents=True, exist_ok=True)
        manifest = named(manifest)
        manifest.save(folder)  # first, so that a collection is known by whom it is for, come what may
        create_engine(folder, manifest, schema(manifest.width)).close()
        return cls(folder)

    @property
    def facts(self) -> dict[str, str]:
        """For the head of what is measured with it."""
        source, digest = self.manifest.model, self.manifest.digest
        if Path(source).is_relative_to(Path.cwd()):  # where it lies on this machine is of no use to readers
            source = str(Path(source).relative_to(Path.cwd()))
        model = source + (f", files {digest}" if digest else "")
        return {"index": f"{self.manifest.bank}, {self.engine.count():,} questions", "model": model}

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


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """While this process makes the index at ``folder``, or writes to it, no other one does.

    What is to be written is to be opened within: before, it may be replaced by another model's. The lock lies beside
    the folder, which may not be there yet.

    Raises:
        EngineError: Another one does.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f".{folder.name}.lock"), timeout=0):
            yield
    except Timeout:
        raise EngineError(f"{folder}: another process writes to this index") from None


def _written(folder: Path) -> tuple[int, int]:
    """Which file the manifest is, and of when."""
    try:
        found = (folder / _MANIFEST).stat()
    except FileNotFoundError:
        raise _missing(folder) from None
    return found.st_ino, found.st_mtime_ns


def _missing(folder: Path) -> IndexFolderError:
    if (replaced := _replaced(folder)).is_dir():
        return IndexFolderError(f"{folder}: no index here, but {replaced} is one that was being replaced")
    return IndexFolderError(f"{folder}: no index here ({_MANIFEST} is missing); tqnet index BANK makes one")


def publish(work: Path, folder: Path) -> None:
    """Give an index that is whole its name, in place of the one that has it.

    Whatever a killed call leaves, the index that has the name is whole, and :func:`clear` removes the other one; or
    none has it, and :func:`clear` gives it back.
    """
    replaced = _replaced(folder)
    give_alias(Manifest.load(work))
    if folder.exists():
        os.replace(folder, replaced)
    os.replace(work, folder)
    try:
        remove_index(replaced)
    except EngineError as error:  # the new one is in its place
        log.warning("%s: what it was before is still there, as %s: %s", folder, replaced, error)


def clear(work: Path, folder: Path) -> None:
    """Remove what killed runs have left of indexes, finished or not, and put back the old one if none has its name."""
    replaced = _replaced(folder)
    if replaced.exists() and not folder.exists():
        os.replace(replaced, folder)
    for left in (replaced, work):
        try:
            remove_index(left)
        except EngineError as error:
            raise EngineError(f"{left}: what an earlier run has left cannot be removed ({error})") from None


def remove_index(folder: Path) -> None:
    """Remove an index, or what there is of one, wherever its records are.

    Raises:
        EngineError: Its server does not answer; nothing was removed.
    """
    if (folder / _MANIFEST).exists():
        remove(folder, Manifest.load(folder))
    shutil.rmtree(folder, ignore_errors=True)


def _replaced(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.replaced")


def restore(exported: Path, folder: Path, place: Place | None = None) -> Index:
    """A new index at ``folder`` of what ``SearchEngine.export`` and ``Manifest.save`` have written.

    Args:
        place: Where its records are to be; by default in ``folder``, wherever they were.

    Raises:
        FileExistsError: There is something at ``folder``, or another index's records in ``place``.
        IndexFolderError, EngineError: Nothing was exported to ``exported``.
    """
    manifest = replace(Manifest.load(exported), **asdict(place or Place()))
    if folder.exists():
        raise FileExistsError(f"{folder}: is there already")
    with writing(folder):
        _restore(exported, folder, manifest)
    return Index(folder)


def _restore(exported: Path, folder: Path, manifest: Manifest) -> None:
    work = folder.with_name(f"{folder.name}.building") / "index"
    clear(work, folder)
    check_free(manifest)
    try:
        index = Index.create(work, manifest)
        index.engine.restore(exported)
        index.engine.optimize()
        index.engine.close()
        publish(work, folder)
    finally:
        remove_index(work)
        shutil.rmtree(work.parent, ignore_errors=True)
