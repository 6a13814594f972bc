"""Picture of the model and its training stages: ``python -m reproduce.architecture`` writes docs/architecture.svg.

``--png FILE`` writes pixels too, to look at.
"""

from __future__ import annotations

import argparse
import io
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

PICTURE = Path(__file__).parents[1] / "docs" / "architecture.svg"

INK, FAINT, PAPER = "#1f2933", "#6b7785", "#ffffff"
TEXT, VISUAL, JOINT, STAGE = "#2f6db3", "#c2571a", "#2e7d4f", "#5b6675"
TEXT_LIGHT, VISUAL_LIGHT, JOINT_LIGHT, STAGE_LIGHT = "#e8f0f9", "#fbeee4", "#e7f3ec", "#eef0f3"

#: Points of the page; a unit of the axes is one of them.
WIDTH, HEIGHT = 1180, 560
TITLE, BODY = 13, 11


class Drawing:
    """Boxes and arrows on one pair of axes, in points from the lower left."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), facecolor=PAPER)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
        self.axes.axis("off")

    def box(
        self, x: float, y: float, width: float, height: float, title: str, lines: str, edge: str, fill: str
    ) -> None:
        """A box with its title above smaller lines."""
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=8",
                facecolor=fill,
                edgecolor=edge,
                linewidth=1.4,
            )
        )
        rows = lines.split("\n") if lines else []
        top = y + height / 2 + len(rows) * 7.5
        self.write(x + width / 2, top, title, size=TITLE, weight="bold", colour=edge)
        for row, line in enumerate(rows, 1):
            self.write(x + width / 2, top - 2 - row * 15, line)

    def write(
        self,
        x: float,
        y: float,
        text: str,
        size: float = BODY,
        weight: str = "normal",
        colour: str = INK,
        align: str = "center",
    ) -> None:
        self.axes.text(x, y, text, size=size, weight=weight, color=colour, ha=align, va="center")

    def arrow(self, *points: tuple[float, float], colour: str = INK) -> None:
        """Along straight lines from the first point to the last."""
        for start, end in pairwise(points[:-1]):
            self.axes.plot(*zip(start, end, strict=True), color=colour, linewidth=1.5, solid_capstyle="round")
        self.axes.add_patch(
            FancyArrowPatch(
                points[-2],
                points[-1],
                arrowstyle="-|>",
                mutation_scale=13,
                color=colour,
                linewidth=1.5,
                shrinkA=0,
                shrinkB=0,
            )
        )

    def tokens(self, x: float, y: float, count: int, colour: str, size: float = 13) -> None:
        """A row of tokens from ``x`` on."""
        for place in range(count):
            self.axes.add_patch(
                Rectangle((x + place * (size + 3), y), size, size, facecolor=colour, edgecolor=PAPER, linewidth=0.8)
            )


def draw() -> Drawing:
    drawing = Drawing()
    _text_stream(drawing)
    _visual_stream(drawing)
    _fusion(drawing)
    _stages(drawing)
    return drawing


def _text_stream(drawing: Drawing) -> None:
    y = 430
    drawing.write(24, y + 88, "text stream", weight="bold", colour=TEXT, align="left")
    drawing.box(
        24, y, 190, 70, "stem and options", r"In $\triangle ABC$, $AB \parallel CD$." + "\nFind …", FAINT, PAPER
    )
    drawing.box(254, y, 190, 70, "tokenizer", r"formula-aware: \parallel, \frac" + "\nstay whole", TEXT, TEXT_LIGHT)
    drawing.box(484, y, 190, 70, "BERT", "any BERT-like encoder;\na vector for every token", TEXT, TEXT_LIGHT)
    drawing.arrow((214, y + 35), (254, y + 35))
    drawing.arrow((444, y + 35), (484, y + 35))


def _visual_stream(drawing: Drawing) -> None:
    y = 270
    drawing.write(24, y + 88, "visual stream", weight="bold", colour=VISUAL, align="left")
    drawing.box(24, y, 190, 70, "", "", FAINT, PAPER)
    drawing.write(62, y + 35, "figures", size=TITLE, weight="bold", colour=FAINT)
    _triangle(drawing, 104, y + 20)
    _circle(drawing, 186, y + 35)
    drawing.box(254, y, 190, 70, "ResNet", "or another network of timm,\nfigure by figure", VISUAL, VISUAL_LIGHT)
    drawing.box(
        484,
        y,
        190,
        70,
        "feature-map cells",
        "projected to width h, plus an\nembedding of the figure's index",
        VISUAL,
        VISUAL_LIGHT,
    )
    drawing.arrow((214, y + 35), (254, y + 35))
    drawing.arrow((444, y + 35), (484, y + 35))


def _triangle(drawing: Drawing, x: float, y: float) -> None:
    drawing.axes.plot([x, x + 56, x + 20, x], [y, y, y + 30, y], color=INK, linewidth=1.3)


def _circle(drawing: Drawing, x: float, y: float) -> None:
    drawing.axes.add_patch(Circle((x, y), 17, fill=False, edgecolor=INK, linewidth=1.3))
    drawing.axes.plot([x, x + 15], [y, y + 8], color=INK, linewidth=1.3)


def _fusion(drawing: Drawing) -> None:
    x, y, width, height = 744, 270, 210, 230
    drawing.box(x, y, width, height, "", "", JOINT, JOINT_LIGHT)
    drawing.write(x + width / 2, y + height - 17, "fusion", size=TITLE, weight="bold", colour=JOINT)
    drawing.write(x + width / 2, y + height - 35, "x + blocks(x), pre-norm")
    drawing.tokens(x + 22, y + 32, 6, TEXT)
    drawing.tokens(x + 22 + 6 * 16 + 6, y + 32, 4, VISUAL)
    drawing.write(x + width / 2, y + 17, "x = [text tokens; visual tokens]")
    _residual_stream(drawing, x + 40, y + 52, (("norm, attention", y + 66), ("norm, MLP", y + 122)), y + 184)
    for stream, name in ((430 + 35, "t × h"), (270 + 35, "v × h")):
        drawing.arrow((674, stream), (x, stream))
        drawing.write(705, stream + 12, name, colour=FAINT)

    drawing.box(994, 350, 162, 70, "mean", "over real tokens (masked)", JOINT, JOINT_LIGHT)
    drawing.arrow((x + width, 385), (994, 385))
    drawing.tokens(1012, 296, 8, JOINT)
    drawing.arrow((1075, 350), (1075, 314), colour=JOINT)
    drawing.write(1075, 280, "vector of the question", weight="bold")


def _residual_stream(
    drawing: Drawing, x: float, bottom: float, branches: tuple[tuple[str, float], ...], top: float
) -> None:
    """The paper's shortcut: what comes in goes straight up, and each branch adds to it."""
    drawing.arrow((x, bottom), (x, top), colour=JOINT)
    for name, y in branches:
        drawing.axes.add_patch(
            FancyBboxPatch(
                (x + 28, y + 2),
                124,
                26,
                boxstyle="round,pad=0,rounding_size=5",
                facecolor=PAPER,
                edgecolor=JOINT,
                linewidth=1,
            )
        )
        drawing.write(x + 90, y + 15, name)
        drawing.arrow((x, y - 6), (x + 90, y - 6), (x + 90, y + 2), colour=JOINT)
        drawing.arrow((x + 90, y + 28), (x + 90, y + 39), (x + 7, y + 39), colour=JOINT)
        drawing.axes.add_patch(Circle((x, y + 39), 7, facecolor=PAPER, edgecolor=JOINT, linewidth=1.2, zorder=3))
        drawing.axes.text(x, y + 38.5, "+", size=11, color=JOINT, ha="center", va="center", zorder=4)


