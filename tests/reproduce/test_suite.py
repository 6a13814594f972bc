"""Suites as files: what is read, what is refused, and which trainings rows share."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from reproduce.bench.suite import Stage, Suite, SuiteError, load_suite
from reproduce.bench.trainings import Training, trainings
from tqnet.config import ConfigError

TABLES = sorted((Path(__file__).parents[2] / "reproduce" / "tables").glob("*.yaml"))
STAGES = {
    "mlm": {"recipe": "pretrain/mlm.py", "questions": 64, "sees": "text", "settings": {"run": {"batch_size": 16}}},
    "scl": {"recipe": "finetune/similar.py", "questions": 100},
    "figures": {"recipe": "pretrain/autoencoder.py", "questions": 64, "gives": "visual_start", "sees": "figures"},
}
SUITE = {"title": "T", "bank": "BANK", "model": {"text": "scratch"}, "data": {"distractors": 5}}
MLM = {"name": "a", "stages": ["mlm"]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(suite: dict[str, Any], **rows: dict[str, Any]) -> Path:
        for folder, files in (("table", rows), ("stages", STAGES)):
            (tmp_path / folder).mkdir(exist_ok=True)
            for name, content in files.items():
                (tmp_path / folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
        (tmp_path / "table.yaml").write_text(yaml.safe_dump(suite))
        return tmp_path / "table.yaml"

    return write


def plan(suite: Suite, number: int = 0, seed: int = 0, fingerprint: str = "0", **others: str) -> list[Training]:
    return trainings(suite, suite.rows[number], seed, "BANK", fingerprint, others)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_shipped_suites(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting of every training is one of its recipe, and the first line says how the suite is run."""
    command = path.read_text(encoding="utf-8").splitlines()[0]
    assert f"reproduce/tables/{path.name}" in command or f"make -C reproduce {path.stem.partition('-')[0]} " in command
    monkeypatch.setattr("tqnet.training.provenance.content_digest", lambda path: path.name)  # files need not exist
    suite = load_suite(path)
    assert suite.rows
    others = {stage.bank: "1" for stage in suite.stages.values() if stage.bank}
    for row in suite.rows:
        for training in trainings(suite, row, 0, "BANK", "0", others):
            module = importlib.import_module(training.stage.recipe.removesuffix(".py").replace("/", "."))
            settings = OmegaConf.create(training.configuration(Path("runs")))
            OmegaConf.to_object(OmegaConf.merge(structured(module), settings))


@cache
def structured(recipe: ModuleType) -> Any:
    return OmegaConf.structured(inspect.signature(recipe.main, eval_str=True).parameters["config"].annotation)


def test_shipped_rows_that_are_compared_have_equal_budgets() -> None:
    suites = [load_suite(path) for path in TABLES if path.stem in ("table3", "table4") or path.stem.startswith("mwp")]
    for suite in suites:
        seen = {
            row.name: sum(
                stage.questions
                for stage in map(suite.stages.__getitem__, row.stages)
                if not suite.solved or stage.recipe == "finetune/solver.py"
            )
            for row in suite.rows
            if not row.name.endswith("stage I")  # half of the way, as the table says
        }
        assert len(set(seen.values())) == 1, (suite.name, seen)
        if suite.solved:
            assert all((stage.per_item == 3) == ("alpha" in stage.settings) for stage in suite.stages.values())


def test_a_stage_may_learn_another_similarity_than_the_suite_measures() -> None:
    suite = load_suite(next(path for path in TABLES if path.stem == "quesco"))
    rows = {tuple(row.stages): number for number, row in enumerate(suite.rows)}
    assert suite.similar_level is None
    for stage, level in (("scl-leaf", 3), ("quesco", None)):
        (training,) = plan(suite, rows[(stage,)])
        assert training.settings["data"]["similar_level"] == level


