"""Suites as files: what is read, what is refused, and which trainings rows share."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from tqnet.bench.plan import Training, trainings
from tqnet.bench.suite import SuiteError, load_suite
from tqnet.config import configure

TABLES = sorted((Path(__file__).parents[2] / "configs" / "tables").glob("*.yaml"))
STAGES = {
    "mlm": {"recipe": "pretrain/mlm.py", "questions": 64, "sees": "text", "settings": {"run": {"batch_size": 16}}},
    "scl": {"recipe": "finetune/similar.py", "questions": 100},
    "figures": {"recipe": "pretrain/autoencoder.py", "questions": 64, "gives": "visual_start", "sees": "figures"},
}
SUITE = {"title": "T", "bank": "BANK", "model": {"text": "scratch"}, "data": {"distractors": 5}}


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


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_shipped_suites(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting of every training is one of its recipe; the files that they name need not be there."""
    monkeypatch.setattr("tqnet.training.provenance.content_digest", lambda path: path.name)
    suite = load_suite(path)
    assert len(suite.rows) > 1
    others = {stage.bank: "1" for stage in suite.stages.values() if stage.bank}
    for row in suite.rows:
        for training in trainings(suite, row, 0, "BANK", "0", others):
            module = importlib.import_module(training.stage.recipe.removesuffix(".py").replace("/", "."))
            settings = OmegaConf.create(training.configuration(Path("runs")))
            kind = inspect.signature(module.main, eval_str=True).parameters["config"].annotation
            configure(kind, settings)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_suite_says_how_it_is_run(path: Path) -> None:
    command = path.read_text(encoding="utf-8").splitlines()[0]
    assert command.startswith("# ")
    assert f"configs/tables/{path.name}" in command or f"make {path.stem.partition('-')[0]} " in command


def test_files_beside_the_bank(write: Any, tmp_path: Path) -> None:
    """The suite's bank is a file, which --bank may name by its folder; files that settings name may lie there."""
    pairs = {"paraphrases": ["tested.jsonl"], "bank": "here/pool.jsonl"}
    stage = {"data": {"rewrites": "made.jsonl"}}
    suite = load_suite(write(SUITE | pairs, a={"name": "a", "stages": ["mlm"], "settings": {"mlm": stage}}))
    folder = tmp_path / "there"
    folder.mkdir()
    for name in ("pool.jsonl", "tested.jsonl"):
        (folder / name).write_text("{}")
    (tmp_path / "made.jsonl").write_text("{}")
    bank = suite.bank_at(str(folder))
    assert (suite.bank_at(None), bank) == ("here/pool.jsonl", str(folder / "pool.jsonl"))
    assert suite.bank_at("other/bank") == "other/bank"
    with pytest.raises(FileNotFoundError, match=r"^data\.rewrites: made\.jsonl: no such file"):
        trainings(suite, suite.rows[0], 0, bank, "0")
    (folder / "made.jsonl").write_text("{}")
    (training,) = trainings(suite, suite.rows[0], 0, bank, "0")
    assert training.settings["data"]["rewrites"] == str(folder / "made.jsonl")
    assert training.settings["data"]["held_out"] == [str(folder / "tested.jsonl")]
    assert training.settings["data"]["bank"] == bank
    suite.data["held_out"] = ["made.jsonl"]
    assert trainings(suite, suite.rows[0], 0, bank, "0")[0].settings["data"]["held_out"] == [str(folder / "made.jsonl")]


def test_a_masked_model_is_no_start(write: Any) -> None:
    help = {"recipe": "pretrain/mlm.py", "questions": 64, "gives": "masked_model", "sees": "text"}
    rows = {"a": {"name": "a", "stages": ["mlm", "scl"]}, "b": {"name": "b", "stages": ["help", "scl"]}}
    suite = load_suite(write(SUITE | {"stages": {"help": help}}, **rows))
    (_, started), (helper, scl) = (trainings(suite, row, 0, "BANK", "0") for row in suite.rows)
    found = scl.configuration(Path("runs"))
    assert found["masked_model"] == f"runs/{helper.folder}"
    assert found["model"] == {"text": "scratch"}
    assert "masked_model" not in started.configuration(Path("runs"))


