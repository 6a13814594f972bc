"""Questions that stand alone: algebra, functions and word problems. None uses the method of a group."""

from __future__ import annotations

import math
from fractions import Fraction as F

from PIL import Image

from . import algebra as al
from . import functions as fn
from . import words as wp
from .charts import Graph, number_line
from .draw import Draw
from .registry import single
from .values import Root

NUMBER_LINE = ("Algebra", "Numbers and expressions", "Number line")
PROPORTIONAL = ("Functions", "Linear functions", "Proportional graphs")
RIGHT_RATIOS = ("Functions", "Trigonometry", "Right-triangle ratios")


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


def _mirror_line(r: Draw) -> list[Image.Image]:
    return [number_line([(0.1, "a", ""), (0.5, "", "0"), (0.75, "b", "")])]


def _root_spot(r: Draw) -> list[Image.Image]:
    marks = [(0.15, "A", ""), (0.4, "B", ""), (0.65, "C", ""), (0.92, "D", "")]
    return [number_line([*marks, (0.0, "", "2"), (0.5, "", "3"), (1.0, "", "4")])]


# Equations and inequalities
single(al.LINEAR, 2, "For which value of $m$ is $x=3$ a solution of $mx-7=2x+m$?", F(13, 2),
       "Put $x=3$ in: $3m-7=6+m$, so $m=\\frac{13}{2}$", lambda m: 3 * m - 7 == 6 + m)
single(al.LINEAR, 3, "若关于 $x$ 的方程 $(a-2)x^{|a|-1}+5=0$ 是一元一次方程，求 $a$ 的值。", -2,
       "由 $|a|-1=1$ 且 $a-2\\ne 0$，得 $a=-2$", lambda a: abs(a) - 1 == 1 and a != 2)
single(al.LINEAR, 3, r"The equation $|2x-5|=9$ has two solutions. What is their product?", -14,
       "$2x-5=9$ or $2x-5=-9$ gives $7$ and $-2$", lambda p: p == F(9 + 5, 2) * F(-9 + 5, 2))
single(al.SYSTEMS, 3, r"For what $k$ has $\begin{cases}2x-3y=4\\6x+ky=1\end{cases}$ no solution?", -9,
       "The left sides must be proportional: $\\frac{2}{6}=\\frac{-3}{k}$", lambda k: 2 * k == -3 * 6)
single(al.SYSTEMS, 4, r"已知 $x+y=5$，$y+z=7$，$z+x=6$，求 $x+y+z$。", 9, "三式相加得 $2(x+y+z)=18$",
       lambda s: 2 * s == 5 + 7 + 6)
single(al.QUADRATIC, 3, "One root of $x^2+px-12=0$ is $3$. What is the other?", -4, "The product of the roots is $-12$",
       lambda v: 3 * v == -12)
single(al.QUADRATIC, 4, "解方程 $x^4-5x^2+4=0$，它共有几个实数根？", 4, "设 $t=x^2$，$t=1$ 或 $t=4$，所以 $x=\\pm 1,\\pm 2$",
       lambda n: n == sum(x**4 - 5 * x * x + 4 == 0 for x in range(-9, 10)), wrong=(1, 2, 3))
single(al.INEQUALITY, 2, r"Dividing $-3x<12$ by $-3$ gives which inequality?", "$x>-4$", "Dividing by a negative number turns the sign",
       lambda s: s == "$x>-4$" and all((-3 * x < 12) == (x > -4) for x in range(-20, 20)), wrong=("$x<-4$", "$x>4$", "$x<4$"))
single(al.INEQUALITY, 3, "若关于 $x$ 的不等式 $(a-1)x>a-1$ 的解集为 $x<1$，则 $a$ 的取值范围是什么？", "$a<1$",
       "不等号改变方向，所以 $a-1<0$", lambda s: s == "$a<1$" and F(1, 2) - 1 < 0, wrong=("$a>1$", "$a>0$", "$a<0$"))
single(al.RANGES, 3, "Three sides of a triangle are $4$, $9$ and a whole number $n$. How many values can $n$ take?", 7,
       "$9-4<n<9+4$", lambda k: k == sum(9 - 4 < n < 9 + 4 for n in range(50)))
