"""Put what was measured together as docs/results.md: ``python docs/collect.py``."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent / "results"

PREFACE = """# Results

Written by `python docs/collect.py` from `docs/results/`. First every stage of a training on three banks, then the
tables that compare methods, then speed and memory. On two processor cores: budgets are small, and the questions that
were seen are stated.

P@5 is that of the `test` questions that have at least five similar ones, searched in the whole bank with the query
itself left out. Probe F1 is micro F1 of a linear classifier on frozen vectors, by level of the hierarchy. Intervals are
95 %, bootstrapped by group.
"""

STAGES = """# Stages

`make stages BANK=opl DATA=FOLDER` (geometry, openstax) runs the auto-encoder (where there are figures), MLM, MoCo and
supervised contrast (SCL) by the settings in `configs/BANK`, then `tqnet evaluate stages`; `make publish BANK=opl` puts
its tables here. One seed each.

Training reads the questions of split `train`. The state of MoCo and SCL that is kept is the one with the best P@5 on
`valid`, searched among `valid` and `data.distractors` questions of `train`; so are the settings chosen.

MLM and MoCo use no label. SCL uses the groups of `train` and, beyond the paper, its knowledge labels as a second loss
term (`concept_weight`), on opl also to draw batches (`block`). So the probe after SCL is not the paper's, whose encoder
has seen no knowledge label.
"""

TABLES = """# Tables

`make table SUITE=table4 DATA=FOLDER` runs what is written below each heading; `make publish SUITE=table4` puts it here.
`configs/tables` has the rows and their budgets. The column "paper" is what TQ-Net's authors measured on a bank of their
own, which is not public; only its differences can be compared.
"""

SPEED = """# Speed and memory

## `encode`

`python -m tests.bench.encode --bank data/opl --questions 120 --rounds 2`, two cores with AMX, where bf16 is
the default, all-MiniLM-L6-v2, the contestants by turns in one run, on an idle machine. Where other work kept the cores
busy, the ratio to sentence-transformers came out at 0.6 with two threads and 1.3 with one.
"""


def main() -> None:
    sections = [PREFACE, STAGES, *_measured(HERE)]
    if tables := _measured(HERE / "tables"):
        sections += [TABLES, *tables]
    sections.append(f"{SPEED}\n```json\n{_text(HERE / 'encode.json')}\n```\n")
    (HERE.parent / "results.md").write_text("\n".join(sections), encoding="utf-8")


def _measured(root: Path) -> list[str]:
    """A section for every folder that has results, with the notes beside them."""
    sections = []
    for folder in sorted(path.parent for path in root.glob("*/results.md")):
        sections.append(f"## {folder.name}\n\n{_text(folder / 'results.md')}\n")
        if (folder / "notes.md").is_file():
            sections.append(f"{_text(folder / 'notes.md')}\n")
    return sections


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8").rstrip()


if __name__ == "__main__":
    main()