@pytest.mark.parametrize("other", [{"recall": 100}, {"difficulty": True}, {"similar_level": 2}], ids=str)
def test_paraphrases_are_measured_alone(other: dict[str, Any], write: Any) -> None:
    with pytest.raises(SuiteError, match=f"paraphrases: not beside {next(iter(other))}, which are measured on the"):
        load_suite(write(SUITE | {"paraphrases": ["x.jsonl"]} | other, a={"name": "a", "stages": ["mlm"]}))


def test_equal_budgets_are_equal() -> None:
    suites = [load_suite(path) for path in TABLES]
    said = [suite for suite in suites if "All rows see as many questions" in " ".join(suite.about.split())]
    assert [suite.name for suite in said] == ["table3", "table4"]
    for suite in said:
        seen = {row.name: sum(suite.stages[name].questions for name in row.stages) for row in suite.rows}
        assert len(set(seen.values())) == 1, seen


def test_rows_share_the_trainings_that_they_have_in_common(write: Any) -> None:
    suite = load_suite(
        write(
            SUITE | {"questions": {"scl": 200}},
            a={"name": "a", "stages": ["figures", "mlm", "scl"]},
            b={"name": "b", "stages": ["figures", "mlm", "scl"], "settings": {"scl": {"objective": "pair"}}},
            c={"name": "c", "stages": ["mlm", "scl"]},
            d={"name": "d", "stages": ["figures", "mlm", "scl"], "show": "shuffled"},
            e={"name": "e", "stages": ["mlm"], "show": "text"},
            f={"name": "f", "stages": ["figures", "mlm"], "show": "text"},
        )
    )
    a, b, c, d, e, f = chains = [trainings(suite, row, 0, "BANK", "0") for row in suite.rows]
    assert [training.key for training in a[:2]] == [training.key for training in b[:2]]
    assert [training.key for training in a[:2]] == [training.key for training in d[:2]]  # each sees one modality
    assert [chain[2].settings["data"]["show"] for chain in (a, d)] == ["all", "shuffled"]
    assert c[0].key == e[0].key == a[1].key  # the visual stream waits for a stage that sees it
    assert f[1].key != a[1].key  # or for the last one
    assert c[1].key != a[2].key
    assert f[0].settings["data"]["show"] == "text"  # nothing to see for it: it is told so
    keys = {training.key for chain in chains for training in chain}
    assert len(keys) == 3 + 1 + 1 + 1 + 0 + 2
    again = trainings(suite, suite.rows[0], 1, "BANK", "0")
    assert not keys & {training.key for training in again}
    assert a[0].key != trainings(suite, suite.rows[0], 0, "BANK", "1")[0].key
    assert a[0].key == trainings(suite, suite.rows[0], 0, "elsewhere/BANK", "0")[0].key

    figures, mlm, scl = (training.configuration(Path("runs")) for training in a)
    assert figures["model"] == {"text": "scratch"}
    assert mlm["model"] == {"text": "scratch"}
    assert scl["model"] == {"start": f"runs/{a[1].folder}/model", "visual_start": f"runs/{a[0].folder}/model"}
    assert scl["data"]["bank"] == "BANK"
    assert (mlm["run"]["max_steps"], scl["run"]["max_steps"]) == (4, 200 // 64)


def test_a_stage_may_read_a_bank_of_its_own(write: Any) -> None:
    """Known by its questions, as the suite's: MLM of one bank is shared by suites of others."""
    own = {"stages": {"masked": STAGES["mlm"] | {"bank": "LARGE"}}}
    suite = load_suite(write(SUITE | own, a={"name": "a", "stages": ["masked", "scl"]}))

    def plan(fingerprint: str, other: str) -> list[Training]:
        return trainings(suite, suite.rows[0], 0, "BANK", fingerprint, {"LARGE": other})

    masked, scl = plan("0", "1")
    assert [training.configuration(Path("runs"))["data"]["bank"] for training in (masked, scl)] == ["LARGE", "BANK"]
    assert [training.key == before.key for training, before in zip(plan("2", "1"), (masked, scl), strict=True)] == [
        True,
        False,
    ]
    assert plan("0", "2")[0].key != masked.key


def test_the_precision_that_a_machine_chooses_is_no_part_of_a_method(write: Any, monkeypatch: Any) -> None:
    """Scores of another machine are found here; a half-finished training of it is not gone on with."""
    suite = load_suite(
        write(
            SUITE,
            a={"name": "a", "stages": ["mlm"], "settings": {"mlm": {"run": {"precision": "auto"}}}},
            b={"name": "b", "stages": ["mlm"], "settings": {"mlm": {"run": {"precision": "bf16"}}}},
            c={"name": "c", "stages": ["mlm"]},
        )
    )

    def plan(machine: str) -> list[Training]:
        monkeypatch.setattr("tqnet.bench.plan.precision", lambda name: machine if name == "auto" else name)
        return [trainings(suite, row, 0, "BANK", "0")[0] for row in suite.rows]

    there, here = plan("bf16"), plan("fp32")
    assert [training.key for training in here] == [training.key for training in there]
    assert len({training.key for training in here}) == 2  # one of them asks for bf16
    assert [training.folder.rpartition("-")[2] for training in here] == ["fp32", "bf16", "fp32"]


@pytest.mark.parametrize(
    ("row", "suite", "message"),
    [
        ({"stages": ["mlm"], "source": "tfidf"}, {}, r"a\.yaml: a row has either stages or a source"),
        ({"stages": ["gone"]}, {}, r"gone\.yaml: no such file"),
        ({"stages": ["mlm"], "settings": {"scl": {}}}, {}, r"a\.yaml: settings: scl: no such stage in this row"),
        ({"stages": ["mlm"], "colour": "red"}, {}, r"a\.yaml: colour: no such setting"),
        ({"stages": ["mlm"], "show": "sound"}, {}, r"a\.yaml: show: must be 'all', 'text'"),
        ({"stages": ["mlm"], "measure": "sound"}, {}, r"a\.yaml: measure: must be 'all', 'text'"),
        ({"stages": ["mlm"]}, {"questions": {"scl": 5}}, r"table\.yaml: questions: scl: no row has such a stage"),
        ({"stages": ["mlm"]}, {"similar_level": "deep"}, r"table\.yaml: similar_level: .* not 'deep'"),
        ({"stages": ["mlm"]}, {"compare": [["a", "b"]]}, r"table\.yaml: compare: \['a', 'b'\] are not two of its rows"),
        ({"stages": ["mlm"]}, {"data": {"show": "text"}}, r"table\.yaml: data\.show: that is for a row's show to say"),
        (
            {"stages": ["mlm"]},
            {"data": {"transductive": True}},
            "data.transductive: that is for .* a pre-training stage",
        ),
        (
            {"stages": ["mlm"], "settings": {"mlm": {"run": {"seed": 3}}}},
            {},
            r"a\.yaml: settings: mlm: run\.seed: that is for --seeds to say",
        ),
        (
            {"stages": ["mlm"], "settings": {"mlm": {"data": {"bank": "OTHER"}}}},
            {},
            r"settings: mlm: data\.bank: that is for the suite's bank, or the stage's to say",
        ),
        (
            {"stages": ["mlm"], "settings": {"mlm": {"data": {"similar_level": None}}}},
            {},
            r"settings: mlm: data\.similar_level: that is for similar_level of the suite or a stage to say",
        ),
    ],
)
def test_what_is_refused(row: dict[str, Any], suite: dict[str, Any], message: str, write: Any) -> None:
    with pytest.raises(SuiteError, match=message):
        load_suite(write(SUITE | suite, a={"name": "a"} | row))


def test_a_stage_may_learn_another_similarity_than_the_suite_measures() -> None:
    suite = load_suite(next(path for path in TABLES if path.stem == "quesco"))
    leaf = next(row for row in suite.rows if row.stages == ["scl-leaf"])
    (training,) = trainings(suite, leaf, 0, "BANK", "0")
    assert training.settings["data"]["similar_level"] == 3
    assert suite.similar_level is None
    (other,) = trainings(suite, next(row for row in suite.rows if row.stages == ["quesco"]), 0, "BANK", "0")
    assert other.settings["data"]["similar_level"] is None


def test_names_are_unique_and_a_suite_has_rows(write: Any) -> None:
    same = {"name": "a", "stages": ["mlm"]}
    with pytest.raises(SuiteError, match="two rows are called a"):
        load_suite(write(SUITE, a=same, b=same))
    for file in (write(SUITE).parent / "table").glob("*.yaml"):
        file.unlink()
    with pytest.raises(SuiteError, match="no row in"):
        load_suite(write(SUITE))


def test_the_rows_of_another_suite_on_other_questions(write: Any) -> None:
    path = write(SUITE, a={"name": "a", "stages": ["mlm"]})
    other = path.parent / "other.yaml"
    other.write_text("title: Elsewhere\nbank: data/other\nrows_of: table\n")
    assert [row.name for row in load_suite(other).rows] == [row.name for row in load_suite(path).rows]
    path.write_text(path.read_text() + "compare:\n- [a, a]\n")
    assert load_suite(other).compare == [["a", "a"]]  # and its comparisons
    other.write_text("title: Elsewhere\nbank: data/other\nrows_of: nowhere\n")
    with pytest.raises(SuiteError, match=r"nowhere\.yaml: no such file"):
        load_suite(other)


def test_some_rows_of_another_suite(write: Any) -> None:
    path = write(SUITE, a={"name": "a", "stages": ["mlm"]}, b={"name": "b", "stages": ["mlm"]})
    path.write_text(path.read_text() + "compare:\n- [a, b]\n- [b, b]\n")
    other = path.parent / "other.yaml"
    other.write_text("title: Elsewhere\nbank: data/other\nrows_of: table\nonly: [b]\n")
    suite = load_suite(other)
    assert ([row.name for row in suite.rows], suite.compare) == (["b"], [["b", "b"]])
    other.write_text("title: Elsewhere\nbank: data/other\nrows_of: table\nonly: [c]\n")
    with pytest.raises(SuiteError, match="no row is called c"):
        load_suite(other)


def test_the_model_of_another_suite(write: Any) -> None:
    path = write({**SUITE, "model": {"text": "minilm", "max_length": 64}}, a={"name": "a", "stages": ["mlm"]})
    other = path.parent / "other.yaml"
    other.write_text("title: Elsewhere\nbank: b\nrows_of: table\nmodel_of: table\nmodel: {max_length: 32}\n")
    assert load_suite(other).model == {"text": "minilm", "max_length": 32}


def test_a_file_that_is_a_list(write: Any) -> None:
    path = write(SUITE, a={"name": "a", "stages": ["mlm"]})
    (path.parent / "table" / "a.yaml").write_text("- name")
    with pytest.raises(SuiteError, match=r"a\.yaml: expected settings by name"):
        load_suite(path)


@pytest.mark.parametrize(("size", "message"), [(0, "batch_size: must be greater"), ("x", "batch_size: .* not 'x'")])
def test_a_run_that_no_recipe_takes(size: Any, message: str, write: Any) -> None:
    suite = load_suite(
        write(SUITE, a={"name": "a", "stages": ["mlm"], "settings": {"mlm": {"run": {"batch_size": size}}}})
    )
    with pytest.raises(SuiteError, match=f"row a: stage mlm: run: {message}"):
        trainings(suite, suite.rows[0], 0, "BANK", "0")


def test_the_order_of_stages_loses_none(write: Any) -> None:
    """A visual stream reaches the row's model whatever stands before or behind it."""
    ways = (["figures", "mlm"], ["mlm", "figures", "scl"], ["figures", "mlm", "scl"])
    suite = load_suite(write(SUITE, **{str(i): {"name": str(i), "stages": way} for i, way in enumerate(ways)}))
    for row in suite.rows:
        chain = trainings(suite, row, 0, "BANK", "0")
        reached = [chain[-1]]
        for training in reached:
            reached += training.before
        assert {training.stage.name for training in reached} == set(row.stages)


def test_a_budget_counts_accumulated_questions(write: Any) -> None:
    suite = load_suite(
        write(SUITE, a={"name": "a", "stages": ["mlm"], "settings": {"mlm": {"run": {"accumulate": 2}}}})
    )
    (training,) = trainings(suite, suite.rows[0], 0, "BANK", "0")
    assert training.settings["run"]["max_steps"] == 64 // (16 * 2)


def test_a_stage_that_comes_twice(write: Any) -> None:
    """Only the last one takes the visual stream where no stage sees any figure."""
    suite = load_suite(
        write(
            SUITE,
            a={"name": "a", "stages": ["mlm"], "show": "text"},
            b={"name": "b", "stages": ["figures", "mlm", "mlm"], "show": "text"},
        )
    )
    (alone,), (figures, first, last) = (trainings(suite, row, 0, "BANK", "0") for row in suite.rows)
    assert first.key == alone.key
    assert last.before == (figures, first)


def test_only_some_rows_stay_in_their_order(write: Any) -> None:
    path = write(SUITE, **{name: {"name": name, "stages": ["mlm"]} for name in "abc"})
    assert [row.name for row in load_suite(path, ["c", "a"]).rows] == ["a", "c"]
    with pytest.raises(SuiteError, match=r"no row is called x; .* has a, b, c"):
        load_suite(path, ["x"])
