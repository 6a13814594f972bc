import dataclasses
import importlib
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from finetune.similar import SimilarConfig
from tqnet.config import ConfigError, load_config, parse_config, save_config, section, settings
from tqnet.training.config import DataConfig, OptimConfig, RunConfig

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path for room in ("pretrain", "finetune") for path in (ROOT / room).glob("*.py"))
#: Of recipes; those of tables are read by tests/reproduce/test_suite.py.
YAMLS = sorted(file for file in (ROOT / "configs").rglob("*.yaml") if "tables" not in file.parts)


@settings
class Config:
    """Settings of a recipe that does nothing."""

    data: DataConfig = section(DataConfig)
    optim: OptimConfig = section(OptimConfig, lr=0.5)
    run: RunConfig = section(RunConfig)
    size: int = 3
    """Size of nothing."""


GIVEN = ["data.bank=b", "run.out=o"]


def test_files_then_command_line(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("size: 4\noptim:\n  lr: 1e-3\n  name: sgd\n")
    second.write_text("# only a comment\nsize: 5\n")
    config = load_config(Config, [str(first), str(second)], [*GIVEN, "optim.lr=2e-4", "run.max_steps=7"])
    assert (config.size, config.optim.lr, config.optim.name, config.run.max_steps) == (5, 2e-4, "sgd", 7)
    assert load_config(Config, [], GIVEN).optim.lr == 0.5
    save_config(config, tmp_path / "saved.yaml")
    assert load_config(Config, [str(tmp_path / "saved.yaml")], []) == config


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["sise=3"], "^sise: no such setting$"),
        (["optim.learning_rate=3"], r"^optim\.learning_rate: no such setting$"),
        (["run.epochs=many"], r"^run\.epochs: must be a valid integer, not 'many'$"),
        (["run.epochs=1.0"], r"^run\.epochs: must be a valid integer, not 1\.0$"),
        (["optim.lr=[1]"], r"^optim\.lr: must be a valid number"),
        (["data.transductive=perhaps"], r"^data\.transductive: must be a valid boolean"),
        (["optim.name=adam"], r"^optim\.name: must be 'adamw' or 'sgd', not 'adam'$"),
        (["run.precision=fp16"], r"^run\.precision: must be 'auto', 'fp32' or 'bf16', not 'fp16'$"),
        (["run.max_steps=0"], r"^run\.max_steps: must be greater than or equal to 1, not 0$"),
        (["run.seed=4294967296"], r"^run\.seed: must be less than 4294967296"),
        (["data.similar_level=1", "data.pairs=p"], r"^data\.similar_level: cannot be set with data\.pairs$"),
        (["optim.lr=-1"], r"^optim\.lr: must be greater than or equal to 0"),
        (["optim.lr=.nan"], r"^optim\.lr: must be a finite number"),
        (["run=5"], "^run: is a group of settings"),
        (["size=null"], "^size: must be a valid integer, not None$"),
        (["size=${sise}"], "^size: "),
        (["optim.lr=[1"], r"^optim\.lr=\[1: not YAML"),
        (["sise=3", "run.epochs=0"], r"^run\.epochs: .*; sise: no such setting$"),
    ],
)
def test_a_wrong_setting_is_named(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(Config, [], [*GIVEN, *overrides])


def test_missing_settings_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^data\.bank, run\.out: not set"):
        load_config(Config, [], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("optim:\n  lr: [1\n", "not YAML"),
        ("optim:\n\tlr: 1\n", "not YAML"),
        ("- size\n- 3\n", "expected settings by name"),
        ("size\n", "size"),
        ("optim:\n  rate: 3\n", r"optim\.rate"),
        ("run:\n  epochs: soon\n", r"run\.epochs"),
    ],
)
def test_a_wrong_file(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(Config, [str(file)], GIVEN)
    with pytest.raises(ConfigError, match=message):
        parse_config(Config, "A recipe.", ["--config", str(file), *GIVEN])


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("size: 4\n")
    config = parse_config(Config, None, ["data.bank=b", "--config", str(file), "run.out=o", "run.seed=2"])
    assert (config.size, config.run.seed, config.data.bank) == (4, 2, "b")
    with pytest.raises(SystemExit):
        parse_config(Config, None, ["size"])
    assert "'size' is not of the form key=value" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"^/nowhere\.yaml: no such file, and no shipped configuration of this name$"):
        parse_config(Config, None, ["--config", "/nowhere.yaml"])
    with pytest.raises(SystemExit) as caught:
        parse_config(Config, "A recipe.", ["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "run.epochs=1" in text
    assert "optim.text_lr=null" in text
    assert "optim.lr=0.5" in text  # the recipe's default, not the class's
    assert "data.bank=(required)" in text


def kind_of(recipe: Path) -> Any:
    """The configuration class of a recipe: what its ``main`` takes."""
    module = importlib.import_module(f"{recipe.parent.name}.{recipe.stem}")
    return getattr(module, module.main.__annotations__["config"])


def required(kind: Any) -> set[str]:
    return OmegaConf.missing_keys(OmegaConf.create(dataclasses.asdict(kind())))


def command_of(file: Path) -> tuple[Path, list[Path]]:
    """Recipe and files of a configuration: from the command in its first lines, or by its name."""
    comment = " ".join(line.strip("# \\\n") for line in file.open() if line.startswith("#"))
    named = re.search(r"(?:pretrain|finetune)/\w+\.py", comment)
    if not named:
        return next(path for path in RECIPES if path.stem == file.stem), [file]
    words = comment[named.start() :].split()
    files = [ROOT / after for word, after in pairwise(words) if word == "--config"]
    return ROOT / named[0], files


@pytest.mark.parametrize("file", YAMLS, ids=lambda file: str(file.relative_to(ROOT / "configs")))
def test_shipped_configurations(file: Path) -> None:
    recipe, files = command_of(file)
    assert file in files
    kind = kind_of(recipe)
    given = OmegaConf.merge(*map(OmegaConf.load, files))
    missing = [key for key in required(kind) if OmegaConf.select(given, key) is None]
    config = load_config(kind, [str(path) for path in files], [f"{key}=x" for key in missing])
    assert isinstance(config, kind)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_says_how_it_is_run(recipe: Path) -> None:
    kind = kind_of(recipe)
    config = load_config(kind, [], [f"{key}=x" for key in required(kind)])
    assert isinstance(config, kind)
    assert recipe.stem == "heads" or getattr(config, "run", config).out == f"runs/{recipe.stem}"
    assert f"{recipe.parent.name}/{recipe.name}" in recipe.read_text().split('"""')[1]


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("finetune/similar.py", "denominator=positives", "^denominator: must be 'negatives' or 'all'"),
        ("finetune/paraphrase.py", "operators=[f2,f11]", "^operators: 'f11' is not one of f1, f2"),
        ("finetune/paraphrase.py", "operators=[f2,f2,f6]", "^operators: .* names an operator twice"),
        ("finetune/paraphrase.py", "operators=[f6]", "^operators: no positive operator .* positive are f1, f2, f3, f4"),
        ("finetune/paraphrase.py", "operators=[f2]", "^operators: no negative operator"),
        ("finetune/paraphrase.py", "pseudo=true", "^pseudo: for the baselines only"),
        ("finetune/paraphrase.py", "method=ssmba", "^masked_model: not set"),
        ("pretrain/quesco.py", "augment.strategies=[synonyms]", r"^augment\.strategies: 'synonyms' is not one of"),
        ("pretrain/consert.py", "augmentations=[noise]", r"^augmentations\.0: must be 'shuffle', 'token_cutoff'"),
        ("pretrain/clip.py", "temperature=0.005", r"^temperature: must be greater than or equal to 0\.01"),
    ],
)
def test_a_setting_of_a_recipe_out_of_its_range(name: str, setting: str, message: str) -> None:
    kind = kind_of(ROOT / name)
    with pytest.raises(ConfigError, match=message):
        load_config(kind, [], [*GIVEN, setting])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_help_explains_every_setting(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_config(kind_of(recipe), None, ["--help"])
    lines = capsys.readouterr().out.partition("settings and their defaults:\n")[2].splitlines()
    settings = [i for i, line in enumerate(lines) if re.match(r"  \w", line)]
    assert settings
    assert not [lines[i] for i in settings if not lines[i + 1 : i + 2] or not re.match(r" {8}\S", lines[i + 1])]


@pytest.mark.parametrize("file", sorted((ROOT / "configs/encoders").glob("*.yaml")), ids=lambda file: file.stem)
def test_settings_of_encoders(file: Path) -> None:
    """They go with any recipe's own, and change nothing but the encoder and its rate."""
    recipe, given = str(ROOT / "configs/small/similar.yaml"), ["data.bank=BANK"]
    plain, with_encoder = (load_config(SimilarConfig, files, given) for files in ([recipe], [recipe, str(file)]))
    assert with_encoder.model.text.rpartition("/")[2].lower().removesuffix("-v1.5") == file.stem
    changed = {name for name in vars(plain.model) if getattr(plain.model, name) != getattr(with_encoder.model, name)}
    assert changed <= {"text", "prompt", "vocabulary", "lora"}
    assert (plain.run, plain.temperature) == (with_encoder.run, with_encoder.temperature)
