"""What the launcher says is obeyed or refused, never half."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tqnet.config import ConfigError
from tqnet.training import processes
from tqnet.training.processes import launched_precision, refuse_launcher_options


@pytest.mark.parametrize(
    ("setting", "launched", "expected"),
    [("auto", "no", "auto"), ("auto", "bf16", "bf16"), ("bf16", "bf16", "bf16"), ("fp32", "no", "fp32")],
)
def test_precision_is_the_launchers_where_the_setting_leaves_it_open(
    setting: str, launched: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
    assert launched_precision(setting) == expected


@pytest.mark.parametrize(("setting", "launched"), [("fp32", "bf16"), ("auto", "fp16"), ("bf16", "fp8")])
def test_contradictions_are_refused(setting: str, launched: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
    with pytest.raises(ConfigError, match=rf"^run.precision: {setting}, but .* is {launched}"):
        launched_precision(setting)


def test_the_launcher_does_not_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    with pytest.raises(ConfigError, match=r"^run.accumulate: set it to 4 instead"):
        refuse_launcher_options()


@pytest.mark.parametrize(
    ("command", "is_launcher"),
    [
        ("/opt/bin/python /opt/bin/accelerate launch", True),
        ("/opt/bin/accelerate-launch", True),
        ("python -m accelerate.commands.launch", True),
        ("python /opt/lib/accelerate/commands/launch.py", True),
        ("python sweep/launch.py", False),
        ("launch", False),
        ("bash -c ray-launch", False),
    ],
)
def test_only_accelerates_launcher_is_one(command: str, is_launcher: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = SimpleNamespace(cmdline=lambda: [*command.split(), "--gradient_accumulation_steps", "4", "recipe.py"])
    monkeypatch.setattr(processes.psutil, "Process", lambda: SimpleNamespace(parent=lambda: parent))
    with pytest.raises(ConfigError, match="accumulate") if is_launcher else nullcontext():
        refuse_launcher_options()


@pytest.mark.parametrize("option", ["fsdp", "deepspeed", "megatron_lm", "parallelism_config"])
def test_the_launcher_does_not_shard_weights(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ACCELERATE_USE_{option.upper()}", "true")
    with pytest.raises(ConfigError, match=rf"^--use_{option} of the launcher is not supported"):
        refuse_launcher_options()
