"""Word problems: motion, work, mixtures, money, ages and numbers."""

from __future__ import annotations

from fractions import Fraction

from .draw import Draw
from .registry import Ask, Draft, group, pose
from .values import plain

MEETING = ("Word problems", "Motion", "Meeting and catching up")
SPEEDS = ("Word problems", "Motion", "Average and relative speed")
WORK = ("Word problems", "Work and mixtures", "Work rates")
MIXTURE = ("Word problems", "Work and mixtures", "Concentration")
PERCENT = ("Word problems", "Money", "Percentages and profit")
INTEREST = ("Word problems", "Money", "Interest and tariffs")
AGES = ("Word problems", "Numbers and ages", "Ages and digits")
SHARING = ("Word problems", "Numbers and ages", "Heads, legs and sharing")
LINEAR = ("Algebra", "Equations and inequalities", "Linear equations")


@group(MEETING, level=2)
def meeting(r: Draw) -> Draft:
    """Relative speed towards each other: the distance shrinks by both speeds."""
    a, b, t = r.int(40, 70, 2), r.int(45, 85, 5), r.int(2, 5)
    d = (a + b) * t
    return pose(
        r,
        [
            "Two towns are <d> km apart. A bus leaves one town at <a> km/h while a car leaves the other at <b> km/h, and "
            "they drive towards each other. After how many hours do they meet?",
            "甲、乙两地相距 <d> 千米，客车与货车同时从两地相向而行，速度分别为 <a> 千米/时和 <b> 千米/时，几小时后相遇？",
            Ask("<who> and <other> start at the same moment from the two ends of a <d> m long road and meet after <t> "
                "minutes. <who> walks <a> metres a minute. How fast does <other> walk, in metres a minute?", b,
                lambda v: (a + v) * t == d),
            Ask("两艘船从相距若干海里的港口同时出发，相对航行 <t> 小时后相遇，航速分别为每小时 <a> 海里和 <b> 海里，"
                "两港相距多少海里？", d, lambda v: Fraction(v, t) == a + b),
            "A tunnel of <d> m is dug from both sides; one crew advances <a> m a week, the opposite one <b> m a week. When "
            "do the crews break through (in weeks)?",
        ],
        answer=t,
        check=lambda v: a * v + b * v == d,
        work=("Each unit of time the gap closes by both speeds:", "单位时间内的路程和等于速度和：",
              r"$(<a>+<b>)\times <t>=<d>$"),
        a=a, b=b, t=t, d=d,
    )  # fmt: skip


@group(MEETING, level=3)
def catching_up(r: Draw) -> Draft:
    """Same direction: the lead shrinks by the difference of the speeds."""
    slow, gain, t = r.int(40, 60, 5), r.int(5, 30, 5), r.int(2, 6)
    fast, lead = slow + gain, gain * t
    return pose(
        r,
        [
            "A lorry is <lead> km ahead of a car on the motorway. The lorry drives <slow> km/h, the car <fast> km/h. How "
            "many hours later does the car draw level?",
            "<who>以每分钟 <slow> 米的速度先走，当他领先 <lead> 米时，<other>以每分钟 <fast> 米的速度从同一地点同向追赶，"
            "几分钟能追上？",
            Ask("A police boat gives chase at <fast> km/h and reaches a smuggler, who flees at <slow> km/h, after <t> hours. "
                "How large was the smuggler's lead in km?", lead, lambda v: v + slow * t == fast * t),
            "<who> set off early and is already <lead> m down the road, walking <slow> m per minute. <other> cycles after "
            "at <fast> m per minute. <Find> the minutes until both are at the same place.",
            Ask("快车追赶前方 <lead> 千米处的慢车，<t> 小时追上，已知慢车每小时行 <slow> 千米，<求>快车的速度。", fast,
                lambda v: (v - slow) * t == lead),
        ],
        answer=t,
        check=lambda v: slow * v + lead == fast * v,
        work=("The lead shrinks by the difference of the speeds:", "追及路程等于速度差乘时间：",
              r"$(<fast>-<slow>)\times <t>=<lead>$"),
        slow=slow, fast=fast, t=t, lead=lead,
    )  # fmt: skip


