"""Questions of algebra that stand alone: none uses the method of a group."""

from __future__ import annotations

import math
from fractions import Fraction

from PIL import Image

from .charts import number_line
from .draw import Draw
from .knowledge import (
    ARITHMETIC,
    GEOMETRIC,
    IDENTITIES,
    INEQUALITY,
    LINEAR,
    NUMBER_LINE,
    POWERS,
    QUADRATIC,
    RANGES,
    SYSTEMS,
)
from .registry import single
from .values import Root


def _mirror_line(r: Draw) -> list[Image.Image]:
    return [number_line([(0.1, "a", ""), (0.5, "", "0"), (0.75, "b", "")])]


def _root_spot(r: Draw) -> list[Image.Image]:
    marks = [(0.15, "A", ""), (0.4, "B", ""), (0.65, "C", ""), (0.92, "D", "")]
    return [number_line([*marks, (0.0, "", "2"), (0.5, "", "3"), (1.0, "", "4")])]


# Equations and inequalities
single(
    LINEAR,
    2,
    "For which value of $m$ is $x=3$ a solution of $mx-7=2x+m$?",
    Fraction(13, 2),
    "Put $x=3$ in: $3m-7=6+m$, so $m=\\frac{13}{2}$",
    lambda m: 3 * m - 7 == 6 + m,
)


single(
    LINEAR,
    3,
    "若关于 $x$ 的方程 $(a-2)x^{|a|-1}+5=0$ 是一元一次方程，求 $a$ 的值。",
    -2,
    "由 $|a|-1=1$ 且 $a-2\\ne 0$，得 $a=-2$",
    lambda a: abs(a) - 1 == 1 and a != 2,
)


single(
    LINEAR,
    3,
    r"The equation $|2x-5|=9$ has two solutions. What is their product?",
    -14,
    "$2x-5=9$ or $2x-5=-9$ gives $7$ and $-2$",
    lambda p: p == Fraction(9 + 5, 2) * Fraction(-9 + 5, 2),
)


single(
    SYSTEMS,
    3,
    r"For what $k$ has $\begin{cases}2x-3y=4\\6x+ky=1\end{cases}$ no solution?",
    -9,
    "The left sides must be proportional: $\\frac{2}{6}=\\frac{-3}{k}$",
    lambda k: 2 * k == -3 * 6,
)


single(
    SYSTEMS,
    4,
    r"已知 $x+y=5$，$y+z=7$，$z+x=6$，求 $x+y+z$。",
    9,
    "三式相加得 $2(x+y+z)=18$",
    lambda s: 2 * s == 5 + 7 + 6,
)


single(
    QUADRATIC,
    3,
    "One root of $x^2+px-12=0$ is $3$. What is the other?",
    -4,
    "The product of the roots is $-12$",
    lambda v: 3 * v == -12,
)


single(
    QUADRATIC,
    4,
    "解方程 $x^4-5x^2+4=0$，它共有几个实数根？",
    4,
    "设 $t=x^2$，$t=1$ 或 $t=4$，所以 $x=\\pm 1,\\pm 2$",
    lambda n: n == sum(x**4 - 5 * x * x + 4 == 0 for x in range(-9, 10)),
    wrong=(1, 2, 3),
)


single(
    INEQUALITY,
    2,
    r"Dividing $-3x<12$ by $-3$ gives which inequality?",
    "$x>-4$",
    "Dividing by a negative number turns the sign",
    lambda s: s == "$x>-4$" and all((-3 * x < 12) == (x > -4) for x in range(-20, 20)),
    wrong=("$x<-4$", "$x>4$", "$x<4$"),
)


single(
    INEQUALITY,
    3,
    "若关于 $x$ 的不等式 $(a-1)x>a-1$ 的解集为 $x<1$，则 $a$ 的取值范围是什么？",
    "$a<1$",
    "不等号改变方向，所以 $a-1<0$",
    lambda s: s == "$a<1$" and Fraction(1, 2) - 1 < 0,
    wrong=("$a>1$", "$a>0$", "$a<0$"),
)


single(
    RANGES,
    3,
    "Three sides of a triangle are $4$, $9$ and a whole number $n$. How many values can $n$ take?",
    7,
    "$9-4<n<9+4$",
    lambda k: k == sum(9 - 4 < n < 9 + 4 for n in range(50)),
)


