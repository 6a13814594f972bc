"""``tqnet index``: build an index of a bank and keep it up to date."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tqnet.cli.groups import BANK, BackendOptions, DimensionsOptions, ReadingOptions
from tqnet.cli.options import Command, Options, argument, count, number, option, switch

if TYPE_CHECKING:
    from tqnet.export.encoder import ExportedEncoder
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import QuestionBank
    from tqnet.search.build import Encode, Processes
    from tqnet.search.cluster import Workers
    from tqnet.search.engine import Place
    from tqnet.search.index import Index
    from tqnet.search.versions import Manifest, Versions


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(Options):
    heading = "where the records are"
    explanation = "by default in files of INDEX, by LanceDB"

    engine: str = option("milvus: on a server", default="lance", choices=("lance", "milvus"))
    uri: str = option("URI of the server, http://HOST:PORT; a token is read from MILVUS_TOKEN", default="")
    collection: str = option("alias of the records on the server", default="", metavar="NAME")
    shards: int = count("number of parts written in parallel", default=1)
    replicas: int = count("number of copies searched in parallel", default=1)

    @property
    def place(self) -> Place:
        from tqnet.search.engine import Place

        where = {"engine": self.engine, "uri": self.uri, "collection": self.collection}
        return Place(**where, shards=self.shards, replicas=self.replicas)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Options):
    heading = "encoding on a cluster with Ray"
    explanation = (
        "Run the command on one machine; it hands out shards of the bank and writes the results. All machines need "
        "tqnet, and BANK with its figures and DIR under the same paths (shared storage). The shards of a lost machine "
        "are encoded by others. If the machines differ, set --precision. Tested with two nodes on one machine; not on "
        "several, nor on GPUs."
    )

    ray: str | None = option("HOST:PORT, auto for this machine's cluster, local for this machine", metavar="ADDRESS")
    ray_workers: int | None = count("number of workers; by default as many as fit", metavar="N")
    ray_cpus: int = count("CPUs per worker", default=1, metavar="N")
    ray_gpus: int | None = count("GPUs per worker; by default one if the cluster has any", minimum=0, metavar="N")

    def connected(self) -> AbstractContextManager[None]:
        if not self.ray:
            return nullcontext()
        if int(os.environ.get("WORLD_SIZE", 1)) > 1:
            raise ValueError("--ray: not together with accelerate launch or torchrun")
        if self.ray == "local":  # Ray then listens on 127.0.0.1 alone; read at import
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        from tqnet.search.cluster import connected

        return connected(self.ray)

    def workers(self, manifest: Manifest, options: BackendOptions) -> Workers:
        """Return workers that encode with ``options``, whose backend is not auto."""
        from tqnet.search.cluster import Workers, has_gpus

        gpus = self.ray_gpus
        if gpus is None:  # exports run on the CPU
            gpus = int(has_gpus() and options.device != "cpu" and options.backend == "torch")
        if not gpus and options.device is None:
            options = replace(options, device="cpu")  # Ray does not hide the GPUs that a worker has not asked for
        load = partial(load_encode, manifest, options)
        return Workers(load, self.ray_workers, self.ray_cpus, gpus)


def load_encode(manifest: Manifest, options: BackendOptions) -> Encode:
    """Return a function that encodes questions for an index, for a worker on another machine.

    Raises:
        FileNotFoundError: There is no model at that path.
        ValueError: The model has another digest.
    """
    from tqnet.evaluation.sources import source_digest
    from tqnet.libraries import quiet

    quiet()
    model = options.open_encoder(manifest.model, dimensions=manifest.width)
    if source_digest(manifest.model) != manifest.digest:
        raise ValueError(f"{manifest.model}: not the same model as on the machine that runs the command")
    return partial(model.encode, **options.settings)


@dataclass(frozen=True, kw_only=True)
class IndexModelOptions(BackendOptions):
    model: str | None = option("new folder of the index's model, if it has moved", metavar="DIR")

    def open_model(self, index: Index, one_at_a_time: bool = False) -> QuestionEncoder | ExportedEncoder:
        """Load the model that made the index's vectors, from ``--model`` if it has moved, or an export of it.

        Raises:
            FileNotFoundError: The model has moved.
            IndexFolderError: It is a different model.
        """
        from tqnet.evaluation.sources import ENCODER, source_digest

        source = _absolute(self.model) if self.model else index.manifest.model
        if not source.startswith(ENCODER) and not Path(source).is_dir():
            raise FileNotFoundError(f"{source}: the model of {index.folder} has moved; name its folder with --model")
        index.check_model(source, source_digest(source))
        return self.open_encoder(source, one_at_a_time, index.manifest.width)


@dataclass(frozen=True, kw_only=True)
class WaitOptions(Options):
    wait: float = option(
        "maximum time to wait for another process that writes to the index, before exit code 3",
        default=0.0,
        type=number(0),
        metavar="SECONDS",
    )

    @contextmanager
    def locked(self, folder: str) -> Iterator[Versions]:
        """Lock an index against other processes; raise AnotherWritesError if one keeps writing to it."""
        from tqnet.search.versions import Versions, writing

        Versions.load(Path(folder))  # leave no lock next to something that is not an index
        with writing(Path(folder), self.wait):
            yield Versions.load(Path(folder))

    @contextmanager
    def writable(self, folder: str) -> Iterator[Index]:
        """Lock an index and open its current version."""
        with self.locked(folder):
            yield open_index(folder)


def open_index(folder: str) -> Index:
    """Open the current version of the index in a folder; raise IndexFolderError if there is none."""
    from tqnet.search.index import Index

    return Index(Path(folder))


def _absolute(source: str) -> str:
    """Make a source independent of the working directory."""
    from tqnet.evaluation.sources import ENCODER

    folder = source.removeprefix(ENCODER)
    return source.removesuffix(folder) + os.path.abspath(folder) if os.path.isdir(folder) else source


def _processes() -> Processes:
    """Return the processes of ``accelerate launch`` or torchrun."""
    from tqnet.search.build import Processes

    if int(os.environ.get("WORLD_SIZE", 1)) < 2:
        return Processes()
    from accelerate import PartialState

    state = PartialState(cpu=os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"))
    return Processes(state.process_index, state.num_processes, state.wait_for_everyone)


@dataclass(frozen=True, kw_only=True)
class Build(Command, PlaceOptions, DimensionsOptions, ReadingOptions, ClusterOptions, WaitOptions, name="index build"):
    """Build an index of a bank; the word build may be left out."""

    bank: str = argument(BANK, metavar="BANK")
    model: str = option("a trained TQ-Net, or encoder:minilm", required=True, metavar="DIR")
    out: str = option("folder of the index, which is searched once it is complete", required=True, metavar="INDEX")
    replace: bool = switch("make another version of an existing index, which is searched once it is complete")
    keep: int = count("number of earlier versions to keep for tqnet index use", default=1, metavar="N")

    def run(self) -> None:
        from tqnet.evaluation.sources import source_digest
        from tqnet.export.encoder import ExportedEncoder

        with self.connected():
            from tqnet.search.build import build
            from tqnet.search.versions import Manifest

            processes = _processes()
            bank = self.load(self.bank)
            model = self.open_shortened(self.model)
            digest, width = source_digest(self.model), self.dimensions or model.config.hidden_size
            manifest = Manifest(_absolute(self.model), digest, width, bank.name, **asdict(self.place))
            encode_shards = None
            if self.ray:  # the same backend everywhere: auto may find another one on another machine
                backend = model.manifest.format if isinstance(model, ExportedEncoder) else "torch"
                options = BackendOptions(
                    batch_size=self.batch_size, device=self.device, precision=self.precision, backend=backend
                )
                encode_shards = self.workers(manifest, options)
            build(
                bank,
                partial(model.encode, **self.settings),
                Path(self.out),
                manifest,
                processes,
                encode_shards=encode_shards,
                replace=self.replace,
                keep=self.keep,
                precision=str(model) if isinstance(model, ExportedEncoder) else self.chosen_precision,
                wait=self.wait,
            )
        if processes.rank == 0:
            print(f"{self.out}: {len(bank):,} questions; tqnet search {self.out} --text '...'")


@dataclass(frozen=True, kw_only=True)
class _Change(Command, IndexModelOptions, ReadingOptions, WaitOptions):
    index: str = argument("the index to change", metavar="INDEX")
    bank: str = argument(BANK, metavar="BANK")

    deletes: ClassVar[bool] = False

    def check(self, index: Index, bank: QuestionBank) -> None:
        """Raise if the bank must not be written to the index."""

    def run(self) -> None:
        from tqdm import tqdm

        from tqnet.search.build import update

        with self.writable(self.index) as index:
            bank = self.load(self.bank)
            self.check(index, bank)
            encode = partial(self.open_model(index).encode, **self.settings)
            with tqdm(bank, unit=" questions", desc="update", disable=None) as questions:
                changes = update(index, questions, encode, delete=self.deletes)
        print(f"{self.index}: {changes}")


@dataclass(frozen=True, kw_only=True)
class Add(_Change, name="index add"):
    """Add new questions."""

    def check(self, index: Index, bank: QuestionBank) -> None:
        from tqnet.search.engine import DuplicateIdError

        if known := sorted(set(bank.ids) & index.states().keys()):
            others = f"({len(known):,} such ids)"
            raise DuplicateIdError(f"{known[0]}: already in the index {others}; use tqnet index update")


@dataclass(frozen=True, kw_only=True)
class Update(_Change, name="index update"):
    """Add questions, replacing those with the same id."""


@dataclass(frozen=True, kw_only=True)
class Sync(_Change, name="index sync"):
    """Make an index hold exactly what a bank holds; only changes are encoded."""

    deletes = True

    def run(self) -> None:
        if self.on_error == "skip":
            raise ValueError("--on-error skip: sync would delete the questions whose records are faulty; use update")
        super().run()


@dataclass(frozen=True, kw_only=True)
class Delete(Command, WaitOptions, name="index delete"):
    """Remove questions."""

    index: str = argument("the index to change", metavar="INDEX")
    ids: Sequence[str] = argument("ids of the questions", nargs="+", metavar="ID")

    def run(self) -> int:
        from tqnet.search.build import remove

        with self.writable(self.index) as index:
            deleted = remove(index, self.ids)
        unknown = [id for id in dict.fromkeys(self.ids) if id not in deleted]
        print(f"{self.index}: {len(deleted):,} deleted, {index.engine.count():,} left")
        if unknown:
            print(f"tqnet: not in the index: {', '.join(unknown)}", file=sys.stderr)
        return 1 if unknown else 0


@dataclass(frozen=True, kw_only=True)
class Precompute(Command, WaitOptions, name="index precompute"):
    """Precompute the candidates of every question.

    tqnet search --id and tqnet serve use them if they need the same number (100 by default), until the index changes.
    """

    index: str = argument("the index to change", metavar="INDEX")
    n: int = count("number of candidates per question", "-n", default=100)

    def run(self) -> None:
        from tqnet.search.precomputed import precompute

        with self.writable(self.index) as index:
            questions = precompute(index, self.n)
        print(f"{self.index}: {self.n} candidates of {questions:,} questions each")


@dataclass(frozen=True, kw_only=True)
class Export(Command, WaitOptions, name="index export"):
    """Write an index as a folder of Parquet files, which any engine can restore."""

    index: str = argument("the index to export", metavar="INDEX")
    folder: str = argument("a new folder", metavar="FOLDER")

    def run(self) -> None:
        folder = Path(self.folder)
        if folder.exists():
            raise FileExistsError(f"{folder}: already exists")
        work = folder.with_name(f"{folder.name}.exporting")
        with self.writable(self.index) as index:
            shutil.rmtree(work, ignore_errors=True)  # left by a killed run
            count = index.export(work)
        work.rename(folder)
        print(f"{self.folder}: {count:,} questions")


@dataclass(frozen=True, kw_only=True)
class Restore(Command, PlaceOptions, WaitOptions, name="index restore"):
    """Restore an index from an exported folder."""

    folder: str = argument("a folder written by tqnet index export", metavar="FOLDER")
    out: str = option("a folder without an index", required=True, metavar="INDEX")

    def run(self) -> None:
        from tqnet.search.index import restore

        index = restore(Path(self.folder), Path(self.out), self.place, wait=self.wait)
        print(f"{self.out}: {index.engine.count():,} questions")


@dataclass(frozen=True, kw_only=True)
class ListVersions(Command, name="index versions"):
    """List the versions of an index.

    tqnet index --replace makes another version; tqnet index use switches to one of them.
    """

    index: str = argument("the index", metavar="INDEX")

    def run(self) -> None:
        from tqnet.errors import first_line
        from tqnet.evaluation.table import Table
        from tqnet.search.engine import EngineError
        from tqnet.search.index import Index
        from tqnet.search.versions import MANIFEST, Versions

        versions, rows = Versions.load(Path(self.index)), []
        for name in sorted(versions.names, key=int):
            current = "current" if name == versions.current else ""
            try:
                index = Index(Path(self.index), name)
            except EngineError as error:  # damaged: perhaps the reason to look at the list
                rows.append((name, current, "cannot be read", first_line(error), "", "", ""))
                continue
            made = datetime.fromtimestamp((index.files / MANIFEST).stat().st_mtime)
            size = sum(file.stat().st_size for file in index.files.rglob("*") if file.is_file())
            where = f" and {index.manifest.uri}" if index.manifest.uri else ""
            about = (index.manifest.bank, index.facts["model"], f"{index.engine.count():,}")
            rows.append((name, current, *about, f"{made:%Y-%m-%d %H:%M}", f"{size / 2**20:,.1f} MiB{where}"))
        print(Table("", ("version", "", "bank", "model", "questions", "made", "size"), tuple(rows)).text())


@dataclass(frozen=True, kw_only=True)
class Use(Command, WaitOptions, name="index use"):
    """Switch to another version at once: back to an earlier one, or forward again.

    New searches use it, and running servers follow within seconds, with its model if that is a different one.
    """

    index: str = argument("the index", metavar="INDEX")
    version: str = argument(
        "a version listed by tqnet index versions; previous: the one that was current before", metavar="VERSION"
    )

    def run(self) -> None:
        from tqnet.search.index import Index

        with self.locked(self.index) as versions:  # the current version may be damaged
            index = Index(Path(self.index), versions.find(self.version))
            index.publish()
        print(f"{self.index}: version {index.version} is current: {index.facts['index']}, {index.facts['model']}")