@group(SPEEDS, level=3)
def round_trip_average(r: Draw) -> Draft:
    """The average speed is the whole distance over the whole time, not the mean of the speeds."""
    a, b, mean = r.pick((30, 60, 40), (40, 60, 48), (20, 30, 24), (60, 90, 72), (10, 15, 12), (12, 60, 20), (6, 12, 8))
    d = a * b // 2
    return pose(
        r,
        [
            "<who> drives to a village at <a> km/h and comes back by the same road at <b> km/h. What is the average "
            "speed of the whole trip, in km/h?",
            "一辆汽车去时速度为 <a> 千米/时，沿原路返回时速度为 <b> 千米/时，求往返的平均速度。",
            "The first half of a distance of <double> km is covered at <a> km/h, the second half at <b> km/h. <Find> the mean "
            "speed over the whole way.",
            Ask("上山每小时走 <a> 千米，下山每小时走 <b> 千米，上山与下山的路程相等，平均每小时走多少千米？", mean,
                lambda v: 1 / Fraction(a) + 1 / Fraction(b) == 2 / Fraction(v)),
            "A ferry crosses <d> km of sea at <a> km/h and sails home at <b> km/h. What steady speed would "
            "need the same total time?",
        ],
        answer=mean,
        check=lambda v: (Fraction(d, a) + Fraction(d, b)) * v == 2 * d,
        work=("Whole distance over whole time:", "总路程除以总时间：", r"$\frac{2}{\frac{1}{<a>}+\frac{1}{<b>}}=<mean>$"),
        wrong=(plain(Fraction(a + b, 2)),),
        a=a, b=b, d=d, double=2 * d, mean=mean,
    )  # fmt: skip


@group(SPEEDS, level=3)
def boat_current(r: Draw) -> Draft:
    """With and against a current: half the sum and half the difference of the two speeds."""
    still, flow, t = r.int(12, 24), r.int(2, 6), r.int(2, 5)
    down, up = still + flow, still - flow
    way_down, way_up = down * t, up * t
    return pose(
        r,
        [
            "Downstream a boat covers <way_down> km in <t> hours; upstream it covers only <way_up> km in the same time. "
            "What is its speed in still water?",
            "轮船顺水航行每小时 <down> 千米，逆水航行每小时 <up> 千米，<求>静水中的速度。",
            Ask("With the wind a plane model flies <down> m/s, into the wind <up> m/s. <Find> the speed of the wind.", flow,
                lambda v: down - v == up + v),
            Ask("一艘船顺流 <t> 小时行 <way_down> 千米，逆流 <t> 小时行 <way_up> 千米，水流速度是每小时多少千米？", flow,
                lambda v: (Fraction(way_down, t) - v) == Fraction(way_up, t) + v),
            "<who> walks on a moving walkway: <down> m a minute along its motion, <up> m a minute against it. How fast would "
            "<who> be on solid ground?",
        ],
        answer=still,
        check=lambda v: way_down - v * t == v * t - way_up,
        work=("The current is added once and taken away once:", "顺水速度是静水速度加水速，逆水速度是静水速度减水速：",
              r"$\frac{<down>+<up>}{2}=<still>$, $\frac{<down>-<up>}{2}=<flow>$"),
        still=still, flow=flow, t=t, down=down, up=up, way_down=way_down, way_up=way_up,
    )  # fmt: skip


@group(WORK, level=3)
def work_together(r: Draw) -> Draft:
    """Add the parts of the job done per unit of time."""
    a, b, t = r.pick((3, 6, 2), (4, 12, 3), (6, 12, 4), (10, 15, 6), (12, 24, 8), (20, 30, 12), (5, 20, 4), (9, 18, 6))
    return pose(
        r,
        [
            "<who> paints a fence in <a> hours, <other> in <b> hours. How long do they need side by side?",
            "一项工程，甲队单独做 <a> 天完成，乙队单独做 <b> 天完成，两队合作几天完成？",
            Ask("Two taps together fill a bath in <t> minutes; the first alone takes <a> minutes. How many minutes would "
                "the second alone take?", b, lambda v: Fraction(1, a) + 1 / Fraction(v) == Fraction(1, t)),
            "单开进水管 A，<a> 小时注满水池；单开进水管 B，<b> 小时注满。两管齐开，几小时注满？",
            "An old printer needs <b> minutes for the school paper and a new one <a> minutes. If the copies are shared out "
            "so that both stop at the same moment, when is the paper ready?",
        ],
        answer=t,
        check=lambda v: Fraction(v, a) + Fraction(v, b) == 1,
        work=("Add the rates:", "效率相加：", r"$\frac{1}{<a>}+\frac{1}{<b>}=\frac{1}{<t>}$"),
        wrong=(plain(Fraction(a + b, 2)), a + b),
        a=a, b=b, t=t,
    )  # fmt: skip


