"""Questions about functions that stand alone."""

from __future__ import annotations

import math
from fractions import Fraction

from PIL import Image

from .charts import Graph
from .draw import Draw
from .knowledge import (
    CONCEPT,
    CROSSING,
    EXPONENTIAL,
    FORMS,
    LOGARITHM,
    PROPORTIONAL,
    RATIOS,
    RIGHT_RATIOS,
    SLOPE,
    VERTEX,
    WAVES,
)
from .registry import single


def _hyperbola(r: Draw) -> list[Image.Image]:
    graph = Graph((-0.8, 6), (-0.8, 6)).plot(lambda x: 6 / x, (1.02, 6)).dashed((2, 0), (2, 3), (0, 3))
    return [graph.point(2, 3, "P(2, 3)", (26, -8)).finish()]


def _two_lines(r: Draw) -> list[Image.Image]:
    graph = Graph((-1, 6), (-1, 6)).plot(lambda x: x).plot(lambda x: 4.0 - x / 3 if x >= 0 else 99)
    return [graph.dashed((3, 0), (3, 3)).point(3, 3).point(3, 0, "3", (0, 12), mark=False).finish()]


def _steps(r: Draw) -> list[Image.Image]:
    graph = Graph((-0.5, 6), (-0.5, 6)).grid()
    return [graph.line((0, 0), (2, 4), (4, 4), (5.5, 1)).point(2, 4).point(4, 4).finish()]


def _axis(r: Draw) -> list[Image.Image]:
    graph = Graph((-4, 3), (-4, 4)).grid().plot(lambda x: (x + 1) ** 2 - 3)
    return [graph.point(-1, -3, "S", (11, 9)).finish()]


# Functions
single(
    SLOPE,
    2,
    "Which slope has a line perpendicular to $y=\\frac{2}{3}x+1$?",
    Fraction(-3, 2),
    "The product of the slopes is $-1$",
    lambda k: k * Fraction(2, 3) == -1,
    wrong=(Fraction(3, 2), Fraction(2, 3), Fraction(-2, 3)),
)


single(
    CROSSING,
    3,
    "For which $x$ is the rising line of the figure above the falling one?",
    "$x>3$",
    "They cross at $x=3$",
    lambda s: s == "$x>3$",
    wrong=("$x<3$", "$x>0$", "$0<x<3$"),
    figures=_two_lines,
)


single(
    CROSSING,
    3,
    "直线 $y=2x+1$、$y=-x+7$ 与 $y=kx-1$ 交于一点，求 $k$。",
    3,
    "前两条交于 $(2,5)$",
    lambda k: k * 2 - 1 == 5,
)


single(
    PROPORTIONAL,
    2,
    "The curve in the figure belongs to $y=\\frac{k}{x}$. Find $k$.",
    6,
    "$k=2\\times 3$",
    lambda k: Fraction(k, 2) == 3,
    figures=_hyperbola,
)


single(
    PROPORTIONAL,
    2,
    "$y$ 与 $x^2$ 成正比例，$x=2$ 时 $y=12$，求 $x=5$ 时 $y$ 的值。",
    75,
    "$y=3x^2$",
    lambda y: Fraction(y, 25) == Fraction(12, 4),
)


single(
    VERTEX,
    2,
    "Read the vertex $S$ of the parabola off the grid (unit squares).",
    (-1, -3),
    "The lowest point of the curve",
    lambda v: v == (-1, -3),
    figures=_axis,
)


single(
    VERTEX,
    4,
    "抛物线 $y=x^2-2mx+5$ 的对称轴是 $x=3$，则 $m=$ ______。",
    3,
    "对称轴为 $x=m$",
    lambda m: Fraction(2 * m, 2) == 3,
)


single(
    FORMS,
    4,
    "For which $x$ is $x^2-5x+6$ negative?",
    "$2<x<3$",
    "Between the zeros $2$ and $3$",
    lambda s: s == "$2<x<3$" and Fraction(25, 4) - Fraction(25, 2) + 6 < 0,
    wrong=("$x<2$", "$x>3$", "$-3<x<-2$"),
)


