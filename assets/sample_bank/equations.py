"""Equations and inequalities."""

from __future__ import annotations

from fractions import Fraction

from PIL import Image

from .charts import interval
from .draw import Draw
from .knowledge import INEQUALITY, LINEAR, QUADRATIC, RANGES, SYSTEMS
from .registry import Ask, Draft, group, pose
from .values import plain


@group(LINEAR, level=1)
def linear_brackets(r: Draw) -> Draft:
    """Expand a bracket, then collect: a(x + b) = cx + d."""
    a, c = sorted(r.distinct(2, 8, 2), reverse=True)
    b, x = r.num(1, 7), r.num(2, 12)
    d, left = a * (x + b) - c * x, a * b
    return pose(
        r,
        [
            "Solve the equation $<a>(x+<b>)=<c>x+<d>$.",
            "<who> adds <b> to a secret number and multiplies the result by <a>. <other> multiplies the same "
            "number by <c>, adds <d>, and gets exactly what <who> got. What is the number?",
            "解方程：$<a>(x+<b>)-<c>x=<d>$。",
            "For which $x$ do the expressions $<a>(x+<b>)$ and $<c>x+<d>$ take equal values?",
            "一个数与 <b> 的和的 <a> 倍，比这个数的 <c> 倍多 <d>，这个数是多少？",
        ],
        answer=x,
        check=lambda v: a * (v + b) == c * v + d,
        work=("Expand and collect:", "去括号，移项：", "$<a>x+<left>=<c>x+<d>$, $x=<answer>$"),
        wrong=(x + b, x - b),
        a=a, b=b, c=c, d=d, left=left,
    )  # fmt: skip


@group(LINEAR, level=2)
def linear_fractions(r: Draw) -> Draft:
    """Clear the denominators with their least common multiple."""
    m, n, both = r.pick((2, 3, 6), (3, 4, 12), (2, 5, 10), (3, 5, 15), (4, 6, 12))
    x = m * n * r.num(1, 3)
    total = plain(Fraction(x, m) + Fraction(x, n))
    p, q = both // m, both // n
    return pose(
        r,
        [
            r"Solve $\frac{x}{<m>}+\frac{x}{<n>}=<total>$.",
            r"Take $\frac{1}{<m>}$ of a sum of money and $\frac{1}{<n>}$ of the same sum: together that is "
            r"<total> dollars. "
            "How much is the whole sum?",
            r"如果 $\frac{1}{<m>}x$ 与 $\frac{1}{<n>}x$ 的和等于 $<total>$，求 $x$。",
            r"<who> read $\frac{1}{<m>}$ of a book on Saturday and $\frac{1}{<n>}$ of it on Sunday, <total> "
            r"pages in "
            "both days. How long is the book?",
            r"解方程 $<total>-\frac{x}{<m>}=\frac{x}{<n>}$。",
        ],
        answer=x,
        check=lambda v: Fraction(v, m) + Fraction(v, n) == total,
        work=("Multiply by <both>:", "两边同乘 <both>：", "$<p>x+<q>x=<both>\\times <total>$"),
        m=m, n=n, both=both, total=total, p=p, q=q,
    )  # fmt: skip


@group(SYSTEMS, level=2)
def system_elimination(r: Draw) -> Draft:
    """Two totals of the same two things: make one coefficient equal and subtract."""
    a, b, c, d = r.pick((2, 3, 4, 1), (3, 2, 1, 4), (5, 2, 3, 4), (3, 4, 2, 1), (2, 5, 3, 2))
    x, y = r.num(3, 15), r.num(2, 12)
    p, q = a * x + b * y, c * x + d * y
    return pose(
        r,
        [
            r"Given $\begin{cases}<a:c>x+<b:c>y=<p>\\<c:c>x+<d:c>y=<q>\end{cases}$, <find> $x$.",
            "<who> pays <p> euros for <a> notebooks and <b> pens; <other> pays <q> euros for <c> notebooks "
            "and <d> "
            "pens of the same kinds. How much is a notebook?",
            "<a> 个大箱和 <b> 个小箱共装 <p> 瓶水，<c> 个大箱和 <d> 个小箱共装 <q> 瓶水，每个大箱装多少瓶？",
            r"若 $\begin{cases}<a:c>m+<b:c>n=<p>\\<c:c>m+<d:c>n=<q>\end{cases}$，<求> $m$ 的值。",
            "Admission for <a> adults and <b> children costs <p> dollars, for <c> adults and <d> children "
            "<q> dollars. "
            "What does an adult pay?",
        ],
        answer=x,
        check=lambda v: (p - a * v) * d == (q - c * v) * b,
        work=("Eliminate the second unknown:", "消去第二个未知数：", "$<a:c>x+<b:c>y=<p>$, "
                                                            "$<c:c>x+<d:c>y=<q>$, $x=<answer>$"),
        wrong=(y,),
        a=a, b=b, c=c, d=d, p=p, q=q,
    )  # fmt: skip


