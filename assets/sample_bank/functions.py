"""Linear and quadratic functions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from PIL import Image

from .charts import Graph
from .draw import Draw
from .knowledge import CROSSING, FORMS, POLYGON_AREA, SLOPE, VERTEX
from .registry import Ask, Draft, group, pose
from .values import plain


@group(SLOPE, level=2)
def line_through_points(r: Draw) -> Draft:
    """The line through two points, read at a third place."""
    k, b = r.nonzero(-4, 5), r.num(-6, 8)
    p, q = sorted(r.distinct(-2, 4, 2))
    s = r.num(6, 10)
    u, v, w = k * p + b, k * q + b, k * s + b
    k2, b2, hours = r.num(2, 6), r.num(5, 20), r.num(5, 9)
    first, second, third = b2 + k2, b2 + 3 * k2, b2 + k2 * hours

    def figure() -> Image.Image:
        graph = Graph((-0.8, 6), (-0.8, 6)).plot(lambda x: 1.2 + 0.7 * x, (-0.5, 5.6))
        graph.point(1, 1.9, f"(1, {first})", (28, 7)).point(3, 3.3, f"(3, {second})", (28, 7))
        return graph.point(5, 4.7, f"({hours}, y)", (-26, -8)).finish()

    return pose(
        r,
        [
            "A straight line passes through $(<p>,<u>)$ and $(<q>,<v>)$. <Find> $y$ for the point $(<s>,y)$ "
            "of the line.",
            "一次函数的图象经过点 $(<p>,<u>)$ 和 $(<q>,<v>)$，当 $x=<s>$ 时，<求> $y$ 的值。",
            Ask("The fill height of a tank rises evenly: <first> cm after 1 minute, <second> cm after 3 "
                "minutes. How high, in "
                "cm, is it after <hours> "
                "minutes?", third, lambda y: (y - first) * 2 == (second - first) * (hours - 1)),
            Ask("#The graph is a straight line (not to scale). <Find> the missing coordinate $y$.", third,
                lambda y: (y - first) * 2 == (second - first) * (hours - 1)),
            Ask("已知三点 $A(<p>,<u>)$、$B(<q>,<v>)$、$C(<s>,m)$ 在同一条直线上，则 $m=$ ______。", w,
                lambda y: (y - u) * (q - p) == (v - u) * (s - p)),
        ],
        answer=w,
        check=lambda y: (y - u) * (q - p) == (v - u) * (s - p),
        work=("The slope between any two points is the same:", "任意两点间斜率相等：",
              r"$k=\frac{y_2-y_1}{x_2-x_1}$, $y=y_1+k(x-x_1)=<answer>$"),
        figure=figure, p=p, q=q, u=u, v=v, s=s, first=first, second=second, hours=hours,
    )  # fmt: skip


@group(CROSSING, level=2)
def lines_cross(r: Draw) -> Draft:
    """Set two linear expressions equal to find where they agree."""
    k, m = sorted(r.distinct(2, 7, 2))
    x, c = r.num(2, 9), r.num(1, 6)
    b = (m - k) * x + c
    y = k * x + b

    def figure() -> Image.Image:
        graph = Graph((-0.8, 6), (-0.8, 6)).plot(lambda t: 2.2 + 0.35 * t).plot(lambda t: 0.4 + t)
        graph.dashed((2.77, 0), (2.77, 3.17)).point(2.77, 3.17, "P", (0, -13))
        graph.canvas.text((62, 66), str(b), 12)
        return graph.finish()

    return pose(
        r,
        [
            "At which $x$ do the lines $y=<k:c>x+<b>$ and $y=<m:c>x+<c>$ intersect?",
            "Plan A: <b> euros plus <k> euros per visit. Plan B: <c> euros plus <m> euros per visit. After "
            "how many visits do "
            "both cost the same?",
            "直线 $y=<k:c>x+<b>$ 与直线 $y=<m:c>x+<c>$ 交于点 $P$，<求>点 $P$ 的横坐标。",
            Ask("两种印刷收费方式：甲 $y=<k:c>x+<b>$，乙 $y=<m:c>x+<c>$（元），两种收费相等时应付多少元？", y,
                lambda v: Fraction(v - b, k) == Fraction(v - c, m)),
            "#The two lines of the figure have the equations $y=<k:c>x+<b>$ and $y=<m:c>x+<c>$ (not to "
            "scale). <Find> the "
            "abscissa of $P$.",
        ],
        answer=x,
        check=lambda v: k * v + b == m * v + c,
        work=("Set both expressions equal:", "联立两式：", "$<k:c>x+<b>=<m:c>x+<c>$, $x=<x>$"),
        figure=figure, k=k, m=m, b=b, c=c, x=x,
    )  # fmt: skip


@group(SLOPE, POLYGON_AREA, level=3)
def triangle_with_axes(r: Draw) -> Draft:
    """The triangle that a line cuts off from the axes: half the product of the intercepts."""
    k, n = r.pick(1, 2, 3, 4), r.num(2, 7)
    b = k * n
    area = plain(Fraction(b * n, 2))

    def figure() -> Image.Image:
        graph = Graph((-0.9, 5), (-0.9, 5)).line((0, 0), (3.6, 0), (0, 3.8), (0, 0))
        graph.plot(lambda x: 3.8 - 3.8 * x / 3.6)
        return graph.point(0, 3.8, str(b), (-11, 0)).point(3.6, 0, str(n), (0, 13)).finish()

    return pose(
        r,
        [
            "What area does the line $y=-<k:c>x+<b>$ enclose with the two coordinate axes?",
            "直线 $y=<k:c>x-<b>$ 与两坐标轴围成的三角形面积是______。",
            "#<Find> the area of the triangle bounded by the line and both axes.",
            r"$A$ and $B$ are the intercepts of $\frac{x}{<n>}+\frac{y}{<b>}=1$ and $O$ is the origin. "
            r"<Find> the area of "
            r"$\triangle OAB$.",
            "#如图，直线与 $x$ 轴、$y$ 轴分别交于两点，<求>它与坐标轴所围图形的面积。",
        ],
        answer=area,
        check=lambda v: 2 * v == b * n,
        work=("The intercepts are the legs:", "两截距为直角边：", r"$\frac{1}{2}\times <n>\times "
                                                          r"<b>=<area>$"),
        wrong=(b * n,),
        figure=figure, k=k, n=n, b=b, area=area,
    )  # fmt: skip


@group(VERTEX, level=3)
def vertex_by_square(r: Draw) -> Draft:
    """The greatest or smallest value of a quadratic, by completing the square."""
    h, c, a = r.num(1, 6), r.num(1, 15), r.pick(1, 1, 2)
    b, low = 2 * a * h, a * h * h
    top = c + low
    fence = 4 * r.num(3, 12)

    def figure() -> Image.Image:
        graph = Graph((-0.4 * h, 3.6 * h), (-0.15 * top, 1.2 * top), names="ty")
        graph.plot(lambda x: top - a * (x - h) ** 2, (0, 3 * h)).dashed((h, 0), (h, top))
        return graph.point(0, c, str(c), (-10, 0)).point(h, 0, str(h), (0, 12)).finish()

    return pose(
        r,
        [
            "<Find> the greatest value of $f(x)=-<a:c>x^2+<b>x<c:+>$.",
            "#A ball is thrown; its height in metres after $t$ seconds is $-<a:c>t^2+<b>t<c:+>$. <Find> the "
            "greatest height.",
            "二次函数 $y=-<a:c>x^2+<b>x<c:+>$ 的最大值是多少？",
            Ask("Which is the smallest value that $<a:c>x^2-<b>x$ can "
                "take?", -low, lambda v: b * b == -4 * a * v),
            Ask("用长 <fence> 米的篱笆围成一个矩形，围成的最大面积是多少平方米？",
                fence * fence // 16,
                lambda v: all(x * (fence // 2 - x) <= v for x in range(fence)) and 16 * v == fence**2),
            Ask("A shop sells $<b>-<a:c>x$ lamps a day at a gain of $x$ euros each. What is the largest "
                "daily gain?", low,
                lambda v: b * b == 4 * a * v),
        ],
        answer=top,
        check=lambda v: b * b + 4 * a * c == 4 * a * v,
        work=("Complete the square; the value at the vertex is", "配方，顶点处的值为",
              r"$\frac{4ac-b^2}{4a}=<answer>$"),
        figure=figure, wrong=(c, h), a=a, b=b, c=c, fence=fence,
    )  # fmt: skip


@group(FORMS, level=3)
def parabola_from_zeros(r: Draw) -> Draft:
    """Zeros and one more point give the leading coefficient."""
    p, q, a = r.num(1, 3), r.num(4, 7), r.pick(-2, -1, 1, 2, 3)
    s = r.pick(0, q + 1, q + 2)
    y = a * (s - p) * (s - q)

    def figure() -> Image.Image:
        graph = Graph((-0.8, 6), (-2.4, 4)).plot(lambda x: 0.75 * (x - 1.2) * (x - 4.2))
        graph.point(1.2, 0, str(p), (-7, 12)).point(4.2, 0, str(q), (9, 12))
        return graph.point(5.2, 3, f"({q + 1}, {abs(a) * (q + 1 - p)})", (-34, -6)).finish()

    up = abs(a) * (q + 1 - p)

    return pose(
        r,
        [
            "A parabola $y=a(x-m)(x-n)$ meets the $x$-axis at <p> and <q> and passes through $(<s>,<y>)$. "
            "<Find> $a$.",
            "抛物线与 $x$ 轴交于 $(<p>,0)$、$(<q>,0)$，且经过点 $(<s>,<y>)$，<求>二次项系数 $a$。",
            Ask("#<Find> the leading coefficient of the quadratic function drawn in the figure.", abs(a),
                lambda v: v * (q + 1 - p) == up),
            "The quadratic $f$ has the roots <p> and <q>, and $f(<s>)=<y>$. What is the coefficient of "
            "$x^2$?",
            Ask("已知 $f(x)=a(x-<p>)(x-<q>)$，且 $f(<next>)=<up>$，则 $a=$ ______。", abs(a),
                lambda v: v * (q + 1 - p) == up),
        ],
        answer=a,
        check=lambda v: v * (s - p) * (s - q) == y,
        work=("Use the factored form:", "用交点式：", r"$y=a(x-<p>)(x-<q>)$, $a=<answer>$"),
        figure=figure, p=p, q=q, s=s, y=y, up=up, next=q + 1,
    )  # fmt: skip


@group(FORMS, level=2)
def shift_parabola(r: Draw) -> Draft:
    """Shifting a parabola moves its vertex."""
    h, k, dx, dy = r.num(-4, 4), r.num(-5, 5), r.num(1, 5), r.num(1, 5)
    after = (h + dx, k - dy)
    return pose(
        r,
        [
            "The graph of $y=(x<mh:+>)^2<k:+>$ is moved <dx> to the right and <dy> down. Where "
            "is its vertex now? Give "
            "the coordinates.",
            "将抛物线 $y=(x<mh:+>)^2<k:+>$ 向右平移 <dx> 个单位，再向下平移 <dy> 个单位，"
            "所得抛物线的顶点坐标是______。",
            Ask("After a shift by <dx> to the left and <dy> up, a parabola has its vertex at $(<h>,<k>)$. "
                "<Find> the vertex before "
                "the shift.", after, lambda v: (v[0] - dx, v[1] + dy) == (h, k)),
            "把 $y=-2x^2$ 的图象的顶点先移到 $(<h>,<k>)$，再右移 <dx>、下移 <dy>，<求>最终顶点。",
            "What is the lowest point of $y=f(x-<dx>)-<dy>$, given that $f(x)=3(x<mh:+>)^2<k:+>$?",
        ],
        answer=after,
        check=lambda v: (v[0] - dx, v[1] + dy) == (h, k),
        work=("The vertex moves along:", "顶点随之平移：", r"$(<h>,<k>)\to <answer>$"),
        h=h, k=k, mh=-h, dx=dx, dy=dy,
    )  # fmt: skip


def _small_graph(f: Callable[[float], float], letter: str) -> Image.Image:
    graph = Graph((-3, 3), (-3, 3), (112, 112)).plot(f)
    graph.canvas.text((14, 100), letter, 14)
    return graph.finish()


@group(SLOPE, level=2)
def which_line(r: Draw) -> Draft:
    """The signs of slope and intercept decide through which quadrants a line runs."""
    k, b = r.nonzero(-3, 3), r.nonzero(-4, 4)
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    order = r.shuffled(signs)
    steep = r.real(0.7, 1.3)
    right = order.index((1 if k > 0 else -1, 1 if b > 0 else -1))

    def figures() -> list[Image.Image]:
        def line(s: int, t: int) -> Callable[[float], float]:
            return lambda x: s * steep * x + t * 1.2

        return [_small_graph(line(*signs), letter) for signs, letter in zip(order, "ABCD", strict=True)]

    def check(v: str) -> bool:
        s, t = order["ABCD".index(v)]
        return s * k > 0 and t * b > 0

    return pose(
        r,
        [
            "#Which of the four graphs could belong to $y=<k:c>x<b:+>$? Answer with its letter.",
            "#下列四个图象中，可能是一次函数 $y=<k:c>x<b:+>$ 的图象的是哪一个？",
            "#A line has slope <k> and crosses the $y$-axis at <b>. Name the picture that shows its course.",
            "#已知 $k=<k>$，$b=<b>$，则 $y=kx+b$ 的大致图象是（填字母）______。",
            "#A value starts at <b> when $x=0$ and changes by <k> whenever $x$ grows by 1. Pick the matching "
            "drawing, A to D.",
        ],
        answer="ABCD"[right],
        check=check,
        work=("The sign of the slope and the sign of the intercept "
              "decide:", "由斜率与截距的正负判断：", "$k=<k>$, $b=<b>$"),
        figure=figures, k=k, b=b,
    )  # fmt: skip


@group(FORMS, level=3)
def which_parabola(r: Draw) -> Draft:
    """The signs of the coefficients decide the opening and the place of the axis."""
    a, h = r.pick(1, 2, -1, -2), r.nonzero(-4, 4)
    b, c = -2 * a * h, r.nonzero(-3, 3)
    order = r.shuffled([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    right = order.index((1 if a > 0 else -1, 1 if h > 0 else -1))

    def figures() -> list[Image.Image]:
        shift = r.real(-1.2, -0.4)

        def curve(s: int, t: int) -> Callable[[float], float]:
            return lambda x: s * (0.9 * (x - 1.1 * t) ** 2 + shift)

        return [_small_graph(curve(*signs), letter) for signs, letter in zip(order, "ABCD", strict=True)]

    def check(v: str) -> bool:
        s, t = order["ABCD".index(v)]
        return s * a > 0 and t * Fraction(-b, 2 * a) > 0

    return pose(
        r,
        [
            "#Opening and axis decide: which sketch fits $y=<a:c>x^2<b:c+>x<c:+>$?",
            "#二次函数 $y=<a:c>x^2<b:c+>x<c:+>$ 的开口方向和对称轴位置与哪个图相符？",
            "#The axis of a parabola is $x=<h>$ and its leading coefficient is <a>. Which picture can be "
            "right?",
            "#抛物线 $y=<a:c>(x<mh:+>)^2+m$ 的示意图可能是（填字母）______。",
            "#Look at the four curves. One of them shows a function with $f''(x)=<aa>$ that is symmetric "
            "about $x=<h>$; which?",
        ],
        answer="ABCD"[right],
        check=check,
        work=("The sign of $a$ gives the opening, $-\\frac{b}{2a}$ the "
              "axis:", "$a$ 定开口，$-\\frac{b}{2a}$ 定对称轴：",
              "$a=<a>$, $x=<h>$"),
        figure=figures, a=a, b=b, c=c, h=h, mh=-h, aa=2 * a,
    )  # fmt: skip
