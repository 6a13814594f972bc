"""An open index, to search and to write; restoring one from an export."""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tqnet.questions import Question
from tqnet.search.background import Background
from tqnet.search.calibration import unrelated_likeness
from tqnet.search.engine import Place
from tqnet.search.figures import WIDTH, figure_records, filters_of_questions
from tqnet.search.records import records, schema
from tqnet.search.versions import IndexFolderError, Manifest, Versions, writing

if TYPE_CHECKING:
    from tqnet.search.build import Encode

#: Folder of the figures in an export.
_FIGURES = "figures"

#: The scale of likeness is measured again when the number of questions has grown by more than this factor.
_GROWTH = 2


class Index:
    """A version of an index.

    Args:
        version: Name of the version; by default the current one.

    Attributes:
        files: Folder of the version.
        engine: Engine with the questions.
        figures: Engine with the figures (`tqnet.search.figures`).
        written: State of the list of versions when the index was opened (`Versions.written`).

    Raises:
        IndexFolderError: The folder holds no index.
        EngineError: The records cannot be read.
    """

    def __init__(self, folder: Path, version: str | None = None):
        self.written = Versions.written(folder)  # first, to notice if another version becomes current meanwhile
        self.folder, self.version = folder, version or Versions.load(folder).current
        self.files = folder / self.version
        self.manifest = Manifest.load(self.files)
        self.engine = self.manifest.open(self.files)
        self.figures = self.manifest.open(self.files, table="figures")

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Index:
        """Make an empty next version, invisible before :meth:`publish`; to be called within `writing`.

        On a server, it has its own collections.
        """
        versions = Versions.load_or_begin(folder)
        if not versions.names:
            versions.save()
        files = versions.next()
        files.mkdir()
        if manifest.engine == "milvus":
            manifest = replace(manifest, records=f"{manifest.collection}_{uuid.uuid4().hex}")
        manifest.save(files)  # first, so that a collection can always be traced to its folder
        manifest.open(files, schema(manifest.width)).close()
        manifest.open(files, schema(WIDTH), "figures").close()
        Background().save(files)
        return cls(folder, files.name)

    def calibrate(self, encode: Encode) -> None:
        """Calibrate the scale of likeness (`tqnet.search.calibration`), unless the bank has grown little since."""
        background, count = self.background, self.engine.count()
        if count > _GROWTH * background.measured:
            unrelated = unrelated_likeness(self.engine, encode, background.words)
            replace(background, unrelated=unrelated, measured=count).save(self.files)

    def publish(self, keep: int | None = None) -> None:
        """Make this version the current one (`Versions.switch`)."""
        Versions.load(self.folder).switch(self.version, keep)
        self.written = Versions.written(self.folder)

    @property
    def facts(self) -> dict[str, str]:
        """Bank and model, for reports."""
        source, digest = self.manifest.model, self.manifest.digest
        if Path(source).is_relative_to(Path.cwd()):
            source = str(Path(source).relative_to(Path.cwd()))
        model = source + (f", files {digest}" if digest else "")
        return {"index": f"{self.manifest.bank}, {self.engine.count():,} questions", "model": model}

    def is_of_model(self, model: str, digest: str | None) -> bool:
        """Return True if the vectors were made by this model."""
        return digest == self.manifest.digest and (digest is not None or model == self.manifest.model)

    def check_model(self, model: str, digest: str | None) -> None:
        """Raise an `IndexFolderError` if the vectors were made by another model."""
        if not self.is_of_model(model, digest):
            raise IndexFolderError(
                f"{self.folder}: its vectors were made by another model than {model}: {self.manifest.model} "
                f"({self.manifest.digest or 'an off-the-shelf encoder'}); rebuild it with tqnet index --replace"
            )

    def add(self, questions: Sequence[Question], vectors: np.ndarray, *, known_new: bool = False) -> None:
        """Write new questions with their figures and vectors ``[questions, width]`` (`SearchEngine.add`)."""
        table = self._records(questions, vectors)
        self.engine.check(table, known_new=known_new)
        self._write_related(questions, table, known_new)
        self.engine.add(table, known_new=True)

    def put(self, questions: Sequence[Question], vectors: np.ndarray) -> None:
        """Insert or replace questions by id."""
        table = self._records(questions, vectors)
        self.engine.check(table, known_new=True)
        self._write_related(questions, table)
        self.engine.put(table)

    def delete(self, ids: Collection[str]) -> int:
        """Remove questions and their figures; return the number of questions that existed."""
        self.figures.remove(list(filters_of_questions(ids)))  # first, so that a killed run can be repeated
        return self.engine.delete(ids)

    def optimize(self) -> None:
        """Bring the indexes of all tables up to date (`SearchEngine.optimize`)."""
        for engine in (self.engine, self.figures):
            engine.optimize()

    def close(self) -> None:
        """Close the connections to a server."""
        for engine in (self.engine, self.figures):
            engine.close()

    def export(self, folder: Path) -> int:
        """Write the version to the new ``folder``, for :func:`restore`; return the number of questions."""
        count = self.engine.export(folder)
        self.figures.export(folder / _FIGURES)
        self.background.save(folder)
        self.manifest.save(folder)
        return count

    def _write_related(self, questions: Sequence[Question], table: pa.Table, known_new: bool = False) -> None:
        """Write words and figures, before the questions: a run killed in between can be repeated.

        If it is not, a sync detects stale figures by `figure_states`.
        """
        figures = figure_records(table)
        background = self.background.with_words(questions, table["stem"].to_pylist())
        background.save(self.files)  # counted twice rather than never
        if not known_new:
            self.figures.remove(list(filters_of_questions(table["id"].to_pylist())))
        self.figures.add(figures, known_new=True)

    def _records(self, questions: Sequence[Question], vectors: np.ndarray) -> pa.Table:
        if vectors.shape[1:] != (self.manifest.width,):
            raise ValueError(f"vectors of width {vectors.shape[1:]} for an index of width {self.manifest.width}")
        return records(questions, vectors)

    @property
    def background(self) -> Background:
        """Statistics of the questions, for ranking."""
        return Background.load(self.files)

    def states(self, ids: Sequence[str] | None = None) -> dict[str, tuple[str, str]]:
        """Return id -> hashes of the whole question and of its content (`tqnet.search.records`).

        Args:
            ids: Ids of questions; by default all.
        """
        columns = ["id", "state", "content"]
        tables = self.engine.scan(columns) if ids is None else [self.engine.get(ids, columns)]
        return {row["id"]: (row["state"], row["content"]) for table in tables for row in table.to_pylist()}

    def figure_states(self) -> Counter[tuple[str, str]]:
        """Return (question, its state when its figures were written) -> number of figures."""
        tables = self.figures.scan(["content", "state"])
        return Counter((row["content"], row["state"]) for table in tables for row in table.to_pylist())


def restore(exported: Path, folder: Path, place: Place | None = None, *, wait: float = 0) -> Index:
    """Make an index at ``folder`` from an export (:meth:`Index.export`).

    Args:
        place: Where to keep the records; by default in files in ``folder``, wherever they came from.
        wait: See `writing`.

    Raises:
        FileExistsError: ``folder`` holds an index, or ``place`` another index's records.
        IndexFolderError, EngineError: ``exported`` holds no export, or ``folder`` something else.
    """
    manifest = replace(Manifest.load(exported), **asdict(place or Place()))
    with writing(folder, wait):
        versions = Versions.load_or_begin(folder)
        if versions.names:
            raise FileExistsError(f"{folder}: already exists")
        versions.check_alias(manifest)
        try:
            index = Index.create(folder, manifest)
            index.engine.restore(exported)
            index.figures.restore(exported / _FIGURES)
            Background.load(exported).save(index.files)
            index.optimize()
            index.publish()
        except BaseException:
            versions.remove_unlisted()
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return index
