"""Build an index of a bank, in shards and resumable, and update one.

Each shard of vectors is a file next to the index, so that a killed run can be resumed. The shards become a version of
the index, which becomes the current one when it is complete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tqnet.files import atomic
from tqnet.parallel import batched
from tqnet.questions import Question, QuestionBank
from tqnet.questions.images import decode_image
from tqnet.search.index import Index
from tqnet.search.records import content_key, state_key, table_vectors
from tqnet.search.versions import Manifest, Versions, writing

#: Number of questions per shard: at most what a killed run loses, per process or worker.
SHARD = 2048

#: Questions -> their vectors ``[questions, width]``.
Encode = Callable[[Sequence[Question] | QuestionBank], np.ndarray]

#: (bank, shard number -> rows) -> number and vectors of each shard, in any order.
EncodeShards = Callable[[QuestionBank, Mapping[int, range]], Iterable[tuple[int, np.ndarray]]]


def _in_process(encode: Encode) -> EncodeShards:
    """Encode shard after shard in this process."""

    def encode_shards(bank: QuestionBank, shards: Mapping[int, range]) -> Iterator[tuple[int, np.ndarray]]:
        for number, rows in shards.items():
            yield number, encode(bank.select(rows))

    return encode_shards


@dataclass(frozen=True)
class Processes:
    """The processes that encode together, with ``wait`` as their barrier."""

    rank: int = 0
    count: int = 1
    wait: Callable[[], object] = lambda: None


def build(
    bank: QuestionBank,
    encode: Encode,
    folder: Path,
    manifest: Manifest,
    processes: Processes | None = None,
    *,
    encode_shards: EncodeShards | None = None,
    replace: bool = False,
    keep: int = 1,
    precision: str = "fp32",
    wait: float = 0,
) -> None:
    """Build the index of ``bank`` at ``folder``; called by every process.

    Args:
        encode_shards: A cluster's workers (`tqnet.search.cluster`); by default ``encode`` in this process.
        replace: ``folder`` may hold an index, which gets another version.
        keep: Number of earlier versions to keep (`Versions.switch`).
        precision: Precision of the encoder; a killed run in another precision is not resumed.
        wait: Seconds to wait for another process that writes to the index.

    Raises:
        FileExistsError: ``folder`` holds an index, or the server has a collection of this name.
        IndexFolderError: ``folder`` holds something else.
        EngineError: The server does not answer, or another process writes to this index.
    """
    processes = processes or Processes()
    is_main, work = processes.rank == 0, folder.with_name(f"{folder.name}.building")
    shards = [range(start, min(start + SHARD, len(bank))) for start in range(0, len(bank), SHARD)]
    files = [work / f"vectors-{number:06d}.npy" for number in range(len(shards))]
    with writing(folder, wait) if is_main else nullcontext():
        processes.wait()
        versions = Versions.load_or_begin(folder)
        if versions.names and not replace:
            raise FileExistsError(
                f"{folder}: already exists; --replace it, or bring it up to date with tqnet index sync"
            )
        versions.check_alias(manifest)
        if is_main:
            model = manifest.digest or manifest.model
            encoding = {"model": model, "width": manifest.width, "precision": precision}
            _prepare(work, {"bank": bank.fingerprint, **encoding, "shard": SHARD})
        processes.wait()
        mine = range(processes.rank, len(shards), processes.count)
        missing = {number: shards[number] for number in mine if not files[number].exists()}
        total, remaining = sum(len(shards[number]) for number in mine), sum(map(len, missing.values()))
        with tqdm(total=total, initial=total - remaining, unit=" questions", desc="encode", disable=None) as bar:
            for number, vectors in (encode_shards or _in_process(encode))(bank, missing):
                with atomic(files[number]) as temporary, temporary.open("wb") as stream:
                    np.save(stream, vectors)
                bar.update(len(shards[number]))
        processes.wait()
        if is_main:
            index = Index.create(folder, manifest)
            for shard, file in zip(tqdm(shards, unit=" shards", desc="index", disable=None), files, strict=True):
                index.add(list(bank.select(shard)), np.load(file), known_new=True)
            index.optimize()
            index.calibrate(encode)
            index.close()
            index.publish(keep)
            shutil.rmtree(work)


def _prepare(work: Path, plan: dict[str, object]) -> None:
    """Make an empty folder for the shards, or keep that of a run with the same plan."""
    file = work / "plan.json"
    with suppress(OSError, ValueError):  # damaged: start over
        if json.loads(file.read_text(encoding="utf-8")) == plan:
            return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with atomic(file) as temporary:
        temporary.write_text(json.dumps(plan), encoding="utf-8")


@dataclass(frozen=True)
class Changes:
    """Counts of questions in an update; ``encoded`` are those with new text or figures."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    encoded: int = 0

    def __str__(self) -> str:
        names = ("added", "changed", "deleted", "unchanged")
        return ", ".join(f"{getattr(self, name):,} {name}" for name in names) + f"; {self.encoded:,} encoded"


def update(index: Index, bank: Iterable[Question], encode: Encode, *, delete: bool = False) -> Changes:
    """Write the new and changed questions of ``bank``, a shard at a time; simply repeat a killed run.

    Args:
        delete: Remove questions that are not in ``bank``, and repair the figures that a killed run left behind.
    """
    all_states = index.states() if delete else {}
    figures = index.figure_states() if delete else Counter()
    seen: set[str] = set()
    added = changed = encoded = 0
    for questions in batched(bank, SHARD):
        states = {question.id: (state_key(question), content_key(question)) for question in questions}
        known = all_states if delete else index.states(list(states))
        seen |= states.keys()
        fresh = [
            question
            for question in questions
            if known.get(question.id) != (state := states[question.id])
            or (delete and not _has_figures(question, figures[question.id, state[0]]))
        ]
        if not fresh:
            continue
        reworded = [q for q in fresh if q.id not in known or known[q.id][1] != states[q.id][1]]
        kept = index.engine.get(sorted({q.id for q in fresh} - {q.id for q in reworded}), ["vector"])
        vectors = dict(zip(kept["id"].to_pylist(), table_vectors(kept), strict=True))
        if reworded:
            vectors |= dict(zip((question.id for question in reworded), encode(reworded), strict=True))
        index.put(fresh, np.stack([vectors[question.id] for question in fresh]))
        new = sum(question.id not in known for question in fresh)
        added, changed, encoded = added + new, changed + len(fresh) - new, encoded + len(reworded)
    gone = all_states.keys() - seen
    index.delete(gone | {id for id, _ in figures} - seen)  # also figures whose questions were never written
    index.optimize()
    index.calibrate(encode)
    return Changes(added, changed, len(gone), len(seen) - added - changed, encoded)


def _has_figures(question: Question, count: int) -> bool:
    """Return True if ``count`` is the number of the question's readable figures."""
    return count == len(question.images) or count == sum(decode_image(path) is None for path in question.images)


def remove(index: Index, ids: Sequence[str]) -> set[str]:
    """Remove questions; return those of ``ids`` that the index had."""
    known = set(index.engine.get(ids, ["id"])["id"].to_pylist())
    index.delete(known)
    index.optimize()
    return known
