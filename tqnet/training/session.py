"""What a recipe sets up before its first step: processes, seeds, precision, the bank."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import set_seed
from torch import Tensor

from tqnet.libraries import precision, quiet
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import BankError, Question, QuestionBank
from tqnet.questions.table import hash64
from tqnet.training.config import ConfigError, DataConfig, RunConfig, save_config
from tqnet.training.loop import NonFiniteLossError

log = logging.getLogger(__name__)

_LIBRARIES = (
    "tqnet",
    "torch",
    "torchvision",
    "transformers",
    "timm",
    "accelerate",
    "albumentations",
    "datasets",
)


def start(run: RunConfig) -> Accelerator:
    """Processes, precision and seeds.

    Raises:
        ConfigError: The batch does not divide among the processes; or several were asked for and one came.
    """
    # accelerate says by MASTER_ADDR that there shall be several, and leaves starting them to MPI.
    if "MASTER_ADDR" in os.environ and PartialState().num_processes == 1 and "WORLD_SIZE" not in os.environ:
        raise ConfigError(
            "accelerate launch --cpu starts several processes only under MPI (--mpirun_hostfile FILE); without it: "
            "ACCELERATE_USE_CPU=true torchrun --nproc_per_node N RECIPE SETTINGS"
        )
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    quiet()
    if run.threads:
        torch.set_num_threads(run.threads)
    accelerator = Accelerator(mixed_precision={"fp32": "no"}.get(p := precision(run.precision), p))
    if run.batch_size % accelerator.num_processes:
        raise ConfigError(
            f"run.batch_size: {run.batch_size} does not divide among {accelerator.num_processes} processes"
        )
    set_seed(run.seed)
    if not accelerator.is_main_process:
        logging.disable(logging.WARNING)
    return accelerator


def describe_run(out: Path, config: Any, bank: QuestionBank) -> None:
    """Write config.yaml and run.json (command, versions, data fingerprint) to the run's folder."""
    if not PartialState().is_main_process:
        return
    out.mkdir(parents=True, exist_ok=True)
    save_config(config, out / "config.yaml")
    facts = {
        "command": shlex.join(sys.argv),
        "processes": PartialState().num_processes,
        "versions": {name: version(name) for name in _LIBRARIES} | {"python": platform.python_version()},
        "bank": {"name": bank.name, "questions": len(bank), "fingerprint": bank.fingerprint},
    }
    (out / "run.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def training_questions(data: DataConfig, pretraining: bool) -> QuestionBank:
    """The questions that a recipe may learn from: ``train``, or all that carry no split.

    With ``data.transductive``, pre-training also reads the other splits, stripped of everything but stem,
    options and figures (pre-training reads no more than these in any case).

    Raises:
        BankError: The bank has faults and ``data.on_error`` is ``stop``.
        ConfigError: Nothing to train on.
    """
    bank = data.load()
    splits = np.asarray(bank.column("split"), dtype=object)
    if not any(splits):
        return bank
    if data.transductive and pretraining:
        log.warning("transductive: the stems and figures of valid and test are read")
        return bank
    train = bank.select(np.flatnonzero(splits == "train"))
    if not len(train):
        raise ConfigError(f"data.bank: {data.bank} has no question of split 'train'")
    return train


def contents(bank: QuestionBank) -> Iterator[str]:
    """What the text encoder reads of every question."""
    return (content for content, _ in _contents_and_images(bank))


def content_hashes(bank: QuestionBank) -> Tensor:
    """int64 [n]: equal where stem, options and figures are equal, whatever the id and the files' names."""
    pairs = _contents_and_images(bank)
    figure = cache(lambda path: hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest())
    return torch.tensor([hash64("\n".join((content, *map(figure, images)))) - 2**63 for content, images in pairs])


def _contents_and_images(bank: QuestionBank) -> Iterator[tuple[str, tuple[str, ...]]]:
    for rows in bank.batches("stem", "options", "images"):
        for stem, options, images in zip(*rows, strict=True):
            yield Question(id="", stem=stem, options=options).content, images


def cells_per_image(model: TQNetModel) -> int:
    """Visual tokens that one figure becomes."""
    if not model.config.reads_images:
        return 0
    size = model.config.image_size
    with torch.inference_mode():
        model.visual.eval()
        cells = model.visual.cells(torch.zeros(1, 3, size, size)).shape[1]
        model.visual.train()
    return cells


@contextmanager
def clear_errors() -> Iterator[None]:
    """Expected errors of a recipe end it with one clear line and code 1, out of memory with what to lower."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        _end(f"out of memory: lower run.batch_size, model.max_length, model.image_size or model.max_images ({error})")
    except (BankError, ConfigError, NonFiniteLossError, FileNotFoundError, ImportError, ValueError) as error:
        _end(str(error))


def _end(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(1) from None


def sort_lengths(bank: QuestionBank, processor: TQNetProcessor, cells: int = 0) -> np.ndarray:
    """[n] numbers by which questions of like cost come together: text tokens, then visual tokens.

    ``cells`` is the number of visual tokens of a figure. Says how many texts and figures are cut.
    """
    keys: list[int] = []
    questions = _contents_and_images(bank)
    while chunk := list(islice(questions, 4096)):
        ids = processor.tokenize([content for content, _ in chunk])
        visual = [cells * min(len(images), processor.max_images) for _, images in chunk]
        # Texts within 16 tokens count as equal, so that figures keep to figures within them.
        keys += [len(tokens) // 16 * 100_000 + of for tokens, of in zip(ids, visual, strict=True)]
    processor.warn_of_cuts()
    return np.asarray(keys)
