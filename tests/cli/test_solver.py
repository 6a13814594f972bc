"""``tqnet solve``, ``prototypes`` and ``evaluate solver``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.conftest import Tqnet
from tests.word_problems import train, write_problems
from tqnet import libraries
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import load_bank
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import Alphabet

TEXT = "Tom has 3 pens and buys 5 more. How many has he?"
FP32 = ("--precision", "fp32")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    shape = ModelConfig(text="scratch", visual=None, fusion="none", vocabulary_min_count=0, max_length=60)
    shape.scratch_hidden, shape.scratch_layers = 32, 1
    folder = tmp_path_factory.mktemp("solver")
    WordProblemSolver(build_model(shape, [TEXT])[0], Alphabet(("1",))).save_pretrained(folder)
    return folder


def test_one_problem(model: Path, tqnet: Tqnet) -> None:
    solution = tqnet.json("solve", TEXT, "--model", model, *FP32)
    assert solution["numbers"] == ["3", "5"]
    assert solution["equation"]
    assert isinstance(solution["value"], float)
    assert "n1 = 3, n2 = 5" in tqnet("solve", TEXT, "--model", model, *FP32)


def test_the_accelerator_is_taken_where_there_is_one(
    model: Path, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    """By default the model lies there, and the precision is what that computes in."""
    accelerator, asked, move, choose = torch.device("cpu", 0), [], WordProblemSolver.to, libraries.precision
    monkeypatch.setattr("tqnet.modeling.encode.accelerator", lambda: accelerator)
    monkeypatch.setattr(libraries, "precision", lambda name, device: asked.append(device) or choose(name, device))
    monkeypatch.setattr(WordProblemSolver, "to", lambda solver, device: asked.append(device) or move(solver, device))
    for device, expected in (([], accelerator), (["--device", "cpu"], "cpu")):
        asked.clear()
        tqnet("solve", TEXT, "--model", model, *FP32, *device)
        assert asked == [expected, expected]


def test_a_bank(model: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "solved.jsonl"
    stems = [TEXT, "Who has the cake?", "买了5个苹果，吃了(1/5)，还剩几个？"]
    bank = _write(tmp_path / "bank.jsonl", [(stem, None) for stem in stems])
    tqnet("solve", "--bank", bank, "--model", model, "--out", out, *FP32)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["id"] for record in records] == ["q0", "q1", "q2"]
    unsolved = {"equation": None, "value": None, "probability": 0.0, "fault": "the text has no number"}
    assert records[1] == {"id": "q1", "numbers": [], **unsolved}
    assert records[2]["numbers"] == ["5", "0.2"]


@pytest.mark.parametrize(
    ("text", "equation", "fault"),
    [
        ("Who has the cake?", None, "the text has no number"),
        ("Of 1/0 pens, who has 2e999 or 1.2.3 of them?", None, "the text has no number"),
        (f"Tom has {'9' * 5000} pens. How many has he?", None, "the text has no number"),
        ("Of 99999 pens 64 are red. What is that?", "^ n1 n2", "the value has too many digits"),
        ("Of 5 pens 0 are left. What is 5 by 0?", "/ n1 n2", "5 is divided by zero"),
    ],
)
def test_problems_without_an_answer(
    text: str, equation: str | None, fault: str, model: Path, tqnet: Tqnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers that cannot be read are left out, and a value that there is not is told in one line."""
    if equation:
        _always(monkeypatch, equation)
    assert f"no answer: {fault}" in tqnet("solve", text, "--model", model, *FP32, code=1)
    (line,) = tqnet("solve", text, "--model", model, *FP32, "--json", code=1).splitlines()
    assert (json.loads(line)["value"], json.loads(line)["fault"]) == (None, fault)


def _always(monkeypatch: pytest.MonkeyPatch, *equations: str, odds: tuple[float, ...] = (1.0,)) -> None:
    """Let every search end with these equations alone, which are equally long."""
    alphabet = Alphabet(("1",))

    def search(decoder: object, source: Any, beams: int, most: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = torch.tensor([[alphabet.place(token) for token in equation.split()] for equation in equations])
        shape = (len(source.root), len(rows))
        return rows.expand(*shape[:1], -1, -1), torch.full(shape, rows.shape[1]), torch.tensor(odds).log().expand(shape)

    monkeypatch.setattr("tqnet.solver.model.beam_search", search)


def test_equations_of_one_value_support_one_another(model: Path, tqnet: Tqnet, monkeypatch: pytest.MonkeyPatch) -> None:
    _always(monkeypatch, "- n1 n2", "+ n2 n1", "+ n1 n2", odds=(0.4, 0.3, 0.2))
    (line,) = tqnet("solve", "Tom has 3 pens and buys 5 more.", "--model", model, *FP32, "--json").splitlines()
    solution = json.loads(line)
    assert (solution["value"], solution["equation"], solution["probability"]) == (8, "n2 + n1", 0.5)


def test_a_model_that_is_no_solver(tmp_path: Path, tqnet: Tqnet) -> None:
    shape = ModelConfig(text="scratch", visual=None, fusion="none", scratch_hidden=32, scratch_layers=1)
    build_model(shape, [TEXT])[0].save_pretrained(tmp_path)
    error = tqnet.fails("solve", TEXT, "--model", tmp_path)
    assert f"{tmp_path}: no solver here; finetune/solver.py makes one" in error
    (tmp_path / "solver.json").write_text("{broken")
    (tmp_path / "solver.safetensors").write_bytes(b"broken")
    assert "solver.json" in tqnet.fails("solve", TEXT, "--model", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one problem, or --bank with many"),
        ([" "], "the problem is empty"),
    ],
)
def test_calls_that_are_refused(arguments: list[str], message: str, model: Path, tqnet: Tqnet) -> None:
    assert message in tqnet.fails("solve", *arguments, "--model", model)