single(al.RANGES, 4, r"若不等式组 $\begin{cases}x>2\\x<m\end{cases}$ 无解，求 $m$ 的最大值。", 2, "无解时 $m\\le 2$", lambda m: m == 2)
# Numbers and expressions
single(al.IDENTITIES, 2, "Factorise $3x^2-12$ completely.", "$3(x+2)(x-2)$", "Take out $3$, then use the difference of squares",
       lambda s: s == "$3(x+2)(x-2)$" and all(3 * x * x - 12 == 3 * (x + 2) * (x - 2) for x in range(9)),
       wrong=("$3(x-2)^2$", "$(3x+6)(x-2)$", "$3(x^2-4)$"))
single(al.IDENTITIES, 4, "若 $x^2-x-1=0$，求 $x^3-2x+1$ 的值。", 2, "$x^3=x^2+x=2x+1$，代入得 $2$",
       lambda v: math.isclose(((1 + 5**0.5) / 2) ** 3 - (1 + 5**0.5) + 1, v))
single(al.IDENTITIES, 3, r"Simplify $\frac{x^2-9}{x^2+6x+9}$ and give its value at $x=5$.", F(1, 4),
       r"$\frac{x-3}{x+3}=\frac{2}{8}$", lambda v: v * (25 + 30 + 9) == 25 - 9)
single(al.POWERS, 2, r"Write $\frac{6}{\sqrt{3}}$ without a root in the denominator.", Root(F(2), 3), r"Multiply above and below by $\sqrt{3}$",
       lambda v: v.square == F(36, 3))
single(al.POWERS, 2, r"用科学记数法表示 $0.00052$ 时写成 $5.2\times 10^{n}$，则 $n=$ ______。", -4, "小数点右移 $4$ 位",
       lambda n: F(52, 10) * F(10) ** int(n) == F(52, 100000))
single(NUMBER_LINE, 2, r"Between which two neighbouring whole numbers does $\sqrt{30}$ lie? Give the smaller one.", 5,
       "$25<30<36$", lambda n: n * n < 30 < (n + 1) ** 2)
single(NUMBER_LINE, 3, "数 $a,b$ 在数轴上的位置如图所示，化简 $|a|-|b|+|a-b|$。", "$-2a$",
       "$a<0<b$，原式 $=-a-b+(b-a)=-2a$", lambda s: s == "$-2a$" and abs(-4) - abs(2) + abs(-4 - 2) == -2 * -4,
       wrong=("$2b$", "$0$", "$-2a+2b$"), figures=_mirror_line)
single(NUMBER_LINE, 2, r"Which of the marked points is nearest to $\sqrt{8}$?", "B", r"$\sqrt{8}\approx 2.83$",
       lambda s: min((abs(2 + 2 * p - 8**0.5), n) for n, p in zip("ABCD", (0.15, 0.4, 0.65, 0.92), strict=True))[1] == s,
       wrong=("A", "C", "D"), figures=_root_spot)
# Sequences
single(al.ARITHMETIC, 3, "等差数列 $\\{a_n\\}$ 中，$a_3+a_9=20$，求 $a_6$。", 10, "$a_3+a_9=2a_6$", lambda v: 2 * v == 20)
single(al.ARITHMETIC, 2, "How many multiples of $7$ lie between $100$ and $300$?", 28, "From $105$ to $294$",
       lambda n: n == sum(k % 7 == 0 for k in range(101, 300)))
single(al.GEOMETRIC, 4, r"What is the sum $1+\frac{1}{3}+\frac{1}{9}+\cdots$ of infinitely many terms?", F(3, 2),
       r"$\frac{1}{1-\frac{1}{3}}$", lambda s: s == 1 + s / 3)
single(al.GEOMETRIC, 3, "若 $2,x,18$ 成等比数列且 $x>0$，求 $x$。", 6, "$x^2=36$", lambda x: x > 0 and x * x == 36)
# Functions
single(fn.SLOPE, 2, "Which slope has a line perpendicular to $y=\\frac{2}{3}x+1$?", F(-3, 2), "The product of the slopes is $-1$",
       lambda k: k * F(2, 3) == -1, wrong=(F(3, 2), F(2, 3), F(-2, 3)))
single(fn.CROSSING, 3, "For which $x$ is the rising line of the figure above the falling one?", "$x>3$", "They cross at $x=3$",
       lambda s: s == "$x>3$", wrong=("$x<3$", "$x>0$", "$0<x<3$"), figures=_two_lines)