@group(SYSTEMS, level=2)
def system_substitution(r: Draw) -> Draft:
    """One unknown is a multiple of the other plus something; put it into the total."""
    k, m, x = r.num(2, 4), r.num(1, 9), r.num(4, 20)
    y = k * x + m
    total = x + y
    return pose(
        r,
        [
            r"Use substitution: $\begin{cases}y=<k>x+<m>\\x+y=<total>\end{cases}$. What is $x$?",
            "A ribbon <total> cm long is cut into two pieces. The long piece measures <m> cm more than <k> "
            "times the "
            "short one. <Find> the short piece.",
            "甲、乙两仓共存粮 <total> 吨，甲仓比乙仓的 <k> 倍还多 <m> 吨，乙仓存粮多少吨？",
            "Together <who> and <other> picked <total> apples. <who> picked <m> more than <k> times as many "
            "as <other>. "
            "How many did <other> pick?",
            r"已知 $a+b=<total>$，$b=<k>a+<m>$，则 $a=$ ______。",
        ],
        answer=x,
        check=lambda v: v + (k * v + m) == total,
        work=("Substitute:", "代入消元：", "$x+(<k>x+<m>)=<total>$, $x=<answer>$"),
        wrong=(y,),
        k=k, m=m, total=total,
    )  # fmt: skip


@group(QUADRATIC, level=2)
def quadratic_factoring(r: Draw) -> Draft:
    """Write the quadratic as a product of two brackets and take the wanted root."""
    p, q = r.num(2, 9), r.num(1, 8)
    b, c = q - p, -p * q
    product = p * (p + q)
    return pose(
        r,
        [
            "<Find> the positive root of "
            "$x^2<b:c+>x<c:+>=0$." if b else "<Find> the positive root of $x^2<c:+>=0$.",
            Ask("A rectangle has area <product> cm$^2$; one side exceeds the other by <q> cm. How long is "
                "the shorter "
                "side, in cm?", p, lambda v: v > 0 and v * (v + q) == product),
            Ask("两个正整数相差 <q>，乘积为 <product>，"
                "较小的数是多少？", p, lambda v: v > 0 and v * (v + q) == product),
            Ask("若 $(x-<p>)(x+<q>)=0$，"
                "则这个方程的负根是______。", -q, lambda v: v < 0 and (v - p) * (v + q) == 0),
            "For a number $t>0$ it is known that $t^2=<mp>t<mc:+>$. <Find> $t$.",
        ],
        answer=p,
        check=lambda v: v > 0 and v * v + b * v + c == 0,
        work=("Factorise:", "因式分解：", "$(x-<p>)(x+<q>)=0$"),
        wrong=(q, -q, -p),
        p=p, q=q, b=b, c=c, product=product, mp=p - q, mc=p * q,
    )  # fmt: skip


@group(QUADRATIC, level=3)
def discriminant_zero(r: Draw) -> Draft:
    """Equal roots: the discriminant vanishes."""
    half, lead = r.num(2, 9), r.pick(1, 1, 4)
    b = 2 * half
    c = plain(Fraction(half * half, lead))
    return pose(
        r,
        [
            "The equation $<lead:c>x^2+<b>x+k=0$ has two equal real roots. <Find> $k$.",
            "关于 $x$ 的方程 $<lead:c>x^2-<b>x+k=0$ 有两个相等的实数根，则 $k=$ ______。",
            "For what value of $k$ does the parabola $y=<lead:c>x^2-<b>x+k$ just touch the $x$-axis?",
            "已知二次三项式 $<lead:c>x^2+<b>x+k$ 是一个完全平方式，<求>常数 $k$。",
            r"<who> claims that $\Delta=0$ for $<lead:c>x^2+<b>x+k=0$. Which $k$ makes the claim true?",
        ],
        answer=c,
        check=lambda v: b * b - 4 * lead * v == 0,
        work=("Set the discriminant to zero:", "令判别式为零：", r"$<b>^2-4\times <lead>\times k=0$, "
                                                          r"$k=<answer>$"),
        wrong=(half, b * b),
        lead=lead, b=b,
    )  # fmt: skip


