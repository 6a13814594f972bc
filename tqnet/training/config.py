"""Settings of a recipe: dataclasses, filled from YAML and then from ``key=value`` on the command line."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from tqnet.errors import DEBUG, DEBUG_VARIABLE
from tqnet.modeling.build import ModelConfig
from tqnet.questions import QuestionBank, load_bank
from tqnet.questions.splits import SHOWN, show

C = TypeVar("C")

#: NumPy's generators are seeded with 32 bits.
MAX_SEED = 2**32 - 1


class ConfigError(ValueError):
    """A setting that is unknown, of the wrong type, or at odds with another; the message names its key."""


@dataclass
class DataConfig:
    """What to train on.

    Attributes:
        bank: Folder with ``questions.jsonl`` (or .parquet), or such a file.
        on_error: ``stop`` lists the faults of the bank and ends; ``skip`` leaves those records out, and those pairs.
        verify_images: Decode every figure before the first step; a bank that ``tqnet check`` found clean can do
            without.
        pairs: File of similar pairs (``a``, ``b``, ``similar``); by default pairs come from ``group``. For
            ``finetune/pairs.py``, of labelled ones (``a``, ``b``, ``label``); by default they are made.
        similar_level: In place of groups: questions are similar that share a concept of this level (1 is the coarsest).
        held_out: Files of questions and paraphrases (`tqnet.questions.paraphrase_pairs`), to be tested on: their
            questions have no part in training, nor have those that differ by spacing, numbers or few words.
        labelled: Share of ``train`` that a supervised stage learns from: what would fewer labels have done? Drawn of
            its groups and of its questions without one alike, the same for every ``run.seed``; the best state is
            chosen by all of ``valid``. Recipes that learn from something else have all of it, and refuse the setting.
        transductive: Pre-training also reads the unlabelled stems and figures of valid and test.
        distractors: Questions of ``train``, drawn at random, among which those of ``valid`` are searched too when the
            best state is chosen: without any, a small split hardly tells two states apart.
        show: What the model is shown of every question: ``all``; ``text`` or ``figures`` alone; or ``shuffled``,
            with the figures of another one.
        workers: Processes that load and augment; 0 does it between steps.
    """

    bank: str = "???"
    on_error: str = "stop"
    verify_images: bool = True
    pairs: str | None = None
    similar_level: int | None = None
    held_out: list[str] = field(default_factory=list)
    labelled: float = 1.0
    transductive: bool = False
    distractors: int = 0
    show: str = "all"
    workers: int = 0

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ConfigError(f"data.on_error: {self.on_error!r} is neither 'stop' nor 'skip'")
        if self.pairs and self.similar_level is not None:
            raise ConfigError("data.similar_level: not beside data.pairs")
        at_least(1, "data.similar_level", self.similar_level)
        within(0, 1, "data.labelled", self.labelled, ends="(]")
        at_least(0, "data.distractors", self.distractors)
        at_least(0, "data.workers", self.workers)
        if self.show not in SHOWN:
            raise ConfigError(f"data.show: {self.show!r} is none of {', '.join(SHOWN)}")

    def refuse_share(self) -> None:
        """ConfigError where a share of labels is asked for: of a recipe that learns from all of its questions."""
        if self.labelled < 1:
            raise ConfigError("data.labelled: this recipe learns from all questions that it has")

    def load(self) -> QuestionBank:
        """The whole bank, all splits; read once, however often it is asked for.

        Raises:
            BankError: It has faults and ``on_error`` is ``stop``.
        """
        return self._whole

    @cached_property
    def _whole(self) -> QuestionBank:
        return show(load_bank(self.bank, self.error_policy, self.verify_images), self.show)

    @property
    def error_policy(self) -> Literal["stop", "skip"]:
        """``on_error`` as those who read files want it; OmegaConf knows no Literal."""
        return "skip" if self.on_error == "skip" else "stop"


@dataclass
class OptimConfig:
    """Optimizer and schedule.

    Attributes:
        name: ``adamw`` or ``sgd``.
        lr: Learning rate of everything that has no rate of its own below.
        text_lr, visual_lr: Rates of the two streams; null means ``lr``, and 0 leaves the stream as it is, the
            statistics of its batch norms included, which is faster by its backward pass. A QuesNet has no text
            stream apart: its words go by ``lr``.
        weight_decay: Not applied to biases and norms under AdamW.
        momentum: Of SGD.
        schedule: ``cosine``, ``linear`` or ``constant``, after the warm-up.
        warmup: Share of the steps in which the rate rises from zero.
        clip: Largest gradient norm; 0 for none.
    """

    name: str = "adamw"
    lr: float = 1e-3
    text_lr: float | None = None
    visual_lr: float | None = None
    weight_decay: float = 0.01
    momentum: float = 0.9
    schedule: str = "cosine"
    warmup: float = 0.05
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in ("adamw", "sgd"):
            raise ConfigError(f"optim.name: {self.name!r} is neither 'adamw' nor 'sgd'")
        if self.schedule not in ("cosine", "linear", "constant"):
            raise ConfigError(f"optim.schedule: {self.schedule!r} is none of cosine, linear, constant")
        for name in ("lr", "text_lr", "visual_lr"):
            if (rate := getattr(self, name)) is not None:
                within(0, math.inf, f"optim.{name}", rate, ends="[)")
        within(0, math.inf, "optim.weight_decay", self.weight_decay, ends="[)")
        within(0, 1, "optim.momentum", self.momentum, ends="[)")
        within(0, 1, "optim.warmup", self.warmup)
        at_least(0, "optim.clip", self.clip)


@dataclass
class RunConfig:
    """How long, how large, where to, and how to go on.

    Attributes:
        out: Folder of the run: checkpoints, metrics.jsonl, config.yaml, and ``model/``, the result.
        seed: Of everything that is drawn.
        epochs: Passes over the data.
        max_steps: Optimizer steps, where the epochs have more; null for all of theirs.
        batch_size: Questions per step and micro-batch, over all processes.
        accumulate: Micro-batches per optimizer step.
        precision: ``auto`` (bf16 where the processor has it), ``fp32`` or ``bf16``.
        resume: Go on from the last checkpoint in ``out``, to the bit.
        log_every, save_every, eval_every: In optimizer steps; eval 0 is once an epoch.
        keep: Checkpoints that are kept.
        wandb: Project to log to (WANDB_MODE=offline works); null for none.
        threads: Processor threads of a process; 0 leaves torch's choice.
    """

    out: str = "???"
    seed: int = 0
    epochs: int = 1
    max_steps: int | None = None
    batch_size: int = 64
    accumulate: int = 1
    precision: str = "auto"
    resume: bool = False
    log_every: int = 10
    save_every: int = 200
    eval_every: int = 0
    keep: int = 2
    wandb: str | None = None
    threads: int = 0

    def __post_init__(self) -> None:
        # No fp16: its gradient scaler would be one more thing to keep in a checkpoint, and bf16 needs none.
        if self.precision not in ("auto", "fp32", "bf16"):
            raise ConfigError(f"run.precision: {self.precision!r} is none of auto, fp32, bf16")
        for name in ("epochs", "max_steps", "batch_size", "accumulate", "log_every", "save_every", "keep"):
            at_least(1, f"run.{name}", getattr(self, name))
        within(0, MAX_SEED, "run.seed", self.seed)
        at_least(0, "run.eval_every", self.eval_every)
        at_least(0, "run.threads", self.threads)


@dataclass
class RecipeConfig:
    """What every recipe is set by; its own settings come below."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    run: RunConfig = field(default_factory=RunConfig)


