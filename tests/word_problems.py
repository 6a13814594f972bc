"""A bank of generated word problems, and a solver that learns them in seconds."""

from __future__ import annotations

import json
from pathlib import Path

from finetune.solver import SolverConfig, main
from tqnet.config import load_config

#: Patterns whose words tell them apart; the numbers do not.
TEMPLATES = (
    ("Tom had {} pens and bought {} more. How many pens has he now?", "{}+{}"),
    ("Ann had {} cakes and ate {} of them. How many cakes are left?", "{}-{}"),
    ("Each of {} boxes holds {} pears. How many pears are there?", "{}*{}"),
)


def write_problems(path: Path, count: int = 120) -> Path:
    """A fifth of them is valid, a fifth test."""
    with path.open("w", encoding="utf-8") as file:
        for place in range(count):
            text, equation = TEMPLATES[place % 3]
            pair = (20 + place, 3 + place % 7)
            split = {0: "valid", 1: "test"}.get(place % 5, "train")
            record = {"id": f"q{place}", "stem": text.format(*pair), "equation": equation.format(*pair), "split": split}
            file.write(json.dumps(record) + "\n")
    return path


def settings_of(bank: Path) -> list[str]:
    """Of a stage that begins anew."""
    return [
        f"data.bank={bank}",
        "model.text=scratch",
        "model.visual=null",
        "model.fusion=none",
        "model.vocabulary_min_count=0",
        "model.scratch_hidden=64",
        "model.scratch_layers=1",
        "model.max_length=60",
        "optim.lr=4e-3",
        "decoder_dropout=0.2",
        "run.batch_size=16",
        "run.precision=fp32",
        "run.threads=1",
    ]


def train(bank: Path, out: Path, *settings: str) -> Path:
    """The folder of a solver."""
    return main(load_config(SolverConfig, [], [*settings_of(bank), f"run.out={out}", *settings]))
