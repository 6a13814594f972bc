"""What recall finds for every question of an index, found beforehand (FSE, "Online Serving": the offline cache)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import BTree
from tqdm import tqdm

from tqnet.files import atomic
from tqnet.search.engine import EngineError, SearchEngine
from tqnet.search.index import Index
from tqnet.search.lance import condition
from tqnet.search.records import Filter, question_of
from tqnet.search.retrieval import CANDIDATES, CONCEPT_WEIGHT, KNOWN_WEIGHT, TEXT_WEIGHT, Candidate, Recall

_FOLDER, _STAMP, _TABLE = "precomputed", "stamp.json", "candidates"

#: Questions whose candidates are written at a time: what a killed run may lose.
_AT_ONCE = 500

_COLUMNS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("found", pa.list_(pa.string()), nullable=False),
        pa.field("scores", pa.list_(pa.float64()), nullable=False),
        pa.field("cosines", pa.list_(pa.float64()), nullable=False),
        pa.field("words", pa.list_(pa.float64()), nullable=False),
    ]
)


class Precomputed:
    """Candidates by question, for as long as the index is as it was.

    Args:
        index: Beside whose records they are kept.
    """

    def __init__(self, index: Index):
        self._engine, self._folder = index.engine, index.folder / _FOLDER

    def candidates(self, id: str, n: int) -> list[Candidate] | None:
        """A question's; None where there are none, or another number of them, or the index has changed since.

        Another number is not cut from these: how many are wanted says how far both sources are asked.
        """
        version = self._engine.version()
        try:
            stamp = _read_stamp(self._folder)
            if stamp != _stamp(version, n, whole=True):
                return None
            table = lancedb.connect(str(self._folder)).open_table(_TABLE)
            rows = table.search().where(condition(Filter("id", "=", (id,)))).limit(1).to_arrow().to_pylist()
        except (ValueError, KeyError, OSError, RuntimeError):  # being made anew, or damaged: recall finds them
            return None
        return _candidates(self._engine, rows[0]) if rows else None


def precompute(index: Index, n: int = CANDIDATES) -> int:
    """Find ``n`` candidates of every question of ``index``; how many questions there are.

    Searches that ask for as many take them. A run that was killed is gone on with if the index has not changed since.

    Raises:
        EngineError: The engine cannot tell whether it has changed.
    """
    version = index.engine.version()
    if version is None:
        raise EngineError(f"{index.folder}: its engine does not tell when it has changed, so nothing can be kept")
    folder = index.folder / _FOLDER
    if {**_read_stamp(folder), "whole": False} != _stamp(version, n, whole=False):
        (folder / _STAMP).unlink(missing_ok=True)  # first: without it nothing that follows is read
        shutil.rmtree(folder, ignore_errors=True)
        _write_stamp(folder, _stamp(version, n, whole=False))
    table = lancedb.connect(str(folder)).create_table(_TABLE, schema=_COLUMNS, exist_ok=True)
    done = set(table.search().select(["id"]).limit(table.count_rows()).to_arrow()["id"].to_pylist())
    recall = Recall(index.engine)
    with tqdm(total=index.engine.count(), initial=len(done), unit=" questions", desc="precompute", disable=None) as bar:
        for records in index.engine.scan(["id", "question", "images", "vector"]):
            new = [row for row in records.to_pylist() if row["id"] not in done]
            for start in range(0, len(new), _AT_ONCE):
                some = new[start : start + _AT_ONCE]
                table.add(pa.Table.from_pylist([_found(recall, row, n) for row in some], schema=_COLUMNS))
                bar.update(len(some))
    table.optimize()
    table.create_index("id", config=BTree())
    _write_stamp(folder, _stamp(version, n, whole=True))
    return table.count_rows()


def _found(recall: Recall, row: dict[str, object], n: int) -> dict[str, object]:
    query = question_of(str(row["question"]), row["images"])  # type: ignore[arg-type]
    found = recall(query, np.array(row["vector"], dtype=np.float32), n)
    return {
        "id": row["id"],
        "found": [one.question.id for one in found],
        "scores": [one.score for one in found],
        "cosines": [one.cosine for one in found],
        "words": [one.words for one in found],
    }


def _candidates(engine: SearchEngine, row: dict[str, Any]) -> list[Candidate]:
    scores = dict(zip(row["found"], zip(row["scores"], row["cosines"], row["words"], strict=True), strict=True))
    records = engine.get(row["found"], ["question", "images", "stem"]).to_pylist()
    return [
        Candidate(question_of(one["question"], one["images"]), score, cosine, words, one["stem"])
        for one in records
        for score, cosine, words in [scores[one["id"]]]
    ]


def _stamp(version: int | None, n: int, whole: bool) -> dict[str, Any]:
    """What the candidates depend on, the way of recall included."""
    return {"version": version, "n": n, "weights": [TEXT_WEIGHT, KNOWN_WEIGHT, CONCEPT_WEIGHT], "whole": whole}


def _read_stamp(folder: Path) -> dict[str, Any]:
    file = folder / _STAMP
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _write_stamp(folder: Path, stamp: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / _STAMP) as temporary:
        temporary.write_text(json.dumps(stamp) + "\n", encoding="utf-8")
