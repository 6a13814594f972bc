"""Questions that stand alone: geometry and statistics. None uses the method of a group."""

from __future__ import annotations

from fractions import Fraction as F
from math import comb

from PIL import Image

from . import geometry as ge
from . import measurement as me
from . import statistics as st
from .canvas import PALE
from .charts import bars, line_chart, pie
from .draw import Draw
from .figures import Picture, polar
from .registry import single
from .values import Pi, Root

DEGREE = r"^\circ"


def _regular_with_diagonal(r: Draw) -> list[Image.Image]:
    pic = Picture({n: polar(1, 60 * k) for k, n in enumerate("ABCDEF")}, margin=20).shape("ABCDEF").line("A", "C")
    return [pic.angle("B", "A", "C", "?", radius=18).names("ABCDEF").finish()]


def _square_with_triangle(r: Draw) -> list[Image.Image]:
    points = {"A": (0, 0), "B": (2, 0), "C": (2, 2), "D": (0, 2), "E": (1, 3**0.5)}
    pic = Picture(points, size=(160, 160), margin=20).shape("ABCD").line("A", "E", "B").angle("D", "A", "E", "?", radius=20)
    return [pic.names("ABCD").finish()]


def _circle_in_square(r: Draw) -> list[Image.Image]:
    points = {"A": (-1, -1), "B": (1, -1), "C": (1, 1), "D": (-1, 1), "O": (0, 0)}
    pic = Picture(points, size=(160, 160), margin=18).shape("ABCD", PALE).circle("O", 1, (255, 255, 255))
    return [pic.side("A", "B", "8").finish()]


def _reflex(r: Draw) -> list[Image.Image]:
    points = {"O": (0, 0), "A": polar(1, 10), "B": polar(1, 120), "C": polar(1, 250)}
    pic = Picture(points, size=(160, 160), margin=18).line("O", "A").line("O", "B").line("O", "C")
    return [pic.angle("A", "O", "B", "110°").angle("B", "O", "C", "130°").angle("C", "O", "A", "?").finish()]


def _two_pies(r: Draw) -> list[Image.Image]:
    first, second = [40, 35, 25], [30, 50, 20]
    # The turn of the charts keeps the figures of two questions apart.
    return [pie(v, [f"{n} {k}%" for n, k in zip("ABC", v, strict=True)], r.real(-180, 180)) for v in (first, second)]


def _two_bars(r: Draw) -> list[Image.Image]:
    first, second = [4, 5, 5, 6], [1, 3, 7, 9]
    labels = r.pick("ABCD", "PQRS", "WXYZ", "1234")
    return [bars(labels, v, [str(k) for k in v], note) for v, note in ((first, "team 1"), (second, "team 2"))]


def _climb(r: Draw) -> list[Image.Image]:
    return [line_chart(["8h", "10h", "12h", "14h", "16h"], [20, 40, 60, 80, 70], 100, 20)]


def _modes(r: Draw) -> list[Image.Image]:
    return [bars(["36", "37", "38", "39", "40"], [3, 6, 9, 7, 2], ["3", "6", "9", "7", "2"], "shoe sizes")]


# Angles and triangles
single(ge.PARALLEL, 2, "Two angles have their arms parallel in pairs; one is $40^\\circ$ more than the other. How large is the smaller?", 70,
       "Unequal ones add up to $180^\\circ$", lambda v: v + v + 40 == 180, unit=DEGREE)
single(ge.PARALLEL, 1, "Three rays start at $O$. Find the angle marked with a question mark.", 120, "A full turn has $360^\\circ$",
       lambda v: v + 110 + 130 == 360, unit=DEGREE, figures=_reflex)
single(ge.PARALLEL, 2, "一个角的补角是它的余角的 3 倍，求这个角的度数。", 45, "$180-x=3(90-x)$", lambda x: 180 - x == 3 * (90 - x), unit=DEGREE)
single(ge.POLYGON, 2, "How many diagonals has a convex nonagon?", 27, r"$\frac{9\times 6}{2}$", lambda v: v == comb(9, 2) - 9)
single(ge.POLYGON, 3, "如图，正六边形 $ABCDEF$ 中，求 $\\angle BAC$ 的度数。", 30, "$BA=BC$，$\\angle B=120^\\circ$",
       lambda v: 2 * v + 120 == 180, unit=DEGREE, figures=_regular_with_diagonal)
single(ge.ISOSCELES, 3, "Two sides of an isosceles triangle are $4$ and $9$. What is its perimeter?", 22, "$4,4,9$ is no triangle",
       lambda v: v == 9 + 9 + 4, wrong=(17, 13, 26))
