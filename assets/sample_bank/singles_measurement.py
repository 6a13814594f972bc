"""Questions about areas, solids and coordinates that stand alone."""

from __future__ import annotations

from fractions import Fraction

from PIL import Image

from .canvas import PALE
from .draw import Draw
from .figures import Picture
from .knowledge import (
    CIRCLE_AREA,
    DISTANCE,
    MOVES,
    POLYGON_AREA,
    SURFACE,
    VOLUME,
)
from .registry import single
from .values import Pi, Root


def _circle_in_square(r: Draw) -> list[Image.Image]:
    points = {"A": (-1, -1), "B": (1, -1), "C": (1, 1), "D": (-1, 1), "O": (0, 0)}
    pic = Picture(points, size=(160, 160), margin=18).shape("ABCD", PALE).circle("O", 1, (255, 255, 255))
    return [pic.side("A", "B", "8").finish()]


# Measurement
single(
    POLYGON_AREA,
    2,
    "The parallel sides of a trapezium are $5$ and $9$, its height is $6$. Find the area.",
    42,
    r"$\frac{5+9}{2}\times 6$",
    lambda v: 2 * v == (5 + 9) * 6,
)


single(
    POLYGON_AREA,
    3,
    "边长为 4 的等边三角形面积是多少？",
    Root(Fraction(4), 3),
    r"$\frac{\sqrt{3}}{4}\times 16$",
    lambda v: v.square == Fraction(3, 16) * 256,
)


single(
    CIRCLE_AREA,
    3,
    "The circle touches all sides of the square with side $8$. What area is shaded?",
    r"$64-16\pi$",
    r"The square without the circle",
    lambda s: s == r"$64-16\pi$" and 8 * 8 == 64 and 4 * 4 == 16,
    wrong=(r"$64-8\pi$", r"$16\pi$", r"$64-64\pi$"),
    figures=_circle_in_square,
)


single(
    CIRCLE_AREA,
    2,
    "车轮直径为 0.5 米，滚动 100 圈前进多少米？（保留 $\\pi$）",
    Pi(Fraction(50)),
    r"$100\times 0.5\pi$",
    lambda v: v.factor == 100 * Fraction(1, 2),
)


single(
    VOLUME,
    3,
    "A ball has the radius $3$. What is its volume in terms of $\\pi$?",
    Pi(Fraction(36)),
    r"$\frac{4}{3}\pi r^3$",
    lambda v: v.factor * 3 == 4 * 27,
)


single(
    VOLUME,
    2,
    "把棱长 6 厘米的正方体切成棱长 2 厘米的小正方体，可以切成多少个？",
    27,
    "$3^3$",
    lambda n: n * 2**3 == 6**3,
)


single(
    SURFACE,
    3,
    "All edges of a cube are tripled. By what factor does its surface grow?",
    9,
    "Areas go with the square",
    lambda k: k == 3**2,
    wrong=(3, 6, 27),
)


single(
    SURFACE,
    4,
    "圆锥底面半径为 3，母线长为 5，求侧面积（保留 $\\pi$）。",
    Pi(Fraction(15)),
    r"$\pi rl$",
    lambda v: v.factor == 3 * 5,
)


single(
    DISTANCE,
    2,
    "Which point of the $x$-axis is equally far from $(1,3)$ and $(5,3)$?",
    (3, 0),
    "It lies on $x=3$",
    lambda v: v[1] == 0 and (v[0] - 1) ** 2 == (v[0] - 5) ** 2,
)


single(
    DISTANCE, 3, "点 $P(3,-4)$ 到 $y$ 轴的距离是多少？", 3, "横坐标的绝对值", lambda v: v == abs(3), wrong=(4, 5, -3)
)


single(
    MOVES,
    2,
    "A point moves $3$ to the left and $4$ up and arrives at $(1,1)$. Where did it start?",
    (4, -3),
    "Go back",
    lambda v: (v[0] - 3, v[1] + 4) == (1, 1),
)


single(
    MOVES,
    1,
    "下列图形中，对称轴最多的是哪一个？",
    "圆",
    "圆有无数条对称轴",
    lambda s: s == "圆",
    wrong=("正方形", "等边三角形", "矩形"),
)
