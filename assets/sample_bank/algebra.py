"""Algebra beside equations: expressions and sequences."""

from __future__ import annotations

from fractions import Fraction

from .draw import Draw
from .knowledge import ARITHMETIC, GEOMETRIC, IDENTITIES, POWERS
from .registry import Ask, Draft, group, pose
from .values import plain, root_of


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
    s, p = r.num(5, 14), r.num(1, 6)
    squares = s * s - 2 * p
    t = r.num(3, 9)
    return pose(
        r,
        [
            "Given $a+b=<s>$ and $ab=<p>$, <find> $a^2+b^2$.",
            Ask(r"If $x+\frac{1}{x}=<t>$, what is $x^2+\frac{1}{x^2}$?", t * t - 2, lambda v: v + 2 == t * t),
            Ask("若 $a^2+b^2=<squares>$，$a+b=<s>$，<求> $ab$。", p, lambda v: squares + 2 * v == s * s),
            "The sum of two numbers is <s> and their product is <p>. Determine the sum of their squares.",
            Ask(r"已知 $m-\frac{1}{m}=<t>$，则 $m^2+\frac{1}{m^2}=$ "
                r"______。", t * t + 2, lambda v: v - 2 == t * t),
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
    k = r.num(2, 4)
    total = m + n
    p, q = r.distinct(2, 9, 2)
    return pose(
        r,
        [
            r"$a^{<m>}\cdot a^{<n>}=a^{k}$. What is $k$?",
            Ask(r"已知 $x^a=<p>$，$x^b=<q>$，则 $x^{a+b}=$ ______。", p * q, lambda v: Fraction(v, q) == p),
            Ask(r"Which exponent $k$ makes $\left(y^{<m>}\right)^{<k>}=y^{k}$ "
                r"true?", m * k, lambda v: Fraction(v, k) == m),
            Ask(r"若 $2^{<total>}\div 2^{<n>}=2^{k}$，<求> "
                r"$k$。", m, lambda v: Fraction(2) ** total == 2 ** (v + n)),
            Ask("A culture of $2^{<m>}$ cells doubles <n> times. It then holds $2^k$ cells; <find> "
                "$k$.", total,
                lambda v: 2**v == 2**m * 2**n),
        ],
        answer=total,
        check=lambda v: 2**v == 2**m * 2**n,
        work=("For equal bases the exponents follow the power rules:", "同底数幂的运算法则：", r"$a^m\cdot "
                                                                                     r"a^n=a^{m+n}$, "
                                                                                     r"$(a^m)^n=a^{mn}$, "
                                                                                     r"$a^m\div "
                                                                                     r"a^n=a^{m-n}$"),
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
            "Two square gardens cover <first> m$^2$ and <second> m$^2$. They lie side by side; how many "
            "metres is "
            "the sum of their sides, in simplest radical form?",
            r"化简 $<a>\sqrt{<n>}+\sqrt{<second>}$。",
            r"Write the sum of $\sqrt{<second>}$ and $<a>\sqrt{<n>}$ as a single surd.",
        ],
        answer=total,
        check=lambda v: v.square == first + second + 2 * a * b * n,
        work=("Take the squares out:", "化为最简二次根式：", r"$\sqrt{<first>}=<a>\sqrt{<n>}$, "
                                                    r"$\sqrt{<second>}=<b>\sqrt{<n>}$"),
        n=n, a=a, b=b, first=first, second=second,
    )  # fmt: skip


@group(ARITHMETIC, level=2)
def arithmetic_term(r: Draw) -> Draft:
    """The n-th term from the first term and the difference."""
    a, d, n = r.num(2, 15), r.num(2, 8), r.num(8, 25)
    term, second, third = a + (n - 1) * d, a + d, a + 2 * d
    return pose(
        r,
        [
            "<Find> term number <n> of $<a>, <second>, <third>, \\ldots$",
            "A cinema has <a> seats in row 1, and each row has <d> more seats than the row before. How many "
            "seats are "
            "there in row <n>?",
            "等差数列 $\\{a_n\\}$ 中，$a_1=<a>$，公差 $d=<d>$，则 $a_{<n>}=$ ______。",
            Ask("Which term of the arithmetic progression $<a>, <second>, <third>, \\ldots$ equals "
                "<term>?", n,
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
    a, d, n = r.num(2, 9), r.num(2, 5), r.num(8, 20)
    last, second = a + (n - 1) * d, a + d
    total = plain(Fraction(n * (a + last), 2))
    return pose(
        r,
        [
            "Evaluate $<a>+<second>+\\cdots+<last>$, where neighbouring terms differ by <d>.",
            "Logs are stacked in <n> layers: <a> on top, <last> at the bottom, the same increase from layer "
            "to layer. "
            "How many logs are in the stack?",
            "等差数列的首项为 <a>，第 <n> 项为 <last>，<求>前 <n> 项的和 $S_{<n>}$。",
            "<who> saves <a> coins in the first week and every week <d> more than the week before. How many "
            "coins are "
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
    a, q, n = r.num(1, 6), r.pick(2, 3), r.num(4, 6)
    term, second, third = a * q ** (n - 1), a * q, a * q * q
    return pose(
        r,
        [
            "In the geometric sequence $<a>, <second>, <third>, \\ldots$ <find> term number <n>.",
            "A rumour is known to <a> people on day 1; each day <q> times as many know it as the day before. "
            "How many "
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