single(ge.ISOSCELES, 3, "An equilateral triangle is drawn inside the square on the side $AB$. Find the angle with the question mark.", 30,
       "$90^\\circ-60^\\circ$", lambda v: v + 60 == 90, unit=DEGREE, figures=_square_with_triangle)
single(ge.RIGHT, 3, "直角三角形两直角边为 6 和 8，求斜边上的高。", F(24, 5), r"$\frac{6\times 8}{10}$", lambda h: h * 10 == 6 * 8)
single(ge.RIGHT, 2, "Which of these triples can be the sides of a right triangle?", "$9,40,41$", "$81+1600=1681$",
       lambda s: s == "$9,40,41$" and 9**2 + 40**2 == 41**2, wrong=("$4,5,6$", "$7,8,11$", "$10,20,25$"))
single(ge.RIGHT, 2, "In a right triangle the median to the hypotenuse is $6.5$. How long is the hypotenuse?", 13, "Twice the median",
       lambda v: F(v) / 2 == F(13, 2))
single(ge.SIMILAR, 3, "三角形的三条中位线围成的三角形周长为 15，求原三角形的周长。", 30, "中位线是第三边的一半", lambda v: F(v, 2) == 15)
single(ge.SIMILAR, 4, r"In a right triangle the altitude cuts the hypotenuse into parts $4$ and $9$. How long is the altitude?", 6,
       "$h^2=4\\times 9$", lambda h: h > 0 and h * h == 36)
# Circles
single(ge.INSCRIBED, 2, "An arc is one fifth of a circle. What angle does it show to a point of the rest of the circle?", 36,
       "Half of $72^\\circ$", lambda v: 2 * v * 5 == 360, unit=DEGREE)
single(ge.INSCRIBED, 4, r"$\triangle ABC$ 内接于半径为 4 的圆，$\angle A=30^\circ$，求 $BC$。", 4, r"$BC=2R\sin A$", lambda v: v == 2 * 4 * F(1, 2))
single(ge.CHORDS, 3, "Two circles of radii $7$ and $4$ touch from inside. How far apart are the centres?", 3, "The difference of the radii",
       lambda v: v + 4 == 7, wrong=(11, 7, 4))
single(ge.CHORDS, 2, "圆的半径为 5，圆心到直线的距离为 5，则直线与圆的位置关系是什么？", "相切", "$d=r$", lambda s: s == "相切", wrong=("相交", "相离"))
# Measurement
single(me.POLYGON_AREA, 2, "The parallel sides of a trapezium are $5$ and $9$, its height is $6$. Find the area.", 42, r"$\frac{5+9}{2}\times 6$",
       lambda v: 2 * v == (5 + 9) * 6)
single(me.POLYGON_AREA, 3, "边长为 4 的等边三角形面积是多少？", Root(F(4), 3), r"$\frac{\sqrt{3}}{4}\times 16$", lambda v: v.square == F(3, 16) * 256)
single(me.CIRCLE_AREA, 3, "The circle touches all sides of the square with side $8$. What area is shaded?", r"$64-16\pi$",
       r"The square without the circle", lambda s: s == r"$64-16\pi$" and 8 * 8 == 64 and 4 * 4 == 16,
       wrong=(r"$64-8\pi$", r"$16\pi$", r"$64-64\pi$"), figures=_circle_in_square)
single(me.CIRCLE_AREA, 2, "车轮直径为 0.5 米，滚动 100 圈前进多少米？（保留 $\\pi$）", Pi(F(50)), r"$100\times 0.5\pi$", lambda v: v.factor == 100 * F(1, 2))
single(me.VOLUME, 3, "A ball has the radius $3$. What is its volume in terms of $\\pi$?", Pi(F(36)), r"$\frac{4}{3}\pi r^3$",
       lambda v: v.factor * 3 == 4 * 27)
single(me.VOLUME, 2, "把棱长 6 厘米的正方体切成棱长 2 厘米的小正方体，可以切成多少个？", 27, "$3^3$", lambda n: n * 2**3 == 6**3)
single(me.SURFACE, 3, "All edges of a cube are tripled. By what factor does its surface grow?", 9, "Areas go with the square", lambda k: k == 3**2,
       wrong=(3, 6, 27))
single(me.SURFACE, 4, "圆锥底面半径为 3，母线长为 5，求侧面积（保留 $\\pi$）。", Pi(F(15)), r"$\pi rl$", lambda v: v.factor == 3 * 5)
single(me.DISTANCE, 2, "Which point of the $x$-axis is equally far from $(1,3)$ and $(5,3)$?", (3, 0), "It lies on $x=3$",
       lambda v: v[1] == 0 and (v[0] - 1) ** 2 == (v[0] - 5) ** 2)
