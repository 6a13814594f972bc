"""Trainings of a suite: planned once however many rows share them, each run as a process of its own."""

from __future__ import annotations

import hashlib
import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from omegaconf import OmegaConf
from safetensors import safe_open

from reproduce.bench.suite import Row, Settings, Stage, Suite, beside, typed
from tqnet.evaluation.plots import Series, questions_and_pace, read_series
from tqnet.files import atomic
from tqnet.libraries import machine, on_cuda, precision
from tqnet.paraphrase.settings import PSEUDO_LABELS, SEPARATION
from tqnet.recipes import launched
from tqnet.training.config import RunConfig
from tqnet.training.provenance import flat, lasting
from tqnet.training.session import VALID
from tqnet.version import __version__

#: Bumped when the same settings begin to train other weights, by more than rounding.
_TRAIN = 2

#: More passes than any budget asks for: ``run.max_steps`` ends a training.
_EPOCHS = 1_000_000

#: Settings ``data.*`` of a stage that name files, which may lie next to the bank.
_BESIDE = ("rewrites", "valid_pairs")

_COST = "cost.json"
_CLOCK = "wall_seconds.txt"

#: Buffers of batch norm, which are not parameters.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@dataclass(frozen=True)
class Training:
    """A stage of a row with a seed.

    Attributes:
        key: Digest (12 hex digits) of all that its weights depend on: settings, seed, bank, and the trainings before
            it. A precision that the machine chooses is left out: it changes no more than rounding.
        settings: All settings of the recipe except for the folders of this run and of those before.
        before: Trainings it starts from: a whole model, a visual stream, or both; and a masked language model.
    """

    stage: Stage
    key: str
    settings: Settings
    before: tuple[Training, ...] = ()

    @property
    def folder(self) -> str:
        """Its name includes the precision: a machine with another one cannot resume the training."""
        return f"{self.stage.name}-{self.key}-{precision(self.settings['run'].get('precision', 'auto'))}"

    def configuration(self, root: Path) -> Settings:
        """Return the recipe's configuration, with trainings in folders of ``root``."""
        paths: Settings = {"run": {"out": str(root / self.folder), "resume": True}, "model": {}}
        for earlier in self.before:
            folder = root / earlier.folder
            if earlier.stage.gives == "masked_model":
                paths["masked_model"] = str(folder)
            else:
                paths["model"][earlier.stage.gives] = str(folder / "model")
        return _merged(self.settings, paths)


def trainings(
    suite: Suite, row: Row, seed: int, bank: str, fingerprint: str, others: Mapping[str, str] | None = None
) -> list[Training]:
    """Plan the trainings of a row, in order; ``fingerprint`` is that of the questions at ``bank``.

    A visual stream waits for the first stage that sees figures, so that rows with and without one share the stages
    that see text alone.

    Args:
        others: Bank that a stage names -> fingerprint of its questions.

    Raises:
        SuiteError: ``run`` of a stage has a setting that its recipe does not take.
        FileNotFoundError: A file named in the settings does not exist.
    """
    chain: list[Training] = []
    waiting: dict[str, Training] = {}  # what it gives -> a training that no stage has started from yet
    for number, name in enumerate(row.stages, 1):
        stage = suite.stages[name]
        takes = [] if stage.gives == "visual_start" else ["start"]
        takes += ["masked_model"] if stage.gives == "start" else []
        takes += ["visual_start"] if stage.sees != "text" or number == len(row.stages) else []
        before = tuple(earlier for gives, earlier in waiting.items() if gives in takes)
        shape = {"model": _model(suite, row, before), "data": _data(suite, stage, row, bank)}
        settings = _merged(shape, stage.settings, row.settings.get(name, {}))
        files = {key: beside(bank, file) for key in _BESIDE if (file := settings["data"].get(key))}
        settings = _merged(settings, {"data": files})
        run = typed(RunConfig, {"out": ""} | (settings.get("run") or {}), f"row {row.name}: stage {name}: run")
        steps = max(1, stage.questions // (run.batch_size * run.accumulate * stage.per_item))
        length = {"epochs": _EPOCHS, "max_steps": steps}
        settings = _merged(settings, {"run": length | {"seed": seed}, "data": {"bank": stage.bank or bank}})
        key = _digest(stage.recipe, settings, (others or {})[stage.bank] if stage.bank else fingerprint, before)
        training = Training(stage, key, settings, before)
        chain.append(training)
        waiting = {gives: earlier for gives, earlier in waiting.items() if earlier not in before}
        waiting[stage.gives] = training
    return chain


def _data(suite: Suite, stage: Stage, row: Row, bank: str) -> Settings:
    # "all" where the stage sees no difference: shuffling pairs of text and figure changes neither alone.
    show = "all" if row.show in ("shuffled", stage.sees) and stage.sees != "all" else row.show
    data = {"show": show, "similar_level": stage.similar_level or suite.similar_level}
    held_out = suite.held_out(bank)
    return suite.data | data | ({"held_out": held_out} if held_out else {})


def _model(suite: Suite, row: Row, before: tuple[Training, ...]) -> Settings:
    """The shape of a new model; empty once an earlier stage gives a whole model."""
    return {} if any(earlier.stage.gives == "start" for earlier in before) else _merged(suite.model, row.model)


def _merged(*parts: Settings) -> Settings:
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*parts))
    return merged


