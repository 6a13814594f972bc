"""Precomputed candidates of every question of an index (FSE, "Online Serving": the offline cache)."""

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
from tqnet.parallel import batched
from tqnet.search.engine import EngineError
from tqnet.search.index import Index
from tqnet.search.lance import lance_condition
from tqnet.search.records import Filter, record_question
from tqnet.search.retrieval import (
    CANDIDATES,
    CONCEPT_WEIGHT,
    KNOWN_WEIGHT,
    TEXT_WEIGHT,
    Candidate,
    Retrieved,
    Retriever,
)

_FOLDER, _STAMP, _TABLE = "precomputed", "stamp.json", "candidates"

#: Number of questions whose candidates are written at a time: at most what a killed run loses.
_AT_ONCE = 500

_LISTS = {
    "found": pa.string(),
    "scores": pa.float64(),
    "cosines": pa.float64(),
    "words": pa.float64(),
    "figures": pa.float64(),
}
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        *(pa.field(name, pa.list_(kind), nullable=False) for name, kind in _LISTS.items()),
        pa.field("near", pa.list_(pa.string()), nullable=False),
    ]
)


def precomputed_candidates(index: Index, id: str, n: int) -> Retrieved | None:
    """Return the precomputed candidates of a question; None if there are none or not ``n``, or the index has changed.

    A longer list is not cut to ``n``, since ``n`` determines how far both sources are searched.
    """
    folder = index.files / _FOLDER
    version = index.engine.version()
    try:
        if _read_stamp(folder) != _stamp(version, n, whole=True):
            return None
        table = lancedb.connect(str(folder)).open_table(_TABLE)
        rows = table.search().where(lance_condition([Filter("id", "=", (id,))])).limit(1).to_arrow().to_pylist()
    except (ValueError, KeyError, OSError, RuntimeError):  # being rebuilt, or damaged
        return None
    if not rows:
        return None
    scores = {id: values for id, *values in zip(*(rows[0][name] for name in _LISTS), strict=True)}
    candidates = []
    for record in index.engine.get(list(scores), ["question", "images", "stem", "template"]).to_pylist():
        score, cosine, words, figure = scores[record["id"]]
        question = record_question(record)
        candidates.append(Candidate(question, score, cosine, words, figure, record["stem"], record["template"]))
    return Retrieved(candidates, rows[0]["near"])


def precompute(index: Index, n: int = CANDIDATES) -> int:
    """Retrieve ``n`` candidates of every question of ``index``; return the number of questions.

    Searches for ``n`` candidates use them. A killed run is resumed if the index has not changed since.

    Raises:
        EngineError: The engine cannot tell whether the index has changed.
    """
    version = index.engine.version()
    if version is None:
        raise EngineError(f"{index.folder}: its engine cannot tell when it has changed, as precomputing needs")
    folder = index.files / _FOLDER
    begun, whole = (_stamp(version, n, whole=whole) for whole in (False, True))
    if _read_stamp(folder) not in (begun, whole):
        (folder / _STAMP).unlink(missing_ok=True)  # first: without it, the rest is ignored
        shutil.rmtree(folder, ignore_errors=True)
        _write_stamp(folder, begun)
    table = lancedb.connect(str(folder)).create_table(_TABLE, schema=_COLUMNS, exist_ok=True)
    done = set(table.search().select(["id"]).limit(table.count_rows()).to_arrow()["id"].to_pylist())
    retrieve = Retriever(index.engine, figures=index.figures)
    with tqdm(total=index.engine.count(), initial=len(done), unit=" questions", desc="precompute", disable=None) as bar:
        pieces = index.engine.scan(["id", "question", "images", "vector"])
        missing = (record for piece in pieces for record in piece.to_pylist() if record["id"] not in done)
        for records in batched(missing, _AT_ONCE):
            table.add(pa.Table.from_pylist([_row(retrieve, record, n) for record in records], schema=_COLUMNS))
            bar.update(len(records))
    table.optimize()
    table.create_index("id", config=BTree())
    _write_stamp(folder, whole)
    return table.count_rows()


def _row(retrieve: Retriever, record: dict[str, Any], n: int) -> dict[str, object]:
    vector = np.array(record["vector"], dtype=np.float32)
    candidates, near = retrieve.retrieve(record_question(record), vector, n)
    values = [
        (candidate.question.id, candidate.score, candidate.cosine, candidate.bm25, candidate.figure)
        for candidate in candidates
    ]
    lists = {name: [row[place] for row in values] for place, name in enumerate(_LISTS)}
    return {"id": record["id"], "near": near, **lists}


def _stamp(version: int | None, n: int, whole: bool) -> dict[str, Any]:
    """Return what the candidates depend on."""
    weights = [TEXT_WEIGHT, KNOWN_WEIGHT, CONCEPT_WEIGHT]
    return {"version": version, "n": n, "weights": weights, "lists": list(_LISTS), "whole": whole}


def _read_stamp(folder: Path) -> dict[str, Any]:
    file = folder / _STAMP
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _write_stamp(folder: Path, stamp: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / _STAMP) as temporary:
        temporary.write_text(json.dumps(stamp) + "\n", encoding="utf-8")