single(
    EXPONENTIAL,
    2,
    "比较大小：$2^{30}$ 与 $3^{20}$，较大的是哪一个？",
    "$3^{20}$",
    "$2^{30}=8^{10}<9^{10}=3^{20}$",
    lambda s: s == "$3^{20}$" and 3**20 > 2**30,
    wrong=("$2^{30}$",),
)


single(
    EXPONENTIAL,
    3,
    "The curve $y=b\\cdot a^x$ with $a>0$ contains $(0,3)$ and $(2,75)$. Find $a$.",
    5,
    "$b=3$, $a^2=25$",
    lambda a: a > 0 and 3 * a * a == 75,
)


single(LOGARITHM, 2, r"What is $\log_8 4$?", Fraction(2, 3), "$8^{x}=4$ means $2^{3x}=2^2$", lambda x: 3 * x == 2)


single(
    LOGARITHM,
    4,
    r"已知 $\log_2 3=a$，用 $a$ 表示 $\log_2 12$。",
    "$a+2$",
    r"$\log_2 12=\log_2 3+\log_2 4$",
    lambda s: s == "$a+2$" and math.isclose(math.log2(12), math.log2(3) + 2),
    wrong=("$2a$", "$4a$", "$a+4$"),
)


single(
    RATIOS,
    4,
    r"Given $\tan\alpha=2$, evaluate $\frac{\sin\alpha+\cos\alpha}{\sin\alpha-\cos\alpha}$.",
    3,
    r"Divide by $\cos\alpha$: $\frac{2+1}{2-1}$",
    lambda v: v * (2 - 1) == 2 + 1,
)


single(
    RATIOS,
    3,
    r"求 $\sin 15^\circ\cos 15^\circ$ 的值。",
    Fraction(1, 4),
    r"$\frac{1}{2}\sin 30^\circ$",
    lambda v: math.isclose(math.sin(math.pi / 12) * math.cos(math.pi / 12), v),
)


single(
    WAVES,
    3,
    r"How many degrees is the period of $y=\sin 3x$?",
    120,
    r"$\frac{360^\circ}{3}$",
    lambda v: 3 * v == 360,
    unit=r"^\circ",
)


single(
    WAVES,
    4,
    r"把 $y=\sin x$ 的图象向左平移 $90^\circ$，得到哪个函数的图象？",
    r"$y=\cos x$",
    r"$\sin(x+90^\circ)=\cos x$",
    lambda s: s == r"$y=\cos x$",
    wrong=(r"$y=-\cos x$", r"$y=-\sin x$", r"$y=\tan x$"),
)


single(
    RIGHT_RATIOS,
    2,
    r"In $\triangle ABC$ with $\angle C=90^\circ$, $AB=10$ and $\sin A=\frac{3}{5}$, find $BC$.",
    6,
    r"$BC=10\times\frac{3}{5}$",
    lambda v: Fraction(v, 10) == Fraction(3, 5),
)


single(
    RIGHT_RATIOS,
    3,
    r"斜坡的坡度为 $1:\sqrt{3}$，则坡角为多少度？",
    30,
    r"$\tan\alpha=\frac{1}{\sqrt{3}}$",
    lambda v: math.isclose(math.tan(math.radians(v)), 3**-0.5),
    unit=r"^\circ",
)


single(
    CONCEPT,
    2,
    "The graph shows $f$ on a grid of unit squares. What is $f(3)$?",
    4,
    "Go up from $x=3$ to the graph",
    lambda v: v == 4,
    figures=_steps,
)


single(CONCEPT, 3, "已知 $f(x)$ 是奇函数，$f(2)=5$，求 $f(-2)$。", -5, "$f(-x)=-f(x)$", lambda v: v == -5)