def at_least(least: float, name: str, value: float | None) -> None:
    """ConfigError where the setting ``name`` is less; null is left to whoever reads it."""
    if value is not None and not value >= least:  # NaN is refused too
        raise ConfigError(f"{name}: {value} is less than {least}")


def within(low: float, high: float, name: str, value: float, *, ends: str = "[]") -> None:
    """ConfigError where the setting ``name`` is not in the interval; ``ends`` says which of its ends belong to it."""
    above = value >= low if ends[0] == "[" else value > low
    below = value <= high if ends[1] == "]" else value < high
    if not (above and below):
        raise ConfigError(f"{name}: {value} is not in {ends[0]}{low}, {high}{ends[1]}")


def load_config(kind: type[C], files: list[str], overrides: list[str]) -> C:
    """``kind`` with the YAML files merged in order and then the ``key=value`` overrides.

    Raises:
        ConfigError: Unknown key, wrong type, missing mandatory value; names the key.
    """
    settings = OmegaConf.structured(kind)
    for file in files:
        if not Path(file).is_file():
            raise ConfigError(f"{file}: no such configuration")
        settings = _merge(settings, file, partial(OmegaConf.load, file))
    for override in overrides:
        settings = _merge(settings, override, partial(OmegaConf.from_dotlist, [override]))
    missing = sorted(OmegaConf.missing_keys(settings))
    if missing:
        raise ConfigError(f"{', '.join(missing)}: not set, neither in a file nor as key=value")
    try:
        return OmegaConf.to_object(settings)  # type: ignore[return-value]
    except ConfigError:
        raise
    except ValueError as error:  # settings of other rooms (augment) check themselves and know no ConfigError
        raise ConfigError(str(error)) from error


