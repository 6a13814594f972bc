"""Which precision ``auto`` is, what a process computes on, and digests of files and folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tqnet.files import content_digest
from tqnet.libraries import machine, precision


def test_auto_goes_by_the_device_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with a GPU that computes in bf16 and a processor that does not."""
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    assert precision("auto") == precision("auto", "cuda:0") == precision("auto", torch.device("cuda")) == "bf16"
    assert precision("auto", "cpu") == "fp32"
    assert precision("bf16", "cpu") == "bf16"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert precision("auto") == "fp32"
    assert precision("auto", "cuda") == "bf16"


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"cpu_name": "Intel(R) Xeon(R)", "avx512_bf16": True, "amx_bf16": True}, "bf16"),
        ({"cpu_name": "Intel(R) Xeon(R)", "avx512_bf16": True, "amx_bf16": False}, "fp32"),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True, "amx_bf16": False}, "bf16"),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": False}, "fp32"),
        ({"architecture": "aarch64"}, "fp32"),
    ],
)
def test_a_processor_computes_in_bf16_where_that_is_faster(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool | str], expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert precision("auto", "cpu") == expected


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^precision: 'fp16' is not one of auto, fp32, bf16$"):
        precision("fp16")


def test_the_machine_is_what_one_process_computes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA T4")
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    assert machine() == "NVIDIA T4"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    for cores, description in ({0}, "1 processor core ("), ({0, 1}, "2 processor cores ("):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores, raising=False)
        assert machine().startswith(description)


def test_a_digest_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "notes.md").write_text(name)  # no part of the model
    digest = content_digest(tmp_path / "one")
    assert digest == content_digest(tmp_path / "other")
    (tmp_path / "one" / "model.safetensors").write_bytes(b"weights")
    assert digest != content_digest(tmp_path / "one")
    assert content_digest(tmp_path / "one" / "config.json") == content_digest(tmp_path / "other" / "config.json")


def test_what_is_not_there_has_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no model in this folder"):
        content_digest(tmp_path)
    with pytest.raises(FileNotFoundError, match="gone: no such file or folder"):
        content_digest(tmp_path / "gone")
