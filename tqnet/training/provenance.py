"""What a run was made with: kept beside its result, and compared before it goes on."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accelerate import PartialState
from huggingface_hub import metadata_load
from yaml import YAMLError

from tqnet.config import ConfigError, save_config
from tqnet.files import content_digest
from tqnet.libraries import machine, precision
from tqnet.questions import QuestionBank

_LIBRARIES = ("tqnet", "torch", "torchvision", "transformers", "timm", "accelerate", "albumentations", "datasets")

#: Settings that a resumed run may have others of. ``run.threads`` changes the last bits, and ``run.eval_every`` says
#: among which states the best is chosen; the steps themselves stay what they are.
_FREE = {"data.bank", "data.workers"} | {
    f"run.{name}" for name in ("out", "resume", "log_every", "save_every", "eval_every", "keep", "wandb", "threads")
}

#: Settings that name files or folders, which are compared by what is in them.
_BY_CONTENT = (
    *("model.start", "model.visual_start", "model.text"),
    *("data.pairs", "data.rewrites", "data.valid_pairs", "data.held_out"),
)


@dataclass(frozen=True)
class Provenance:
    """A recipe's settings and the questions that it trains on."""

    config: Any
    bank: QuestionBank

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, nested."""
        return asdict(self.config)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Name -> value of all that a resumed run shares with its beginning, else it would be another run.

        The length of the run (``run.epochs``, ``run.max_steps``) is among them: the schedule depends on it. Of the
        files that it starts from, their content: they may have been made anew, or moved.
        """
        return lasting(flat(self.settings)) | {"fingerprint of data.bank": self.bank.fingerprint}

    def check(self, before: Mapping[str, Any] | None, checkpoint: str) -> None:
        """Compare with the identity that a checkpoint was written with.

        Raises:
            ConfigError: They differ; names every difference with both values.
        """
        if before is None:  # written by a version that did not keep it
            return
        # A setting that an older version did not have yet was as it now is by default.
        known = flat(asdict(type(self.config)())) | dict(before)
        names = sorted(before.keys() | self.identity.keys())
        values = [(name, known.get(name), self.identity.get(name)) for name in names]
        differing = [f"{name}: {old!r} before, {new!r} now" for name, old, new in values if old != new]
        if differing:
            raise ConfigError(
                f"{checkpoint} is of another run, so run.resume=true cannot go on with it: " + "; ".join(differing)
            )

    def write(self, out: Path) -> None:
        """config.yaml and run.json (command, versions, data fingerprint) in the run's folder."""
        save_config(self.config, out / "config.yaml")
        facts = {
            "command": shlex.join(sys.argv),
            "recipe": _recipe(self.config),
            "processes": PartialState().num_processes,
            "machine": machine(),
            "versions": {name: version(name) for name in _LIBRARIES} | {"python": platform.python_version()},
            "bank": {
                "name": self.bank.name,
                "questions": len(self.bank),
                "fingerprint": self.bank.fingerprint,
                "languages": dict(Counter(language or "" for language in self.bank.column("language"))),
                "licence": bank_licence(self.settings.get("data", {}).get("bank")),
            },
            "start": self.identity["model.start"] if self.settings.get("model", {}).get("start") else None,
        }
        (out / "run.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _recipe(config: Any) -> str:
    """``finetune/similar.py``: the script that a recipe's settings are of, whether it was called or imported."""
    script = getattr(sys.modules.get(type(config).__module__), "__file__", None)
    return "/".join(Path(script).parts[-2:]) if script else type(config).__name__


def bank_licence(bank: str | None) -> str | None:
    """``license`` at the head of README.md beside a bank's questions, as data sets on the Hugging Face Hub have it."""
    if not bank:
        return None
    file = (Path(bank) if Path(bank).is_dir() else Path(bank).parent) / "README.md"
    try:
        stated = (metadata_load(file) or {}).get("license")
    except (OSError, ValueError, YAMLError):
        return None
    return str(stated) if stated else None


def lasting(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> value of those ``flat`` settings that decide what comes out of a run; of files that it reads, a digest.

    Raises:
        FileNotFoundError: A file or folder that they name does not exist; the message names the setting.
    """
    kept = {name: value for name, value in settings.items() if name not in _FREE}
    for name in _BY_CONTENT:
        paths = settings.get(name)
        if not paths or (name == "model.text" and not Path(paths).is_dir()):  # the name of an encoder
            continue
        try:
            several = isinstance(paths, list)
            kept[name] = [content_digest(Path(path)) for path in paths] if several else content_digest(Path(paths))
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{name}: {error}") from None
    if "run.precision" in settings:
        kept["run.precision"] = precision(settings["run.precision"])  # auto may be another on another machine
    return kept


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted name."""
    named: dict[str, Any] = {}
    for name, value in settings.items():
        named |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return named
