"""What a run must have in common with its beginning to go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tqnet.config import ConfigError
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank
from tqnet.training.config import DataConfig
from tqnet.training.provenance import Provenance


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    temperature: float = 0.1


def provenance(bank: QuestionBank, start: Path) -> Provenance:
    return Provenance(Config(model=ModelConfig(start=str(start))), bank)


@pytest.fixture
def start(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_setting_that_is_new_was_at_its_default(tiny_bank: QuestionBank, start: Path) -> None:
    now = provenance(tiny_bank, start)
    before = {name: value for name, value in now.identity.items() if name != "temperature"}
    now.check(before, "here")
    with pytest.raises(ConfigError, match=r"temperature: 0\.1 before, 0\.2 now"):
        Provenance(Config(model=now.config.model, temperature=0.2), tiny_bank).check(before, "here")


def test_what_a_run_starts_from_is_known_by_its_content(tiny_bank: QuestionBank, start: Path) -> None:
    before = provenance(tiny_bank, start).identity
    (start / "README.md").write_text("says nothing that a run depends on")
    moved = start.rename(start.with_name("moved"))
    provenance(tiny_bank, moved).check(before, "here")
    (moved / "model.safetensors").write_bytes(b"trained anew")
    with pytest.raises(ConfigError, match=r"model\.start: '\w{16}' before, '\w{16}' now"):
        provenance(tiny_bank, moved).check(before, "here")


def test_several_files_are_known_by_their_content(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for file in files:
        file.write_text("original,paraphrase\n")
    config = Config(data=DataConfig(bank="bank", held_out=list(map(str, files))))
    before = Provenance(config, tiny_bank).identity
    config.data.held_out = [str(file.rename(file.with_suffix(".moved.csv"))) for file in files]
    Provenance(config, tiny_bank).check(before, "here")
    files[1].with_suffix(".moved.csv").write_text("original,paraphrase,label\n")
    with pytest.raises(ConfigError, match=r"data\.held_out: \['\w{16}', '\w{16}'\] before"):
        Provenance(config, tiny_bank).check(before, "here")
    config.data.held_out = ["missing.csv"]
    with pytest.raises(FileNotFoundError, match=r"^data\.held_out: missing\.csv: no such file"):
        Provenance(config, tiny_bank).check(before, "here")


def test_a_text_encoder_of_any_form_is_known_by_its_content(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    (tmp_path / "vocab.txt").write_text("a")
    config = Config(model=ModelConfig(text=str(tmp_path)))
    before = Provenance(config, tiny_bank).identity
    (tmp_path / "vocab.txt").write_text("b")
    with pytest.raises(ConfigError, match=r"model\.text: "):
        Provenance(config, tiny_bank).check(before, "here")


def test_what_does_not_exist_is_named_with_its_setting(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.start: \S+nowhere: no such file or folder"):
        _ = provenance(tiny_bank, tmp_path / "nowhere").identity
