"""The source of an import: a file, a folder or a zip. Nothing outside of it is read and nothing is unpacked."""

from __future__ import annotations

import copy
import posixpath
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import unquote

#: Bounds: one figure or item, one file of all questions, a whole zip, its number of parts and their compression ratio.
MAX_MEMBER = 64 * 2**20
MAX_DOCUMENT = 2**30
MAX_TOTAL = 4 * 2**30
MAX_MEMBERS = 200_000
MAX_RATIO = 200
#: Bytes that tell a format.
HEAD = 2**18
#: Smaller parts may have any ratio: an empty table does.
_SMALL = 2**20

#: Endings of zips; a cartridge is one.
_ZIPS = (".zip", ".imscc", ".mbz")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class SourceError(ValueError):
    """A part of the source that is missing or refused."""


def open_source(path: Path) -> Source:
    """Open the source at ``path``.

    Raises:
        FileNotFoundError: There is none.
        ValueError: A zip that is broken or would fill the memory.
    """
    if path.is_dir():
        return Source(path, path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file or folder")
    if path.suffix.lower() == ".mbz" and tarfile.is_tarfile(path):
        return TarSource(path)
    return ZipSource(path) if path.suffix.lower() in _ZIPS else Source(path, path.parent)


def inside(reference: str, folder: str = "") -> str:
    """Return the part that ``reference`` means in a document in ``folder``; raise SourceError if it leads elsewhere."""
    reference = reference.strip().replace("\\", "/")
    if re.match(r"(?:https?|ftp):|//", reference, re.IGNORECASE):
        raise SourceError(f"lies elsewhere and is not fetched: {reference!r:.200}")
    if _SCHEME.match(reference) or reference.startswith("/"):
        raise SourceError(f"is no path within the source: {reference!r:.200}")
    name = posixpath.normpath(posixpath.join(folder, reference))
    if name.split("/")[0] == ".." or name == ".":
        raise SourceError(f"leads outside of the source: {reference!r:.200}")
    return name


class Source:
    """A folder, or one file and those beside it; links that lead outside of the folder are not followed.

    Parts are called by their relative names, with forward slashes.

    Attributes:
        path: The folder or file.
        refused: Names of an archive's parts that lead outside.
        names: The files in it, in order; of a single file, its name.
        held: The names of all its files, where ``names`` are those to read.
    """

    def __init__(self, path: Path, root: Path):
        self.path = path
        self.refused: list[str] = []
        self._root = root
        self.names = (
            sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())
            if path.is_dir()
            else [path.name]
        )
        self.held = frozenset(self.names)

    def only(self, names: list[str]) -> Source:
        """Return this source with some of its files to read; the others can be referred to."""
        part = copy.copy(self)
        part.names = names
        return part

    def resolve(self, reference: str, document: str) -> str:
        """Return the part that a document refers to by its name, or else by a URI: ``my%20item.xml?v=2``.

        Raises:
            SourceError: It leads outside.
        """
        folder = posixpath.dirname(document)
        name = inside(reference, folder)
        path = unquote(re.split("[?#]", reference)[0])
        return name if self.holds(name) or path in ("", reference) else inside(path, folder)

    def holds(self, name: str) -> bool:
        """Return True if there is such a part."""
        try:
            return self.file(name).is_file()
        except (ValueError, OSError):
            return False

    def read(self, name: str, limit: int = MAX_MEMBER) -> bytes:
        """Return the bytes of a part; raise SourceError if it is missing, lies outside, or has more than ``limit``."""
        file = self.file(name)
        if file.stat().st_size > limit:
            raise SourceError(f"larger than {limit >> 20} MiB: {name!r:.200}")
        return file.read_bytes()

    def head(self, name: str) -> bytes:
        """Return the first bytes of a part, at most `HEAD`, whatever its size."""
        with self.file(name).open("rb") as stream:
            return stream.read(HEAD)

    def file(self, name: str) -> Path:
        """Return the path of a part on the disk; raise SourceError for a part of a zip."""
        file = (self._root / inside(name)).resolve()
        if not file.is_relative_to(self._root.resolve()):
            raise SourceError(f"leads outside of the source: {name!r:.200}")
        if not file.is_file():
            raise SourceError(f"missing file: {name!r:.200}")
        return file

    def shown(self, name: str) -> str:
        """Return the name of a part for reports."""
        return str(self._root / name)