PROBLEMS = [
    ("Tom has 3 pens and buys 5 more.", "x=3+5"),
    ("Of 12 cakes and 7 pies, how many are there?", "x=12+7"),
    ("A pen costs 4 yuan and there are 9.", "9*4"),
    ("A number is missing from 8.", "8*17"),
    ("A parenthesis is missing, 5 of 6.", "(5+6"),
    ("3 is not told.", None),
]


def _write(path: Path, problems: list[tuple[str, str | None]]) -> Path:
    records = [{"id": f"q{i}", "stem": stem, "group": "old"} for i, (stem, _) in enumerate(problems)]
    for record, (_, equation) in zip(records, problems, strict=True):
        record |= {"equation": equation} if equation else {}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_groups_and_faults(tmp_path: Path, tqnet: Tqnet) -> None:
    bank, out = _write(tmp_path / "bank.jsonl", PROBLEMS), tmp_path / "grouped.jsonl"
    faults = tqnet("prototypes", bank, "--out", out).splitlines()
    assert list(load_bank(out).column("group")) == ["n1 + n2", "n1 + n2", "n1 * n2", None, None, None]
    assert faults[0].startswith("line 4: q3: equation: 17 is neither in the text nor a constant")
    assert faults[1].startswith("line 5: q4: equation: '(5+6': a parenthesis is not closed")
    assert faults[2] == "line 6: q5: equation: has no field 'equation'"
    assert "6 questions, 2 prototypes, most often n1 + n2 (2), n1 * n2 (1); 3 equations not read" in faults[3]


def test_a_bank_without_equations(tmp_path: Path, tqnet: Tqnet) -> None:
    bank = _write(tmp_path / "bank.jsonl", [("What is it?", None)])
    error = tqnet.fails("prototypes", bank, "--out", tmp_path / "out.jsonl")
    assert "no question has a field 'equation'" in error
    assert not (tmp_path / "out.jsonl").exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank, a solver that has learnt it, and one of GRUs that has hardly begun."""
    folder = tmp_path_factory.mktemp("solver")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TQNET_CACHE", str(folder / "cache"))
        patch.setenv("ACCELERATE_USE_CPU", "true")
        bank = write_problems(folder / "bank.jsonl")
        train(bank, folder / "mine", "run.epochs=14", "run.eval_every=20", "optim.schedule=linear")
        train(bank, folder / "gru", "model.text=gru", "run.max_steps=1")
    return folder


def test_a_report_with_pictures(folder: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    stages = [f"GRU={folder / 'gru' / 'model'}", f"mine={folder / 'mine' / 'model'}"]
    out = tmp_path / "out"
    output = tqnet("evaluate", "solver", *stages, "--bank", folder / "bank.jsonl", "--out", out, *FP32)
    assert "picture:" in output
    results = json.loads((out / "results.json").read_text())
    assert results["problems"] == 24
    mine, gru = results["solver"]["mine"], results["solver"]["GRU"]
    assert mine["answers"]["share"] > 0.95
    assert mine["equations"]["share"] > gru["equations"]["share"]
    assert mine["calinski_harabasz"] is not None
    assert sum(distance["problems"] for distance in mine["by_cosine_to_centre"]) == 24
    assert len(mine["by_layer"]["of_one_prototype"]) == 2  # embeddings and one layer
    assert gru["by_layer"] is None
    text = (out / "results.md").read_text()
    for title in ("Problems solved", "by the size of the tree", "Representations by prototype", "Problems that mine"):
        assert title in text
    assert "without the 24 problems whose text, up to numbers" in text  # generated by three templates
    assert {path.name for path in out.glob("*.png")} == {"distance.png", "prototypes.png", "layers.png"}


def test_its_encoder_searches_problems_of_one_prototype(folder: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    bank, model = tmp_path / "grouped.jsonl", folder / "mine" / "model"
    tqnet("prototypes", folder / "bank.jsonl", "--out", bank)
    results = tqnet.json("evaluate", "similar", "--bank", bank, "--model", model, "--no-baselines", *FP32)
    assert results["model"]["similar"]["overall"]["precision"] > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x={0}/nothing", "--bank", "{0}/bank.jsonl"], "nothing: no solver here; finetune/solver.py makes one"),
        (["encoder:minilm", "--bank", "{0}/bank.jsonl"], "encoder:minilm: no solver here"),
        (["x={0}/gru/model", "--bank", "{0}/bank.jsonl", "--split", "dev"], "has no question of split 'dev'"),
        (["x={0}/gru/model", "--bank", "{0}/untold.jsonl", "--split", "all"], "has no problem with an equation"),
    ],
)
def test_evaluations_that_fail(arguments: list[str], message: str, folder: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    _write(folder / "untold.jsonl", [("Who is it?", None)])
    given = [argument.format(folder) for argument in arguments]
    assert message in tqnet.fails("evaluate", "solver", *given, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
