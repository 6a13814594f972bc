"""Candidates of every question of an index, retrieved beforehand (FSE, "Online Serving": the offline cache)."""

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
from tqnet.search.engine import EngineError
from tqnet.search.index import Index
from tqnet.search.lance import condition
from tqnet.search.records import Filter, question_of
from tqnet.search.retrieval import CANDIDATES, CONCEPT_WEIGHT, KNOWN_WEIGHT, TEXT_WEIGHT, Candidate, Retriever

_FOLDER, _STAMP, _TABLE = "precomputed", "stamp.json", "candidates"

#: Questions whose candidates are written at a time: what a killed run loses.
_AT_ONCE = 500

_LISTS = {"found": pa.string(), "scores": pa.float64(), "cosines": pa.float64(), "words": pa.float64()}
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        *(pa.field(name, pa.list_(kind), nullable=False) for name, kind in _LISTS.items()),
    ]
)


def precomputed_candidates(index: Index, id: str, n: int) -> list[Candidate] | None:
    """Return a question's candidates; None if there are none, another number of them, or the index has changed.

    Fewer are not cut from them, since ``n`` determines how far both sources are searched.
    """
    folder = index.folder / _FOLDER
    version = index.engine.version()
    try:
        if _read_stamp(folder) != _stamp(version, n, whole=True):
            return None
        table = lancedb.connect(str(folder)).open_table(_TABLE)
        rows = table.search().where(condition(Filter("id", "=", (id,)))).limit(1).to_arrow().to_pylist()
    except (ValueError, KeyError, OSError, RuntimeError):  # being rebuilt, or damaged
        return None
    if not rows:
        return None
    scores = {id: values for id, *values in zip(*(rows[0][name] for name in _LISTS), strict=True)}
    records = index.engine.get(list(scores), ["question", "images", "stem"]).to_pylist()
    candidates = []
    for record in records:
        score, cosine, words = scores[record["id"]]
        question = question_of(record["question"], record["images"])
        candidates.append(Candidate(question, score, cosine, words, record["stem"]))
    return candidates


def precompute(index: Index, n: int = CANDIDATES) -> int:
    """Retrieve ``n`` candidates of every question of ``index``; return the number of questions.

    Searches for as many use them. A killed run is continued if the index has not changed since.

    Raises:
        EngineError: The engine cannot tell whether it has changed.
    """
    version = index.engine.version()
    if version is None:
        raise EngineError(f"{index.folder}: its engine does not tell when it has changed, so nothing can be kept")
    folder = index.folder / _FOLDER
    if {**_read_stamp(folder), "whole": False} != _stamp(version, n, whole=False):
        (folder / _STAMP).unlink(missing_ok=True)  # first: without it the rest is not read
        shutil.rmtree(folder, ignore_errors=True)
        _write_stamp(folder, _stamp(version, n, whole=False))
    table = lancedb.connect(str(folder)).create_table(_TABLE, schema=_COLUMNS, exist_ok=True)
    done = set(table.search().select(["id"]).limit(table.count_rows()).to_arrow()["id"].to_pylist())
    retrieve = Retriever(index.engine)
    with tqdm(total=index.engine.count(), initial=len(done), unit=" questions", desc="precompute", disable=None) as bar:
        for records in index.engine.scan(["id", "question", "images", "vector"]):
            new = [row for row in records.to_pylist() if row["id"] not in done]
            for start in range(0, len(new), _AT_ONCE):
                rows = new[start : start + _AT_ONCE]
                table.add(pa.Table.from_pylist([_retrieved(retrieve, row, n) for row in rows], schema=_COLUMNS))
                bar.update(len(rows))
    table.optimize()
    table.create_index("id", config=BTree())
    _write_stamp(folder, _stamp(version, n, whole=True))
    return table.count_rows()


def _retrieved(retrieve: Retriever, row: dict[str, Any], n: int) -> dict[str, object]:
    query = question_of(row["question"], row["images"])
    candidates = retrieve(query, np.array(row["vector"], dtype=np.float32), n)
    return {
        "id": row["id"],
        "found": [candidate.question.id for candidate in candidates],
        "scores": [candidate.score for candidate in candidates],
        "cosines": [candidate.cosine for candidate in candidates],
        "words": [candidate.words for candidate in candidates],
    }


def _stamp(version: int | None, n: int, whole: bool) -> dict[str, Any]:
    """Return what the candidates depend on."""
    return {"version": version, "n": n, "weights": [TEXT_WEIGHT, KNOWN_WEIGHT, CONCEPT_WEIGHT], "whole": whole}


def _read_stamp(folder: Path) -> dict[str, Any]:
    file = folder / _STAMP
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _write_stamp(folder: Path, stamp: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / _STAMP) as temporary:
        temporary.write_text(json.dumps(stamp) + "\n", encoding="utf-8")