@group(WORK, level=4)
def work_then_leave(r: Draw) -> Draft:
    """One starts alone, then both go on: the parts done make one whole job."""
    a, b, alone, t = r.pick((12, 6, 3, 3), (10, 15, 5, 3), (20, 30, 5, 9), (15, 10, 5, 4), (24, 8, 4, 5), (18, 9, 3, 5))
    return pose(
        r,
        [
            "Alone <who> needs <a> days for a job and <other> <b> days. <who> works <alone> days alone, then <other> joins. "
            "How many more days until the job is done?",
            "甲单独完成要 <a> 小时，乙单独完成要 <b> 小时。甲先做 <alone> 小时后乙加入，还要几小时完成？",
            "A pump that empties a pool in <a> hours runs for <alone> hours; then a second pump, which alone would need <b> "
            "hours, is switched on too. For how long do both run?",
            "整理图书，一人做需 <a> 小时，另一人做需 <b> 小时。第一人单独整理 <alone> 小时后两人合作，合作了多长时间才完成？",
            "One harvester clears a field in <a> h, another in <b> h. The first begins at dawn, the second <alone> h later. "
            "How many hours after the second one's start is the field clear?",
        ],
        answer=t,
        check=lambda v: Fraction(alone + v, a) + Fraction(v, b) == 1,
        work=("The parts make one whole:", "工作量之和为 1：", r"$\frac{<alone>+x}{<a>}+\frac{x}{<b>}=1$"),
        a=a, b=b, alone=alone,
    )  # fmt: skip


@group(MIXTURE, level=3)
def mixing_two(r: Draw) -> Draft:
    """Mix two strengths: the dissolved amounts add up."""
    m, n, p, q = r.int(1, 5) * 100, r.int(1, 5) * 100, r.int(5, 20, 5), r.int(25, 50, 5)
    mixed = plain(Fraction(m * p + n * q, m + n))
    return pose(
        r,
        [
            r"<who> pours <m> g of a $<p>\%$ salt solution and <n> g of a $<q>\%$ solution together. What strength, in per "
            "cent, results?",
            r"把浓度为 $<p>\%$ 的盐水 <m> 克与浓度为 $<q>\%$ 的盐水 <n> 克混合，混合后的浓度是百分之几？",
            r"An alloy of <m> g with $<p>\%$ silver is melted together with <n> g of one holding $<q>\%$ silver. Give the "
            "percentage of silver in the product.",
            r"<m> 毫升含糖 $<p>\%$ 的果汁和 <n> 毫升含糖 $<q>\%$ 的果汁倒在一起，含糖率是多少？",
            r"Milk with $<p>\%$ fat (<m> mL) is stirred into cream with $<q>\%$ fat (<n> mL). <Find> the fat content.",
        ],
        answer=mixed,
        unit=r"\%",
        check=lambda v: (m + n) * v == m * p + n * q,
        work=("Add the dissolved amounts:", "溶质质量相加：", r"$\frac{<m>\times <p>+<n>\times <q>}{<m>+<n>}=<mixed>$"),
        wrong=(plain(Fraction(p + q, 2)),),
        m=m, n=n, p=p, q=q, mixed=mixed,
    )  # fmt: skip


@group(MIXTURE, level=3)
def dilution(r: Draw) -> Draft:
    """Add or remove water: the dissolved amount stays."""
    m, strong, weak = r.pick((200, 30, 20), (300, 20, 15), (400, 25, 10), (150, 40, 25), (600, 10, 8), (500, 18, 15))
    water = m * strong // weak - m
    return pose(
        r,
        [
            r"How many grams of water must be added to <m> g of $<strong>\%$ brine to get $<weak>\%$ brine?",
            r"有含盐 $<strong>\%$ 的盐水 <m> 克，要稀释成 $<weak>\%$ 的盐水，需加水多少克？",
            Ask(r"How much water has to evaporate from <large> g of a $<weak>\%$ sugar solution so that it becomes "
                r"$<strong>\%$?", water, lambda v: (m + water - v) * strong == (m + water) * weak),
            r"<who> finds <m> mL of a $<strong>\%$ cleaning acid too strong and wants $<weak>\%$. What volume of pure water "
            "does it take?",
            Ask(r"<large> 克浓度为 $<weak>\%$ 的糖水，蒸发多少克水后浓度变为 $<strong>\%$？", water,
                lambda v: (m + water - v) * strong == (m + water) * weak),
        ],
        answer=water,
        check=lambda v: (m + v) * weak == m * strong,
        work=("The dissolved amount is unchanged:", "溶质不变：", r"$<m>\times <strong>\%=<large>\times <weak>\%$"),
        m=m, strong=strong, weak=weak, large=m + water,
    )  # fmt: skip