def _digest(recipe: str, settings: Settings, fingerprint: str, before: tuple[Training, ...]) -> str:
    run = {"eval_every": RunConfig.eval_every} | settings["run"]
    if run.get("precision") == "auto":
        del run["precision"]
    # eval_every decides which state is kept.
    decides = lasting(flat(settings | {"run": run})) | {"run.eval_every": run["eval_every"]}
    parts = [_TRAIN, __version__, recipe, decides, fingerprint, [earlier.key for earlier in before]]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=6).hexdigest()


class TrainingError(RuntimeError):
    """A training that failed; the message is its last line of output."""


@dataclass(frozen=True)
class Cost:
    """Time, memory and size of a training.

    Attributes:
        training: Name of its folder.
        questions: Questions seen in training, repeats counted.
        pace: Questions per second, the median over the training.
        peak_memory_mib: Peak memory of the process, or of the accelerator where there is one.
        parameters: Number of parameters of the trained model.
        machine: Description of the machine.
        wall_seconds: Seconds from the start of the process to its end, interruptions included.
        valid_precision: The best P@5 on ``valid`` after a step; None if the recipe does not measure it.
        valid_separation: Likewise the separation of valid and invalid paraphrases (ParaQD).
        pseudo_labels: Number of training pairs that the start encoder labelled ``positive`` and ``negative`` (ParaQD,
            Appendix B), and the ``threshold``; None without pseudo-labels.
    """

    training: str
    questions: int
    pace: float
    peak_memory_mib: float
    parameters: int
    machine: str
    wall_seconds: float
    valid_precision: float | None = None
    valid_separation: float | None = None
    pseudo_labels: dict[str, float] | None = None

    @property
    def step_seconds(self) -> float:
        """Seconds of training steps, evaluations left out."""
        return self.questions / self.pace