class ZipSource(Source):
    """A zip, read part by part; parts whose names lead outside are ``refused``."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise ValueError(f"{path}: not a zip that can be read: {error}") from None
        check_zip(self._zip, path)
        self._temporary = tempfile.TemporaryDirectory(prefix="tqnet-")
        self._parts: dict[str, zipfile.ZipInfo] = {}
        self.refused: list[str] = []
        for part in self._zip.infolist():
            try:
                name = inside(part.filename)
            except SourceError:
                self.refused.append(part.filename)
                continue
            if not part.is_dir():
                self._parts[name] = part
        self.names = [name for name in self._parts if not name.startswith("__MACOSX/")]
        self.held = frozenset(self.names)

    def holds(self, name: str) -> bool:
        return name in self._parts

    def read(self, name: str, limit: int = MAX_MEMBER) -> bytes:
        return self._unpacked(name, limit, limit)

    def head(self, name: str) -> bytes:
        return self._unpacked(name, HEAD, MAX_TOTAL)

    def shown(self, name: str) -> str:
        return f"{self.path}/{name}"  # also of a name that leads outside

    def file(self, name: str) -> Path:
        """Unpack a part into a temporary folder, which lasts as long as this source."""
        part = self._part(name, MAX_DOCUMENT)
        unpacked = Path(self._temporary.name) / str(part.header_offset) / posixpath.basename(part.filename)
        if not unpacked.exists():
            unpacked.parent.mkdir(exist_ok=True)
            with self._open(part) as stream, unpacked.open("wb") as out:
                shutil.copyfileobj(stream, out)
        return unpacked

    def _unpacked(self, name: str, size: int, limit: int) -> bytes:
        with self._open(self._part(name, limit)) as stream:
            return stream.read(size)

    def _part(self, name: str, limit: int) -> zipfile.ZipInfo:
        part = self._parts.get(inside(name))
        if part is None:
            raise SourceError(f"not in the zip: {name!r:.200}")
        if part.file_size > limit:
            raise SourceError(f"larger than {limit >> 20} MiB: {name!r:.200}")
        return part

    @contextmanager
    def _open(self, part: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        try:
            with self._zip.open(part) as stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
            reason = f"cannot be unpacked: {part.filename!r:.200}: {error}"
            raise SourceError(reason) from None  # RuntimeError: a password


class TarSource(Source):
    """A tar, as Moodle writes backups, unpacked into a temporary folder; parts that lead outside are left out."""

    def __init__(self, path: Path):
        self._temporary = tempfile.TemporaryDirectory(prefix="tqnet-")
        super().__init__(Path(self._temporary.name), Path(self._temporary.name))
        self._archive = path
        total = 0
        with tarfile.open(path) as archive:
            for number, part in enumerate(archive):
                total += part.size
                if number > MAX_MEMBERS or total > MAX_TOTAL:
                    raise ValueError(f"{path}: unpacks to more than {MAX_MEMBERS:,} files or {MAX_TOTAL >> 30} GiB")
                if part.isfile():
                    try:
                        archive.extract(part, self._root, filter="data")
                    except tarfile.FilterError:
                        self.refused.append(part.name)
        self.names = sorted(file.relative_to(self._root).as_posix() for file in self._root.rglob("*") if file.is_file())
        self.held = frozenset(self.names)
        self.path = path

    def shown(self, name: str) -> str:
        return f"{self._archive}/{name}"


def check_zip(archive: zipfile.ZipFile, path: Path) -> None:
    """Check the declared sizes of a zip's parts; Python's reader returns no more than that.

    Raises:
        ValueError: Too many parts, too large a whole, or a compression ratio that no document has.
    """
    parts = archive.infolist()
    if len(parts) > MAX_MEMBERS:
        raise ValueError(f"{path}: {len(parts):,} files in a zip, more than {MAX_MEMBERS:,}")
    if (total := sum(part.file_size for part in parts)) > MAX_TOTAL:
        raise ValueError(f"{path}: unpacks to {total / 2**30:.1f} GiB, more than {MAX_TOTAL >> 30}")
    for part in parts:
        if part.file_size > _SMALL and part.file_size > MAX_RATIO * max(part.compress_size, 1):
            raise ValueError(f"{path}: {part.filename!r:.200} unpacks to more than {MAX_RATIO} times its size")
