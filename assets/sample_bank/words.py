"""Word problems about money, ages and numbers."""

from __future__ import annotations

from fractions import Fraction

from .draw import Draw
from .knowledge import AGES, INTEREST, LINEAR, PERCENT, SHARING
from .registry import Ask, Draft, group, pose
from .values import plain


@group(PERCENT, level=2)
def discount(r: Draw) -> Draft:
    """From the reduced price back to the price before."""
    off, price = r.pick(10, 15, 20, 25, 30, 40), r.num(2, 15) * 20
    paid = plain(Fraction(price * (100 - off), 100))
    return pose(
        r,
        [
            r"After a reduction of $<off>\%$ a coat costs <paid> euros. What did it cost before the sale?",
            r"一件商品降价 $<off>\%$ 后售价为 <paid> 元，原价是多少元？",
            r"<who> paid <paid> dollars for shoes, $<off>\%$ less than the label says. What is on the label?",
            r"某校今年招生 <paid> 人，比去年减少了 $<off>\%$，去年招生多少人？",
            r"A tank has lost $<off>\%$ of its water and holds <paid> litres now. How much did it hold at "
            r"first?",
        ],
        answer=price,
        check=lambda v: v * (100 - off) == 100 * paid,
        work=("Divide by what is left of the whole:", "除以剩余的百分比：", r"$<paid>\div <left>\%=<price>$"),
        wrong=(plain(Fraction(paid * (100 + off), 100)), paid + off),
        off=off, paid=paid, price=price, left=100 - off,
    )  # fmt: skip


@group(PERCENT, level=3)
def mark_up_then_down(r: Draw) -> Draft:
    """A price is raised and the raised price reduced; the factors multiply."""
    cost, up, down = r.num(2, 9) * 100, r.pick(20, 30, 40, 50, 60), r.pick(10, 20)
    profit = plain(Fraction(cost * (100 + up) * (100 - down), 10000) - cost)
    return pose(
        r,
        [
            r"A bicycle bought for <cost> euros is marked up by $<up>\%$ and then sold with $<down>\%$ off "
            r"the marked price. "
            "How much profit is made?",
            r"一种家电进价 <cost> 元，按进价提高 $<up>\%$ 标价，再降价 $<down>\%$ 出售，每台获利多少元？",
            r"Shares worth <cost> dollars rise by $<up>\%$ in spring and fall by $<down>\%$ in autumn. What "
            r"is the gain of "
            "the owner?",
            r"<who>的店把成本 <cost> 元的毛衣加价 $<up>\%$ 后，又便宜 $<down>\%$ 卖出，<求>利润。",
            r"<who> adds $<up>\%$ to the purchase price of <cost> dollars, yet grants a customer a rebate of "
            r"$<down>\%$. "
            "By how much does the final price exceed the purchase price?",
        ],
        answer=profit,
        check=lambda v: (v + cost) * 10000 == cost * (100 + up) * (100 - down),
        work=("Multiply the "
              "factors:", "连乘：", r"$<cost>\times(1+<up>\%)\times(1-<down>\%)-<cost>=<profit>$"),
        wrong=(plain(Fraction(cost * (up - down), 100)),),
        cost=cost, up=up, down=down, profit=profit,
    )  # fmt: skip


@group(INTEREST, level=3)
def compound_growth(r: Draw) -> Draft:
    """A yearly percentage on the grown amount, for two years."""
    base, rate = r.num(1, 9) * 1000, r.pick(2, 3, 4, 5, 10)
    final = plain(Fraction(base * (100 + rate) ** 2, 10000))
    return pose(
        r,
        [
            r"<who> leaves <base> dollars at $<rate>\%$ a year in the bank, interest added at the end of "
            r"each year. What is in "
            "the account after two years?",
            r"将 <base> 元存入银行，年利率 $<rate>\%$，按复利计算，两年后本息和是多少元？",
            Ask("A sum of <base> euros has become <final> euros two years later, by the same yearly "
                "percentage twice. What "
                "percentage?", rate, lambda v: v > 0 and base * (100 + v) ** 2 == final * 10000, r"\%"),
            Ask(r"某厂产量两年内由 <base> 件增加到 <final> 件，年平均增长率是多少？", rate,
                lambda v: v > 0 and base * (100 + v) ** 2 == final * 10000, r"\%"),
            r"A town of <base> inhabitants grows by $<rate>\%$ every year. <Find> the number of inhabitants "
            r"in two years.",
        ],
        answer=final,
        check=lambda v: v * 10000 == base * (100 + rate) ** 2,
        work=("The factor of one year acts "
              "twice:", "每年乘同一倍数：", r"$<base>\times(1+<rate>\%)^2=<final>$"),
        wrong=(plain(Fraction(base * (100 + 2 * rate), 100)),),
        base=base, rate=rate, final=final,
    )  # fmt: skip


