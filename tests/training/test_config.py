import dataclasses
import importlib
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from tqnet.training.config import (
    ConfigError,
    DataConfig,
    OptimConfig,
    RunConfig,
    load_config,
    parse_config,
    save_config,
)

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path for room in ("pretrain", "finetune") for path in (ROOT / room).glob("*.py"))
#: Of recipes; those of tables are read by tests/bench/test_suite.py.
YAMLS = sorted(file for file in (ROOT / "configs").rglob("*.yaml") if "tables" not in file.parts)


@dataclasses.dataclass
class Config:
    """Settings of a recipe that does nothing."""

    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    optim: OptimConfig = dataclasses.field(default_factory=lambda: OptimConfig(lr=0.5))
    run: RunConfig = dataclasses.field(default_factory=RunConfig)
    size: int = 3


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
        (["sise=3"], "^sise:"),
        (["optim.learning_rate=3"], r"^optim\.learning_rate:"),
        (["run.epochs=many"], r"^run\.epochs:.*many"),
        (["optim.lr=[1]"], r"^optim\.lr:"),
        (["data.transductive=perhaps"], r"^data\.transductive:"),
        (["optim.name=adam"], r"^optim\.name: 'adam'"),
        (["optim.schedule=step"], r"^optim\.schedule: 'step'"),
        (["run.precision=fp8"], r"^run\.precision: 'fp8'"),
        (["run.precision=fp16"], r"^run\.precision: 'fp16' is none of auto, fp32, bf16$"),
        (["run.max_steps=0"], r"^run\.max_steps: 0 is less than 1"),
        (["run.max_steps=-3"], r"^run\.max_steps: -3"),
        (["run.eval_every=-1"], r"^run\.eval_every: -1"),
        (["run.threads=-1"], r"^run\.threads: -1"),
        (["data.on_error=ignore"], r"^data\.on_error: 'ignore'"),
        (["run.batch_size=0"], r"^run\.batch_size: 0"),
        (["run.seed=-1"], r"^run\.seed: -1 is not in \[0, 4294967295\]"),
        (["data.workers=-1"], r"^data\.workers: -1 is less than 0"),
        (["data.similar_level=0"], r"^data\.similar_level: 0 is less than 1"),
        (["optim.lr=-1"], r"^optim\.lr: -1\.0 is not in \[0, inf\)"),
        (["optim.lr=nan"], r"^optim\.lr: nan"),
        (["optim.text_lr=inf"], r"^optim\.text_lr: inf"),
        (["optim.visual_lr=-1"], r"^optim\.visual_lr: -1\.0"),
        (["optim.weight_decay=-1"], r"^optim\.weight_decay: -1\.0"),
        (["optim.momentum=1"], r"^optim\.momentum: 1\.0 is not in \[0, 1\)"),
        (["optim.warmup=1.5"], r"^optim\.warmup: 1\.5 is not in \[0, 1\]"),
        (["optim.clip=-1"], r"^optim\.clip: -1\.0 is less than 0"),
        (["run=5"], "^run=5:"),
        (["size=null"], "^size:"),
        (["optim.lr=[1"], r"^optim\.lr=\[1: not YAML"),
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
        ("size\n", "^size:"),
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
    with pytest.raises(ConfigError, match=r"^/nowhere\.yaml: no such configuration$"):
        parse_config(Config, None, ["--config", "/nowhere.yaml"])
    with pytest.raises(SystemExit) as caught:
        parse_config(Config, "A recipe.", ["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "run.epochs=1" in text
    assert "optim.text_lr=null" in text
    assert "optim.lr=0.5" in text  # the recipe's default, not the class's
    assert "data.bank=(to be given)" in text


def kind_of(recipe: Path) -> Any:
    """The configuration class of a recipe: what its ``main`` takes."""
    module = importlib.import_module(f"{recipe.parent.name}.{recipe.stem}")
    return getattr(module, module.main.__annotations__["config"])


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
    missing = OmegaConf.missing_keys(OmegaConf.structured(kind))
    for path in files:
        missing -= {key for key in missing if OmegaConf.select(OmegaConf.load(path), key) is not None}
    config = load_config(kind, [str(path) for path in files], [f"{key}=x" for key in missing])
    assert isinstance(config, kind)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_says_how_it_is_run(recipe: Path) -> None:
    kind = kind_of(recipe)
    missing = OmegaConf.missing_keys(OmegaConf.structured(kind))
    assert isinstance(load_config(kind, [], [f"{key}=x" for key in missing]), kind)
    assert f"{recipe.parent.name}/{recipe.name}" in recipe.read_text().split('"""')[1]


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("finetune/similar.py", "denominator=positives", "^denominator: 'positives'"),
        ("finetune/similar.py", "temperature=0", r"^temperature: 0\.0 is not in \(0, inf\)"),
        ("finetune/similar.py", "temperature=nan", "^temperature: nan"),
        ("finetune/similar.py", "members=1", "^members: 1 is less than 2"),
        ("finetune/similar.py", "lone=1", r"^lone: 1\.0 is not in \[0, 1\)"),
        ("finetune/similar.py", "block=0", "^block: 0"),
        ("finetune/similar.py", "block_level=0", "^block_level: 0"),
        ("finetune/similar.py", "concept_weight=-0.5", "^concept_weight: -0.5"),
        ("finetune/pairs.py", "hidden=0", "^hidden: 0 is less than 1"),
        ("finetune/pairs.py", "dropout=1", r"^dropout: 1\.0 is not in \[0, 1\)"),
        ("finetune/paraphrase.py", "method=eda", "^method: 'eda' is none of paraqd, uda, ssmba"),
        ("finetune/paraphrase.py", "objective=scl", "^objective: 'scl' is none of triplet, triplet_euclidean, mnr"),
        ("finetune/paraphrase.py", "margin=0", r"^margin: 0\.0 is not in \(0, inf\)"),
        ("finetune/paraphrase.py", "temperature=-1", r"^temperature: -1\.0"),
        ("finetune/paraphrase.py", "operators=[f2,f11]", "^operators: 'f11' is none of f1, f2"),
        ("finetune/paraphrase.py", "operators=[f2,f2,f6]", "^operators: .* names one twice"),
        (
            "finetune/paraphrase.py",
            "operators=[f6]",
            "^operators: no positive one among them; those are f1, f2, f3, f4",
        ),
        ("finetune/paraphrase.py", "operators=[f2]", "^operators: no negative one among them"),
        ("finetune/paraphrase.py", "questions=0", "^questions: 0 is less than 1"),
        ("finetune/paraphrase.py", "share=1", r"^share: 1\.0 is not in \(0, 1\)"),
        ("finetune/paraphrase.py", "refills=0", "^refills: 0 is less than 1"),
        ("finetune/paraphrase.py", "pseudo=true", "^pseudo: of the baselines alone"),
        ("finetune/paraphrase.py", "pseudo_threshold=2", r"^pseudo_threshold: 2\.0 is not in \[-1, 1\]"),
        ("finetune/paraphrase.py", "method=ssmba", "^masked_model: not set"),
        ("pretrain/moco.py", "queue=0", "^queue: 0 is less than 1"),
        ("pretrain/moco.py", "momentum=1.01", r"^momentum: 1\.01 is not in \[0, 1\]"),
        ("pretrain/moco.py", "momentum=-0.1", r"^momentum: -0\.1"),
        ("pretrain/moco.py", "temperature=-1", r"^temperature: -1\.0"),
        ("pretrain/moco.py", "dimension=0", "^dimension: 0"),
        ("pretrain/moco.py", "bn_splits=0", "^bn_splits: 0"),
        ("pretrain/moco.py", "augment.mask=2", r"^augment\.mask: 2\.0"),
        ("pretrain/quesco.py", "augment.probability=2", r"^augment\.probability: 2\.0 is not in \[0, 1\]"),
        ("pretrain/quesco.py", "augment.strategies=[synonyms]", r"^augment\.strategies: 'synonyms' is none of"),
        ("pretrain/consert.py", "augmentations=[noise]", "^augmentations: 'noise' is none of shuffle, token_cutoff"),
        ("pretrain/consert.py", "rate=1", r"^rate: 1\.0 is not in \[0, 1\)"),
        ("pretrain/quesco.py", "form=inside", "^form: 'inside' is none of in, out, out-in"),
        ("pretrain/quesco.py", "temperatures=[0.1,-1]", r"^temperatures: -1\.0"),
        ("pretrain/disenqnet.py", "critic_steps=0", "^critic_steps: 0 is less than 1"),
        ("pretrain/disenqnet.py", "level=0", "^level: 0 is less than 1"),
        ("pretrain/disenqnet.py", "critic_lr=0", r"^critic_lr: 0\.0 is not in \(0, inf\)"),
        ("pretrain/disenqnet.py", "concept_weight=-1", r"^concept_weight: -1\.0"),
        ("pretrain/clip.py", "temperature=0.005", r"^temperature: 0\.005 is not in \[0\.01, inf\)"),
        ("pretrain/clip.py", "dimension=0", "^dimension: 0"),
        ("pretrain/quesnet.py", "stage=answers", "^stage: 'answers' is none of embedding, holes"),
        ("pretrain/quesnet.py", "window=0", "^window: 0"),
        ("pretrain/quesnet.py", "holes=0", r"^holes: 0\.0 is not in \(0, 1\]"),
        ("pretrain/quesnet.py", "figure_weight=-1", r"^figure_weight: -1\.0"),
        ("pretrain/mlm.py", "mask=0", "^mask: 0"),
        ("pretrain/rewriter.py", "share=0.5", r"^share: 0\.5 is not in \(0, 0\.333"),
        ("pretrain/rewriter.py", "decoder_layers=0", "^decoder_layers: 0 is less than 1"),
        ("pretrain/autoencoder.py", "target=0", "^target: 0"),
    ],
)
def test_a_setting_of_a_recipe_out_of_its_range(name: str, setting: str, message: str) -> None:
    kind = kind_of(ROOT / name)
    with pytest.raises(ConfigError, match=message):
        load_config(kind, [], [*GIVEN, setting])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("seed=-1", "^seed: -1 is not in"),
        ("batch_size=0", "^batch_size: 0 is less than 1"),
        ("precision=fp16", "^precision: 'fp16' is none of auto, fp32, bf16"),
    ],
)
def test_a_setting_of_the_probe_out_of_its_range(setting: str, message: str) -> None:
    kind = kind_of(ROOT / "finetune/probe.py")
    with pytest.raises(ConfigError, match=message):
        load_config(kind, [], ["data.bank=b", "model=m", "out=o", setting])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_help_explains_every_setting(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_config(kind_of(recipe), None, ["--help"])
    lines = capsys.readouterr().out.partition("settings and defaults:\n")[2].splitlines()
    settings = [i for i, line in enumerate(lines) if re.match(r"  \w", line)]
    assert settings
    assert not [lines[i] for i in settings if not lines[i + 1 : i + 2] or not re.match(r" {8}\S", lines[i + 1])]


def test_the_ends_of_ranges_are_settings() -> None:
    moco = load_config(kind_of(ROOT / "pretrain/moco.py"), [], [*GIVEN, "momentum=1", "queue=1"])
    assert (moco.momentum, moco.queue, moco.run.max_steps) == (1, 1, None)
    assert load_config(kind_of(ROOT / "finetune/similar.py"), [], [*GIVEN, "lone=0"]).lone == 0