class Runner:
    """Runs each training once, in a folder of ``root``.

    Args:
        recipes: The folder of ``pretrain/`` and ``finetune/``.
        processes: Number of processes of a training; by default one for each GPU.
    """

    def __init__(self, root: Path, recipes: Path, processes: int | None = None):
        self.root, self.recipes = root, recipes
        self.processes = processes or (torch.cuda.device_count() if on_cuda() else 1)
        self._failed: dict[str, TrainingError] = {}

    def model(self, training: Training) -> Path:
        return self.root / training.folder / "model"

    def run(self, training: Training) -> Cost:
        """Train, resume an interrupted training, or read the cost of a finished one.

        Raises:
            TrainingError: The training failed, now or earlier in this runner.
        """
        folder = self.root / training.folder
        if (folder / _COST).is_file():
            return _read_cost(folder)
        if error := self._failed.get(training.key):
            raise error
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(folder / "lock", timeout=0):  # two processes would overwrite each other's checkpoints
                return _read_cost(folder) if (folder / _COST).is_file() else self._train(training, folder)
        except Timeout:
            raise TrainingError(f"{folder}: another process trains here; run this again when it is done") from None

    def _train(self, training: Training, folder: Path) -> Cost:
        settings = folder / "settings.yaml"
        OmegaConf.save(OmegaConf.create(training.configuration(self.root)), settings)
        recipe = str(self.recipes / training.stage.recipe)
        print(f"{training.folder}: {training.stage.recipe} --config {settings}", file=sys.stderr)
        try:
            with _clocked(folder / _CLOCK):
                command = launched(recipe, ["--config", str(settings)], self.processes, cpu=not on_cuda())
                _run(command, folder / "log.txt")
        except TrainingError as error:
            self._failed[training.key] = TrainingError(f"{training.folder}: {error}")
            raise self._failed[training.key] from None
        cost = _cost(folder)
        with atomic(folder / _COST) as temporary:
            temporary.write_text(json.dumps(asdict(cost)), encoding="utf-8")
        return cost


@contextmanager
def _clocked(file: Path) -> Iterator[None]:
    """Add the seconds that pass to those in ``file``, also after an error."""
    before = _seconds(file)
    started = time.monotonic()
    try:
        yield
    finally:
        with atomic(file) as temporary:
            temporary.write_text(f"{before + time.monotonic() - started:.1f}\n", encoding="utf-8")


def _seconds(file: Path) -> float:
    return float(file.read_text(encoding="utf-8")) if file.is_file() else 0.0


def _run(command: list[str], log: Path) -> None:
    """Run a process whose stderr is shown and logged.

    It has a session of its own, so that Ctrl-C reaches it once: a second interrupt would end a recipe without saving.
    """
    with log.open("ab") as copy, subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        last = b""
        try:
            while piece := process.stderr.read1(4096):  # type: ignore[attr-defined]
                sys.stderr.buffer.write(piece)
                sys.stderr.flush()
                copy.write(piece)
                last = (last + piece)[-20_000:]
        except BaseException:
            process.terminate()  # not SIGINT, which a process in the background ignores until its first step
            process.wait()  # while it saves
            raise
    if process.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM):
        raise KeyboardInterrupt
    if process.returncode < 0:
        raise TrainingError(f"killed by signal {-process.returncode}; out of memory?")
    if process.returncode:
        lines = last.decode(errors="replace").replace("\r", "\n").strip().splitlines()
        told = [line for line in lines if line.startswith("error: ")] or lines  # a launcher's report may follow
        raise TrainingError(told[-1] if told else f"ended with code {process.returncode}")


def _read_cost(folder: Path) -> Cost:
    return Cost(**json.loads((folder / _COST).read_text(encoding="utf-8")))


def _cost(folder: Path) -> Cost:
    series = read_series(folder / "metrics.jsonl")
    questions, pace = questions_and_pace(series)
    labels = folder / PSEUDO_LABELS
    return Cost(
        training=folder.name,
        questions=questions,
        pace=pace,
        peak_memory_mib=float(series["peak_memory_mib"][1].max()),
        parameters=_parameters(folder / "model"),
        machine=machine(),
        wall_seconds=_seconds(folder / _CLOCK),
        valid_precision=_best(series, VALID),
        valid_separation=_best(series, SEPARATION),
        pseudo_labels=json.loads(labels.read_text(encoding="utf-8")) if labels.is_file() else None,
    )


def _best(series: Mapping[str, Series], name: str) -> float | None:
    # Step 0 is measured for the log alone: a training never keeps it.
    if name not in series:
        return None
    steps, values = series[name]
    return float(values[steps > 0].max()) if (steps > 0).any() else None


def _parameters(folder: Path) -> int:
    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118 - not a mapping, it has no __iter__
                if name.rpartition(".")[2] not in _STATISTICS:
                    total += math.prod(weights.get_slice(name).get_shape())
    return total
