"""What the table of faults is tried on: tiny models of every kind, banks, an index, and spoilt ones of each."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import torch

from finetune.heads import HeadsConfig
from finetune.heads import main as heads
from tests import tiny_seq2seq
from tqnet.modeling.build import build_model
from tqnet.modeling.pairs import PairClassifier
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank
from tqnet.search.ranker import CrossEncoder
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import Alphabet
from tqnet.training.config import DataConfig

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "assets" / "sample"

#: Whole groups of the sample bank: enough questions for a step of every recipe.
GROUPS = 30

TEXTS = {
    "sheet.csv": "Task,Solution\nFind x if 2x = 8.,4\nFind y if y + 1 = 3.,2\n",
    "paraphrases.csv": "original,paraphrase,label\nTom eats 2 pens.,Tom eats two pens.,1\nTom eats 2.,Tom eats.,0\n",
    "prose.jsonl": "Chapter 1. Find x.\n",
    "prose.yaml": "Chapter 1: find x: now\n",
    "empty.jsonl": "",
    "empty.csv": "",
}


def make(folder: Path, tqnet: Callable[[list[str]], object] | None = None) -> None:
    """Write all of it into ``folder``; names are those of :mod:`tests.faults.table`.

    Args:
        tqnet: Runs the command in this process; by default it is one of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "empty").mkdir()
    _banks(folder)
    _models(folder)
    names = [str(folder / name) for name in ("bank", "encoder", "index", "exported")]
    for arguments in (["build", names[0], "--model", names[1], "--out", names[2]], ["export", *names[2:]]):
        if tqnet:
            tqnet(["index", *arguments])
        else:
            subprocess.run([sys.executable, "-m", "tqnet.cli", "index", *arguments], check=True, capture_output=True)
    shutil.copytree(folder / "index", folder / "index-damaged")
    for file in ("index.json", "manifest.json"):  # of an index, and of an export
        (folder / "index-damaged" / file).write_text("{", encoding="utf-8")


def _banks(folder: Path) -> None:
    bank = QuestionBank.load(SAMPLE)
    questions = sorted((question for question in bank if question.group), key=lambda question: question.group or "")
    groups = [list(members) for _, members in groupby(questions, key=lambda question: question.group)]
    chosen = [question for group in groups[:: max(1, len(groups) // GROUPS)][:GROUPS] for question in group]
    (folder / "bank").mkdir()
    QuestionBank.from_questions(chosen).save(folder / "bank" / "questions.jsonl")
    with (folder / "problems.jsonl").open("w", encoding="utf-8") as stream:
        for n in range(24):
            split = "valid" if n % 6 == 5 else "train"
            sign, word = (("+", "buys"), ("-", "eats"))[n % 2]
            stem = f"Tom has {n + 20} apples and {word} {n + 2} of them. How many are there then?"
            record = {"id": f"p{n}", "stem": stem, "equation": f"x={n + 20}{sign}{n + 2}", "split": split}
            stream.write(json.dumps(record | {"language": "en"}) + "\n")
    (folder / "more.jsonl").write_text(json.dumps({"id": "new", "stem": "Find $x$ if $7x = 21$."}) + "\n")
    shutil.copy(ROOT / "assets" / "pairs.jsonl", folder / "pairs.jsonl")


def _models(folder: Path) -> None:
    torch.manual_seed(0)
    tiny = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "scratch_vocab": 900, "fusion_heads": 12}
    texts = [question.content for question in QuestionBank.load(folder / "bank")]
    shape = ModelConfig(**tiny, vocabulary_min_count=0, visual="test_resnet", image_size=64, max_length=96)
    encoder, _ = build_model(shape, texts)
    encoder.save_pretrained(folder / "encoder")
    CrossEncoder(build_model(shape, texts)[0], length=96).save_pretrained(folder / "ranker")
    PairClassifier(encoder, hidden=8).save_pretrained(folder / "pairs-model")
    plain = ModelConfig(**tiny, vocabulary_min_count=0, visual=None, fusion="none", max_length=96)
    WordProblemSolver(build_model(plain, texts)[0], Alphabet(("1",))).save_pretrained(folder / "solver")
    tiny_seq2seq.save("rewriter", folder / "rewriter")
    heads(HeadsConfig(DataConfig(str(folder / "bank")), str(folder / "encoder"), str(folder / "heads")))
    shutil.copytree(folder / "heads", folder / "heads-damaged")
    (folder / "heads-damaged" / "heads.json").write_text("{", encoding="utf-8")
    for kind in ("encoder", "ranker", "pairs-model", "solver", "rewriter"):
        for name, spoil in (("weights", _cut), ("config", _cut_config), ("processor", _cut_processor)):
            spoilt = folder / f"{kind}-{name}"
            shutil.copytree(folder / kind, spoilt)
            spoil(spoilt)


def _cut(folder: Path) -> None:
    for file in folder.glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _cut_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": ', encoding="utf-8")


def _cut_processor(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"version": ', encoding="utf-8")