single(fn.CROSSING, 3, "直线 $y=2x+1$、$y=-x+7$ 与 $y=kx-1$ 交于一点，求 $k$。", 3, "前两条交于 $(2,5)$", lambda k: k * 2 - 1 == 5)
single(PROPORTIONAL, 2, "The curve in the figure belongs to $y=\\frac{k}{x}$. Find $k$.", 6, "$k=2\\times 3$",
       lambda k: F(k, 2) == 3, figures=_hyperbola)
single(PROPORTIONAL, 2, "$y$ 与 $x^2$ 成正比例，$x=2$ 时 $y=12$，求 $x=5$ 时 $y$ 的值。", 75, "$y=3x^2$", lambda y: F(y, 25) == F(12, 4))
single(fn.VERTEX, 2, "Read the vertex $S$ of the parabola off the grid (unit squares).", (-1, -3), "The lowest point of the curve",
       lambda v: v == (-1, -3), figures=_axis)
single(fn.VERTEX, 4, "抛物线 $y=x^2-2mx+5$ 的对称轴是 $x=3$，则 $m=$ ______。", 3, "对称轴为 $x=m$", lambda m: F(2 * m, 2) == 3)
single(fn.FORMS, 4, "For which $x$ is $x^2-5x+6$ negative?", "$2<x<3$", "Between the zeros $2$ and $3$",
       lambda s: s == "$2<x<3$" and F(25, 4) - F(25, 2) + 6 < 0, wrong=("$x<2$", "$x>3$", "$-3<x<-2$"))
single(fn.EXPONENTIAL, 2, "比较大小：$2^{30}$ 与 $3^{20}$，较大的是哪一个？", "$3^{20}$", "$2^{30}=8^{10}<9^{10}=3^{20}$",
       lambda s: s == "$3^{20}$" and 3**20 > 2**30, wrong=("$2^{30}$",))
single(fn.EXPONENTIAL, 3, "The curve $y=b\\cdot a^x$ with $a>0$ contains $(0,3)$ and $(2,75)$. Find $a$.", 5, "$b=3$, $a^2=25$",
       lambda a: a > 0 and 3 * a * a == 75)
single(fn.LOGARITHM, 2, r"What is $\log_8 4$?", F(2, 3), "$8^{x}=4$ means $2^{3x}=2^2$", lambda x: 3 * x == 2)
single(fn.LOGARITHM, 4, r"已知 $\log_2 3=a$，用 $a$ 表示 $\log_2 12$。", "$a+2$", r"$\log_2 12=\log_2 3+\log_2 4$",
       lambda s: s == "$a+2$" and math.isclose(math.log2(12), math.log2(3) + 2), wrong=("$2a$", "$4a$", "$a+4$"))
single(fn.RATIOS, 4, r"Given $\tan\alpha=2$, evaluate $\frac{\sin\alpha+\cos\alpha}{\sin\alpha-\cos\alpha}$.", 3,
       r"Divide by $\cos\alpha$: $\frac{2+1}{2-1}$", lambda v: v * (2 - 1) == 2 + 1)
single(fn.RATIOS, 3, r"求 $\sin 15^\circ\cos 15^\circ$ 的值。", F(1, 4), r"$\frac{1}{2}\sin 30^\circ$",
       lambda v: math.isclose(math.sin(math.pi / 12) * math.cos(math.pi / 12), v))
single(fn.WAVES, 3, r"How many degrees is the period of $y=\sin 3x$?", 120, r"$\frac{360^\circ}{3}$",
       lambda v: 3 * v == 360, unit=r"^\circ")
single(fn.WAVES, 4, r"把 $y=\sin x$ 的图象向左平移 $90^\circ$，得到哪个函数的图象？", r"$y=\cos x$", r"$\sin(x+90^\circ)=\cos x$",
       lambda s: s == r"$y=\cos x$", wrong=(r"$y=-\cos x$", r"$y=-\sin x$", r"$y=\tan x$"))
single(RIGHT_RATIOS, 2, r"In $\triangle ABC$ with $\angle C=90^\circ$, $AB=10$ and $\sin A=\frac{3}{5}$, find $BC$.", 6,
       r"$BC=10\times\frac{3}{5}$", lambda v: F(v, 10) == F(3, 5))