@group(INTEREST, level=3)
def tariff_steps(r: Draw) -> Draft:
    """A fixed price up to a limit and a price per unit beyond it."""
    fixed, limit, each, extra = r.num(8, 14), r.num(3, 6), r.num(2, 5), r.num(4, 15)
    bill, total = fixed + each * extra, limit + extra
    return pose(
        r,
        [
            "A taxi charges <fixed> dollars for up to <limit> km and <each> dollars for each further "
            "kilometre. <who> paid "
            "<bill> dollars. How long was the ride?",
            "出租车 <limit> 千米以内收费 <fixed> 元，超过部分每千米 <each> 元，<who>付了 <bill> 元，"
            "共行驶多少千米？",
            "The phone plan: <fixed> euros include <limit> GB, every GB beyond costs <each> euros. The bill "
            "was <bill> euros; "
            "how many GB were used?",
            Ask("每月用水不超过 <limit> 吨收 <fixed> 元，超出的每吨收 <each> 元，某户用水 <total> 吨，"
                "应交多少元？", bill,
                lambda v: v - (total - limit) * each == fixed),
            Ask("Renting a kayak costs <fixed> dollars for the first <limit> hours together and <each> "
                "dollars per hour after "
                "that. What is due for <total> hours?", bill, lambda v: v - (total - limit) * each == fixed),
        ],
        answer=total,
        check=lambda v: fixed + (v - limit) * each == bill,
        work=("Split off the part beyond the "
              "limit:", "分段计算：", r"$<fixed>+<each>\times(<total>-<limit>)=<bill>$"),
        fixed=fixed, limit=limit, each=each, bill=bill, total=total,
    )  # fmt: skip


@group(AGES, LINEAR, level=2)
def ages_later(r: Draw) -> Draft:
    """Both ages grow by the same number of years until one is a multiple of the other."""
    k = r.num(2, 3)
    total, young = r.num(22, 34) if k == 2 else r.num(12, 17), r.num(4, 10)
    later = total - young
    old = k * (young + later) - later
    return pose(
        r,
        [
            "A mother is <old> years old and her daughter <young>. In how many years will the mother be <k> "
            "times as old as the "
            "daughter?",
            "今年爸爸 <old> 岁，儿子 <young> 岁，几年后爸爸的年龄是儿子的 <k> 倍？",
            "A tree of <old> years stands next to one of <young> years. How long until the age of the first "
            "is <k> times that "
            "of the second?",
            Ask("<later> 年后老师的年龄将是<who>的 <k> 倍，<who>今年 <young> 岁，老师今年多少岁？", old,
                lambda v: v + later == k * (young + later)),
            "At present <other> has <old> stamps and <who> has <young>. Each gets one stamp a week. When "
            "will <other> own "
            "<k> times as many as <who>, counted in weeks?",
        ],
        answer=later,
        check=lambda v: old + v == k * (young + v),
        work=("Both grow by the same amount:", "年龄差不变，同时增加：", r"$<old>+x=<k>(<young>+x)$"),
        k=k, later=later, young=young, old=old,
    )  # fmt: skip


