"""Algebra: equations, inequalities, expressions and sequences."""

from __future__ import annotations

from fractions import Fraction

from PIL import Image

from .charts import interval
from .draw import Draw
from .registry import Ask, Draft, group, pose
from .values import plain, root_of

LINEAR = ("Algebra", "Equations and inequalities", "Linear equations")
SYSTEMS = ("Algebra", "Equations and inequalities", "Systems of equations")
QUADRATIC = ("Algebra", "Equations and inequalities", "Quadratic equations")
INEQUALITY = ("Algebra", "Equations and inequalities", "Linear inequalities")
RANGES = ("Algebra", "Equations and inequalities", "Systems of inequalities")
IDENTITIES = ("Algebra", "Numbers and expressions", "Identities and factoring")
POWERS = ("Algebra", "Numbers and expressions", "Powers and roots")
ARITHMETIC = ("Algebra", "Sequences", "Arithmetic sequences")
GEOMETRIC = ("Algebra", "Sequences", "Geometric sequences")


@group(LINEAR, level=1)
def linear_brackets(r: Draw) -> Draft:
    """Expand a bracket, then collect: a(x + b) = cx + d."""
    a, c = sorted(r.distinct(2, 8, 2), reverse=True)
    b, x = r.int(1, 7), r.int(2, 12)
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
    x = m * n * r.int(1, 3)
    total = plain(Fraction(x, m) + Fraction(x, n))
    p, q = both // m, both // n
    return pose(
        r,
        [
            r"Solve $\frac{x}{<m>}+\frac{x}{<n>}=<total>$.",
            r"Take $\frac{1}{<m>}$ of a sum of money and $\frac{1}{<n>}$ of the same sum: together that is <total> dollars. "
            "How much is the whole sum?",
            r"如果 $\frac{1}{<m>}x$ 与 $\frac{1}{<n>}x$ 的和等于 $<total>$，求 $x$。",
            r"<who> read $\frac{1}{<m>}$ of a book on Saturday and $\frac{1}{<n>}$ of it on Sunday, <total> pages in "
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
    x, y = r.int(3, 15), r.int(2, 12)
    p, q = a * x + b * y, c * x + d * y
    return pose(
        r,
        [
            r"Given $\begin{cases}<a:c>x+<b:c>y=<p>\\<c:c>x+<d:c>y=<q>\end{cases}$, <find> $x$.",
            "<who> pays <p> euros for <a> notebooks and <b> pens; <other> pays <q> euros for <c> notebooks and <d> "
            "pens of the same kinds. How much is a notebook?",
            "<a> 个大箱和 <b> 个小箱共装 <p> 瓶水，<c> 个大箱和 <d> 个小箱共装 <q> 瓶水，每个大箱装多少瓶？",
            r"若 $\begin{cases}<a:c>m+<b:c>n=<p>\\<c:c>m+<d:c>n=<q>\end{cases}$，<求> $m$ 的值。",
            "Admission for <a> adults and <b> children costs <p> dollars, for <c> adults and <d> children <q> dollars. "
            "What does an adult pay?",
        ],
        answer=x,
        check=lambda v: (p - a * v) * d == (q - c * v) * b,
        work=("Eliminate the second unknown:", "消去第二个未知数：", "$<a:c>x+<b:c>y=<p>$, $<c:c>x+<d:c>y=<q>$, $x=<answer>$"),
        wrong=(y,),
        a=a, b=b, c=c, d=d, p=p, q=q,
    )  # fmt: skip


@group(SYSTEMS, level=2)
def system_substitution(r: Draw) -> Draft:
    """One unknown is a multiple of the other plus something; put it into the total."""
    k, m, x = r.int(2, 4), r.int(1, 9), r.int(4, 20)
    y = k * x + m
    total = x + y
    return pose(
        r,
        [
            r"Use substitution: $\begin{cases}y=<k>x+<m>\\x+y=<total>\end{cases}$. What is $x$?",
            "A ribbon <total> cm long is cut into two pieces. The long piece measures <m> cm more than <k> times the "
            "short one. <Find> the short piece.",
            "甲、乙两仓共存粮 <total> 吨，甲仓比乙仓的 <k> 倍还多 <m> 吨，乙仓存粮多少吨？",
            "Together <who> and <other> picked <total> apples. <who> picked <m> more than <k> times as many as <other>. "
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
    p, q = r.int(2, 9), r.int(1, 8)
    b, c = q - p, -p * q
    product = p * (p + q)
    return pose(
        r,
        [
            "<Find> the positive root of $x^2<b:c+>x<c:+>=0$." if b else "<Find> the positive root of $x^2<c:+>=0$.",
            Ask("A rectangle has area <product> cm$^2$; one side exceeds the other by <q> cm. How long is the shorter "
                "side, in cm?", p, lambda v: v > 0 and v * (v + q) == product),
            Ask("两个正整数相差 <q>，乘积为 <product>，较小的数是多少？", p, lambda v: v > 0 and v * (v + q) == product),
            Ask("若 $(x-<p>)(x+<q>)=0$，则这个方程的负根是______。", -q, lambda v: v < 0 and (v - p) * (v + q) == 0),
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
    half, lead = r.int(2, 9), r.pick(1, 1, 4)
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
        work=("Set the discriminant to zero:", "令判别式为零：", r"$<b>^2-4\times <lead>\times k=0$, $k=<answer>$"),
        wrong=(half, b * b),
        lead=lead, b=b,
    )  # fmt: skip


@group(QUADRATIC, level=4)
def vieta_squares(r: Draw) -> Draft:
    """Sum and product of the roots give a symmetric expression without solving."""
    s, p = r.int(4, 11), r.int(1, 3)
    squares = s * s - 2 * p
    return pose(
        r,
        [
            "If $x_1,x_2$ are the roots of $x^2-<s>x+<p>=0$, <find> $x_1^2+x_2^2$.",
            "设方程 $x^2-<s>x+<p>=0$ 的两根为 $\\alpha,\\beta$，<求> $\\alpha^2+\\beta^2$ 的值。",
            Ask(r"Without solving $x^2-<s>x+<p>=0$, give the sum $\frac{1}{m}+\frac{1}{n}$ of the reciprocals of its "
                "roots.", plain(Fraction(s, p)), lambda v: v * p == s),
            "A rectangle has perimeter <double> and area <p>. What is the square of its diagonal?",
            Ask("一元二次方程 $x^2-<s>x+<p>=0$ 的两根之差的平方等于多少？", s * s - 4 * p, lambda v: v + 4 * p == s * s),
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
    a, x, rest = r.int(2, 7), r.int(4, 15), 1
    b = r.int(5, 30)
    limit = a * x + b + rest
    return pose(
        r,
        [
            r"What is the largest integer that satisfies $<a>x+<b>\le <limit>$?",
            "A lift may carry at most <limit> kg. A trolley of <b> kg is already inside, and each box weighs <a> kg. "
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
    low, count = r.int(-4, 3), r.int(3, 6)
    high, a, b = low + count, r.int(2, 5), r.int(1, 9)
    left, right = a * low + b, high + b

    def figure() -> Image.Image:
        return interval(r.real(0.08, 0.3), r.real(0.65, 0.95), str(low), str(high), (True, False))

    return pose(
        r,
        [
            r"How many integers satisfy $\begin{cases}<a>x+<b>><left>\\x+<b>\le <right>\end{cases}$?",
            "#The number line shows the solution set of a pair of inequalities. How many whole numbers (negative ones "
            "included) belong to it?",
            r"不等式组 $\begin{cases}<a>x+<b>><left>\\x\le <high>\end{cases}$ 的整数解共有______个。",
            "#如图，数轴上表示的是某不等式组的解集，<求>其中整数的个数。",
            r"An integer $n$ is greater than $<low>$, and $n+<b>$ is at most $<right>$. How many values can $n$ take?",
        ],
        answer=count,
        check=lambda v: v == sum(a * n + b > left and n + b <= right for n in range(-50, 50)),
        work=("Intersect the two sets:", "取公共部分：", r"$<low><x\le <high>$"),
        figure=figure,
        wrong=(count + 1, count - 1),
        a=a, b=b, left=left, right=right, low=low, high=high,
    )  # fmt: skip


@group(IDENTITIES, level=2)
def difference_of_squares(r: Draw) -> Draft:
    """a^2 - b^2 = (a + b)(a - b) with friendly sums or differences."""
    a, b = r.pick((51, 49), (63, 37), (75, 25), (88, 12), (102, 98), (67, 33), (56, 44), (105, 95))
    total, gap = a + b, a - b
    return pose(
        r,
        [
            Ask("Compute $<a>^2-<b>^2$ without a calculator.", total * gap, lambda v: v == a * a - b * b),
            "If $m^2-n^2=<product>$ and $m-n=<gap>$, what is $m+n$?",
            Ask("用简便方法计算：$<a>^2-<b>^2$。", total * gap, lambda v: v == a * a - b * b),
            "已知 $x-y=<gap>$，且 $x^2-y^2=<product>$，则 $x+y$ 等于多少？",
            Ask("From a square sheet of side <a> mm <who> cuts away a square of side <b> mm. How many square "
                "millimetres remain?", total * gap, lambda v: v + b * b == a * a),
        ],
        answer=total,
        check=lambda v: v * gap == total * gap,
        work=("Use", "利用平方差公式", "$(<a>+<b>)(<a>-<b>)=<total>\\times <gap>=<product>$"),
        a=a, b=b, total=total, gap=gap, product=total * gap,
    )  # fmt: skip


@group(IDENTITIES, level=3)
def square_of_sum(r: Draw) -> Draft:
    """(a + b)^2 = a^2 + 2ab + b^2 linked with the product ab."""
    s, p = r.int(5, 14), r.int(1, 6)
    squares = s * s - 2 * p
    t = r.int(3, 9)
    return pose(
        r,
        [
            "Given $a+b=<s>$ and $ab=<p>$, <find> $a^2+b^2$.",
            Ask(r"If $x+\frac{1}{x}=<t>$, what is $x^2+\frac{1}{x^2}$?", t * t - 2, lambda v: v + 2 == t * t),
            Ask("若 $a^2+b^2=<squares>$，$a+b=<s>$，<求> $ab$。", p, lambda v: squares + 2 * v == s * s),
            "The sum of two numbers is <s> and their product is <p>. Determine the sum of their squares.",
            Ask(r"已知 $m-\frac{1}{m}=<t>$，则 $m^2+\frac{1}{m^2}=$ ______。", t * t + 2, lambda v: v - 2 == t * t),
        ],
        answer=squares,
        check=lambda v: v + 2 * p == s * s,
        work=("Square the sum:", "将和平方：", "$(a+b)^2=a^2+2ab+b^2$"),
        s=s, p=p, squares=squares, t=t,
    )  # fmt: skip


@group(POWERS, level=1)
def power_rules(r: Draw) -> Draft:
    """Add, subtract and multiply exponents of one base."""
    m, n = sorted(r.distinct(3, 9, 2), reverse=True)
    k = r.int(2, 4)
    total = m + n
    p, q = r.distinct(2, 9, 2)
    return pose(
        r,
        [
            r"$a^{<m>}\cdot a^{<n>}=a^{k}$. What is $k$?",
            Ask(r"已知 $x^a=<p>$，$x^b=<q>$，则 $x^{a+b}=$ ______。", p * q, lambda v: Fraction(v, q) == p),
            Ask(r"Which exponent $k$ makes $\left(y^{<m>}\right)^{<k>}=y^{k}$ true?", m * k, lambda v: Fraction(v, k) == m),
            Ask(r"若 $2^{<total>}\div 2^{<n>}=2^{k}$，<求> $k$。", m, lambda v: Fraction(2) ** total == 2 ** (v + n)),
            Ask("A culture of $2^{<m>}$ cells doubles <n> times. It then holds $2^k$ cells; <find> $k$.", total,
                lambda v: 2**v == 2**m * 2**n),
        ],
        answer=total,
        check=lambda v: 2**v == 2**m * 2**n,
        work=("For equal bases the exponents follow the power rules:", "同底数幂的运算法则：", r"$a^m\cdot a^n=a^{m+n}$, $(a^m)^n=a^{mn}$, $a^m\div a^n=a^{m-n}$"),
        m=m, n=n, k=k, total=total, p=p, q=q,
    )  # fmt: skip


@group(POWERS, level=2)
def surd_sum(r: Draw) -> Draft:
    """Bring surds to the same radicand before adding."""
    n = r.pick(2, 3, 5, 6, 7)
    a, b = r.distinct(2, 6, 2)
    first, second = a * a * n, b * b * n
    total = root_of(n, a + b)
    return pose(
        r,
        [
            r"Simplify $\sqrt{<first>}+\sqrt{<second>}$.",
            r"计算：$\sqrt{<first>}+\sqrt{<second>}=$ ______。",
            "Two square gardens cover <first> m$^2$ and <second> m$^2$. They lie side by side; how many metres is "
            "the sum of their sides, in simplest radical form?",
            r"化简 $<a>\sqrt{<n>}+\sqrt{<second>}$。",
            r"Write the sum of $\sqrt{<second>}$ and $<a>\sqrt{<n>}$ as a single surd.",
        ],
        answer=total,
        check=lambda v: v.square == first + second + 2 * a * b * n,
        work=("Take the squares out:", "化为最简二次根式：", r"$\sqrt{<first>}=<a>\sqrt{<n>}$, $\sqrt{<second>}=<b>\sqrt{<n>}$"),
        n=n, a=a, b=b, first=first, second=second,
    )  # fmt: skip


@group(ARITHMETIC, level=2)
def arithmetic_term(r: Draw) -> Draft:
    """The n-th term from the first term and the difference."""
    a, d, n = r.int(2, 15), r.int(2, 8), r.int(8, 25)
    term, second, third = a + (n - 1) * d, a + d, a + 2 * d
    return pose(
        r,
        [
            "<Find> the <n>th term of $<a>, <second>, <third>, \\ldots$",
            "A cinema has <a> seats in row 1, and each row has <d> more seats than the row before. How many seats are "
            "there in row <n>?",
            "等差数列 $\\{a_n\\}$ 中，$a_1=<a>$，公差 $d=<d>$，则 $a_{<n>}=$ ______。",
            Ask("Which term of the arithmetic progression $<a>, <second>, <third>, \\ldots$ equals <term>?", n,
                lambda v: a + (v - 1) * d == term),
            "<who>第一天背 <a> 个单词，以后每天比前一天多背 <d> 个，第 <n> 天要背多少个？",
        ],
        answer=term,
        check=lambda v: v - (n - 1) * d == a,
        work=("Use the general term:", "由通项公式：", "$a_n=a_1+(n-1)d=<a>+(<n>-1)\\times <d>=<term>$"),
        wrong=(a + n * d,),
        a=a, d=d, n=n, term=term, second=second, third=third,
    )  # fmt: skip


@group(ARITHMETIC, level=3)
def arithmetic_sum(r: Draw) -> Draft:
    """Half the number of terms times the sum of the outer terms."""
    a, d, n = r.int(2, 9), r.int(2, 5), r.int(8, 20)
    last, second = a + (n - 1) * d, a + d
    total = plain(Fraction(n * (a + last), 2))
    return pose(
        r,
        [
            "Evaluate $<a>+<second>+\\cdots+<last>$, where neighbouring terms differ by <d>.",
            "Logs are stacked in <n> layers: <a> on top, <last> at the bottom, the same increase from layer to layer. "
            "How many logs are in the stack?",
            "等差数列的首项为 <a>，第 <n> 项为 <last>，<求>前 <n> 项的和 $S_{<n>}$。",
            "<who> saves <a> coins in the first week and every week <d> more than the week before. How many coins are "
            "in the box after <n> weeks?",
            "剧场共 <n> 排座位，第一排 <a> 个，后一排比前一排多 <d> 个，全场共有多少个座位？",
        ],
        answer=total,
        check=lambda v: v == sum(a + k * d for k in range(n)),
        work=("Add the outer terms:", "由求和公式：", r"$S=\frac{<n>(<a>+<last>)}{2}=<answer>$"),
        a=a, d=d, n=n, last=last, second=second,
    )  # fmt: skip


@group(GEOMETRIC, level=3)
def geometric_term(r: Draw) -> Draft:
    """Multiply by a constant ratio again and again."""
    a, q, n = r.int(1, 6), r.pick(2, 3), r.int(4, 6)
    term, second, third = a * q ** (n - 1), a * q, a * q * q
    return pose(
        r,
        [
            "In the geometric sequence $<a>, <second>, <third>, \\ldots$ <find> term number <n>.",
            "A rumour is known to <a> people on day 1; each day <q> times as many know it as the day before. How many "
            "know it on day <n>?",
            "等比数列 $\\{b_n\\}$ 中，$b_1=<a>$，公比为 <q>，<求> $b_{<n>}$。",
            Ask("A positive common ratio leads from $a_1=<a>$ to $a_3=<third>$. What is the ratio?", q,
                lambda v: v > 0 and a * v * v == third),
            "某种细胞每小时变为原来的 <q> 倍，第 1 小时初有 <a> 个，第 <n> 小时初有多少个？",
        ],
        answer=term,
        check=lambda v: Fraction(v, q ** (n - 1)) == a,
        work=("Use the general term:", "由通项公式：", r"$a_n=a_1q^{n-1}$, $<a>\times <q>^{<n>-1}=<term>$"),
        wrong=(a * q**n,),
        a=a, q=q, n=n, second=second, third=third, term=term,
    )  # fmt: skip
