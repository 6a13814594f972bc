"""Averages, spread and charts."""

from __future__ import annotations

import itertools
from fractions import Fraction

from PIL import Image

from .charts import bars, line_chart, pie
from .draw import Draw
from .knowledge import BARS, LINES, MEAN, PIES, SPREAD
from .registry import Ask, Draft, group, pose
from .values import plain


@group(MEAN, level=2)
def missing_value(r: Draw) -> Draft:
    """From a mean to the sum, and from the sum to the missing value."""
    n, mean = r.num(4, 6), r.num(60, 90)
    while True:
        known = [mean + r.num(-9, 9) for _ in range(n - 1)]
        x = n * mean - sum(known)
        if abs(x - mean) < 16 and x != mean:
            break
    listed, first = ", ".join(map(str, known)), plain(Fraction(sum(known), n - 1))
    return pose(
        r,
        [
            "The mean of $<listed>$ and $x$ is <mean>. <Find> $x$.",
            "<who> scored $<listed>$ in the first tests. What must the next score be so that the average "
            "becomes <mean>?",
            "一组数据 $<listed>,x$ 的平均数是 <mean>，则 $x$ 的值为______。",
            "前 <before> 次测验成绩为 $<listed>$，第 <n> 次考多少分才能使平均分达到 <mean> 分？",
            "<n> parcels weigh <mean> kg on average. All but one are weighed: $<listed>$ kg. How heavy is "
            "the last one?",
        ],
        answer=x,
        check=lambda v: Fraction(sum(known) + v, n) == mean,
        work=("The mean gives the sum:", "由平均数得总和：", r"$<n>\times <mean>-<sum>=<x>$"),
        listed=listed, mean=mean, n=n, before=n - 1, sum=sum(known), x=x, first=first,
    )  # fmt: skip


@group(MEAN, level=2)
def weighted_mean(r: Draw) -> Draft:
    """Values count as often as their weight says."""
    p, q = r.pick((3, 2), (2, 3), (7, 3), (6, 4), (3, 7), (4, 1), (1, 4))
    a, b = r.num(60, 98), r.num(60, 98)
    mean = plain(Fraction(p * a + q * b, p + q))
    m, n = 10 * p, 10 * q
    return pose(
        r,
        [
            "In class A, <m> students have a mean score of <a>; in class B, <n> students average <b>. <Find> "
            "the mean of all.",
            "<who>的笔试成绩为 <a> 分，面试成绩为 <b> 分，按 $<p>:<q>$ 的比例计算总评成绩，总评是多少分？",
            "A final mark counts the exam (<a> points) <p> times and the homework (<b> points) <q> times. "
            "What is the final mark?",
            "甲种糖 <p> 千克，每千克 <a> 元；乙种糖 <q> 千克，每千克 <b> 元。混合后每千克平均多少元？",
            r"The value <a> has the frequency <m>, the value <b> the frequency <n>. What is $\overline{x}$?",
        ],
        answer=mean,
        check=lambda v: v * (p + q) == p * a + q * b,
        work=("Weigh the values:", "加权平均：", r"$\frac{<p>\times <a>+<q>\times <b>}{<p>+<q>}=<mean>$"),
        wrong=(plain(Fraction(a + b, 2)),),
        p=p, q=q, a=a, b=b, m=m, n=n, mean=mean,
    )  # fmt: skip