@group(PERCENT, level=2)
def discount(r: Draw) -> Draft:
    """From the reduced price back to the price before."""
    off, price = r.pick(10, 15, 20, 25, 30, 40), r.int(2, 15) * 20
    paid = plain(Fraction(price * (100 - off), 100))
    return pose(
        r,
        [
            r"After a reduction of $<off>\%$ a coat costs <paid> euros. What did it cost before the sale?",
            r"一件商品降价 $<off>\%$ 后售价为 <paid> 元，原价是多少元？",
            r"<who> paid <paid> dollars for shoes, $<off>\%$ less than the label says. What is on the label?",
            r"某校今年招生 <paid> 人，比去年减少了 $<off>\%$，去年招生多少人？",
            r"A tank has lost $<off>\%$ of its water and holds <paid> litres now. How much did it hold at first?",
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
    cost, up, down = r.int(2, 9) * 100, r.pick(20, 30, 40, 50, 60), r.pick(10, 20)
    profit = plain(Fraction(cost * (100 + up) * (100 - down), 10000) - cost)
    return pose(
        r,
        [
            r"A bicycle bought for <cost> euros is marked up by $<up>\%$ and then sold with $<down>\%$ off the marked price. "
            "How much profit is made?",
            r"一种家电进价 <cost> 元，按进价提高 $<up>\%$ 标价，再降价 $<down>\%$ 出售，每台获利多少元？",
            r"Shares worth <cost> dollars rise by $<up>\%$ in spring and fall by $<down>\%$ in autumn. What is the gain of "
            "the owner?",
            r"<who>的店把成本 <cost> 元的毛衣加价 $<up>\%$ 后，又便宜 $<down>\%$ 卖出，<求>利润。",
            r"<who> adds $<up>\%$ to the purchase price of <cost> dollars, yet grants a customer a rebate of $<down>\%$. "
            "By how much does the final price exceed the purchase price?",
        ],
        answer=profit,
        check=lambda v: (v + cost) * 10000 == cost * (100 + up) * (100 - down),
        work=("Multiply the factors:", "连乘：", r"$<cost>\times(1+<up>\%)\times(1-<down>\%)-<cost>=<profit>$"),
        wrong=(plain(Fraction(cost * (up - down), 100)),),
        cost=cost, up=up, down=down, profit=profit,
    )  # fmt: skip


@group(INTEREST, level=3)
def compound_growth(r: Draw) -> Draft:
    """A yearly percentage on the grown amount, for two years."""
    base, rate = r.int(1, 9) * 1000, r.pick(2, 3, 4, 5, 10)
    final = plain(Fraction(base * (100 + rate) ** 2, 10000))
    return pose(
        r,
        [
            r"<who> leaves <base> dollars at $<rate>\%$ a year in the bank, interest added at the end of each year. What is in "
            "the account after two years?",
            r"将 <base> 元存入银行，年利率 $<rate>\%$，按复利计算，两年后本息和是多少元？",
            Ask("A sum of <base> euros has become <final> euros two years later, by the same yearly percentage twice. What "
                "percentage?", rate, lambda v: v > 0 and base * (100 + v) ** 2 == final * 10000, r"\%"),
            Ask(r"某厂产量两年内由 <base> 件增加到 <final> 件，年平均增长率是多少？", rate,
                lambda v: v > 0 and base * (100 + v) ** 2 == final * 10000, r"\%"),
            r"A town of <base> inhabitants grows by $<rate>\%$ every year. <Find> the number of inhabitants in two years.",
        ],
        answer=final,
        check=lambda v: v * 10000 == base * (100 + rate) ** 2,
        work=("The factor of one year acts twice:", "每年乘同一倍数：", r"$<base>\times(1+<rate>\%)^2=<final>$"),
        wrong=(plain(Fraction(base * (100 + 2 * rate), 100)),),
        base=base, rate=rate, final=final,
    )  # fmt: skip


@group(INTEREST, level=3)
def tariff_steps(r: Draw) -> Draft:
    """A fixed price up to a limit and a price per unit beyond it."""
    fixed, limit, each, extra = r.int(8, 14), r.int(3, 6), r.int(2, 5), r.int(4, 15)
    bill, total = fixed + each * extra, limit + extra
    return pose(
        r,
        [
            "A taxi charges <fixed> dollars for up to <limit> km and <each> dollars for each further kilometre. <who> paid "
            "<bill> dollars. How long was the ride?",
            "出租车 <limit> 千米以内收费 <fixed> 元，超过部分每千米 <each> 元，<who>付了 <bill> 元，共行驶多少千米？",
            "The phone plan: <fixed> euros include <limit> GB, every GB beyond costs <each> euros. The bill was <bill> euros; "
            "how many GB were used?",
            Ask("每月用水不超过 <limit> 吨收 <fixed> 元，超出的每吨收 <each> 元，某户用水 <total> 吨，应交多少元？", bill,
                lambda v: v - (total - limit) * each == fixed),
            Ask("Renting a kayak costs <fixed> dollars for the first <limit> hours together and <each> dollars per hour after "
                "that. What is due for <total> hours?", bill, lambda v: v - (total - limit) * each == fixed),
        ],
        answer=total,
        check=lambda v: fixed + (v - limit) * each == bill,
        work=("Split off the part beyond the limit:", "分段计算：", r"$<fixed>+<each>\times(<total>-<limit>)=<bill>$"),
        fixed=fixed, limit=limit, each=each, bill=bill, total=total,
    )  # fmt: skip


@group(AGES, LINEAR, level=2)
def ages_later(r: Draw) -> Draft:
    """Both ages grow by the same number of years until one is a multiple of the other."""
    k, later, young = r.int(2, 3), r.int(2, 10), r.int(4, 12)
    old = k * (young + later) - later
    return pose(
        r,
        [
            "<who> is <old> years old and her daughter <young>. In how many years will the mother be <k> times as old as the "
            "daughter?",
            "今年爸爸 <old> 岁，儿子 <young> 岁，几年后爸爸的年龄是儿子的 <k> 倍？",
            "A tree of <old> years stands next to one of <young> years. How long until the age of the first is <k> times that "
            "of the second?",
            Ask("<later> 年后老师的年龄将是<who>的 <k> 倍，<who>今年 <young> 岁，老师今年多少岁？", old,
                lambda v: v + later == k * (young + later)),
            "At present <other> has <old> stamps and <who> has <young>. Each gets one stamp a week. When will <other> own "
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
            "The digits of a two-digit number add up to <total>. Written backwards the number is <change> larger. Which number is "
            "it?",
            "一个两位数，个位与十位数字之和为 <total>，交换两个数字后新数比原数大 <change>，求原来的两位数。",
            "<who> swaps the two digits of the house number and is off by <change> upwards; the digits sum to <total>. <Find> "
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
    many, few = r.int(5, 20), r.int(5, 20)
    heads, legs = many + few, 4 * many + 2 * few
    cents = 5 * many + 2 * few
    return pose(
        r,
        [
            "On a farm there are hens and rabbits, <heads> heads and <legs> legs altogether. How many rabbits are there?",
            "鸡兔同笼，共有 <heads> 个头，<legs> 只脚，兔有多少只？",
            Ask("<who> has <heads> coins of 2 and 5 cents, together worth <cents> cents. How many of them are 5-cent coins?",
                many, lambda v: 5 * v + 2 * (heads - v) == cents),
            "停车场有四轮汽车和两轮摩托车共 <heads> 辆，车轮共 <legs> 个，汽车有多少辆？",
            "<heads> tables offer <legs> seats, some for four people, the others for two. How many tables for four are there?",
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
    p, gap, n, over = r.int(3, 6), r.int(1, 3), r.int(8, 30), r.int(2, 12)
    q, things = p + gap, p * n + over
    short = q * n - things
    while short <= 0:
        n += 3
        things = p * n + over
        short = q * n - things
    return pose(
        r,
        [
            "If every child gets <p> sweets, <over> are left; for <q> sweets each, <short> are missing. How many children are "
            "there?",
            "把一些书分给学生，每人 <p> 本则余 <over> 本，每人 <q> 本则缺 <short> 本，学生有多少人？",
            "<who> packs eggs: with <p> in each box <over> eggs stay behind, but <q> per box would take <short> eggs more than "
            "there are. <Find> the number of boxes.",
            Ask("植树小组每人种 <p> 棵还剩 <over> 棵，每人种 <q> 棵还差 <short> 棵，共有多少棵树苗？", things,
                lambda v: Fraction(v - over, p) == Fraction(v + short, q)),
            Ask("Rooms for <p> leave <over> guests without a bed; rooms for <q> would leave <short> beds empty. How many guests "
                "are there?", things, lambda v: Fraction(v - over, p) == Fraction(v + short, q)),
        ],
        answer=n,
        check=lambda v: p * v + over == q * v - short,
        work=("Compare both ways of sharing:", "两种分法的总数相等：", r"$<p>x+<over>=<q>x-<short>$"),
        p=p, q=q, over=over, short=short,
    )  # fmt: skip
