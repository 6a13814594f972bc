"""What the papers say that one method gains over another, and what was measured here: a table and a picture of it.

``python -m docs.collect`` puts both into docs/results.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tqnet.evaluation.plots import LIGHT, PALETTE, canvas
from tqnet.evaluation.table import Table

#: Papers by the suites that are after their tables, in the order in which they are shown.
PAPERS = {"table": "TQ-Net", "fse": "FSE", "paraqd": "ParaQD", "mwp": "mwp-cl"}

AGREES, CHANCE, DISAGREES = "as in the paper", "within chance", "the other way round"
COLOURS = {AGREES: PALETTE[2], CHANCE: LIGHT.other, DISAGREES: PALETTE[5]}


@dataclass(frozen=True)
class Claim:
    """That ``row`` is above ``over`` by ``paper``, and by how much it is here, between the ends of ``interval``."""

    suite: str
    measure: str
    row: str
    over: str
    paper: float
    found: float
    interval: tuple[float, float]

    @property
    def verdict(self) -> str:
        low, high = self.interval
        if low <= 0 <= high:
            return CHANCE
        return AGREES if self.found * self.paper > 0 else DISAGREES


def claims(tables: Path) -> list[Claim]:
    """All differences in the folders below ``tables`` that a paper has a number for."""
    found = []
    for prefix in PAPERS:
        for file in sorted(tables.glob(f"{prefix}*/results.json")):
            found += _of_suite(file.parent.name, json.loads(file.read_text(encoding="utf-8")))
    return found


def _of_suite(suite: str, results: dict[str, Any]) -> Iterator[Claim]:
    for told in results["differences"]:
        measure = _measure(results["paper_metric"], told)
        if told["paper"] is None or measure not in told:
            continue
        where = f"{suite}, {told['paraphrases']}" if "paraphrases" in told else suite
        gain = told[measure]
        yield Claim(
            where, measure, told["row"], told["over"], told["paper"], gain["difference"], tuple(gain["interval"])
        )


def _measure(metric: str, told: dict[str, Any]) -> str:
    """The measure that the paper has; its F1 is of hundreds of points, so here that of the finest level."""
    return metric if metric != "F1" else max((name for name in told if name.startswith("F1 L")), default=metric)


def table(found: list[Claim]) -> Table:
    rows = tuple(
        (
            f"{claim.row}, over {claim.over}",
            f"{claim.suite}: {claim.measure}",
            f"{claim.paper:+.3f}",
            f"{claim.found:+.3f} [{claim.interval[0]:+.3f}, {claim.interval[1]:+.3f}]",
            claim.verdict,
        )
        for claim in found
    )
    return Table("Claims", ("difference", "table", "paper", "here", "verdict"), rows)


def picture(found: list[Claim]) -> bytes:
    """The papers' differences as diamonds, ours as points with their intervals; a panel for each suite, as PNG."""
    panels = [list(group) for _, group in groupby(found, lambda claim: claim.suite)]
    height = 0.26 * len(found) + 0.55 * len(panels) + 0.4
    with canvas(9, height, LIGHT, "png") as (figure, buffer):
        heights = [len(panel) + 1 for panel in panels]
        axes_of = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for axes, panel in zip(axes_of, panels, strict=True):
            axes.axvline(0, color=LIGHT.faint, zorder=0)
            for y, claim in enumerate(panel):
                colour = COLOURS[claim.verdict]
                axes.plot(claim.interval, (y, y), color=colour, linewidth=2.2, solid_capstyle="round")
                axes.plot(claim.found, y, "o", color=colour, markersize=5.5)
                axes.plot(claim.paper, y, "D", color=LIGHT.ink, markersize=5, fillstyle="none")
            axes.set_yticks(range(len(panel)), [f"{claim.row}, over {claim.over}" for claim in panel])
            axes.set_ylim(len(panel) - 0.4, -0.6)
            axes.set_title(f"{panel[0].suite}: {panel[0].measure}", loc="left", fontsize=9, fontweight="bold")
        marks = [axes_of[0].plot([], [], "o-", color=colour, label=verdict)[0] for verdict, colour in COLOURS.items()]
        marks += axes_of[0].plot([], [], "D", color=LIGHT.ink, fillstyle="none", linestyle="none", label="the paper")
        figure.legend(handles=marks, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return buffer.getvalue()
