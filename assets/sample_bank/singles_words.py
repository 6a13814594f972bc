"""Word problems that stand alone."""

from __future__ import annotations

from fractions import Fraction

from .knowledge import AGES, INTEREST, MEETING, MIXTURE, PERCENT, SHARING, SPEEDS, WORK
from .registry import single

# Word problems
single(
    MEETING,
    4,
    "Two runners circle a $400$ m track from the same line in opposite directions at $5$ m/s and $3$ m/s. "
    "How often "
    "do they meet within the first $5$ minutes?",
    6,
    "They meet every $50$ s",
    lambda n: n == 300 * (5 + 3) // 400,
)


single(
    MEETING,
    3,
    "一列长 200 米的火车以每秒 25 米的速度通过一座 800 米长的桥，完全通过需要多少秒？",
    40,
    "路程为 $800+200$ 米",
    lambda t: 25 * t == 800 + 200,
)


single(
    SPEEDS,
    2,
    "A cyclist covers $18$ km in $45$ minutes. What is that in km/h?",
    24,
    "$18\\div\\frac{3}{4}$",
    lambda v: v * Fraction(45, 60) == 18,
)


single(
    SPEEDS,
    4,
    "自动扶梯匀速上行，小强走 20 级到顶用 20 秒，站着不动用 60 秒到顶，扶梯露在外面的有多少级？",
    30,
    "设共 $n$ 级，$20+20\\times\\frac{n}{60}=n$",
    lambda n: 20 + 20 * Fraction(n, 60) == n,
)


single(
    WORK,
    3,
    "Six machines make $480$ parts in $4$ hours. How many parts do nine such machines make in $5$ hours?",
    900,
    "One machine makes $20$ parts an hour",
    lambda n: Fraction(n, 9 * 5) == Fraction(480, 6 * 4),
)


single(
    WORK,
    4,
    "一个水池装满水，单开出水管 6 小时放完，单开进水管 9 小时注满。池满时两管同开，几小时放完？",
    18,
    r"$\frac{1}{6}-\frac{1}{9}=\frac{1}{18}$",
    lambda t: Fraction(t, 6) - Fraction(t, 9) == 1,
)


single(
    MIXTURE,
    4,
    "From $10$ litres of pure syrup $2$ litres are replaced by water, mixed, and $2$ litres replaced again. "
    "How many "
    "litres of syrup remain?",
    Fraction(32, 5),
    r"$10\times\left(\frac{4}{5}\right)^2$",
    lambda v: v == 10 * Fraction(8, 10) ** 2,
)


single(
    MIXTURE,
    2,
    "80 克水中溶解 20 克糖，糖水的浓度是百分之几？",
    20,
    r"$\frac{20}{80+20}$",
    lambda v: v * (80 + 20) == 2000,
    unit=r"\%",
)


single(
    PERCENT,
    2,
    r"A town grew from $8000$ to $9200$ people. By what percentage?",
    15,
    r"$\frac{1200}{8000}$",
    lambda v: 8000 * (100 + v) == 920000,
    unit=r"\%",
)


single(
    PERCENT,
    3,
    "两件衣服都卖 120 元，一件赚 $20\\%$，一件亏 $20\\%$，合计亏损多少元？",
    10,
    "成本为 $100$ 元与 $150$ 元",
    lambda v: v == Fraction(120 * 100, 120) + Fraction(120 * 100, 80) - 240,
)


single(
    INTEREST,
    2,
    r"What simple interest do $2500$ dollars earn in $9$ months at $4\%$ a year?",
    75,
    r"$2500\times 0.04\times\frac{9}{12}$",
    lambda v: v == 2500 * Fraction(4, 100) * Fraction(9, 12),
)


single(
    AGES,
    3,
    "三个连续奇数的和是 57，其中最大的是多少？",
    21,
    "中间数为 $19$",
    lambda v: v % 2 == 1 and v + v - 2 + v - 4 == 57,
)


single(
    SHARING,
    3,
    "A $60$ m path gets a lamp at both ends and every $4$ m between. How many lamps are needed?",
    16,
    "One more than the gaps",
    lambda n: (n - 1) * 4 == 60,
    wrong=(15, 14, 17),
)


single(
    SHARING,
    4,
    "甲给乙 6 张邮票后两人一样多，原来共有 60 张，甲原来有多少张？",
    36,
    "给后各 $30$ 张",
    lambda v: v - 6 == 60 - v + 6,
)