@group(QUADRATIC, level=4)
def vieta_squares(r: Draw) -> Draft:
    """Sum and product of the roots give a symmetric expression without solving."""
    s, p = r.num(4, 11), r.num(1, 3)
    squares = s * s - 2 * p
    return pose(
        r,
        [
            "If $x_1,x_2$ are the roots of $x^2-<s>x+<p>=0$, <find> $x_1^2+x_2^2$.",
            "设方程 $x^2-<s>x+<p>=0$ 的两根为 $\\alpha,\\beta$，<求> $\\alpha^2+\\beta^2$ 的值。",
            Ask(r"Without solving $x^2-<s>x+<p>=0$, give the sum $\frac{1}{m}+\frac{1}{n}$ of the "
                r"reciprocals of its "
                "roots.", plain(Fraction(s, p)), lambda v: v * p == s),
            "A rectangle has perimeter <double> and area <p>. What is the square of its diagonal?",
            Ask("一元二次方程 $x^2-<s>x+<p>=0$ "
                "的两根之差的平方等于多少？", s * s - 4 * p, lambda v: v + 4 * p == s * s),
        ],
        answer=squares,
        check=lambda v: v + 2 * p == s * s,
        work=("By Vieta,", "由韦达定理，", "$x_1+x_2=<s>$, $x_1x_2=<p>$, $x_1^2+x_2^2=<s>^2-2\\times <p>$"),
        wrong=(s * s, s * s - p),
        s=s, p=p, double=2 * s,
    )  # fmt: skip


@group(INEQUALITY, level=2)
def inequality_count(r: Draw) -> Draft:
    """Solve a linear inequality and take its greatest or smallest whole solution."""
    a, x, rest = r.num(2, 7), r.num(4, 15), 1
    b = r.num(5, 30)
    limit = a * x + b + rest
    return pose(
        r,
        [
            r"What is the largest integer that satisfies $<a>x+<b>\le <limit>$?",
            "A shelf may carry at most <limit> kg. A printer of <b> kg stands on it already, and each box of paper "
            "weighs "
            "<a> kg. "
            "How many boxes can be added at most?",
            "<who>有 <limit> 元，先买了 <b> 元的书包，剩下的钱买单价 <a> 元的笔记本，最多能买几本？",
            r"不等式 $<limit>-<a>x\ge <b>$ 的最大整数解是______。",
            "<who> has <limit> dollars for the fair. Entry is <b> dollars and every ride costs <a> dollars. "
            "<Find> the greatest possible number of rides.",
        ],
        answer=x,
        check=lambda v: a * v + b <= limit < a * (v + 1) + b,
        work=("Isolate the unknown:", "移项，系数化为 1：", r"$<a>x\le <room>$, $x\le \frac{<room>}{<a>}$"),
        wrong=(x + 1,),
        a=a, b=b, limit=limit, room=limit - b,
    )  # fmt: skip


@group(RANGES, level=3)
def inequality_system(r: Draw) -> Draft:
    """Two inequalities at once: intersect the solution sets and count the integers."""
    low, count = r.num(-4, 3), r.num(3, 6)
    high, a, b = low + count, r.num(2, 5), r.num(1, 9)
    left, right = a * low + b, high + b

    def figure() -> Image.Image:
        return interval(r.real(0.08, 0.3), r.real(0.65, 0.95), str(low), str(high), (True, False))

    return pose(
        r,
        [
            r"How many integers satisfy $\begin{cases}<a>x+<b>><left>\\x+<b>\le <right>\end{cases}$?",
            "#The number line shows the solution set of a pair of inequalities. How many whole numbers "
            "(negative ones "
            "included) belong to it?",
            r"不等式组 $\begin{cases}<a>x+<b>><left>\\x\le <high>\end{cases}$ 的整数解共有______个。",
            "#如图，数轴上表示的是某不等式组的解集，<求>其中整数的个数。",
            r"An integer $n$ is greater than $<low>$, and $n+<b>$ is at most $<right>$. How many values can "
            r"$n$ take?",
        ],
        answer=count,
        check=lambda v: v == sum(a * n + b > left and n + b <= right for n in range(-50, 50)),
        work=("Intersect the two sets:", "取公共部分：", r"$<low><x\le <high>$"),
        figure=figure,
        wrong=(count + 1, count - 1),
        a=a, b=b, left=left, right=right, low=low, high=high,
    )  # fmt: skip