single(
    RANGES,
    4,
    r"若不等式组 $\begin{cases}x>2\\x<m\end{cases}$ 无解，求 $m$ 的最大值。",
    2,
    "无解时 $m\\le 2$",
    lambda m: m == 2,
)


# Numbers and expressions
single(
    IDENTITIES,
    2,
    "Factorise $3x^2-12$ completely.",
    "$3(x+2)(x-2)$",
    "Take out $3$, then use the difference of squares",
    lambda s: s == "$3(x+2)(x-2)$" and all(3 * x * x - 12 == 3 * (x + 2) * (x - 2) for x in range(9)),
    wrong=("$3(x-2)^2$", "$(3x+6)(x-2)$", "$3(x^2-4)$"),
)


single(
    IDENTITIES,
    4,
    "若 $x^2-x-1=0$，求 $x^3-2x+1$ 的值。",
    2,
    "$x^3=x^2+x=2x+1$，代入得 $2$",
    lambda v: math.isclose(((1 + 5**0.5) / 2) ** 3 - (1 + 5**0.5) + 1, v),
)


single(
    IDENTITIES,
    3,
    r"Simplify $\frac{x^2-9}{x^2+6x+9}$ and give its value at $x=5$.",
    Fraction(1, 4),
    r"$\frac{x-3}{x+3}=\frac{2}{8}$",
    lambda v: v * (25 + 30 + 9) == 25 - 9,
)


single(
    POWERS,
    2,
    r"Write $\frac{6}{\sqrt{3}}$ without a root in the denominator.",
    Root(Fraction(2), 3),
    r"Multiply above and below by $\sqrt{3}$",
    lambda v: v.square == Fraction(36, 3),
)


single(
    POWERS,
    2,
    r"用科学记数法表示 $0.00052$ 时写成 $5.2\times 10^{n}$，则 $n=$ ______。",
    -4,
    "小数点右移 $4$ 位",
    lambda n: Fraction(52, 10) * Fraction(10) ** int(n) == Fraction(52, 100000),
)


single(
    NUMBER_LINE,
    2,
    r"Between which two neighbouring whole numbers does $\sqrt{30}$ lie? Give the smaller one.",
    5,
    "$25<30<36$",
    lambda n: n * n < 30 < (n + 1) ** 2,
)


single(
    NUMBER_LINE,
    3,
    "数 $a,b$ 在数轴上的位置如图所示，化简 $|a|-|b|+|a-b|$。",
    "$-2a$",
    "$a<0<b$，原式 $=-a-b+(b-a)=-2a$",
    lambda s: s == "$-2a$" and abs(-4) - abs(2) + abs(-4 - 2) == -2 * -4,
    wrong=("$2b$", "$0$", "$-2a+2b$"),
    figures=_mirror_line,
)


single(
    NUMBER_LINE,
    2,
    r"Which of the marked points is nearest to $\sqrt{8}$?",
    "B",
    r"$\sqrt{8}\approx 2.83$",
    lambda s: min((abs(2 + 2 * p - 8**0.5), n) for n, p in zip("ABCD", (0.15, 0.4, 0.65, 0.92), strict=True))[1] == s,
    wrong=("A", "C", "D"),
    figures=_root_spot,
)


# Sequences
single(ARITHMETIC, 3, "等差数列 $\\{a_n\\}$ 中，$a_3+a_9=20$，求 $a_6$。", 10, "$a_3+a_9=2a_6$", lambda v: 2 * v == 20)


single(
    ARITHMETIC,
    2,
    "How many multiples of $7$ lie between $100$ and $300$?",
    28,
    "From $105$ to $294$",
    lambda n: n == sum(k % 7 == 0 for k in range(101, 300)),
)


single(
    GEOMETRIC,
    4,
    r"What is the sum $1+\frac{1}{3}+\frac{1}{9}+\cdots$ of infinitely many terms?",
    Fraction(3, 2),
    r"$\frac{1}{1-\frac{1}{3}}$",
    lambda s: s == 1 + s / 3,
)


single(GEOMETRIC, 3, "若 $2,x,18$ 成等比数列且 $x>0$，求 $x$。", 6, "$x^2=36$", lambda x: x > 0 and x * x == 36)