single(me.DISTANCE, 3, "点 $P(3,-4)$ 到 $y$ 轴的距离是多少？", 3, "横坐标的绝对值", lambda v: v == abs(3), wrong=(4, 5, -3))
single(me.MOVES, 2, "A point moves $3$ to the left and $4$ up and arrives at $(1,1)$. Where did it start?", (4, -3), "Go back",
       lambda v: (v[0] - 3, v[1] + 4) == (1, 1))
single(me.MOVES, 1, "下列图形中，对称轴最多的是哪一个？", "圆", "圆有无数条对称轴", lambda s: s == "圆", wrong=("正方形", "等边三角形", "矩形"))
# Statistics
single(st.MEAN, 2, "Every value of a data set with mean $12$ is raised by $5$ and then doubled. What is the new mean?", 34, "$2(12+5)$",
       lambda v: F(v, 2) - 5 == 12)
single(st.MEAN, 3, "去掉一个最高分 98 和一个最低分 74 后，其余 8 个评委的平均分为 88，求 10 个评委的平均分。", F(438, 5),
       r"$\frac{8\times 88+98+74}{10}$", lambda v: 10 * v == 8 * 88 + 98 + 74)
single(st.SPREAD, 2, "Which shoe size is the mode of the sales in the chart?", 38, "The highest bar", lambda v: v == 38, figures=_modes)
single(st.SPREAD, 3, "Two teams have the same mean. Which of the charts shows the more even results, $1$ or $2$?", 1,
       "Team 1 stays near its mean", lambda v: v == 1, figures=_two_bars)
single(st.BARS, 1, "图一、图二是两队四场比赛的得分，第二队的总得分是多少？", 20, "$1+3+7+9$", lambda v: v == 1 + 3 + 7 + 9, figures=_two_bars)
single(st.PIES, 3, "The first chart is of $200$ girls, the second of $300$ boys. How many more boys than girls chose B?", 80,
       "$150-70$", lambda v: v == 300 * 50 // 100 - 200 * 35 // 100, figures=_two_pies)
single(st.PIES, 2, "两个扇形图中，B 的百分比相差多少个百分点？", 15, "$50-35$", lambda v: v == 50 - 35, figures=_two_pies)
single(st.LINES, 2, "The line shows the walked distance in per cent of a hike. When was three fifths reached, at which hour?", 12,
       r"$\frac{3}{5}=60\%$", lambda v: v == 12, figures=_climb)
single(st.CHANCE, 2, "掷一枚均匀的骰子，点数大于 4 的概率是多少？", F(1, 3), "点数为 $5,6$", lambda p: p * 6 == sum(k > 4 for k in range(1, 7)))
single(st.CHANCE, 3, "A point is chosen at random in a square of side $4$. How likely is it nearer than $1$ to a given corner?", r"$\frac{\pi}{64}$",
       "A quarter disc of radius $1$ over $16$", lambda s: s == r"$\frac{\pi}{64}$" and 4 * 16 == 64, wrong=(r"$\frac{\pi}{16}$", r"$\frac{1}{16}$", r"$\frac{\pi}{4}$"))
single(st.DRAWS, 3, "Two dice are thrown. What is the probability of the sum $7$?", F(1, 6), r"$\frac{6}{36}$",
       lambda p: p * 36 == sum(a + b == 7 for a in range(1, 7) for b in range(1, 7)))
single(st.DRAWS, 3, "同时抛三枚硬币，恰有两枚正面朝上的概率是多少？", F(3, 8), r"$\frac{3}{2^3}$", lambda p: p * 2**3 == comb(3, 2))
single(st.COUNTING, 2, "A code has one letter out of $5$ and then two different digits. How many codes are there?", 450, "$5\\times 10\\times 9$",
       lambda n: n == 5 * 10 * 9)
single(st.COUNTING, 3, "从 1 到 100 的整数中，能被 2 或 5 整除的有多少个？", 60, "$50+20-10$",
       lambda n: n == sum(k % 2 == 0 or k % 5 == 0 for k in range(1, 101)))
single(st.SAMPLES, 2, "To learn about all $2000$ students of a school, $120$ are questioned. What is the sample size?", 120, "The number questioned",
       lambda n: n == 120, wrong=(2000, 1880, 1))
single(st.SAMPLES, 2, "了解一批灯泡的使用寿命，宜采用哪种调查方式？", "抽样调查", "调查具有破坏性", lambda s: s == "抽样调查", wrong=("普查",))
