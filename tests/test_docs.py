"""What is measured is what is shown."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from accelerate.commands.launch import launch_command_parser

from reproduce.bench.__main__ import make_parser as make_bench_parser
from tests.faults.table import CALLS, RECIPES
from tqnet.cli import commands, main, make_parser, with_verb
from tqnet.config import parse_config
from tqnet.questions import Question, QuestionBank

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "reproduce" / "README.md", *sorted(DOCS.rglob("*.md")))


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
    only_prints = nullcontext() if "--list-formats" not in command else pytest.raises(SystemExit, match="0")
    with only_prints:
        make_parser().parse_args(with_verb(shlex.split(command)[1:]))


@pytest.mark.parametrize("command", [command for command in shown_commands() if not command.startswith("tqnet ")])
def test_recipes_are_as_they_are_shown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe, its configuration and every key exist; what accelerate is told, it knows."""
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    if words[0] == "make":
        folder, target = (words[2], words[3]) if words[1] == "-C" else ("", words[1])
        makefile = (ROOT / folder / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
        return
    if words[:3] == ["python", "-m", "reproduce.bench"]:
        make_bench_parser().parse_args(words[3:])
        return
    if words[:2] == ["python", "-m"]:
        assert find_spec(words[2])
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
    ("makefile", "target"),
    [
        ("Makefile", "demo"),
        ("reproduce/Makefile", "table SUITE=table2 DATA=bank SCORES=scores"),
        ("reproduce/Makefile", "stages BANK=opl DATA=bank"),
        ("reproduce/Makefile", "search BANK=opl DATA=bank MODEL=model SIMILAR=3"),
        ("reproduce/Makefile", "chinese DATA=banks"),
        ("reproduce/Makefile", "paraphrases DATA=bank"),
        ("reproduce/Makefile", "solver-banks DATA=banks"),
    ],
)
def test_commands_are_as_make_runs_them(makefile: str, target: str) -> None:
    if not shutil.which("make"):
        pytest.skip("no make here")
    run = ["make", "--dry-run", "-f", makefile, "--old-file", ".venv/installed", *target.split()]
    output = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    commands = re.findall(r"/bin/(tqnet|python -m reproduce\.bench) ((?:'[^']*'|[^;|&>\n'])*)", output)
    assert commands
    for program, arguments in commands:
        if program == "tqnet":
            make_parser().parse_args(with_verb(shlex.split(arguments)))
        else:
            make_bench_parser().parse_args(shlex.split(arguments))


def cheap_commands() -> list[str]:
    """Those that need no model and nothing but a bank."""
    cheap = ("tqnet check", "tqnet merge", "tqnet augment", "tqnet duplicates")
    of_any_bank = [command for command in shown_commands() if command.startswith(cheap) and " BANK" in command]
    return [command for command in of_any_bank if "model" not in command]


@pytest.mark.parametrize("command", cheap_commands())
def test_cheap_commands_run_on_the_sample_bank(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("other", "judged-queries"):
        QuestionBank.from_questions([Question(id=name, stem="Find $x$.")]).save(tmp_path / f"{name}.jsonl")
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
    assert not [
        page.name for page in DOCS.glob("*.md") if page.name != "index.md" and f"docs/{page.name})" not in readme
    ]


def test_every_command_and_every_recipe_is_in_the_table_of_faults() -> None:
    assert {*CALLS, "train"} == set(commands(make_parser()))  # train becomes a recipe, which has rows of its own
    assert set(RECIPES) == {
        str(file.relative_to(ROOT)) for folder in ("pretrain", "finetune") for file in (ROOT / folder).glob("*.py")
    }
