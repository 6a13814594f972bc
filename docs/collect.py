"""Put the tables of docs/results/*/results.md together as docs/results.md: ``python docs/collect.py``."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

PREFACE = """# Results

Written by `python docs/collect.py` from `docs/results/`, which `make stages BANK=opl DATA=FOLDER` (geometry, openstax)
fills: auto-encoder (where there are figures), MLM, MoCo and supervised contrast by the settings in `configs/BANK`, on
two processor cores, then `tqnet evaluate stages`. Training reads the questions of split `train`; the best state of MoCo
and SCL is the one with the best P@5 on `valid`; P@5 is that of the `test` questions that have at least five similar
ones, searched in the whole bank with the query itself left out. Probe F1 is micro F1 of a linear classifier on frozen
vectors, by level of the hierarchy. MLM and MoCo use no label. SCL uses the groups of `train` and, beyond the paper, its
knowledge labels: as a second loss term on geometry and openstax (`concept_weight`), to draw batches on opl (`block`); so
the probe after SCL is not the paper's, where the encoder has seen no knowledge label. Intervals are 95 %, bootstrapped
by group.

Where a stage does not help: MLM and MoCo start here from all-MiniLM-L6-v2, which was already trained by contrast on a
billion pairs. A new masked-token head on a few thousand questions, and a queue of 2,048 of them, cannot add much to its
ranking; what they bring shows in the probes and, where text says little (geometry), in what SCL makes of it.
"""


def main() -> None:
    sections = [PREFACE]
    for path in sorted(HERE.glob("results/*/results.md")):
        sections.append(f"## {path.parent.name}\n\n{path.read_text(encoding='utf-8').rstrip()}\n")
    (HERE / "results.md").write_text("\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