def test_files_beside_the_bank(write: Any, tmp_path: Path) -> None:
    """The suite's bank is a file, which --bank may name by its folder; files named in settings may lie there."""
    pairs = {"paraphrases": ["tested.jsonl"], "bank": "here/pool.jsonl"}
    stage = {"data": {"rewrites": "made.jsonl"}}
    suite = load_suite(write(SUITE | pairs, a=MLM | {"settings": {"mlm": stage}}))
    folder = tmp_path / "there"
    folder.mkdir()
    for name in ("pool.jsonl", "tested.jsonl"):
        (folder / name).write_text("{}")
    bank = suite.bank_at(str(folder))
    assert (suite.bank_at(None), bank) == ("here/pool.jsonl", str(folder / "pool.jsonl"))
    assert suite.bank_at("other/bank") == "other/bank"
    with pytest.raises(FileNotFoundError, match=r"^data\.rewrites: made\.jsonl: no such file"):
        trainings(suite, suite.rows[0], 0, bank, "0")
    (folder / "made.jsonl").write_text("{}")
    (training,) = trainings(suite, suite.rows[0], 0, bank, "0")
    data = training.settings["data"]
    assert data["rewrites"] == str(folder / "made.jsonl")
    assert (data["bank"], data["held_out"]) == (bank, [str(folder / "tested.jsonl")])
    suite.data["held_out"] = ["made.jsonl"]
    assert trainings(suite, suite.rows[0], 0, bank, "0")[0].settings["data"]["held_out"] == [str(folder / "made.jsonl")]


def test_a_masked_model_is_no_start(write: Any) -> None:
    helper = {"recipe": "pretrain/mlm.py", "questions": 64, "gives": "masked_model", "sees": "text"}
    rows = {"a": {"name": "a", "stages": ["mlm", "scl"]}, "b": {"name": "b", "stages": ["helper", "scl"]}}
    suite = load_suite(write(SUITE | {"stages": {"helper": helper}}, **rows))
    (_, started), (masked, scl) = plan(suite, 0), plan(suite, 1)
    settings = scl.configuration(Path("runs"))
    assert (settings["masked_model"], settings["model"]) == (f"runs/{masked.folder}", {"text": "scratch"})
    assert "masked_model" not in started.configuration(Path("runs"))


