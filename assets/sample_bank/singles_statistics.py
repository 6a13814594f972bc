"""Questions of statistics that stand alone."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from PIL import Image

from .charts import bars, line_chart, pie
from .draw import Draw
from .knowledge import BARS, CHANCE, COUNTING, DRAWS, LINES, MEAN, PIES, SAMPLES, SPREAD
from .registry import single
from .values import Pi


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


# Statistics
single(
    MEAN,
    2,
    "Every value of a data set with mean $12$ is raised by $5$ and then doubled. What is the new mean?",
    34,
    "$2(12+5)$",
    lambda v: Fraction(v, 2) - 5 == 12,
)


single(
    MEAN,
    3,
    "去掉一个最高分 98 和一个最低分 74 后，其余 8 个评委的平均分为 88，求 10 个评委的平均分。",
    Fraction(438, 5),
    r"$\frac{8\times 88+98+74}{10}$",
    lambda v: 10 * v == 8 * 88 + 98 + 74,
)


single(
    SPREAD,
    2,
    "Which shoe size is the mode of the sales in the chart?",
    38,
    "The highest bar",
    lambda v: v == 38,
    figures=_modes,
)


single(
    SPREAD,
    3,
    "Two teams have the same mean. Which of the charts shows the more even results, $1$ or $2$?",
    1,
    "Team 1 stays near its mean",
    lambda v: v == 1,
    figures=_two_bars,
)


single(
    BARS,
    1,
    "图一、图二是两队四场比赛的得分，第二队的总得分是多少？",
    20,
    "$1+3+7+9$",
    lambda v: v == 1 + 3 + 7 + 9,
    figures=_two_bars,
)


single(
    PIES,
    3,
    "The first chart is of $200$ girls, the second of $300$ boys. How many more boys than girls chose B?",
    80,
    "$150-70$",
    lambda v: v == 300 * 50 // 100 - 200 * 35 // 100,
    figures=_two_pies,
)


single(PIES, 2, "两个扇形图中，B 的百分比相差多少个百分点？", 15, "$50-35$", lambda v: v == 50 - 35, figures=_two_pies)


single(
    LINES,
    2,
    "The line shows the walked distance in per cent of a hike. When was three fifths reached, at which hour?",
    12,
    r"$\frac{3}{5}=60\%$",
    lambda v: v == 12,
    figures=_climb,
)


single(
    CHANCE,
    2,
    "掷一枚均匀的骰子，点数大于 4 的概率是多少？",
    Fraction(1, 3),
    "点数为 $5,6$",
    lambda p: p * 6 == sum(k > 4 for k in range(1, 7)),
)


single(
    CHANCE,
    3,
    "A point is chosen at random in a square of side $4$. How likely is it nearer than $1$ to a given corner?",
    Pi(Fraction(1, 64)),
    "A quarter disc of radius $1$ over $16$",
    lambda p: p == Pi(Fraction(1, 4) / 4**2),
    wrong=(Pi(Fraction(1, 16)), Fraction(1, 16), Pi(Fraction(1, 4))),
)


single(
    DRAWS,
    3,
    "Two dice are thrown. What is the probability of the sum $7$?",
    Fraction(1, 6),
    r"$\frac{6}{36}$",
    lambda p: p * 36 == sum(a + b == 7 for a in range(1, 7) for b in range(1, 7)),
)


single(
    DRAWS,
    3,
    "同时抛三枚硬币，恰有两枚正面朝上的概率是多少？",
    Fraction(3, 8),
    r"$\frac{3}{2^3}$",
    lambda p: p * 2**3 == comb(3, 2),
)


single(
    COUNTING,
    2,
    "A code has one letter out of $5$ and then two different digits. How many codes are there?",
    450,
    "$5\\times 10\\times 9$",
    lambda n: n == 5 * 10 * 9,
)


single(
    COUNTING,
    3,
    "从 1 到 100 的整数中，能被 2 或 5 整除的有多少个？",
    60,
    "$50+20-10$",
    lambda n: n == sum(k % 2 == 0 or k % 5 == 0 for k in range(1, 101)),
)


single(
    SAMPLES,
    2,
    "To learn about all $2000$ students of a school, $120$ are questioned. What is the sample size?",
    120,
    "The number questioned",
    lambda n: n == 120,
    wrong=(2000, 1880, 1),
)


single(
    SAMPLES,
    2,
    "了解一批灯泡的使用寿命，宜采用哪种调查方式？",
    "抽样调查",
    "调查具有破坏性",
    lambda s: s == "抽样调查",
    wrong=("普查",),
)