@group(SPREAD, level=2)
def median_of_list(r: Draw) -> Draft:
    """Put the data in order and take the middle."""
    data = [r.num(3, 40) for _ in range(r.pick(5, 6, 7, 8))]
    ordered = sorted(data)
    n = len(data)
    middle = plain(Fraction(ordered[(n - 1) // 2] + ordered[n // 2], 2))
    listed = ", ".join(map(str, data))

    def check(v: Fraction) -> bool:
        return 2 * v == sorted(data)[(n - 1) // 2] + sorted(data)[n // 2]

    return pose(
        r,
        [
            "What is the median of $<listed>$?",
            "数据 $<listed>$ 的中位数是______。",
            "<who> counted the cars passing in each of <n> minutes: $<listed>$. As many counts should lie "
            "below a value as above it; "
            "<find> this middle value.",
            "某小组 <n> 名同学的跳绳成绩（个）为 $<listed>$，<求>这组成绩的中位数。",
            "Order the data $<listed>$ by size and state the one in the middle (or the mean of the middle "
            "two).",
        ],
        answer=middle,
        check=check,
        work=("In order:", "排序：", "$<ordered>$"),
        listed=listed, n=n, ordered=", ".join(map(str, ordered)),
    )  # fmt: skip


@group(SPREAD, level=4)
def variance(r: Draw) -> Draft:
    """The mean of the squared distances from the mean, and how it changes under scaling."""
    shape = r.pick((-2, -1, 0, 1, 2), (-3, -1, 0, 1, 3), (-2, -2, 0, 2, 2), (-4, 0, 0, 0, 4), (-3, -3, 1, 2, 3))
    mean, k, c = r.num(6, 40), r.num(2, 4), r.num(1, 9)
    data = r.shuffled([mean + s for s in shape])
    value = plain(Fraction(sum(s * s for s in shape), len(shape)))
    listed = ", ".join(map(str, data))

    def check(v: Fraction) -> bool:
        centre = Fraction(sum(data), len(data))
        return v * len(data) == sum((x - centre) ** 2 for x in data)

    return pose(
        r,
        [
            "<Find> the variance of the data $<listed>$.",
            "<求>数据 $<listed>$ 的方差 $s^2$。",
            "<who> shot $<listed>$ points in five rounds. <Find> the mean squared deviation from the "
            "average.",
            Ask(r"若 $x_1,\ldots,x_5$ 的方差为 $<value>$，则 $<k>x_1+<c>,\ldots,<k>x_5+<c>$ "
                r"的方差为______。", value * k * k,
                lambda v: v == Fraction(value) * k * k),
            Ask("All values of a data set with variance $<value>$ are multiplied by <k> and increased by "
                "<c>. What is the new "
                "variance?", value * k * k, lambda v: v == Fraction(value) * k * k),
        ],
        answer=value,
        check=check,
        work=("The variance is the mean squared deviation, and a factor enters "
              "squared:", "方差是偏差平方的平均数，倍数按平方变化：",
              r"$s^2=\frac{1}{n}\sum(x_i-\overline{x})^2=<answer>$"),
        listed=listed, value=value, k=k, c=c,
    )  # fmt: skip


@group(BARS, level=2)
def bar_percent(r: Draw) -> Draft:
    """What share of the whole one bar is."""
    total = r.pick(40, 50, 80, 100, 60)
    share = r.pick(20, 25, 30, 35, 40) if total != 50 else r.pick(20, 30, 40)
    part = total * share // 100
    rest = total - part
    first = r.num(rest // 5, rest // 3)
    second = r.num((rest - first) // 3, (rest - first) // 2)
    order = r.shuffled([("*", part), ("", first), ("", second), ("", rest - first - second)])
    names = list("ABCD")
    chosen = names[[tag for tag, _ in order].index("*")]

    def figure() -> Image.Image:
        values = [value for _, value in order]
        return bars(names, values, [str(v) for v in values])

    return pose(
        r,
        [
            "#The chart shows how many pupils chose each club. What percentage of all pupils chose <chosen>?",
            "#条形统计图表示某班学生选择四个社团的人数，选择 <chosen> 的占百分之几？",
            "#A kiosk counted its sales of four drinks. Give the part of drink <chosen> in all sales as a "
            "percentage.",
            "#根据统计图，<求> <chosen> 组人数占总人数的百分比。",
            "#Votes for four candidates are shown. What per cent of the votes went to <chosen>?",
        ],
        answer=share,
        unit=r"\%",
        check=lambda v: v * sum(k for _, k in order) == 100 * part,
        work=("Part over whole:", "部分除以总数：", r"$\frac{<part>}{<total>}=<share>\%$"),
        wrong=(part,),
        figure=figure, chosen=chosen, part=part, total=total, share=share,
    )  # fmt: skip


@group(LINES, level=2)
def line_change(r: Draw) -> Draft:
    """The largest rise between neighbouring points of a line chart."""
    while True:
        values = [10 * r.num(1, 9) for _ in range(5)]
        steps = [b - a for a, b in itertools.pairwise(values)]
        if max(steps) > 0 and sorted(steps)[-2] < max(steps):
            break
    labels = r.pick(["Mon", "Tue", "Wed", "Thu", "Fri"], ["Jan", "Feb", "Mar", "Apr", "May"], ["1", "2", "3", "4", "5"])
    rise, drop = max(steps), -min(steps)
    return pose(
        r,
        [
            "#By how much did the value grow at most from one point of the line chart to the next?",
            "#折线统计图中，相邻两点之间的最大增加量是多少？",
            "#<who> noted the visitors of a museum. <Find> the greatest increase from one time to the next.",
            "#如图是某店五个时段的销量，销量增长最快的一段增加了多少？",
            "#The temperature of an oven was read five times. What was the steepest climb between "
            "neighbouring readings, in degrees?",
        ],
        answer=rise,
        check=lambda v: v == max(b - a for a, b in itertools.pairwise(values)),
        work=("Compare the steps:", "比较各段变化：", "$<steps>$"),
        wrong=(max(values) - min(values), drop),
        figure=lambda: line_chart(labels, values, 100, 20), steps=", ".join(map(str, steps)),
    )  # fmt: skip


@group(PIES, level=2)
def pie_to_count(r: Draw) -> Draft:
    """From the angle or the percentage of a sector to a number of things."""
    share, total = r.pick(15, 20, 25, 30, 35, 40), r.num(3, 20) * 20
    part = total * share // 100
    other = r.num(10, (100 - share) // 2)
    values = [share, other, 100 - share - other]
    angle = plain(Fraction(36 * share, 10))

    def figure() -> Image.Image:
        letters = "ABC"
        return pie(values, [f"{letters[k]} {v}%" for k, v in enumerate(values)], r.real(-180, 180))

    return pose(
        r,
        [
            "#<total> people were asked; the chart shows their answers. How many answered A?",
            "#扇形统计图表示 <total> 名学生的上学方式，A 类有多少人？",
            "#A family spends <total> euros a week as in the diagram. How many euros fall to A?",
            Ask("#根据扇形图，<求> A "
                "所在扇形的圆心角的度数。", angle, lambda v: Fraction(v, 360) == Fraction(share, 100), r"^\circ"),
            Ask("A sector stands for <part> of <total> pupils. <Find> its central angle in degrees.", angle,
                lambda v: Fraction(v, 360) == Fraction(part, total), r"^\circ"),
        ],
        answer=part,
        check=lambda v: v * 100 == total * share,
        work=("A sector, its angle and its count are the same part of the "
              "whole:", "扇形、圆心角与数量占总体的比相同：",
              r"$<share>\%$, $<answer>$"),
        figure=figure, total=total, part=part, share=share,
    )  # fmt: skip
