"""``tqnet index``: make an index of a bank and keep it up to date."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import (
    add_backend_argument,
    add_error_arguments,
    add_model_arguments,
    backend_of,
    open_encoder,
    precision_of,
    read_bank,
)
from tqnet.commands.options import whole_number

if TYPE_CHECKING:
    import numpy as np

    from tqnet.cli import Subparsers
    from tqnet.export.encoder import ExportedEncoder
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import Question, QuestionBank
    from tqnet.search.build import Encode, Processes
    from tqnet.search.cluster import Workers
    from tqnet.search.engine import Place
    from tqnet.search.index import Index, Manifest

_VERBS = ("build", "add", "update", "delete", "sync", "precompute", "export", "restore")


def with_verb(argv: Sequence[str]) -> list[str]:
    """``tqnet index BANK`` is ``tqnet index build BANK``."""
    argv = list(argv)
    at = next((at for at, word in enumerate(argv) if not word.startswith("-")), None)
    if at is None or argv[at] != "index" or not argv[at + 1 :] or argv[at + 1] in (*_VERBS, "-h", "--help"):
        return argv
    return [*argv[: at + 1], "build", *argv[at + 1 :]]


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "index",
        help="make an index of a bank for tqnet search, and keep it up to date",
        description="tqnet index BANK --model DIR --out INDEX makes an index; the verbs below change one. Encoding by "
        "several processes: accelerate launch --module tqnet.cli index BANK ... (on processors ACCELERATE_USE_CPU=true "
        "torchrun --nproc_per_node 2 --module tqnet.cli index BANK ...). A run that was killed goes on where it was.",
    )
    verbs = parser.add_subparsers(required=True, metavar="BANK | VERB")

    build = verbs.add_parser("build", help="make an index of a bank; the verb may be left out")
    build.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    build.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net, or encoder:minilm")
    build.add_argument("--out", required=True, metavar="INDEX", help="folder that appears when the index is whole")
    build.add_argument(
        "--replace", action="store_true", help="remove the index that is there once the new one is whole"
    )
    build.add_argument(
        "--precompute",
        type=whole_number(1),
        metavar="N",
        help="then find N candidates of every question, as precompute does",
    )
    _add_place_arguments(build)
    add_model_arguments(build)
    add_backend_argument(build)
    add_error_arguments(build)
    _add_cluster_arguments(build)
    build.set_defaults(run=_build)

    for verb, text in (
        ("add", "add questions that are new"),
        ("update", "add questions, each in place of the one of its id"),
        ("sync", "make an index hold what a bank holds, no more and no less; only what has changed is encoded"),
    ):
        change = verbs.add_parser(verb, help=text)
        change.add_argument("index", metavar="INDEX")
        change.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
        change.add_argument("--model", metavar="DIR", help="where the index's model lies now, if it has moved")
        add_model_arguments(change)
        add_backend_argument(change)
        add_error_arguments(change)
        change.set_defaults(run=_change, verb=verb)

    delete = verbs.add_parser("delete", help="remove questions")
    delete.add_argument("index", metavar="INDEX")
    delete.add_argument("ids", nargs="+", metavar="ID")
    delete.set_defaults(run=_delete)

    found = verbs.add_parser(
        "precompute",
        help="find the candidates of every question beforehand: tqnet search --id and tqnet serve take them from there "
        "if they ask for as many (100 by default), until the index changes",
    )
    found.add_argument("index", metavar="INDEX")
    found.add_argument("-n", type=whole_number(1), default=100, help="candidates of each (100)")
    found.set_defaults(run=_precompute)

    export = verbs.add_parser("export", help="write an index as a folder of Parquet files, which any engine restores")
    export.add_argument("index", metavar="INDEX")
    export.add_argument("folder", metavar="FOLDER", help="must be new")
    export.set_defaults(run=_export)

    restore = verbs.add_parser("restore", help="make an index of what export has written")
    restore.add_argument("folder", metavar="FOLDER")
    restore.add_argument("--out", required=True, metavar="INDEX", help="must be new")
    _add_place_arguments(restore)
    restore.set_defaults(run=_restore)


def _add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Where records are to be."""
    place = parser.add_argument_group("where the records are", "by default in files of INDEX, by LanceDB")
    place.add_argument("--engine", choices=("lance", "milvus"), default="lance", help="milvus: on a server")
    place.add_argument("--uri", default="", help="of the server, http://HOST:PORT; a token is read from MILVUS_TOKEN")
    place.add_argument("--collection", default="", metavar="NAME", help="alias that the server gives the records")
    place.add_argument("--shards", type=whole_number(1), default=1, help="parts that are written side by side (1)")
    place.add_argument("--replicas", type=whole_number(1), default=1, help="copies that are searched side by side (1)")


