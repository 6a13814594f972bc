"""Word problems about motion, work and mixtures."""

from __future__ import annotations

from fractions import Fraction

from .draw import Draw
from .knowledge import MEETING, MIXTURE, SPEEDS, WORK
from .registry import Ask, Draft, group, pose
from .values import plain


@group(MEETING, level=2)
def meeting(r: Draw) -> Draft:
    """Relative speed towards each other: the distance shrinks by both speeds."""
    a, b, t = r.num(40, 70, 2), r.num(45, 85, 5), r.num(2, 5)
    d = (a + b) * t
    return pose(
        r,
        [
            "Two towns are <d> km apart. A bus leaves one town at <a> km/h while a car leaves the other at "
            "<b> km/h, and "
            "they drive towards each other. After how many hours do they meet?",
            "甲、乙两地相距 <d> 千米，客车与货车同时从两地相向而行，速度分别为 <a> 千米/时和 <b> 千米/时，"
            "几小时后相遇？",
            Ask("<who> and <other> start at the same moment from the two ends of a <d> m long road and meet "
                "after <t> "
                "minutes. <who> walks <a> metres a minute. How fast does <other> walk, in metres a "
                "minute?", b,
                lambda v: (a + v) * t == d),
            Ask("两艘船从相距若干海里的港口同时出发，相对航行 <t> 小时后相遇，航速分别为每小时 <a> 海里和 "
                "<b> 海里，"
                "两港相距多少海里？", d, lambda v: Fraction(v, t) == a + b),
            "A tunnel of <d> m is dug from both sides; one crew advances <a> m a week, the opposite one <b> "
            "m a week. When "
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
    slow, gain, t = r.num(40, 60, 5), r.num(5, 30, 5), r.num(2, 6)
    fast, lead = slow + gain, gain * t
    return pose(
        r,
        [
            "A lorry is <lead> km ahead of a car on the motorway. The lorry drives <slow> km/h, the car "
            "<fast> km/h. How "
            "many hours later does the car draw level?",
            "<who>以每分钟 <slow> 米的速度先走，当他领先 <lead> 米时，<other>以每分钟 <fast> "
            "米的速度从同一地点同向追赶，"
            "几分钟能追上？",
            Ask("A police boat gives chase at <fast> km/h and reaches a smuggler, who flees at <slow> km/h, "
                "after <t> hours. "
                "How large was the smuggler's lead in km?", lead, lambda v: v + slow * t == fast * t),
            "<who> set off early and is already <lead> m down the road, walking <slow> m per minute. <other> "
            "cycles after "
            "at <fast> m per minute. <Find> the minutes until both are at the same place.",
            Ask("快车追赶前方 <lead> 千米处的慢车，<t> 小时追上，已知慢车每小时行 <slow> 千米，"
                "<求>快车的速度。", fast,
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
            "<who> drives to a village at <a> km/h and comes back by the same road at <b> km/h. What is the "
            "average "
            "speed of the whole trip, in km/h?",
            "一辆汽车去时速度为 <a> 千米/时，沿原路返回时速度为 <b> 千米/时，求往返的平均速度。",
            "The first half of a distance of <double> km is covered at <a> km/h, the second half at <b> "
            "km/h. <Find> the mean "
            "speed over the whole way.",
            Ask("上山每小时走 <a> 千米，下山每小时走 <b> 千米，上山与下山的路程相等，"
                "平均每小时走多少千米？", mean,
                lambda v: 1 / Fraction(a) + 1 / Fraction(b) == 2 / Fraction(v)),
            "A ferry crosses <d> km of sea at <a> km/h and sails home at <b> km/h. What steady speed would "
            "need the same total time?",
        ],
        answer=mean,
        check=lambda v: (Fraction(d, a) + Fraction(d, b)) * v == 2 * d,
        work=("Whole distance over whole "
              "time:", "总路程除以总时间：", r"$\frac{2}{\frac{1}{<a>}+\frac{1}{<b>}}=<mean>$"),
        wrong=(plain(Fraction(a + b, 2)),),
        a=a, b=b, d=d, double=2 * d, mean=mean,
    )  # fmt: skip


@group(SPEEDS, level=3)
def boat_current(r: Draw) -> Draft:
    """With and against a current: half the sum and half the difference of the two speeds."""
    still, flow, t = r.num(12, 24), r.num(2, 6), r.num(2, 5)
    down, up = still + flow, still - flow
    way_down, way_up = down * t, up * t
    return pose(
        r,
        [
            "Downstream a boat covers <way_down> km in <t> hours; upstream it covers only <way_up> km in the "
            "same time. "
            "What is its speed in still water?",
            "轮船顺水航行每小时 <down> 千米，逆水航行每小时 <up> 千米，<求>静水中的速度。",
            Ask("With the wind a plane model flies <down> m/s, into the wind <up> m/s. <Find> the speed of "
                "the wind.", flow,
                lambda v: down - v == up + v),
            Ask("一艘船顺流 <t> 小时行 <way_down> 千米，逆流 <t> 小时行 <way_up> 千米，"
                "水流速度是每小时多少千米？", flow,
                lambda v: (Fraction(way_down, t) - v) == Fraction(way_up, t) + v),
            "<who> walks on a moving walkway: <down> m a minute along its motion, <up> m a minute against "
            "it. How fast would "
            "<who> be on solid ground?",
        ],
        answer=still,
        check=lambda v: way_down - v * t == v * t - way_up,
        work=("The current is added once and taken away "
              "once:", "顺水速度是静水速度加水速，逆水速度是静水速度减水速：",
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
            Ask("Two taps together fill a bath in <t> minutes; the first alone takes <a> minutes. How many "
                "minutes would "
                "the second alone take?", b, lambda v: Fraction(1, a) + 1 / Fraction(v) == Fraction(1, t)),
            "单开进水管 A，<a> 小时注满水池；单开进水管 B，<b> 小时注满。两管齐开，几小时注满？",
            "An old printer needs <b> minutes for the school paper and a new one <a> minutes. If the copies "
            "are shared out "
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
            "Alone <who> needs <a> days for a job and <other> <b> days. <who> works <alone> days alone, then "
            "<other> joins. "
            "How many more days until the job is done?",
            "甲单独完成要 <a> 小时，乙单独完成要 <b> 小时。甲先做 <alone> 小时后乙加入，还要几小时完成？",
            "A pump that empties a pool in <a> hours runs for <alone> hours; then a second pump, which alone "
            "would need <b> "
            "hours, is switched on too. For how long do both run?",
            "整理图书，一人做需 <a> 小时，另一人做需 <b> 小时。第一人单独整理 <alone> 小时后两人合作，"
            "合作了多长时间才完成？",
            "One harvester clears a field in <a> h, another in <b> h. The first begins at dawn, the second "
            "<alone> h later. "
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
    m, n, p, q = r.num(1, 5) * 100, r.num(1, 5) * 100, r.num(5, 20, 5), r.num(25, 50, 5)
    mixed = plain(Fraction(m * p + n * q, m + n))
    return pose(
        r,
        [
            r"<who> pours <m> g of a $<p>\%$ salt solution and <n> g of a $<q>\%$ solution together. What "
            r"strength, in per "
            "cent, results?",
            r"把浓度为 $<p>\%$ 的盐水 <m> 克与浓度为 $<q>\%$ 的盐水 <n> 克混合，混合后的浓度是百分之几？",
            r"An alloy of <m> g with $<p>\%$ silver is melted together with <n> g of one holding $<q>\%$ "
            r"silver. Give the "
            "percentage of silver in the product.",
            r"<m> 毫升含糖 $<p>\%$ 的果汁和 <n> 毫升含糖 $<q>\%$ 的果汁倒在一起，含糖率是多少？",
            r"Milk with $<p>\%$ fat (<m> mL) is stirred into cream with $<q>\%$ fat (<n> mL). <Find> the fat "
            r"content.",
        ],
        answer=mixed,
        unit=r"\%",
        check=lambda v: (m + n) * v == m * p + n * q,
        work=("Add the dissolved amounts:", "溶质质量相加：", r"$\frac{<m>\times <p>+<n>\times "
                                                       r"<q>}{<m>+<n>}=<mixed>$"),
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
            Ask(r"How much water has to evaporate from <large> g of a $<weak>\%$ sugar solution so that it "
                r"becomes "
                r"$<strong>\%$?", water, lambda v: (m + water - v) * strong == (m + water) * weak),
            r"<who> finds <m> mL of a $<strong>\%$ cleaning acid too strong and wants $<weak>\%$. What "
            r"volume of pure water "
            "does it take?",
            Ask(r"<large> 克浓度为 $<weak>\%$ 的糖水，蒸发多少克水后浓度变为 $<strong>\%$？", water,
                lambda v: (m + water - v) * strong == (m + water) * weak),
        ],
        answer=water,
        check=lambda v: (m + v) * weak == m * strong,
        work=("The dissolved amount is unchanged:", "溶质不变：", r"$<m>\times <strong>\%=<large>\times "
                                                             r"<weak>\%$"),
        m=m, strong=strong, weak=weak, large=m + water,
    )  # fmt: skip
