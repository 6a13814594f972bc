"""The versions of an index: a folder for each, and a file that says which one is current.

``INDEX/index.json`` lists the versions; ``INDEX/3/`` holds a version's manifest, its records unless a server keeps
them, its background statistics, and its precomputed candidates. A version counts once it is listed, so a killed build
changes nothing for readers, and switching is a single atomic rename of the list. Unlisted versions are leftovers, which
the next version removes.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from tqnet.errors import ANOTHER_WRITES
from tqnet.files import atomic
from tqnet.search.engine import EngineError, Place
from tqnet.version import __version__

T = TypeVar("T")

log = logging.getLogger(__name__)

_LIST, MANIFEST = "index.json", "manifest.json"

#: Increased when older indexes can no longer be read.
_FORMAT = 6

#: Alternative to a version's name: the one that was current before.
PREVIOUS = "previous"


class IndexFolderError(ValueError):
    """A folder without an index, or with one of another format or model."""


class AnotherWritesError(EngineError):
    """Another process writes to the index."""

    exit_code = ANOTHER_WRITES


@dataclass(frozen=True)
class Manifest(Place):
    """The settings of a version, and the place of its records.

    Attributes:
        model: Folder of the model, or ``encoder:NAME``.
        digest: Digest of the model's files; None for an off-the-shelf encoder.
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
        """Write the manifest to ``folder``."""
        _write(folder / MANIFEST, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read a manifest, or raise an `IndexFolderError` if it is missing, damaged or in another format."""
        return _read(folder / MANIFEST, lambda values: cls(**values))


@dataclass(frozen=True)
class Versions:
    """The complete versions of the index in a folder.

    Attributes:
        names: Names in the order in which they were last current: the current one is last.
    """

    folder: Path
    names: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: Path) -> Versions:
        """Read the list, or raise an `IndexFolderError` if it is missing, damaged or in another format."""
        return cls(folder, _read(folder / _LIST, lambda values: tuple(str(int(name)) for name in values["versions"])))

    @classmethod
    def load_or_begin(cls, folder: Path) -> Versions:
        """Read the list, empty for a new folder; FileExistsError if the folder holds something else."""
        if not (folder / _LIST).exists():
            if folder.exists() and any(folder.iterdir()):
                raise FileExistsError(f"{folder}: already exists and is not an index")
            return cls(folder)
        return cls.load(folder)

    def save(self) -> None:
        """Write the list; from now on, the last version is current."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.folder / _LIST, {"versions": self.names, "format": _FORMAT})

    @staticmethod
    def written(folder: Path) -> tuple[int, int] | None:
        """Return a value that changes whenever the list is written; None if there is no list."""
        try:
            status = (folder / _LIST).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    @property
    def current(self) -> str:
        """The current version; IndexFolderError if no version is complete."""
        if not self.names:
            raise IndexFolderError(f"{self.folder}: incomplete; run tqnet index BANK again")
        return self.names[-1]

    @property
    def manifest(self) -> Manifest:
        """The manifest of the current version."""
        return Manifest.load(self.folder / self.current)

    def find(self, name: str) -> str:
        """Return the name of a version, or that of ``previous``; IndexFolderError if there is none."""
        name = self.names[-2] if name == PREVIOUS and len(self.names) > 1 else name
        if name not in self.names:
            known = ", ".join(sorted(self.names, key=int))
            raise IndexFolderError(f"{self.folder}: no version {name}; it has {known}")
        return name

    def next(self) -> Path:
        """Return the folder of the next version, without leftovers of killed runs.

        Raises:
            EngineError: Leftovers cannot be removed.
        """
        self.remove_unlisted()
        return self.folder / str(max(map(int, self.names), default=0) + 1)

    def switch(self, name: str, keep: int | None = None) -> None:
        """Make a complete version the current one, with the alias on the server.

        Args:
            keep: Number of other versions to keep, the most recently current ones; by default all. At least one, for
                readers that have not switched yet.

        Raises:
            EngineError: The server does not answer.
        """
        others = tuple(other for other in self.names if other != name)
        versions = Versions(self.folder, (*(others if keep is None else others[max(0, len(others) - keep) :]), name))
        manifest = Manifest.load(self.folder / name)
        versions.save()
        with manifest.connected() as server:
            if server:
                server.set_alias(manifest.records, manifest.collection)
        try:
            versions.remove_unlisted()
        except EngineError as error:
            log.warning("%s: an older version was not removed; the next one will do so: %s", self.folder, error)

    def remove_unlisted(self) -> None:
        """Remove older versions and incomplete ones; EngineError if a server does not answer."""
        for folder in self.folder.glob("*"):
            if folder.name.isdecimal() and folder.name not in self.names:
                _remove(folder)

    def check_alias(self, place: Place) -> None:
        """Raise a FileExistsError if another index has the alias of ``place``."""
        manifests = [Manifest.load(self.folder / name) for name in self.names]
        with place.connected() as server:
            if server is None or not server.has(place.collection):
                return
            ours = [server.aliases(manifest.records) for manifest in manifests if manifest.uri == place.uri]
        if not any(place.collection in aliases for aliases in ours):
            raise FileExistsError(f"{place.uri}: collection {place.collection} already exists; choose another name")


@contextmanager
def writing(folder: Path, wait: float = 0) -> Iterator[None]:
    """Lock the index at ``folder``, which need not exist; open it inside, or another version may become current.

    Args:
        wait: Seconds to wait for another process.

    Raises:
        AnotherWritesError: Another process writes to the index.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f".{folder.name}.lock"), timeout=wait):
            yield
    except Timeout:
        raise AnotherWritesError(f"{folder}: another process writes to this index") from None


def _remove(folder: Path) -> None:
    """Remove a version: its tables first, so that a killed removal can be repeated."""
    if (folder / MANIFEST).exists():
        manifest = Manifest.load(folder)
        with manifest.connected() as server:
            if server:
                for collection in manifest.collections.values():
                    server.drop(collection)
    shutil.rmtree(folder, ignore_errors=True)


def _write(file: Path, values: dict[str, Any]) -> None:
    with atomic(file) as temporary:
        temporary.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _read(file: Path, make: Callable[[dict[str, Any]], T]) -> T:
    if not file.is_file():
        raise IndexFolderError(f"{file.parent}: no index here ({file.name} is missing); tqnet index BANK makes one")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if (format := values["format"]) == _FORMAT:
            return make(values)
    except (KeyError, TypeError, ValueError) as error:
        raise IndexFolderError(f"{file}: not written by tqnet index ({error})") from error
    raise IndexFolderError(f"{file}: format {format} is not supported; build the index again in another folder")
