"""How fast an index of a million questions is searched, and with what recall.

    tqnet index BANK --model DIR --out INDEX
    python -m reproduce.benchmarks.search --index INDEX --ranker DIR --questions 1000000 --out FOLDER

The questions of INDEX are repeated with noise in their vectors, with words left out and others put in, and with
difficulties from 0 to 100, so that a filter keeps as many as is wanted. What was built in FOLDER is built once.

`vectors`, `text` and `text and concepts` find ten questions, `recall` merges a hundred candidates of vectors and text,
`recall by id` those of a question of the index, whose concepts are looked for too. Each query of `vectors, new filter`
has a filter that was never seen: what it keeps is counted first. `search` is all from a typed text to its answer, by
the model of INDEX; `bm25s` finds ten by the same words, in memory and without a filter.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from tqdm import tqdm

from reproduce.benchmarks.harness import make_parser
from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.search.engine import Place
from tqnet.search.index import Index
from tqnet.search.lance import LanceEngine
from tqnet.search.ranking import Rank
from tqnet.search.records import KEYS, Filter, record_question, schema, unit
from tqnet.search.retrieval import Candidate, Retriever
from tqnet.search.searcher import Searcher

#: Share of the questions that a filter keeps, by their difficulty in per cent.
KEPT = (100, 50, 10, 1)
_K = 10
_NOISE = 0.5
_CHUNK = 20_000


def repeated(source: pa.Table, count: int, seed: int = 0) -> Iterator[pa.Table]:
    """``count`` records like those of ``source``, in chunks."""
    vectors = vectors_of(source)
    texts = [words.split() for words in source["stem"].to_pylist()]
    vocabulary = np.array(sorted({word for words in texts for word in words}))
    for start in range(0, count, _CHUNK):
        rng = np.random.default_rng([seed, start])
        rows = np.arange(start, min(start + _CHUNK, count))
        chosen = source.take(pa.array(rows % len(source)))
        noise = rng.normal(size=(len(rows), vectors.shape[1])) / np.sqrt(vectors.shape[1])
        noisy = unit(vectors[rows % len(source)] + _NOISE * noise).astype(np.float32)
        stems = [" ".join(_varied(texts[row % len(source)], vocabulary, rng)) for row in rows]
        columns = {name: chosen[name] for name in chosen.column_names} | {
            "id": pa.array([f"{row:09d}" for row in rows]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(noisy.ravel()), vectors.shape[1]),
            "stem": pa.array(stems),
            **{name: pa.array([f"{row:x}" for row in rows]) for name in KEYS},
            "difficulty": pa.array(rng.random(len(rows)) * 100),
        }
        yield pa.table(columns, schema=schema(vectors.shape[1]))


def _varied(words: Sequence[str], vocabulary: np.ndarray, rng: np.random.Generator) -> list[str]:
    kept = [word for word, stays in zip(words, rng.random(len(words)) > 0.3, strict=True) if stays]
    return list(dict.fromkeys([*kept, *rng.choice(vocabulary, max(1, len(words) // 4)).tolist()]))


def vectors_of(table: pa.Table) -> np.ndarray:
    """Column ``vector`` as ``[records, width]``."""
    return table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)


def build(like: Index, count: int, folder: Path) -> dict[str, float]:
    """Build an index of ``count`` records like those of ``like`` at ``folder``, in LanceDB; return its costs."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a run that was stopped
    manifest = replace(like.manifest, **asdict(Place()))
    source, index = whole(like), Index.create(folder, manifest)
    engine = index.engine
    started = time.perf_counter()
    for table in tqdm(repeated(source, count), total=-(-count // _CHUNK), desc="build"):
        engine.add(table)
    written = time.perf_counter()
    engine.optimize()
    index.publish()
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "minutes to write": (written - started) / 60,
        "minutes to index": (time.perf_counter() - written) / 60,
        "MiB on disk": disk / 2**20,
    }


def whole(index: Index) -> pa.Table:
    """Return all records of an index."""
    return pa.concat_tables(index.engine.scan()).combine_chunks()


def measure(folder: Path, like: Index, queries: int, ranker: Path | None, seed: int = 1) -> dict[str, Any]:
    """Milliseconds of each source, of recall and of a search, and R@10 of vectors against a comparison with all."""
    source, index = whole(like), Index(folder)
    engine = index.engine
    recall = Retriever(engine)
    rng = np.random.default_rng(seed)
    queries = min(queries, len(source) // 2)
    rows = rng.choice(len(source), 2 * queries, replace=False)  # the first half warms what is kept in memory
    base = vectors_of(source)[rows]
    query_vectors = unit(base + 0.3 * rng.normal(size=base.shape) / np.sqrt(base.shape[1])).astype(np.float32)
    questions = [_question(row) for row in source.take(pa.array(rows)).to_pylist()]
    words, concepts = (
        [row.split() for row in source[field].take(pa.array(rows)).to_pylist()] for field in ("stem", "concepts")
    )
    by_id, size = Searcher(index), engine.count()
    results: dict[str, Any] = {"questions": size, "queries": queries}
    for kept in KEPT:
        where = [] if kept == 100 else [Filter("difficulty", "<", (float(kept),))]
        nearest: list[list[str]] = []
        exact = _nearest_of_all(engine, query_vectors[queries:], kept)
        for name, search in {
            "vectors": lambda i, where=where, nearest=nearest: nearest.append(
                [hit.id for hit in engine.by_vector(query_vectors[i], _K, where)]
            ),
            "text": lambda i, where=where: engine.by_words({"stem": words[i]}, _K, where),
            "text and concepts": lambda i, where=where: engine.by_words(
                {"stem": words[i], "concepts": concepts[i]}, _K, where
            ),
            "recall": lambda i, where=where: recall(questions[i], query_vectors[i], 100, where),
            "recall by id": lambda i, where=where: by_id.answer(by_id.by_id(f"{rows[i] % size:09d}"), 100, where),
        }.items():
            results[f"{name}, {kept} %"] = _clock(search, queries)
            print(f"{name}, {kept} %: {results[f'{name}, {kept} %']}", file=sys.stderr)
        if where:
            new = [[Filter("difficulty", "<", (kept + (i + 1) * 1e-6,))] for i in range(2 * queries)]
            results[f"vectors, new filter, {kept} %"] = _clock(
                lambda i, new=new: engine.by_vector(query_vectors[i], _K, new[i]), queries
            )
        hits = [len(set(item) & all_) / _K for item, all_ in zip(nearest[queries:], exact, strict=True)]
        results[f"recall@10 of vectors, {kept} %"] = round(float(np.mean(hits)), 4)
    results["MiB of memory"] = round(psutil.Process().memory_info().rss / 2**20)
    import bm25s

    from tqnet.cli.search import SearcherOptions
    from tqnet.libraries import machine

    results["machine"] = machine()
    searcher = SearcherOptions(batch_size=1).searcher(index)

    def search(i: int) -> None:
        searcher.answer(next(searcher.queries([questions[i]])))

    results["search, 100 %"] = _clock(search, queries)
    results["MiB of memory, with the model"] = round(psutil.Process().memory_info().rss / 2**20)
    if ranker:
        results |= clock_ranker(ranker, source, rng)
    bm25 = bm25s.BM25()
    texts = [text.split() for table in engine.scan(["stem"]) for text in table["stem"].to_pylist()]
    bm25.index(texts, show_progress=False)
    results["bm25s, 100 %"] = _clock(lambda i: bm25.retrieve([words[i]], k=_K, show_progress=False), queries)
    return results


def clock_ranker(folder: Path, source: pa.Table, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Clock the ranking of 20 candidates, each one text of 160 tokens with the query, without and with figures."""
    from tqnet.libraries import precision
    from tqnet.search.ranker import CrossEncoder

    cross = CrossEncoder.from_pretrained(folder)
    cross.length = 160
    chosen = precision("auto")

    def score(query: Question, some: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        return cross.probabilities([(query, item) for item in some], evidence, precision=chosen)

    rank = Rank(score)
    rows = source.select(["question", "images"]).to_pylist()
    longest = sorted((record_question(row) for row in rows), key=lambda item: -len(item.content))
    pictured = [item for item in longest if item.images][:500]
    results = {}
    for name, questions in {
        "ranking of 20": [replace(item, images=()) for item in longest[:500]],
        "ranking of 20, with figures": pictured if cross.encoder.config.reads_images else [],
    }.items():
        if questions:

            def search(i: int, questions: Sequence[Question] = questions) -> None:
                chosen = [questions[j] for j in rng.choice(len(questions), 21)]
                rank(chosen[0], [Candidate(item, 0.0) for item in chosen[1:]])

            results[name] = _clock(search, 20)
    return results


def _question(row: dict[str, Any]) -> Question:
    return Question(id="", stem=json.loads(row["question"])["stem"])


def _nearest_of_all(engine: LanceEngine, query_vectors: np.ndarray, kept: int) -> list[set[str]]:
    """Return the exact nearest neighbours, a chunk at a time."""
    scores = np.full((len(query_vectors), _K), -2.0)
    ids = np.full((len(query_vectors), _K), "", dtype=object)
    for table in engine.scan(["id", "vector", "difficulty"]):
        inside = np.flatnonzero(table["difficulty"].to_numpy() < kept)
        if not len(inside):
            continue
        cosine = query_vectors @ vectors_of(table)[inside].T
        names = np.array(table["id"].to_pylist(), dtype=object)[inside]
        both = np.concatenate([scores, cosine], 1)
        named = np.concatenate([ids, np.broadcast_to(names, cosine.shape)], 1)
        order = np.argpartition(-both, _K - 1, axis=1)[:, :_K]
        scores, ids = np.take_along_axis(both, order, 1), np.take_along_axis(named, order, 1)
    return [set(row) for row in ids]


def _clock(search: Callable[[int], object], queries: int) -> dict[str, float]:
    """Clock single searches, one after the other, after as many for warm-up."""
    taken = []
    for i in range(2 * queries):
        started = time.perf_counter()
        search(i)
        taken.append((time.perf_counter() - started) * 1000)
    timed = taken[queries:]
    return {"p50": round(float(np.median(timed)), 2), "p95": round(float(np.percentile(timed, 95)), 2)}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--index", type=Path, required=True, help="index whose questions are repeated")
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--ranker", type=Path, metavar="DIR", help="ranker of finetune/ranker.py, clocked too")
    parser.add_argument("--out", type=Path, required=True, help="folder for the large database and its costs")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)  # in a process of its own
    args = parser.parse_args()
    like = Index(args.index)
    folder = args.out / f"{args.questions}"
    took = args.out / f"{args.questions}.json"
    if args.measure:
        print(json.dumps(measure(folder, like, args.queries, args.ranker), indent=2))
        return
    if not took.exists():
        args.out.mkdir(parents=True, exist_ok=True)
        built = build(like, args.questions, folder)
        with atomic(took) as temporary:
            temporary.write_text(json.dumps(built))
    command = [sys.executable, "-m", "reproduce.benchmarks.search", *sys.argv[1:], "--measure"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(json.dumps(json.loads(took.read_text()) | json.loads(answer), indent=2))


if __name__ == "__main__":
    main()