def test_rows_share_the_trainings_that_they_have_in_common(write: Any) -> None:
    three = ["figures", "mlm", "scl"]
    suite = load_suite(
        write(
            SUITE | {"questions": {"scl": 200}},
            a={"name": "a", "stages": three},
            b={"name": "b", "stages": three, "settings": {"scl": {"objective": "pair"}}},
            c={"name": "c", "stages": ["mlm", "scl"]},
            d={"name": "d", "stages": three, "show": "shuffled"},
            e={"name": "e", "stages": ["mlm"], "show": "text"},
            f={"name": "f", "stages": ["figures", "mlm"], "show": "text"},
        )
    )
    a, b, c, d, e, f = chains = [plan(suite, number) for number in range(6)]
    assert [training.key for training in a[:2]] == [training.key for training in b[:2]]
    assert [training.key for training in a[:2]] == [training.key for training in d[:2]]  # each sees one modality
    assert [chain[2].settings["data"]["show"] for chain in (a, d)] == ["all", "shuffled"]
    assert c[0].key == e[0].key == a[1].key  # the visual stream waits for a stage that sees it
    assert f[1].key != a[1].key  # or for the last one
    assert c[1].key != a[2].key
    assert f[0].settings["data"]["show"] == "text"
    keys = {training.key for chain in chains for training in chain}
    assert len(keys) == 3 + 1 + 1 + 1 + 0 + 2
    assert not keys & {training.key for training in plan(suite, seed=1)}
    assert a[0].key != plan(suite, fingerprint="1")[0].key
    assert a[0].key == trainings(suite, suite.rows[0], 0, "elsewhere/BANK", "0")[0].key

    figures, mlm, scl = (training.configuration(Path("runs")) for training in a)
    assert figures["model"] == mlm["model"] == {"text": "scratch"}
    assert scl["model"] == {"start": f"runs/{a[1].folder}/model", "visual_start": f"runs/{a[0].folder}/model"}
    assert (mlm["run"]["max_steps"], scl["run"]["max_steps"]) == (4, 200 // 64)


def test_a_stage_may_read_its_own_bank(write: Any) -> None:
    """Its key depends on that bank alone: MLM of one bank is shared by suites of others."""
    stages = {"stages": {"masked": STAGES["mlm"] | {"bank": "LARGE"}}}
    suite = load_suite(write(SUITE | stages, a={"name": "a", "stages": ["masked", "scl"]}))
    masked, scl = plan(suite, LARGE="1")
    assert [t.configuration(Path("runs"))["data"]["bank"] for t in (masked, scl)] == ["LARGE", "BANK"]
    replanned = plan(suite, fingerprint="2", LARGE="1")
    assert (replanned[0].key == masked.key, replanned[1].key == scl.key) == (True, False)
    assert plan(suite, LARGE="2")[0].key != masked.key


def test_the_precision_that_a_machine_chooses_is_no_part_of_a_method(write: Any, monkeypatch: Any) -> None:
    """Scores of another machine are found; its half-finished trainings are not resumed."""
    automatic = MLM | {"settings": {"mlm": {"run": {"precision": "auto"}}}}
    fixed = MLM | {"name": "b", "settings": {"mlm": {"run": {"precision": "bf16"}}}}
    suite = load_suite(write(SUITE, a=automatic, b=fixed, c=MLM | {"name": "c"}))

    def planned(machine: str) -> list[Training]:
        monkeypatch.setattr("reproduce.bench.trainings.precision", lambda name: machine if name == "auto" else name)
        return [plan(suite, number)[0] for number in range(3)]

    on_bf16, on_fp32 = planned("bf16"), planned("fp32")
    assert [training.key for training in on_fp32] == [training.key for training in on_bf16]
    assert len({training.key for training in on_fp32}) == 2
    assert [training.folder.rpartition("-")[2] for training in on_fp32] == ["fp32", "bf16", "fp32"]


@pytest.mark.parametrize(
    ("row", "suite", "message"),
    [
        ({"stages": ["mlm"], "source": "tfidf"}, {}, r"a\.yaml: a row has either stages or a source"),
        ({"stages": ["gone"]}, {}, r"gone\.yaml: no such file"),
        ({"stages": ["mlm"], "settings": {"scl": {}}}, {}, r"a\.yaml: settings: scl: no such stage in this row"),
        ({"stages": ["mlm"], "colour": "red"}, {}, r"a\.yaml: colour: no such setting"),
        ({"stages": ["mlm"], "show": "sound"}, {}, r"a\.yaml: show: must be 'all', 'text', .* not 'sound'"),
        ({"stages": ["mlm"], "measure": "sound"}, {}, r"a\.yaml: measure: must be 'all', 'text', .* not 'sound'"),
        (MLM, {"questions": {"scl": 5}}, r"table\.yaml: questions: scl: no row has such a stage"),
        (MLM, {"similar_level": "deep"}, r"table\.yaml: similar_level: must be a valid integer, not 'deep'"),
        (MLM, {"recall": 0}, "recall: must be greater than or equal to 1, not 0"),
        (MLM, {"compare": [["a", "b"]]}, r"table\.yaml: compare: \['a', 'b'\] is not a pair of its rows"),
        (MLM, {"data": {"show": "text"}}, r"table\.yaml: data\.show: is set by show of a row"),
        (MLM, {"data": {"transductive": True}}, "data.transductive: is set by settings of a pre-training stage"),
        (
            MLM,
            {"paraphrases": ["x.jsonl"], "recall": 100},
            "paraphrases: cannot be set with recall, which are measured on",
        ),
        (MLM, {"solved": True, "recall": 5}, "solved: cannot be set with recall"),
        (
            MLM | {"settings": {"mlm": {"run": {"seed": 3}}}},
            {},
            r"a\.yaml: settings: mlm: run\.seed: is set by --seeds",
        ),
        (MLM | {"settings": {"mlm": {"data": {"bank": "OTHER"}}}}, {}, r"data\.bank: is set by bank of the suite or"),
        (MLM | {"settings": {"mlm": {"data": {"similar_level": None}}}}, {}, r"data\.similar_level: is set by"),
    ],
)
def test_wrong_suites_are_refused(row: dict[str, Any], suite: dict[str, Any], message: str, write: Any) -> None:
    with pytest.raises(SuiteError, match=message):
        load_suite(write(SUITE | suite, a={"name": "a"} | row))


def test_names_are_unique_and_a_suite_has_rows(write: Any) -> None:
    with pytest.raises(ConfigError, match="must be greater than or equal to 1, not 0"):
        Stage("finetune/solver.py", 5, 0)
    path = write(SUITE, a=MLM, b=MLM)
    with pytest.raises(SuiteError, match="two rows are called a"):
        load_suite(path)
    (path.parent / "table" / "a.yaml").write_text("- name")
    with pytest.raises(SuiteError, match=r"a\.yaml: expected settings by name"):
        load_suite(path)
    for file in (path.parent / "table").glob("*.yaml"):
        file.unlink()
    with pytest.raises(SuiteError, match="no row in"):
        load_suite(path)


def test_a_suite_may_take_rows_comparisons_and_model_from_another(write: Any) -> None:
    compare = {"compare": [["a", "b"], ["b", "b"]], "model": {"text": "minilm", "max_length": 64}}
    path = write(SUITE | compare, a=MLM, b=MLM | {"name": "b"})
    derived = path.parent / "other.yaml"

    def load(rest: str) -> Suite:
        derived.write_text(f"title: Elsewhere\nbank: data/other\n{rest}")
        return load_suite(derived)

    suite = load("rows_of: table\nmodel_of: table\nmodel: {max_length: 32}\n")
    assert ([row.name for row in suite.rows], suite.compare) == (["a", "b"], compare["compare"])
    assert suite.model == {"text": "minilm", "max_length": 32}
    suite = load("rows_of: table\nonly: [b]\n")
    assert ([row.name for row in suite.rows], suite.compare) == (["b"], [["b", "b"]])
    with pytest.raises(SuiteError, match="no row is called c"):
        load("rows_of: table\nonly: [c]\n")
    with pytest.raises(SuiteError, match=r"nowhere\.yaml: no such file"):
        load("rows_of: nowhere\n")


def test_selected_rows_stay_in_their_order(write: Any) -> None:
    path = write(SUITE, **{name: MLM | {"name": name} for name in "abc"})
    assert [row.name for row in load_suite(path, ["c", "a"]).rows] == ["a", "c"]
    with pytest.raises(SuiteError, match=r"no row is called x; .* has a, b, c"):
        load_suite(path, ["x"])


def test_a_budget_counts_accumulated_questions(write: Any) -> None:
    suite = load_suite(write(SUITE, a=MLM | {"settings": {"mlm": {"run": {"accumulate": 2}}}}))
    assert plan(suite)[0].settings["run"]["max_steps"] == 64 // (16 * 2)


def test_a_stage_that_comes_twice(write: Any) -> None:
    """Only the last one takes the visual stream where no stage sees a figure."""
    twice = {"name": "b", "stages": ["figures", "mlm", "mlm"], "show": "text"}
    suite = load_suite(write(SUITE, a=MLM | {"show": "text"}, b=twice))
    (alone,), (figures, first, last) = plan(suite, 0), plan(suite, 1)
    assert first.key == alone.key
    assert last.before == (figures, first)