def _stages(drawing: Drawing) -> None:
    drawing.axes.plot([24, WIDTH - 24], [218, 218], color="#d5dae0", linewidth=1)
    drawing.write(24, 194, "trained in stages, each from the model of the one before", weight="bold", align="left")
    y, width, gap = 74, 340, 56
    stages = (
        (
            "1  masked language modelling",
            "words and formula tokens are guessed\ntrains the text stream; no labels",
            "pretrain/mlm.py",
            TEXT,
        ),
        (
            "2  momentum contrast (MoCo)",
            "two views of a question meet, other questions\nin the queue do not; no labels",
            "pretrain/moco.py",
            VISUAL,
        ),
        (
            "3  supervised contrast (SCL)",
            "questions of one group meet, those of\nothers do not; groups or pairs",
            "finetune/similar.py",
            JOINT,
        ),
    )
    for place, (title, lines, recipe, colour) in enumerate(stages):
        x = 24 + place * (width + gap)
        drawing.box(x, y, width, 88, title, lines, colour, PAPER)
        drawing.write(x + width / 2, y - 18, recipe, colour=FAINT)
        if place:
            drawing.arrow((x - gap, y + 44), (x, y + 44), colour=FAINT)
    drawing.write(
        WIDTH / 2,
        20,
        "in place of 2: pretrain/quesco.py where questions have knowledge points, "
        "pretrain/multitask.py where they have solutions",
        colour=FAINT,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduce.architecture", description=__doc__)
    parser.add_argument("--png", metavar="FILE", help="also write the picture as pixels")
    args = parser.parse_args()
    drawing = draw()
    PICTURE.write_bytes(as_svg(drawing))
    if args.png:
        drawing.figure.savefig(args.png, dpi=110)


def as_svg(drawing: Drawing) -> bytes:
    """The same bytes for the same drawing: letters as paths, no date."""
    written = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tqnet", "svg.fonttype": "path"}):
        drawing.figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


if __name__ == "__main__":
    main()