def _merge(settings: Any, source: str, read: Callable[[], Any]) -> Any:
    """``settings`` with those that ``read`` gives; what is wrong names the key, or else the source."""
    try:
        found = read()
        if not isinstance(found, DictConfig):
            raise ConfigError(f"{source}: expected settings by name")
        return OmegaConf.merge(settings, found)
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or source
        raise ConfigError(f"{key}: {str(error).splitlines()[0]}") from error


def parse_config(kind: type[C], description: str | None, argv: list[str] | None = None) -> C:
    """Configuration of a recipe from its command line.

    Raises:
        ConfigError: As :func:`load_config`.
        SystemExit: From argparse: 2 where it is no command line of a recipe, 0 after ``--help``.
    """
    parser = argparse.ArgumentParser(
        description=description,
        epilog="settings and defaults:\n" + _describe(kind()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", action="append", default=[], metavar="YAML", help="may be given repeatedly")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="e.g. run.epochs=3 optim.lr=1e-4")
    parser.add_argument(DEBUG, action="store_true", help=f"show the traceback of an error, as {DEBUG_VARIABLE}=1 does")
    arguments = parser.parse_intermixed_args(argv)
    for setting in arguments.settings:
        if "=" not in setting:
            parser.error(f"{setting!r} is not of the form key=value")
    return load_config(kind, arguments.config, arguments.settings)


def save_config(config: Any, path: Path) -> None:
    """The resolved configuration as YAML."""
    path.write_text(OmegaConf.to_yaml(OmegaConf.structured(config)), encoding="utf-8")


def _describe(defaults: Any, prefix: str = "") -> str:
    """Every setting with its default in this recipe and what its class's docstring says about it."""
    explained = _attributes(type(defaults))
    lines = []
    for item in dataclasses.fields(defaults):
        default = getattr(defaults, item.name)
        name = f"{prefix}{item.name}"
        if dataclasses.is_dataclass(default):
            lines.append(_describe(default, f"{name}."))
            continue
        shown = "null" if default is None else "(to be given)" if default == "???" else default
        text = textwrap.fill(explained.get(item.name, ""), 100, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines.append(f"  {name}={shown}" + (f"\n{text}" if text else ""))
    return "\n".join(lines)


def _attributes(kind: type) -> dict[str, str]:
    """Field -> its text under ``Attributes:`` of the docstring, or of a base's; one text may explain several fields."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        block = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        entries = re.findall(r"^    ([a-z_, ]+): (.*(?:\n        .*)*)", block, re.MULTILINE)
        found |= {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}
    return found
