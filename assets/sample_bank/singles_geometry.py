"""Questions of geometry that stand alone: none uses the method of a group."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from PIL import Image

from .draw import Draw
from .figures import Picture, polar
from .knowledge import (
    CHORDS,
    INSCRIBED,
    ISOSCELES,
    PARALLEL,
    POLYGON,
    RIGHT,
    SIMILAR,
)
from .registry import single
from .values import DEGREE


def _regular_with_diagonal(r: Draw) -> list[Image.Image]:
    pic = Picture({n: polar(1, 60 * k) for k, n in enumerate("ABCDEF")}, margin=20).shape("ABCDEF").line("A", "C")
    return [pic.angle("B", "A", "C", "?", radius=18).names("ABCDEF").finish()]


def _square_with_triangle(r: Draw) -> list[Image.Image]:
    points = {"A": (0, 0), "B": (2, 0), "C": (2, 2), "D": (0, 2), "E": (1, 3**0.5)}
    pic = (
        Picture(points, size=(160, 160), margin=20)
        .shape("ABCD")
        .line("A", "E", "B")
        .angle("D", "A", "E", "?", radius=20)
    )
    return [pic.names("ABCD").finish()]


def _reflex(r: Draw) -> list[Image.Image]:
    points = {"O": (0, 0), "A": polar(1, 10), "B": polar(1, 120), "C": polar(1, 250)}
    pic = Picture(points, size=(160, 160), margin=18).line("O", "A").line("O", "B").line("O", "C")
    return [pic.angle("A", "O", "B", "110°").angle("B", "O", "C", "130°").angle("C", "O", "A", "?").finish()]


# Angles and triangles
single(
    PARALLEL,
    2,
    "Two angles have their arms parallel in pairs; one is $40^\\circ$ more than the other. How large is the smaller?",
    70,
    "Unequal ones add up to $180^\\circ$",
    lambda v: v + v + 40 == 180,
    unit=DEGREE,
)


single(
    PARALLEL,
    1,
    "Three rays start at $O$. Find the angle marked with a question mark.",
    120,
    "A full turn has $360^\\circ$",
    lambda v: v + 110 + 130 == 360,
    unit=DEGREE,
    figures=_reflex,
)


single(
    PARALLEL,
    2,
    "一个角的补角是它的余角的 3 倍，求这个角的度数。",
    45,
    "$180-x=3(90-x)$",
    lambda x: 180 - x == 3 * (90 - x),
    unit=DEGREE,
)


single(
    POLYGON,
    2,
    "How many diagonals has a convex nonagon?",
    27,
    r"$\frac{9\times 6}{2}$",
    lambda v: v == comb(9, 2) - 9,
)


single(
    POLYGON,
    3,
    "如图，正六边形 $ABCDEF$ 中，求 $\\angle BAC$ 的度数。",
    30,
    "$BA=BC$，$\\angle B=120^\\circ$",
    lambda v: 2 * v + 120 == 180,
    unit=DEGREE,
    figures=_regular_with_diagonal,
)


single(
    ISOSCELES,
    3,
    "Two sides of an isosceles triangle are $4$ and $9$. What is its perimeter?",
    22,
    "$4,4,9$ is no triangle",
    lambda v: v == 9 + 9 + 4,
    wrong=(17, 13, 26),
)


single(
    ISOSCELES,
    3,
    "An equilateral triangle is drawn inside the square on the side $AB$. Find the angle with the question mark.",
    30,
    "$90^\\circ-60^\\circ$",
    lambda v: v + 60 == 90,
    unit=DEGREE,
    figures=_square_with_triangle,
)


single(
    RIGHT,
    3,
    "直角三角形两直角边为 6 和 8，求斜边上的高。",
    Fraction(24, 5),
    r"$\frac{6\times 8}{10}$",
    lambda h: h * 10 == 6 * 8,
)


single(
    RIGHT,
    2,
    "Which of these triples can be the sides of a right triangle?",
    "$9,40,41$",
    "$81+1600=1681$",
    lambda s: s == "$9,40,41$" and 9**2 + 40**2 == 41**2,
    wrong=("$4,5,6$", "$7,8,11$", "$10,20,25$"),
)


single(
    RIGHT,
    2,
    "In a right triangle the median to the hypotenuse is $6.5$. How long is the hypotenuse?",
    13,
    "Twice the median",
    lambda v: Fraction(v) / 2 == Fraction(13, 2),
)


single(
    SIMILAR,
    3,
    "三角形的三条中位线围成的三角形周长为 15，求原三角形的周长。",
    30,
    "中位线是第三边的一半",
    lambda v: Fraction(v, 2) == 15,
)


single(
    SIMILAR,
    4,
    r"In a right triangle the altitude cuts the hypotenuse into parts $4$ and $9$. How long is the altitude?",
    6,
    "$h^2=4\\times 9$",
    lambda h: h > 0 and h * h == 36,
)


# Circles
single(
    INSCRIBED,
    2,
    "An arc is one fifth of a circle. What angle does it subtend at a point of the rest of the circle?",
    36,
    "Half of $72^\\circ$",
    lambda v: 2 * v * 5 == 360,
    unit=DEGREE,
)


single(
    INSCRIBED,
    4,
    r"$\triangle ABC$ 内接于半径为 4 的圆，$\angle A=30^\circ$，求 $BC$。",
    4,
    r"$BC=2R\sin A$",
    lambda v: v == 2 * 4 * Fraction(1, 2),
)


single(
    CHORDS,
    3,
    "Two circles of radii $7$ and $4$ touch from inside. How far apart are the centres?",
    3,
    "The difference of the radii",
    lambda v: v + 4 == 7,
    wrong=(11, 7, 4),
)


single(
    CHORDS,
    2,
    "圆的半径为 5，圆心到直线的距离为 5，则直线与圆的位置关系是什么？",
    "相切",
    "$d=r$",
    lambda s: s == "相切",
    wrong=("相交", "相离"),
)
