"""Provenance of a run: saved with its result, and compared on resume."""

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
from tqnet.modeling.settings import SET_WITH_START
from tqnet.questions import QuestionBank

_LIBRARIES = ("tqnet", "torch", "torchvision", "transformers", "timm", "accelerate", "albumentations", "datasets")

#: Settings that may change on resume. ``run.threads`` changes the last bits and ``run.eval_every`` the candidates for
#: the best state, but training steps stay the same.
_FREE = {"data.bank", "data.workers", "data.verify_images", "checked"} | {
    f"run.{name}" for name in ("out", "resume", "log_every", "save_every", "eval_every", "keep", "wandb", "threads")
}

#: Settings that name files or folders; compared by content.
_BY_CONTENT = (
    *("model.start", "model.visual_start", "model.text"),
    *("data.pairs", "data.rewrites", "data.valid_pairs", "data.held_out"),
)


#: Settings that building the model fills in from the bank and the encoder.
_LEFT_OPEN = {"model.text", "model.pooling"}


@dataclass(frozen=True)
class Provenance:
    """A recipe's settings and its training questions."""

    config: Any
    bank: QuestionBank

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, nested."""
        return asdict(self.config)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Name -> value of everything that must not change on resume.

        Includes the length of the run (``run.epochs``, ``run.max_steps``), since the schedule depends on it. Files are
        identified by content, since they may be rebuilt or moved.
        """
        return lasting(flat(self.settings)) | {"fingerprint of data.bank": self.bank.fingerprint}

    def check(self, before: Mapping[str, Any] | None, checkpoint: str) -> None:
        """Compare with the identity saved in a checkpoint.

        Raises:
            ConfigError: They differ; the message lists every difference with both values.
        """
        if before is None:  # from a version that did not save it
            return
        # Settings unknown to an older version had today's defaults.
        known = flat(asdict(type(self.config)())) | dict(before)
        names = sorted(name for name in before.keys() | self.identity.keys() if not _fixed(name, self.identity))
        values = [(name, known.get(name), self.identity.get(name)) for name in names]
        differing = [
            f"{name}: {old!r} before, {new!r} now"
            for name, old, new in values
            if old != new and not (name in _LEFT_OPEN and None in (old, new))
        ]
        if differing:
            raise ConfigError(
                f"{checkpoint} belongs to another run, so run.resume=true cannot continue it: " + "; ".join(differing)
            )

    def write(self, out: Path) -> None:
        """Write config.yaml and run.json (command, versions, data fingerprint) to the run's folder."""
        save_config(self.config, out / "config.yaml")
        facts = {
            "command": shlex.join(sys.argv),
            "recipe": _recipe(self.config),
            "processes": PartialState().num_processes,
            "machine": machine(),
            "precision": precision(self.settings.get("run", {}).get("precision", "auto")),
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
    """Return a recipe's script, such as ``finetune/similar.py``, whether run or imported."""
    script = getattr(sys.modules.get(type(config).__module__), "__file__", None)
    return "/".join(Path(script).parts[-2:]) if script else type(config).__name__


def bank_licence(bank: str | None) -> str | None:
    """Read ``license`` from the metadata of a bank's README.md, as in data sets on the Hugging Face Hub."""
    if not bank:
        return None
    file = (Path(bank) if Path(bank).is_dir() else Path(bank).parent) / "README.md"
    try:
        stated = (metadata_load(file) or {}).get("license")
    except (OSError, ValueError, YAMLError):
        return None
    return str(stated) if stated else None


def lasting(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Select the ``flat`` settings that determine a run's result, with digests for the files it reads.

    Raises:
        FileNotFoundError: A configured file or folder does not exist; the message names the setting.
    """
    kept = {name: value for name, value in settings.items() if name not in _FREE and not _fixed(name, settings)}
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
        kept["run.precision"] = precision(settings["run.precision"])  # auto depends on the machine
    return kept


def _fixed(name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether the trained model that a run starts from fixes this setting, whatever a version's default is."""
    section, _, setting = name.partition(".")
    return section == "model" and bool(settings.get("model.start")) and setting not in SET_WITH_START


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names."""
    named: dict[str, Any] = {}
    for name, value in settings.items():
        named |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return named
