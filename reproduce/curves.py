"""Draw a published table of rows such as "MLM, 10 %" as curves: ``python -m reproduce.curves tqnet/few-labels``.

It writes docs/results/few-labels.png.
"""

from __future__ import annotations

import argparse
import re
from itertools import cycle
from typing import Any

from reproduce.collect import RESULTS, ROOT, load
from tqnet.evaluation.plots import LIGHT, PALETTE, canvas, style_axes

_ROW = re.compile(r"(.+), ([\d.]+) %")
_CELL = re.compile(r"([\d.]+)(?: ± ([\d.]+))?")


def points(document: dict[str, Any], measure: str) -> dict[str, list[tuple[float, float, float]]]:
    """Return curve -> its share in percent, mean and spread over seeds, by share; the spread of one seed is 0.

    Raises:
        ValueError: No row is named so, or none has the measure.
    """
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for table in document["tables"]:
        for name, *cells in table["rows"] if measure in table["header"] else ():
            row, cell = _ROW.fullmatch(name), _CELL.fullmatch(cells[table["header"].index(measure) - 1])
            if row and cell:
                curves.setdefault(row[1], []).append((float(row[2]), float(cell[1]), float(cell[2] or 0)))
    if not curves:
        raise ValueError(f"{measure}: no rows such as 'MLM, 10 %' to draw")
    return {name: sorted(curve) for name, curve in curves.items()}


def draw(document: dict[str, Any], measure: str, share: str) -> bytes:
    """Draw the curves as PNG, ``share`` below the x axis, which is logarithmic."""
    with canvas(6.4, 3.6, LIGHT, "png") as (figure, buffer):
        axes = figure.add_subplot()
        curves = points(document, measure)
        for color, (name, curve) in zip(cycle(PALETTE), curves.items(), strict=False):
            x, y, spread = zip(*curve, strict=True)
            axes.errorbar(x, y, spread, color=color, linewidth=1.8, marker="o", markersize=4, capsize=2.5, label=name)
        axes.set_xscale("log")
        ticks = sorted({x for curve in curves.values() for x, _, _ in curve})
        axes.set_xticks(ticks, [f"{tick:g} %" for tick in ticks])
        axes.minorticks_off()
        style_axes(axes, LIGHT, x=share, y=measure)
        axes.legend(frameon=False, fontsize=9, labelcolor=LIGHT.ink)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m reproduce.curves", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="NAME", help="PAGE/SUITE of the published table")
    parser.add_argument("--measure", default="P@5", help="its column (default: P@5)")
    parser.add_argument("--share", default="share of the training labels", help="label of the x axis")
    args = parser.parse_args()
    picture = draw(load(RESULTS / f"{args.name}.json"), args.measure, args.share)
    file = ROOT / "docs" / "results" / f"{args.name.rpartition('/')[2]}.png"
    file.write_bytes(picture)
    print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
