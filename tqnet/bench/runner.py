"""Running the trainings of a suite, each as a process of its own, so that one that fails takes no other with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from filelock import FileLock, Timeout
from omegaconf import OmegaConf
from safetensors import safe_open

from tqnet.bench.plan import Training
from tqnet.evaluation.plots import Series, questions_and_pace, read_series
from tqnet.files import atomic
from tqnet.libraries import machine
from tqnet.paraphrase.settings import PSEUDO_LABELS, SEPARATION
from tqnet.training.validation import VALID

_COST = "cost.json"
_CLOCK = "wall_seconds.txt"

#: What batch norm keeps beside its parameters.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class TrainingError(RuntimeError):
    """A training ended with an error; the message is its last line."""


@dataclass(frozen=True)
class Cost:
    """What a training took.

    Attributes:
        training: Its folder, which has a name of its own for every training.
        questions: Seen in training, repeats counted.
        pace: Questions per second, the median over the training.
        peak_memory_mib: Of the process, or of the accelerator where there is one.
        parameters: Of the model that came out.
        machine: On which, in words.
        wall_seconds: From the process's start to its end: loading, evaluations and saving too, and what was lost
            where it was stopped, unless this process was killed with it. None where an earlier version did not take it.
        valid_precision: The best P@5 on ``valid`` after a step; None of a recipe that measures none.
        valid_separation: Likewise of valid and invalid paraphrases (ParaQD).
        pseudo_labels: How many pairs of its training the start encoder labelled ``positive`` and ``negative`` (ParaQD,
            Appendix B), above which ``threshold``; None where it labelled none.
    """

    training: str
    questions: int
    pace: float
    peak_memory_mib: float
    parameters: int
    machine: str
    wall_seconds: float | None = None
    valid_precision: float | None = None
    valid_separation: float | None = None
    pseudo_labels: dict[str, float] | None = None

    @property
    def step_seconds(self) -> float:
        """Of steps at that pace, evaluations left out."""
        return self.questions / self.pace


class Runner:
    """Runs trainings in folders of ``root``, none twice.

    Args:
        recipes: The folder that ``pretrain/`` and ``finetune/`` lie in.
    """

    def __init__(self, root: Path, recipes: Path):
        self.root, self.recipes = root, recipes
        self._failed: dict[str, TrainingError] = {}

    def model(self, training: Training) -> Path:
        """The folder of the model that comes out."""
        return self.root / training.folder / "model"

    def run(self, training: Training) -> Cost:
        """Train, or go on where a training was stopped, or read what a finished one took.

        Raises:
            TrainingError: It failed, or has failed before in this runner.
        """
        folder = self.root / training.folder
        if (folder / _COST).is_file():
            return _kept(folder)
        if error := self._failed.get(training.key):
            raise error
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(folder / "lock", timeout=0):  # two processes would overwrite each other's checkpoints
                return _kept(folder) if (folder / _COST).is_file() else self._train(training, folder)
        except Timeout:
            raise TrainingError(f"{folder}: another process trains here; run this again once it is done") from None

    def _train(self, training: Training, folder: Path) -> Cost:
        settings = folder / "settings.yaml"
        OmegaConf.save(OmegaConf.create(training.configuration(self.root)), settings)
        recipe = str(self.recipes / training.stage.recipe)
        print(f"{training.folder}: {training.stage.recipe} --config {settings}", file=sys.stderr)
        try:
            with _clocked(folder / _CLOCK):
                _run([sys.executable, recipe, "--config", str(settings)], folder / "log.txt")
        except TrainingError as error:
            self._failed[training.key] = TrainingError(f"{training.folder}: {error}")
            raise self._failed[training.key] from None
        cost = _cost(folder)
        with atomic(folder / _COST) as temporary:
            temporary.write_text(json.dumps(asdict(cost)), encoding="utf-8")
        return cost


@contextmanager
def _clocked(file: Path) -> Iterator[None]:
    """Adds the seconds that pass to those in ``file``, also where an error ends them."""
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
    """A process whose messages are shown and kept.

    In a session of its own: Ctrl-C reaches it through us alone, for a recipe ends at once if asked twice.
    """
    with log.open("ab") as kept, subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        last = b""
        try:
            while piece := process.stderr.read1(4096):  # type: ignore[attr-defined]
                sys.stderr.buffer.write(piece)
                sys.stderr.flush()
                kept.write(piece)
                last = (last + piece)[-2000:]
        except BaseException:
            process.terminate()  # no SIGINT: until its first step a training in the background would ignore it
            process.wait()  # while it saves
            raise
    if process.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM):
        raise KeyboardInterrupt
    if process.returncode < 0:
        raise TrainingError(f"killed by signal {-process.returncode}; out of memory?")
    if process.returncode:
        lines = last.decode(errors="replace").replace("\r", "\n").strip().splitlines()
        raise TrainingError(lines[-1] if lines else f"ended with code {process.returncode}")


def _kept(folder: Path) -> Cost:
    kept = json.loads((folder / _COST).read_text(encoding="utf-8"))
    known = {of.name: kept[of.name] for of in fields(Cost) if of.name in kept}  # others are of another version
    return Cost(**known | {"training": folder.name})


def _cost(folder: Path) -> Cost:
    series = read_series(folder / "metrics.jsonl")
    questions, pace = questions_and_pace(series)
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
        pseudo_labels=_pseudo_labels(folder / PSEUDO_LABELS),
    )


def _best(series: Mapping[str, Series], name: str) -> float | None:
    """The start, step 0, is measured for the log alone: it is no state that a training keeps."""
    if name not in series:
        return None
    steps, values = series[name]
    return float(values[steps > 0].max()) if (steps > 0).any() else None


def _pseudo_labels(file: Path) -> dict[str, float] | None:
    found: dict[str, float] | None = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found


def _parameters(folder: Path) -> int:
    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118 - no mapping, it has no __iter__
                if name.rpartition(".")[2] in _STATISTICS:
                    continue
                size = 1
                for side in weights.get_slice(name).get_shape():
                    size *= side
                total += size
    return total
