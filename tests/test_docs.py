"""What is measured is what is shown."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from accelerate.commands.launch import launch_command_parser

from docs import architecture, claims, collect, cost, faults
from tests.faults.table import CALLS, RECIPES, cases
from tqnet.cli import commands, main, make_parser, with_verb
from tqnet.config import parse_config
from tqnet.questions import Question, QuestionBank

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))


def test_results_are_collected() -> None:
    """After a change below docs/results/: python -m docs.collect."""
    assert (DOCS / "results.md").read_text(encoding="utf-8") == collect.document()


def test_scores_that_no_table_names_are_removed(tmp_path: Path) -> None:
    for folder in ("table", "scores"):
        (tmp_path / folder).mkdir()
    (tmp_path / "table" / "results.json").write_text(json.dumps({"rows": {"a": {"kept": ["one"]}}}))
    for name in ("one", "two"):
        (tmp_path / "scores" / f"{name}.json").write_text("{}")
    collect.prune(tmp_path)
    assert [file.name for file in (tmp_path / "scores").iterdir()] == ["one.json"]


def test_claims_of_the_papers_are_judged_by_their_intervals(tmp_path: Path) -> None:
    (tmp_path / "table9").mkdir()
    gains = {"up": (0.2, [0.1, 0.3]), "chance": (0.1, [-0.1, 0.3]), "down": (-0.2, [-0.3, -0.1])}
    told = [
        {"row": row, "over": "base", "paper": 0.1, "F1 L1": {}, "F1 L2": {"difference": by, "interval": ends}}
        for row, (by, ends) in gains.items()
    ]
    beyond = {"row": "beyond the paper", "over": "base", "paper": None, "F1 L2": {"difference": 1, "interval": [0, 1]}}
    results = {"paper_metric": "F1", "differences": [*told, beyond]}
    (tmp_path / "table9" / "results.json").write_text(json.dumps(results))
    found = claims.claims(tmp_path)
    assert [claim.verdict for claim in found] == [claims.AGREES, claims.CHANCE, claims.DISAGREES]
    assert claims.table(found).rows[0] == (
        "up, over base", "table9: F1 L2", "+0.100", "+0.200 [+0.100, +0.300]", claims.AGREES
    )  # fmt: skip
    assert claims.picture(found).startswith(b"\x89PNG")


def test_the_readme_has_the_results_of_today() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == collect.with_summary(readme)


def test_what_large_banks_cost_follows_from_the_results() -> None:
    """After a change below docs/results/: python -m docs.cost."""
    page = cost.PAGE.read_text(encoding="utf-8")
    assert page == cost.filled(page)


def test_the_picture_of_the_architecture_is_drawn() -> None:
    svg = architecture.as_svg(architecture.draw())
    assert svg.startswith(b"<?xml")
    assert svg == architecture.as_svg(architecture.draw())  # to the bit, so that it changes only with its code
    assert architecture.PICTURE.is_file()


def blocks() -> list[str]:
    """What the documents show as code."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    return [block for text in texts for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def shown_commands() -> list[str]:
    """What the documents tell their readers to type, a command on a line."""
    lines = [line.partition("  #")[0].strip() for block in blocks() for line in block.replace("\\\n", " ").splitlines()]
    begins = ("tqnet ", "accelerate launch ", "python ", "make ")
    return list(dict.fromkeys(" ".join(line.split()) for line in lines if line.startswith(begins)))


@pytest.mark.parametrize("command", [command for command in shown_commands() if command.startswith("tqnet ")])
def test_commands_are_as_they_are_shown(command: str) -> None:
    make_parser().parse_args(with_verb(shlex.split(command)[1:]))


@pytest.mark.parametrize("command", [command for command in shown_commands() if not command.startswith("tqnet ")])
def test_recipes_are_as_they_are_shown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe, its configuration and every key exist; what accelerate is told, it knows."""
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return
    if words[0] == "accelerate":
        launched = launch_command_parser().parse_args(words[2:])
        script, rest = launched.training_script, launched.training_script_args
        if launched.module:
            assert script == "tqnet.cli"
            make_parser().parse_args(with_verb(rest))
            return
    else:
        script, rest = words[1], words[2:]
    module = import_module(script.removesuffix(".py").replace("/", "."))
    kind = getattr(module, module.main.__annotations__["config"])
    assert isinstance(parse_config(kind, None, rest), kind)


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "table SUITE=table2 DATA=bank SCORES=scores",
        "stages BANK=opl DATA=bank",
        "search BANK=opl DATA=bank MODEL=model SIMILAR=3",
        "chinese DATA=banks",
        "paraphrases DATA=bank",
        "solver-banks DATA=banks",
    ],
)
def test_commands_are_as_make_runs_them(target: str) -> None:
    if not shutil.which("make"):
        pytest.skip("no make here")
    run = ["make", "--dry-run", "--old-file", ".venv/installed", *target.split()]
    told = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    found = re.findall(r"/bin/tqnet ((?:'[^']*'|[^;|&>\n'])*)", told)
    assert found
    for command in found:
        make_parser().parse_args(with_verb(shlex.split(command)))


def cheap_commands() -> list[str]:
    """Those that need no model and nothing but a bank."""
    cheap = ("tqnet check", "tqnet merge", "tqnet augment", "tqnet duplicates")
    of_any_bank = [command for command in shown_commands() if command.startswith(cheap) and " BANK" in command]
    return [command for command in of_any_bank if "model" not in command]


@pytest.mark.parametrize("command", cheap_commands())
def test_cheap_commands_run_on_the_sample_bank(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path_factory.getbasetemp() / "docs-cache"))
    if "OTHER" in command:
        QuestionBank.from_questions([Question(id="other", stem="Find $x$.")]).save(tmp_path / "other.jsonl")
    stand_ins = {"BANK": str(ROOT / "assets" / "sample"), "OTHER": "other.jsonl", "ID": "s0001"}
    assert main([stand_ins.get(word, word) for word in shlex.split(command)[1:]]) == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, heading = target.partition("#")
        if file.startswith(("http:", "https:")):
            continue
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}, target
    for module in re.findall(r"`python -m ([\w.]+)", text):
        assert find_spec(module), module


def test_every_page_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [page.name for page in DOCS.glob("*.md") if f"docs/{page.name})" not in readme]


def test_the_page_of_faults_is_made_of_what_was_tried() -> None:
    """After a change: python -m docs.faults."""
    assert faults.PAGE.read_text(encoding="utf-8") == faults.document(faults.known())


def test_every_command_and_every_recipe_is_in_the_table_of_faults() -> None:
    assert set(CALLS) == set(commands(make_parser()))
    assert set(RECIPES) == {
        str(file.relative_to(ROOT)) for of in ("pretrain", "finetune") for file in (ROOT / of).glob("*.py")
    }
    tried = faults.known()
    assert {case.command for case in cases()} == {case.command for case in cases() if case.id in tried}
