"""Functions: lines, parabolas, exponentials, logarithms and trigonometry."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from PIL import Image

from .charts import Graph
from .draw import Draw
from .registry import Ask, Draft, group, pose
from .values import Root, plain, root_of

SLOPE = ("Functions", "Linear functions", "Slope and intercepts")
CROSSING = ("Functions", "Linear functions", "Intersection of lines")
VERTEX = ("Functions", "Quadratic functions", "Axis and vertex")
FORMS = ("Functions", "Quadratic functions", "Zeros and transformations")
EXPONENTIAL = ("Functions", "Exponentials and logarithms", "Exponential growth")
LOGARITHM = ("Functions", "Exponentials and logarithms", "Logarithms")
RATIOS = ("Functions", "Trigonometry", "Identities")
WAVES = ("Functions", "Trigonometry", "Period and amplitude")
CONCEPT = ("Functions", "Function concept", "Domain and values")


@group(SLOPE, level=2)
def line_through_points(r: Draw) -> Draft:
    """The line through two points, read at a third place."""
    k, b = r.nonzero(-4, 5), r.int(-6, 8)
    p, q = sorted(r.distinct(-2, 4, 2))
    s = r.int(6, 10)
    u, v, w = k * p + b, k * q + b, k * s + b
    k2, b2, hours = r.int(2, 6), r.int(5, 20), r.int(5, 9)
    first, second, third = b2 + k2, b2 + 3 * k2, b2 + k2 * hours

    def figure() -> Image.Image:
        graph = Graph((-0.8, 6), (-0.8, 6)).plot(lambda x: 1.2 + 0.7 * x, (-0.5, 5.6))
        graph.point(1, 1.9, f"(1, {first})", (28, 7)).point(3, 3.3, f"(3, {second})", (28, 7))
        return graph.point(5, 4.7, f"({hours}, y)", (-26, -8)).finish()

    return pose(
        r,
        [
            "A straight line passes through $(<p>,<u>)$ and $(<q>,<v>)$. <Find> $y$ for the point $(<s>,y)$ of the line.",
            "一次函数的图象经过点 $(<p>,<u>)$ 和 $(<q>,<v>)$，当 $x=<s>$ 时，<求> $y$ 的值。",
            Ask("The fill height of a tank rises evenly: <first> cm after 1 minute, <second> cm after 3 minutes. How high, in "
                "cm, is it after <hours> minutes?", third, lambda y: (y - first) * 2 == (second - first) * (hours - 1)),
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
    k, m = sorted(r.distinct(1, 6, 2))
    x, c = r.int(2, 9), r.int(1, 6)
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
            "Plan A: <b> euros plus <k> euros per visit. Plan B: <c> euros plus <m> euros per visit. After how many visits do "
            "both cost the same?",
            "直线 $y=<k:c>x+<b>$ 与直线 $y=<m:c>x+<c>$ 交于点 $P$，<求>点 $P$ 的横坐标。",
            Ask("两种印刷收费方式：甲 $y=<k:c>x+<b>$，乙 $y=<m:c>x+<c>$（元），两种收费相等时应付多少元？", y,
                lambda v: Fraction(v - b, k) == Fraction(v - c, m)),
            "#The two lines of the figure have the equations $y=<k:c>x+<b>$ and $y=<m:c>x+<c>$ (not to scale). <Find> the "
            "abscissa of $P$.",
        ],
        answer=x,
        check=lambda v: k * v + b == m * v + c,
        work=("Set both expressions equal:", "联立两式：", "$<k:c>x+<b>=<m:c>x+<c>$, $x=<x>$"),
        figure=figure, k=k, m=m, b=b, c=c, x=x,
    )  # fmt: skip


@group(SLOPE, ("Geometry", "Measurement", "Areas of polygons"), level=3)
def triangle_with_axes(r: Draw) -> Draft:
    """The triangle that a line cuts off from the axes: half the product of the intercepts."""
    k, n = r.pick(1, 2, 3, 4), r.int(2, 7)
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
            r"$A$ and $B$ are the intercepts of $\frac{x}{<n>}+\frac{y}{<b>}=1$ and $O$ is the origin. <Find> the area of "
            r"$\triangle OAB$.",
            "#如图，直线与 $x$ 轴、$y$ 轴分别交于两点，<求>它与坐标轴所围图形的面积。",
        ],
        answer=area,
        check=lambda v: 2 * v == b * n,
        work=("The intercepts are the legs:", "两截距为直角边：", r"$\frac{1}{2}\times <n>\times <b>=<area>$"),
        wrong=(b * n,),
        figure=figure, k=k, n=n, b=b, area=area,
    )  # fmt: skip


@group(VERTEX, level=3)
def vertex_by_square(r: Draw) -> Draft:
    """The greatest or smallest value of a quadratic, by completing the square."""
    h, c, a = r.int(1, 6), r.int(1, 15), r.pick(1, 1, 2)
    b, low = 2 * a * h, a * h * h
    top = c + low
    fence = 4 * r.int(3, 12)

    def figure() -> Image.Image:
        graph = Graph((-0.4 * h, 3.6 * h), (-0.15 * top, 1.2 * top), names="ty")
        graph.plot(lambda x: top - a * (x - h) ** 2, (0, 3 * h)).dashed((h, 0), (h, top))
        return graph.point(0, c, str(c), (-10, 0)).point(h, 0, str(h), (0, 12)).finish()

    return pose(
        r,
        [
            "<Find> the greatest value of $f(x)=-<a:c>x^2+<b>x<c:+>$.",
            "#A ball is thrown; its height in metres after $t$ seconds is $-<a:c>t^2+<b>t<c:+>$. <Find> the greatest height.",
            "二次函数 $y=-<a:c>x^2+<b>x<c:+>$ 的最大值是多少？",
            Ask("Which is the smallest value that $<a:c>x^2-<b>x$ can take?", -low, lambda v: b * b == -4 * a * v),
            Ask("用长 <fence> 米的篱笆围成一个矩形，围成的最大面积是多少平方米？",
                fence * fence // 16, lambda v: all(x * (fence // 2 - x) <= v for x in range(fence)) and 16 * v == fence**2),
            Ask("A shop sells $<b>-<a:c>x$ lamps a day at a gain of $x$ euros each. What is the largest daily gain?", low,
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
    p, q, a = r.int(1, 3), r.int(4, 7), r.pick(-2, -1, 1, 2, 3)
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
            "A parabola $y=a(x-m)(x-n)$ meets the $x$-axis at <p> and <q> and passes through $(<s>,<y>)$. <Find> $a$.",
            "抛物线与 $x$ 轴交于 $(<p>,0)$、$(<q>,0)$，且经过点 $(<s>,<y>)$，<求>二次项系数 $a$。",
            Ask("#<Find> the leading coefficient of the quadratic function drawn in the figure.", abs(a),
                lambda v: v * (q + 1 - p) == up),
            "The quadratic $f$ has the roots <p> and <q>, and $f(<s>)=<y>$. What is the coefficient of $x^2$?",
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
    h, k, dx, dy = r.int(-4, 4), r.int(-5, 5), r.int(1, 5), r.int(1, 5)
    after = (h + dx, k - dy)
    return pose(
        r,
        [
            "The graph of $y=(x<mh:+>)^2<k:+>$ is moved <dx> units to the right and <dy> units down. Where is its vertex now? Give "
            "the coordinates.",
            "将抛物线 $y=(x<mh:+>)^2<k:+>$ 向右平移 <dx> 个单位，再向下平移 <dy> 个单位，所得抛物线的顶点坐标是______。",
            Ask("After a shift by <dx> to the left and <dy> up, a parabola has its vertex at $(<h>,<k>)$. <Find> the vertex before "
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
        return [
            _small_graph(lambda x, s=s, t=t: s * steep * x + t * 1.2, "ABCD"[n]) for n, (s, t) in enumerate(order)
        ]

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
            "#A value starts at <b> when $x=0$ and changes by <k> whenever $x$ grows by 1. Pick the matching drawing, A to D.",
        ],
        answer="ABCD"[right],
        check=check,
        work=("The sign of the slope and the sign of the intercept decide:", "由斜率与截距的正负判断：", "$k=<k>$, $b=<b>$"),
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
        return [
            _small_graph(lambda x, s=s, t=t: s * (0.9 * (x - 1.1 * t) ** 2 + shift), "ABCD"[n])
            for n, (s, t) in enumerate(order)
        ]

    def check(v: str) -> bool:
        s, t = order["ABCD".index(v)]
        return s * a > 0 and t * Fraction(-b, 2 * a) > 0

    return pose(
        r,
        [
            "#Opening and axis decide: which sketch fits $y=<a:c>x^2<b:c+>x<c:+>$?",
            "#二次函数 $y=<a:c>x^2<b:c+>x<c:+>$ 的开口方向和对称轴位置与哪个图相符？",
            "#The axis of a parabola is $x=<h>$ and its leading coefficient is <a>. Which picture can be right?",
            "#抛物线 $y=<a:c>(x<mh:+>)^2+m$ 的示意图可能是（填字母）______。",
            "#Look at the four curves. One of them shows a function with $f''(x)=<aa>$ that is symmetric about $x=<h>$; which?",
        ],
        answer="ABCD"[right],
        check=check,
        work=("The sign of $a$ gives the opening, $-\\frac{b}{2a}$ the axis:", "$a$ 定开口，$-\\frac{b}{2a}$ 定对称轴：",
              "$a=<a>$, $x=<h>$"),
        figure=figures, a=a, b=b, c=c, h=h, mh=-h, aa=2 * a,
    )  # fmt: skip


@group(EXPONENTIAL, level=3)
def doubling_steps(r: Draw) -> Draft:
    """Count doublings or halvings, then raise 2 to their number."""
    span, n, base = r.pick(3, 4, 5, 6, 8, 20), r.int(3, 6), r.int(1, 12) * 5
    total, large = span * n, base * 2**n
    return pose(
        r,
        [
            "Bacteria double every <span> hours. There are <base> of them at noon. How many are there <total> hours later?",
            "某种藻类每 <span> 天面积扩大为原来的 2 倍，现有 <base> 平方米，<total> 天后有多少平方米？",
            Ask("A radioactive sample of <large> g has a half-life of <span> years. <Find> the mass left after <total> years.", base,
                lambda v: v * 2 ** (total // span) == large),
            Ask("细菌每 <span> 分钟分裂一次（一个变两个），由 <base> 个变为 <large> 个需要多少分钟？", total,
                lambda v: base * 2 ** (Fraction(v, span).numerator) == large and v % span == 0),
            Ask("The number of users grew from <base> to <large>, doubling every <span> weeks. How many weeks did that take?", total,
                lambda v: v % span == 0 and base * 2 ** (v // span) == large),
        ],
        answer=large,
        check=lambda v: Fraction(v, 2 ** (total // span)) == base,
        work=("Count the steps:", "计算次数：", r"$<total>\div <span>=<n>$, $<base>\times 2^{<n>}=<large>$"),
        wrong=(base * 2 * n,),
        span=span, n=n, base=base, total=total, large=large,
    )  # fmt: skip


@group(EXPONENTIAL, level=3)
def same_base(r: Draw) -> Draft:
    """An exponential equation becomes linear once both sides have one base."""
    base, p, q = r.pick((2, 2, 3), (3, 1, 2), (2, 1, 3), (5, 1, 2), (3, 1, 3))
    x = r.int(1, 6)
    shift = q * x - p * x
    left, right = base**p, base**q
    side = base**shift
    return pose(
        r,
        [
            r"Solve $<left>^{x}\cdot <base>^{<shift>}=<right>^{x}$.",
            r"解方程 $<right>^{x}=<base>^{<shift>}\times <left>^{x}$。",
            r"For which exponent $x$ is $<right>^{x}\div <left>^{x}$ equal to $<side>$?",
            r"若 $<left>^{x}\cdot <side>=<right>^{x}$，则 $x=$ ______。",
            r"<who> writes both $<left>$ and $<right>$ as powers of <base> to settle $<right>^{x}=<side>\cdot <left>^{x}$. What "
            "is $x$?",
        ],
        answer=x,
        check=lambda v: Fraction(left) ** int(v) * base**shift == Fraction(right) ** int(v),
        work=("Write all with one base:", "化为同底数幂：", r"$<base>^{<p>x+<shift>}=<base>^{<q>x}$"),
        base=base, p=p, q=q, shift=shift, left=left, right=right, side=side,
    )  # fmt: skip


@group(LOGARITHM, level=3)
def log_rules(r: Draw) -> Draft:
    """A sum of logarithms is the logarithm of the product."""
    base = r.pick(2, 3, 10, 6)
    power = r.int(2, 4)
    whole = base**power
    a = r.pick(*[k for k in range(2, whole) if whole % k == 0])
    b = whole // a
    c = r.int(2, 9)
    return pose(
        r,
        [
            r"Evaluate $\log_{<base>}<a>+\log_{<base>}<b>$.",
            r"计算 $\log_{<base>}<a>+\log_{<base>}<b>$ 的值。",
            r"$\log_{<base>}<m>-\log_{<base>}<c>$ is a whole number. Which?",
            Ask(r"若 $\log_{<base>}x+\log_{<base>}<a>=<power>$，<求> $x$。", b, lambda v: v * a == base**power),
            Ask(r"Which $x>0$ satisfies $\log_{<base>}(<a>x)=<power>$?", b, lambda v: v * a == base**power),
        ],
        answer=power,
        check=lambda v: Fraction(base) ** int(v) == a * b,
        work=("Join the logarithms:", "合并对数：", r"$\log_{<base>}<whole>=<power>$"),
        base=base, a=a, b=b, c=c, m=whole * c, power=power, whole=whole,
    )  # fmt: skip


@group(RATIOS, level=3)
def sine_to_cosine(r: Draw) -> Draft:
    """The squares of sine and cosine add up to one."""
    p, q, h = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (4, 3, 5), (12, 5, 13), (20, 21, 29))
    sine, cosine, tangent = plain(Fraction(p, h)), plain(Fraction(q, h)), plain(Fraction(p, q))
    return pose(
        r,
        [
            r"The angle $\alpha$ is acute and $\sin\alpha=<sine>$. <Find> $\cos\alpha$.",
            r"已知 $\alpha$ 为锐角，$\sin\alpha=<sine>$，则 $\cos\alpha=$ ______。",
            Ask(r"For an angle of the second quadrant $\sin\theta=<sine>$ holds. What is $\cos\theta$?", -cosine,
                lambda v: v < 0 and v * v + sine * sine == 1),
            Ask(r"若 $\cos\beta=<cosine>$ 且 $0<\beta<\frac{\pi}{2}$，<求> $\tan\beta$。", tangent,
                lambda v: 1 + v * v == 1 / Fraction(cosine) ** 2),
            Ask(r"In a right-angled triangle an angle has the cosine $<cosine>$. <Find> the sine of the same angle.", sine,
                lambda v: v > 0 and v * v + cosine * cosine == 1),
        ],
        answer=cosine,
        check=lambda v: v > 0 and v * v + sine * sine == 1,
        work=("Use the Pythagorean identity:", "由平方关系：", r"$\sin^2\alpha+\cos^2\alpha=1$"),
        choice=0.0, sine=sine, cosine=cosine,
    )  # fmt: skip


@group(WAVES, level=3)
def sine_wave(r: Draw) -> Draft:
    """Amplitude and mean line give the greatest and least value of a sine function."""
    a, w, c = r.int(2, 7), r.int(2, 6), r.int(1, 9)
    high, low = c + a, c - a

    def figure() -> Image.Image:
        graph = Graph((-0.6, 7), (-1.6, 3.4)).plot(lambda x: 1 + 1.5 * math.sin(1.6 * x), (0, 6.6))
        graph.dashed((0, 2.5), (6.6, 2.5)).dashed((0, -0.5), (6.6, -0.5))
        graph.canvas.text((10, 41), str(high), 12)
        graph.canvas.text((10, 122), str(low), 12)
        return graph.finish()

    return pose(
        r,
        [
            r"What is the maximum of $y=<a>\sin <w>x<c:+>$?",
            r"函数 $y=<a>\cos\left(<w>x+\frac{\pi}{3}\right)<c:+>$ 的最大值为______。",
            Ask(r"#The curve of $y=A\sin(\omega x)+k$ swings between the dashed lines. <Find> the amplitude $A>0$.", a,
                lambda v: 2 * v == high - low),
            Ask(r"The water level in a harbour follows $<a>\sin\frac{\pi t}{<w>}<c:+>$ metres. By how many metres do high and low "
                "tide differ?", 2 * a, lambda v: high - v == low),
            Ask(r"若 $y=A\sin x+k$ $(A>0)$ 的最大值为 <high>，最小值为 <low>，<求> $A$。", a, lambda v: 2 * v == high - low),
        ],
        answer=high,
        check=lambda v: v - a == c,
        work=("The sine runs from $-1$ to $1$:", "正弦值在 $-1$ 与 $1$ 之间：", r"$<low>\le y\le <high>$"),
        figure=figure, wrong=(a, low), a=a, w=w, c=c, high=high, low=low,
    )  # fmt: skip


@group(CONCEPT, level=2)
def domain_of_root(r: Draw) -> Draft:
    """The radicand must not be negative."""
    a, n = r.int(2, 6), r.int(1, 9)
    b = a * n
    return pose(
        r,
        [
            r"What is the smallest $x$ for which $f(x)=\sqrt{<a>x-<b>}$ is defined?",
            r"要使 $\sqrt{<a>x-<b>}$ 在实数范围内有意义，$x$ 的最小值是多少？",
            r"The domain of $y=\sqrt{<b>-<a>x}$ is $x\le m$. <Find> $m$.",
            r"函数 $y=\frac{1}{\sqrt{<a>x-<b>}}$ 的定义域为 $x>m$，则 $m=$ ______。",
            r"A calculator shows an error for $\sqrt{<a>x-<b>}$ whenever $x$ is below a certain limit. <Find> this limit.",
        ],
        answer=n,
        check=lambda v: a * v - b == 0,
        work=("The radicand must not be negative:", "被开方数非负：", r"$<a>x-<b>=0$, $x=<n>$"),
        wrong=(b,),
        a=a, b=b, n=n,
    )  # fmt: skip


@group(CONCEPT, level=2)
def nested_values(r: Draw) -> Draft:
    """Put one function into the other, from the inside out."""
    a, b, c, x = r.int(2, 5), r.nonzero(-5, 6), r.nonzero(-4, 5), r.int(-2, 4)
    inner = x * x + c
    outer = a * inner + b
    return pose(
        r,
        [
            "Let $f(x)=<a>x<b:+>$ and $g(x)=x^2<c:+>$. <Find> $f(g(<x>))$.",
            "已知 $f(x)=<a>x<b:+>$，$g(x)=x^2<c:+>$，<求> $f[g(<x>)]$ 的值。",
            "One machine turns $t$ into $t^2<c:+>$, a second one turns $s$ into $<a>s<b:+>$. What "
            "leaves the second machine if $<x>$ goes into the first?",
            Ask("设 $f(x)=<a>x<b:+>$，若 $f(m)=<outer>$，则 $m=$ ______。", inner, lambda v: a * v + b == outer),
            "Evaluate $(f\\circ g)(<x>)$, where $g(t)=t^2<c:+>$ and $f(t)=<a>t<b:+>$.",
        ],
        answer=outer,
        check=lambda v: Fraction(v - b, a) - c == x * x,
        work=("Work from the inside out:", "由内向外：", "$g(<x>)=<inner>$, $<a>\\times(<inner>)<b:+>=<outer>$"),
        a=a, b=b, c=c, x=x, inner=inner, outer=outer,
    )  # fmt: skip


@group(("Functions", "Trigonometry", "Right-triangle ratios"), level=3)
def elevation(r: Draw) -> Draft:
    """A height from a distance and a special angle."""
    d, angle = r.int(2, 15) * 6, r.pick(30, 45, 60)
    height = {30: root_of(3, Fraction(d, 3)), 45: d, 60: root_of(3, d)}[angle]
    square = {30: Fraction(1, 3), 45: Fraction(1), 60: Fraction(3)}[angle] * d * d
    return pose(
        r,
        [
            r"From a spot <d> m away from the foot of a tower its top is seen at an elevation of $<angle>^\circ$. How high is the "
            "tower?",
            r"在离旗杆底部 <d> 米处测得杆顶的仰角为 $<angle>^\circ$，<求>旗杆的高（结果保留根号）。",
            r"In $\triangle ABC$ with $\angle C=90^\circ$ and $\angle A=<angle>^\circ$ the leg $AC$ is <d>. <Find> $BC$.",
            r"The sun's rays meet level ground at $<angle>^\circ$ and a pole throws a shadow of <d> m. <Find> the pole's length.",
            r"一艘船在灯塔正西方 <d> 海里处，向正北航行到 $P$ 处，在灯塔处看，船的方向转过了 $<angle>^\circ$，船航行了多少海里？",
        ],
        answer=height,
        check=lambda v: (v.square if isinstance(v, Root) else v * v) == square,
        work=("Use the tangent:", "由正切：", r"$<d>\tan <angle>^\circ=<height>$"),
        choice=0.0, d=d, angle=angle, height=height,
    )  # fmt: skip