single(RIGHT_RATIOS, 3, r"斜坡的坡度为 $1:\sqrt{3}$，则坡角为多少度？", 30, r"$\tan\alpha=\frac{1}{\sqrt{3}}$",
       lambda v: math.isclose(math.tan(math.radians(v)), 3**-0.5), unit=r"^\circ")
single(fn.CONCEPT, 2, "The graph shows $f$ on a grid of unit squares. What is $f(3)$?", 4, "Go up from $x=3$ to the graph",
       lambda v: v == 4, figures=_steps)
single(fn.CONCEPT, 3, "已知 $f(x)$ 是奇函数，$f(2)=5$，求 $f(-2)$。", -5, "$f(-x)=-f(x)$", lambda v: v == -5)
# Word problems
single(wp.MEETING, 4, "Two runners circle a $400$ m track from the same line in opposite directions at $5$ m/s and $3$ m/s. How often "
       "do they meet within the first $5$ minutes?", 6, "They meet every $50$ s", lambda n: n == 300 * (5 + 3) // 400)
single(wp.MEETING, 3, "一列长 200 米的火车以每秒 25 米的速度通过一座 800 米长的桥，完全通过需要多少秒？", 40,
       "路程为 $800+200$ 米", lambda t: 25 * t == 800 + 200)
single(wp.SPEEDS, 2, "A cyclist covers $18$ km in $45$ minutes. What is that in km/h?", 24, "$18\\div\\frac{3}{4}$", lambda v: v * F(45, 60) == 18)
single(wp.SPEEDS, 4, "自动扶梯匀速上行，小强走 20 级到顶用 20 秒，站着不动用 60 秒到顶，扶梯露在外面的有多少级？", 30,
       "设共 $n$ 级，$20+20\\times\\frac{n}{60}=n$", lambda n: 20 + 20 * F(n, 60) == n)
single(wp.WORK, 3, "Six machines make $480$ parts in $4$ hours. How many parts do nine such machines make in $5$ hours?", 900,
       "One machine makes $20$ parts an hour", lambda n: F(n, 9 * 5) == F(480, 6 * 4))
single(wp.WORK, 4, "一个水池装满水，单开出水管 6 小时放完，单开进水管 9 小时注满。池满时两管同开，几小时放完？", 18,
       r"$\frac{1}{6}-\frac{1}{9}=\frac{1}{18}$", lambda t: F(t, 6) - F(t, 9) == 1)
single(wp.MIXTURE, 4, "From $10$ litres of pure syrup $2$ litres are replaced by water, mixed, and $2$ litres replaced again. How many "
       "litres of syrup remain?", F(32, 5), r"$10\times\left(\frac{4}{5}\right)^2$", lambda v: v == 10 * F(8, 10) ** 2)
single(wp.MIXTURE, 2, "80 克水中溶解 20 克糖，糖水的浓度是百分之几？", 20, r"$\frac{20}{80+20}$", lambda v: v * (80 + 20) == 2000, unit=r"\%")
single(wp.PERCENT, 2, r"A town grew from $8000$ to $9200$ people. By what percentage?", 15, r"$\frac{1200}{8000}$",
       lambda v: 8000 * (100 + v) == 920000, unit=r"\%")
single(wp.PERCENT, 3, "两件衣服都卖 120 元，一件赚 $20\\%$，一件亏 $20\\%$，合计亏损多少元？", 10, "成本为 $100$ 元与 $150$ 元",
       lambda v: v == F(120 * 100, 120) + F(120 * 100, 80) - 240)
single(wp.INTEREST, 2, r"What simple interest do $2500$ dollars earn in $9$ months at $4\%$ a year?", 75, r"$2500\times 0.04\times\frac{9}{12}$",
       lambda v: v == 2500 * F(4, 100) * F(9, 12))
single(wp.AGES, 3, "三个连续奇数的和是 57，其中最大的是多少？", 21, "中间数为 $19$", lambda v: v % 2 == 1 and v + v - 2 + v - 4 == 57)
single(wp.SHARING, 3, "A $60$ m path gets a lamp at both ends and every $4$ m between. How many lamps are needed?", 16, "One more than the gaps",
       lambda n: (n - 1) * 4 == 60, wrong=(15, 14, 17))
single(wp.SHARING, 4, "甲给乙 6 张邮票后两人一样多，原来共有 60 张，甲原来有多少张？", 36, "给后各 $30$ 张", lambda v: v - 6 == 60 - v + 6)