@group(AGES, level=3)
def digits_reversed(r: Draw) -> Draft:
    """Reversing a two-digit number changes it by nine times the difference of the digits."""
    ones, tens = sorted(r.distinct(1, 9, 2), reverse=True)
    number, total, change = 10 * tens + ones, tens + ones, 9 * (ones - tens)

    def check(v: int) -> bool:
        return sum(divmod(v, 10)) == total and 10 * (v % 10) + v // 10 == v + change

    return pose(
        r,
        [
            "The digits of a two-digit number add up to <total>. Written backwards the number is <change> "
            "larger. Which number is "
            "it?",
            "一个两位数，个位与十位数字之和为 <total>，交换两个数字后新数比原数大 <change>，求原来的两位数。",
            "<who> swaps the two digits of the house number and is off by <change> upwards; the digits sum "
            "to <total>. <Find> "
            "the house number.",
            "两位数的两个数字和是 <total>，把十位与个位对调，所得的数增加了 <change>，这个两位数是多少？",
            "$n=10a+b$ with $a+b=<total>$ and $10b+a=n+<change>$. What is $n$?",
        ],
        answer=number,
        check=check,
        work=("The digits differ by a ninth of the change:", "两数字之差等于变化量除以 9：",
              r"$b-a=<change>\div 9$, $a+b=<total>$"),
        wrong=(10 * ones + tens,),
        total=total, change=change,
    )  # fmt: skip


@group(SHARING, level=2)
def heads_and_legs(r: Draw) -> Draft:
    """Suppose all were of one kind and exchange the surplus."""
    many, few = r.num(5, 20), r.num(5, 20)
    heads, legs = many + few, 4 * many + 2 * few
    cents = 5 * many + 2 * few
    return pose(
        r,
        [
            "On a farm there are hens and rabbits, <heads> heads and <legs> legs altogether. How many "
            "rabbits are there?",
            "鸡兔同笼，共有 <heads> 个头，<legs> 只脚，兔有多少只？",
            Ask("<who> has <heads> coins of 2 and 5 cents, together worth <cents> cents. How many of them "
                "are 5-cent coins?",
                many, lambda v: 5 * v + 2 * (heads - v) == cents),
            "停车场有四轮汽车和两轮摩托车共 <heads> 辆，车轮共 <legs> 个，汽车有多少辆？",
            "<heads> tables offer <legs> seats, some for four people, the others for two. How many tables "
            "for four are there?",
        ],
        answer=many,
        check=lambda v: 4 * v + 2 * (heads - v) == legs,
        work=("Suppose that all were of the smaller kind; each exchange adds the difference:",
              "假设全是较小的一种，再逐个替换：", r"$4x+2(<heads>-x)=<legs>$"),
        wrong=(few,),
        heads=heads, legs=legs, cents=cents,
    )  # fmt: skip


@group(SHARING, level=3)
def surplus_and_deficit(r: Draw) -> Draft:
    """Two ways of sharing: the difference per head times the heads is surplus plus deficit."""
    p, gap, n, over = r.num(3, 6), r.num(1, 3), r.num(8, 30), r.num(2, 12)
    q, things = p + gap, p * n + over
    short = q * n - things
    while short <= 0:
        n += 3
        things = p * n + over
        short = q * n - things
    return pose(
        r,
        [
            "If every child gets <p> sweets, <over> are left; for <q> sweets each, <short> are missing. How "
            "many children are "
            "there?",
            "把一些书分给学生，每人 <p> 本则余 <over> 本，每人 <q> 本则缺 <short> 本，学生有多少人？",
            "<who> packs eggs: with <p> in each box <over> eggs stay behind, but <q> per box would take "
            "<short> eggs more than "
            "there are. <Find> the number of boxes.",
            Ask("植树小组每人种 <p> 棵还剩 <over> 棵，每人种 <q> 棵还差 <short> 棵，共有多少棵树苗？", things,
                lambda v: Fraction(v - over, p) == Fraction(v + short, q)),
            Ask("Rooms for <p> leave <over> guests without a bed; rooms for <q> would leave <short> beds "
                "empty. How many guests "
                "are there?", things, lambda v: Fraction(v - over, p) == Fraction(v + short, q)),
        ],
        answer=n,
        check=lambda v: p * v + over == q * v - short,
        work=("Compare both ways of sharing:", "两种分法的总数相等：", r"$<p>x+<over>=<q>x-<short>$"),
        p=p, q=q, over=over, short=short,
    )  # fmt: skip
