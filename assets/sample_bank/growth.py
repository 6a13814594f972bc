"""Exponentials, logarithms, trigonometry and the concept of a function."""

from __future__ import annotations

import math
from fractions import Fraction

from PIL import Image

from .charts import Graph
from .draw import Draw
from .knowledge import CONCEPT, EXPONENTIAL, LOGARITHM, RATIOS, RIGHT_RATIOS, WAVES
from .registry import Ask, Draft, group, pose
from .values import Root, plain, root_of


@group(EXPONENTIAL, level=3)
def doubling_steps(r: Draw) -> Draft:
    """Count doublings or halvings, then raise 2 to their number."""
    span, n, base = r.pick(3, 4, 5, 6, 8, 20), r.num(3, 6), r.num(1, 12) * 5
    total, large = span * n, base * 2**n
    return pose(
        r,
        [
            "Bacteria double every <span> hours. There are <base> of them at noon. How many are there "
            "<total> hours later?",
            "某种藻类每 <span> 天面积扩大为原来的 2 倍，现有 <base> 平方米，<total> 天后有多少平方米？",
            Ask("A radioactive sample of <large> g has a half-life of <span> years. <Find> the mass left "
                "after <total> years.", base,
                lambda v: v * 2 ** (total // span) == large),
            Ask("细菌每 <span> 分钟分裂一次（一个变两个），由 <base> 个变为 <large> 个需要多少分钟？", total,
                lambda v: base * 2 ** (Fraction(v, span).numerator) == large and v % span == 0),
            Ask("The number of users grew from <base> to <large>, doubling every <span> weeks. How many "
                "weeks did that take?", total,
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
    x = r.num(1, 6)
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
            r"<who> writes both $<left>$ and $<right>$ as powers of <base> to settle "
            r"$<right>^{x}=<side>\cdot <left>^{x}$. What "
            "is $x$?",
        ],
        answer=x,
        check=lambda v: Fraction(left) ** int(v) * base**shift == Fraction(right) ** int(v),
        work=("Write all with one base:", "化为同底数幂：", r"$<base>^{<p:c>x+<shift>}=<base>^{<q>x}$"),
        base=base, p=p, q=q, shift=shift, left=left, right=right, side=side,
    )  # fmt: skip


@group(LOGARITHM, level=3)
def log_rules(r: Draw) -> Draft:
    """A sum of logarithms is the logarithm of the product."""
    base = r.pick(2, 3, 10, 6)
    power = r.num(2, 4)
    whole = base**power
    a = r.pick(*[k for k in range(2, whole) if whole % k == 0])
    b = whole // a
    c = r.num(2, 9)
    return pose(
        r,
        [
            r"Evaluate $\log_{<base>}<a>+\log_{<base>}<b>$.",
            r"计算 $\log_{<base>}<a>+\log_{<base>}<b>$ 的值。",
            r"$\log_{<base>}<m>-\log_{<base>}<c>$ is a whole number. Which?",
            Ask(r"若 $\log_{<base>}x+\log_{<base>}<a>=<power>$，<求> "
                r"$x$。", b, lambda v: v * a == base**power),
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
            Ask(r"For an angle of the second quadrant $\sin\theta=<sine>$ holds. What is "
                r"$\cos\theta$?", -cosine,
                lambda v: v < 0 and v * v + sine * sine == 1),
            Ask(r"若 $\cos\beta=<cosine>$ 且 $0<\beta<\frac{\pi}{2}$，<求> $\tan\beta$。", tangent,
                lambda v: 1 + v * v == 1 / Fraction(cosine) ** 2),
            Ask(r"In a right-angled triangle an angle has the cosine $<cosine>$. <Find> the sine of the same "
                r"angle.", sine,
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
    a, w, c = r.num(2, 7), r.num(2, 6), r.num(1, 9)
    high, low = c + a, c - a

    def figure() -> Image.Image:
        graph = Graph((-1.1, 7), (min(0, low) - 0.4 * a, max(0, high) + 0.7 * a))
        graph.plot(lambda x: c + a * math.sin(1.6 * x), (0, 6.6))
        for level in (low, high):
            graph.dashed((0, level), (6.6, level)).point(0, level, str(level), (-11, 0), mark=False)
        return graph.finish()

    return pose(
        r,
        [
            r"What is the maximum of $y=<a>\sin <w>x<c:+>$?",
            r"函数 $y=<a>\cos\left(<w>x+\frac{\pi}{3}\right)<c:+>$ 的最大值为______。",
            Ask(r"#The curve of $y=A\sin(\omega x)+k$ swings between the dashed lines. <Find> the amplitude "
                r"$A>0$.", a,
                lambda v: 2 * v == high - low),
            Ask(r"The water level in a harbour follows $<a>\sin\frac{\pi t}{<w>}<c:+>$ metres. By how many "
                r"metres do high and low "
                "tide differ?", 2 * a, lambda v: high - v == low),
            Ask(r"若 $y=A\sin x+k$ $(A>0)$ 的最大值为 <high>，最小值为 <low>，<求> "
                r"$A$。", a, lambda v: 2 * v == high - low),
        ],
        answer=high,
        check=lambda v: v - a == c,
        work=("The sine runs from $-1$ to $1$:", "正弦值在 $-1$ 与 $1$ 之间：", r"$<low>\le y\le <high>$"),
        figure=figure, wrong=(a, low), a=a, w=w, c=c, high=high, low=low,
    )  # fmt: skip


@group(CONCEPT, level=2)
def domain_of_root(r: Draw) -> Draft:
    """The radicand must not be negative."""
    a, n = r.num(2, 6), r.num(1, 9)
    b = a * n
    return pose(
        r,
        [
            r"What is the smallest $x$ for which $f(x)=\sqrt{<a>x-<b>}$ is defined?",
            r"要使 $\sqrt{<a>x-<b>}$ 在实数范围内有意义，$x$ 的最小值是多少？",
            r"The domain of $y=\sqrt{<b>-<a>x}$ is $x\le m$. <Find> $m$.",
            r"函数 $y=\frac{1}{\sqrt{<a>x-<b>}}$ 的定义域为 $x>m$，则 $m=$ ______。",
            r"A calculator shows an error for $\sqrt{<a>x-<b>}$ whenever $x$ is below a certain limit. "
            r"<Find> this limit.",
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
    a, b, c, x = r.num(2, 5), r.nonzero(-5, 6), r.nonzero(-4, 5), r.num(-2, 4)
    inner = x * x + c
    outer = a * inner + b
    return pose(
        r,
        [
            "Let $f(x)=<a>x<b:+>$ and $g(x)=x^2<c:+>$. <Find> $f(g(<x>))$.",
            "已知 $f(x)=<a>x<b:+>$，$g(x)=x^2<c:+>$，<求> $f[g(<x>)]$ 的值。",
            "One machine turns $t$ into $t^2<c:+>$, a second one turns $s$ into $<a>s<b:+>$. What "
            "leaves the second machine if $<x>$ goes into the first?",
            Ask("设 $f(x)=<a>x<b:+>$，若 $f(m)=<outer>$，则 $m=$ "
                "______。", inner, lambda v: a * v + b == outer),
            "Evaluate $(f\\circ g)(<x>)$, where $g(t)=t^2<c:+>$ and $f(t)=<a>t<b:+>$.",
        ],
        answer=outer,
        check=lambda v: Fraction(v - b, a) - c == x * x,
        work=("Work from the inside out:", "由内向外：", "$g(<x>)=<inner>$, "
                                                    "$<a>\\times(<inner>)<b:+>=<outer>$"),
        a=a, b=b, c=c, x=x, inner=inner, outer=outer,
    )  # fmt: skip


@group(RIGHT_RATIOS, level=3)
def elevation(r: Draw) -> Draft:
    """A height from a distance and a special angle."""
    d, angle = r.num(2, 15) * 6, r.pick(30, 45, 60)
    height = {30: root_of(3, Fraction(d, 3)), 45: d, 60: root_of(3, d)}[angle]
    square = {30: Fraction(1, 3), 45: Fraction(1), 60: Fraction(3)}[angle] * d * d
    return pose(
        r,
        [
            r"From a spot <d> m away from the foot of a tower its top is seen at an elevation of "
            r"$<angle>^\circ$. How high is the "
            "tower?",
            r"在离旗杆底部 <d> 米处测得杆顶的仰角为 $<angle>^\circ$，<求>旗杆的高（结果保留根号）。",
            r"In $\triangle ABC$ with $\angle C=90^\circ$ and $\angle A=<angle>^\circ$ the leg $AC$ is <d>. "
            r"<Find> $BC$.",
            r"The sun's rays meet level ground at $<angle>^\circ$ and a pole throws a shadow of <d> m. "
            r"<Find> the pole's length.",
            r"一艘船在灯塔正西方 <d> 海里处，向正北航行到 $P$ 处，在灯塔处看，船的方向转过了 "
            r"$<angle>^\circ$，船航行了多少海里？",
        ],
        answer=height,
        check=lambda v: (v.square if isinstance(v, Root) else v * v) == square,
        work=("Use the tangent:", "由正切：", r"$<d>\tan <angle>^\circ=<height>$"),
        choice=0.0, d=d, angle=angle, height=height,
    )  # fmt: skip