def _place(args: argparse.Namespace) -> Place:
    from tqnet.search.engine import Place

    return Place(**{name: getattr(args, name) for name in ("engine", "uri", "collection", "shards", "replicas")})


def _add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "encoding on a cluster of machines by Ray",
        "Run the command on one of them; it hands out shards of the bank, and writes what comes back. tqnet must be "
        "installed on all of them, and BANK with its figures and DIR be there under the same paths (shared storage). "
        "A machine that is lost loses no shard. On machines that differ, name --precision. Tried on one machine, as "
        "two nodes of a cluster; not on several, nor on GPUs.",
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="HOST:PORT of the cluster, auto for the one that this machine is part of, or local for this machine alone",
    )
    group.add_argument(
        "--ray-workers", type=whole_number(1), metavar="N", help="by default as many as there is room for"
    )
    group.add_argument("--ray-cpus", type=whole_number(1), default=1, metavar="N", help="CPUs of each worker (1)")
    group.add_argument(
        "--ray-gpus",
        type=whole_number(0),
        metavar="N",
        help="GPUs of each worker; by default one, or none on a cluster that has none",
    )


def encoder_of(model: QuestionEncoder | ExportedEncoder, args: argparse.Namespace) -> Encode:
    """How questions become vectors under the arguments of `add_model_arguments`."""
    chosen = precision_of(model, args)

    def encode(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
        return model.encode(questions, batch_size=args.batch_size, device=args.device, precision=chosen)

    return encode


def load_encode(source: str, digest: str | None, args: argparse.Namespace) -> Encode:
    """What a worker on another machine encodes with.

    Raises:
        FileNotFoundError: There is no model there.
        ValueError: It is another one than that with ``digest``.
    """
    from tqnet.evaluation.sources import source_digest
    from tqnet.libraries import quiet

    quiet()
    model = open_encoder(source, args)
    if source_digest(source) != digest:
        raise ValueError(f"{source}: another model than where the command runs")
    return encoder_of(model, args)


def open_index(folder: str) -> Index:
    """The index in a folder.

    Raises:
        IndexFolderError: It is none.
    """
    from tqnet.search.index import Index

    return Index(Path(folder))


@contextmanager
def _writable(folder: str) -> Iterator[Index]:
    """The index in a folder, to which no other process writes meanwhile, nor puts another one in its place.

    Raises:
        IndexFolderError: It is none.
        EngineError: Another process writes.
    """
    from tqnet.search.index import Manifest, writing

    Manifest.load(Path(folder))  # what is no index gets no lock beside it
    with writing(Path(folder)):
        yield open_index(folder)


def open_model(
    index: Index, args: argparse.Namespace, one_at_a_time: bool = False
) -> QuestionEncoder | ExportedEncoder:
    """The model that has made the index's vectors, or the same one at ``args.model``, or an export of it.

    An export's vectors are near enough to the model's own to be searched among them. ``one_at_a_time`` is as for
    :func:`tqnet.export.encoder.open_encoder`.

    Raises:
        FileNotFoundError: It is no longer where it was.
        IndexFolderError: It is another one.
    """
    from tqnet.evaluation.sources import ENCODER, source_digest

    source = _resolved(args.model) if args.model else index.manifest.model
    if not source.startswith(ENCODER) and not Path(source).is_dir():
        raise FileNotFoundError(f"{source}: the model of {index.folder} is not there; say where it lies with --model")
    index.check_model(source, source_digest(source))
    return open_encoder(source, args, one_at_a_time)


def _build(args: argparse.Namespace) -> int:
    from tqnet.evaluation.sources import source_digest
    from tqnet.libraries import quiet

    quiet()
    if args.precompute and args.engine != "lance":
        raise ValueError(f"--precompute: {args.engine} does not tell when it has changed, so nothing can be kept")
    with _connected(args.ray) if args.ray else nullcontext():
        from tqnet.search.build import build, in_process
        from tqnet.search.index import Manifest

        place, processes = _place(args), _processes()
        bank = read_bank(args)
        model = open_encoder(args.model, args)
        source = _resolved(args.model)
        manifest = Manifest(source, source_digest(source), model.config.hidden_size, bank.name, **asdict(place))
        encode_shards = _workers(manifest, backend_of(model), args) if args.ray else in_process(encoder_of(model, args))
        chosen = precision_of(model, args)
        build(bank, encode_shards, Path(args.out), manifest, processes, replace=args.replace, precision=chosen)
    if processes.rank == 0:
        print(f"{args.out}: {len(bank):,} questions; tqnet search {args.out} --text '...'")
        if args.precompute:  # which, once killed, is gone on with by tqnet index precompute
            _precompute_all(args.out, args.precompute)
    return 0


def _connected(address: str) -> AbstractContextManager[None]:
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise ValueError("--ray: not together with accelerate launch or torchrun")
    if address == "local":  # Ray then listens on 127.0.0.1 alone; read at import
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    from tqnet.search.cluster import connected

    return connected(address)


def _workers(manifest: Manifest, backend: str, args: argparse.Namespace) -> Workers:
    """Those of the cluster that the arguments ask for, all with the ``backend`` that was chosen here."""
    from tqnet.search.cluster import Workers, has_gpus

    gpus = args.ray_gpus
    if gpus is None:
        gpus = int(has_gpus() and args.device != "cpu" and backend == "torch")  # exports run on the processor
    if not gpus and args.device is None:
        args.device = "cpu"  # Ray does not hide the GPUs that a worker has not asked for
    theirs = argparse.Namespace(**vars(args) | {"backend": backend})  # what auto finds there may be something else
    load = partial(load_encode, manifest.model, manifest.digest, theirs)
    return Workers(load, args.ray_workers, args.ray_cpus, gpus)


def _resolved(source: str) -> str:
    """A source that means the same from another folder."""
    from tqnet.evaluation.sources import ENCODER

    folder = source.removeprefix(ENCODER)
    return source.removesuffix(folder) + os.path.abspath(folder) if os.path.isdir(folder) else source


def _processes() -> Processes:
    """Those of ``accelerate launch`` or torchrun."""
    from tqnet.search.build import Processes

    if int(os.environ.get("WORLD_SIZE", 1)) < 2:
        return Processes()
    from accelerate import PartialState

    state = PartialState(cpu=os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"))
    return Processes(state.process_index, state.num_processes, state.wait_for_everyone)


def _change(args: argparse.Namespace) -> int:
    from tqnet.libraries import quiet
    from tqnet.search.build import update
    from tqnet.search.engine import DuplicateIdError

    quiet()
    if args.verb == "sync" and args.on_error == "skip":
        raise ValueError("--on-error skip: sync would delete the questions whose records are faulty; use update")
    with _writable(args.index) as index:
        bank = read_bank(args)
        if args.verb == "add" and (known := sorted(set(bank.ids) & index.states().keys())):
            others = f"({len(known):,} such ids)"
            raise DuplicateIdError(f"{known[0]}: is in the index already {others}; use tqnet index update")
        encode = encoder_of(open_model(index, args), args)
        changes = update(index, bank, encode, delete=args.verb == "sync")
    print(f"{args.index}: {changes}")
    return 0


def _delete(args: argparse.Namespace) -> int:
    with _writable(args.index) as index:
        there = set(index.engine.get(args.ids, ["id"])["id"].to_pylist())
        unknown = [id for id in dict.fromkeys(args.ids) if id not in there]
        gone = index.engine.delete(there)
        index.engine.optimize()
    print(f"{args.index}: {gone:,} deleted, {index.engine.count():,} left")
    if unknown:
        print(f"tqnet: not in the index: {', '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


def _precompute(args: argparse.Namespace) -> int:
    print(f"{args.index}: {args.n} candidates of {_precompute_all(args.index, args.n):,} questions each")
    return 0


def _precompute_all(folder: str, n: int) -> int:
    from tqnet.search.precomputed import precompute

    with _writable(folder) as index:
        return precompute(index, n)


def _export(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if folder.exists():
        raise FileExistsError(f"{folder}: is there already")
    work = folder.with_name(f"{folder.name}.exporting")
    with _writable(args.index) as index:
        shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
        count = index.engine.export(work)
        index.manifest.save(work)
    work.rename(folder)
    print(f"{args.folder}: {count:,} questions")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from tqnet.search.index import restore

    index = restore(Path(args.folder), Path(args.out), _place(args))
    print(f"{args.out}: {index.engine.count():,} questions")
    return 0
