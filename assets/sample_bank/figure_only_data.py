"""Figure-only groups with graphs, charts, solids and schemes."""

from __future__ import annotations

import math

from PIL import Image

from .canvas import BLUE, FILLS, PALE, Canvas
from .charts import Graph, bars, cuboid, number_line, pie
from .draw import Draw
from .figure_only import read
from .knowledge import BARS, COUNTING, LINEAR, NUMBER_LINE, PIES, PROPORTIONAL, VERTEX, VOLUME
from .registry import Draft, group
from .values import Value, plain


@group(BARS, level=1, figure_only=True)
def fig_bar_total(r: Draw) -> Draft:
    """A missing bar, with the total written above the chart."""
    count = r.num(4, 6)
    values = [r.num(4, 24) for _ in range(count)]
    hidden = r.num(0, count - 1)
    values[hidden] = r.num(10, 20)
    labels = r.pick("ABCDEF", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"], "123456", "PQRSTU")
    shown = ["x" if k == hidden else str(v) for k, v in enumerate(values)]
    total = sum(values)
    rest = total - values[hidden]
    return read(
        r, values[hidden], bars(list(labels)[:count], values, shown, f"total: {total}"), lambda v: v + rest == total,
        ("The bars add up to the total:", "各部分之和等于总数：", f"$x={total}-{rest}$"),
    )  # fmt: skip


@group(PIES, level=1, figure_only=True)
def fig_pie_percent(r: Draw) -> Draft:
    """The missing percentage of a pie chart."""
    count = r.num(3, 5)
    while True:
        values = [r.num(10, 45) for _ in range(count - 1)]
        if 12 <= 100 - sum(values) <= 50:
            break
    values.append(100 - sum(values))
    values = r.shuffled(values)
    hidden = r.num(0, count - 1)
    shown = ["x%" if k == hidden else f"{v}%" for k, v in enumerate(values)]
    rest = 100 - values[hidden]
    return read(
        r, values[hidden], pie(values, shown, r.real(-180, 180)), lambda v: v + rest == 100,
        ("The sectors make 100 per cent:", "各扇形百分比之和为 100%：", f"$x=100-{rest}$"),
    )  # fmt: skip


@group(VERTEX, level=2, figure_only=True)
def fig_parabola_axis(r: Draw) -> Draft:
    """The axis of a parabola lies midway between its zeros."""
    left, half = r.num(1, 6), r.num(1, 4)
    right = left + 2 * half
    up = r.chance(0.6)
    lows = (-2.2, 2.0) if up else (-2.0, 2.6)
    graph = Graph((-0.9, right + 2.4), lows, names="")
    sign = 1 if up else -1
    middle = left + half
    graph.plot(lambda t: sign * 1.6 * (((t - middle) / half) ** 2 - 1))
    graph.dashed((middle, lows[0]), (middle, lows[1]))
    graph.point(left, 0, str(left), (-9, 11)).point(right, 0, str(right), (9, 11))
    graph.point(middle, 0, "x", (9, 11), mark=False)
    return read(
        r, middle, graph.finish(), lambda v: v - left == right - v,
        ("The axis of symmetry is midway between the zeros:", "对称轴过两个零点的中点：",
         rf"$x=\frac{{{left}+{right}}}{{2}}$"),
    )  # fmt: skip


@group(PROPORTIONAL, level=2, figure_only=True)
def fig_proportional_line(r: Draw) -> Draft:
    """Two points on a line through the origin: y is proportional to x."""
    slope, a, b = r.num(2, 9), r.num(2, 4), r.num(5, 8)
    graph = Graph((-0.8, 9.5), (-0.9, 9.5), names="").plot(lambda t: t, (0, 9.2))
    for at, text in ((a, f"({a}, {slope * a})"), (b, f"({b}, x)")):
        graph.dashed((at, 0), (at, at), (0, at)).point(at, at, text, (28, 9) if at == a else (-26, -9))
    return read(
        r, slope * b, graph.finish(), lambda v: v * a == slope * a * b,
        ("On a line through the origin the ratio is constant:", "过原点的直线上纵横坐标之比不变：",
         rf"$\frac{{{slope * a}}}{{{a}}}=\frac{{x}}{{{b}}}$"),
    )  # fmt: skip


@group(NUMBER_LINE, level=1, figure_only=True)
def fig_number_line(r: Draw) -> Draft:
    """Equal steps between two labelled marks of a number line."""
    steps, size, start = r.num(4, 6), r.num(2, 9), r.num(-20, 20)
    first, at, last = 0, r.num(1, steps - 1), steps
    marks = [(first / steps, "", str(start)), (at / steps, "x", ""), (last / steps, "", str(start + steps * size))]
    return read(
        r, start + at * size, number_line(marks, steps), lambda v: (v - start) * steps == at * steps * size,
        ("The steps are equal:", "相邻刻度的间隔相等：", f"$x={start}+{at}\\times {size}$"),
    )  # fmt: skip


@group(VOLUME, level=2, figure_only=True)
def fig_cuboid_volume(r: Draw) -> Draft:
    """The missing edge of a box whose volume is written below it."""
    a, b, c = r.num(4, 9), r.num(3, 8), r.num(3, 9)
    hidden = r.num(0, 2)
    edges = (a, b, c)
    first, second, third = ("x" if k == hidden else str(e) for k, e in enumerate(edges))
    base = math.prod(e for k, e in enumerate(edges) if k != hidden)
    shape = cuboid(r.real(1.5, 2.4), r.real(1, 1.8), r.real(1, 1.9), (first, second, third), f"V = {a * b * c}")
    return read(
        r, edges[hidden], shape, lambda v: v * base == a * b * c,
        ("Divide the volume by the two known "
         "edges:", "体积除以两条已知棱长的积：", rf"$x=\frac{{{a * b * c}}}{{{base}}}$"),
    )  # fmt: skip


@group(LINEAR, level=1, figure_only=True)
def fig_balance(r: Draw) -> Draft:
    """A balance with boxes of unknown weight on one or both pans."""
    more, fewer, x = r.num(2, 3), r.num(0, 1), r.num(2, 12)
    loose = r.num(1, 9)
    other = (more - fewer) * x + loose
    left, right = ["x"] * more + [str(loose)], ["x"] * fewer + [str(other)]
    swap = r.chance(0.5)
    figure = _balance(right, left) if swap else _balance(left, right)
    return read(
        r, x, figure, lambda v: more * v + loose == fewer * v + other,
        ("Both pans weigh the same:", "天平两边相等：", f"${more}x+{loose}={'x+' if fewer else ''}{other}$"),
    )  # fmt: skip


def _balance(left: list[str], right: list[str]) -> Image.Image:
    """A pair of scales with labelled boxes (unknown weights) and discs (known weights)."""
    sheet = Canvas(208, 136)
    sheet.area([(104, 74), (84, 126), (124, 126)], PALE)
    sheet.stroke([(104, 74), (84, 126), (124, 126), (104, 74)], 2.2)
    sheet.stroke([(22, 74), (186, 74)], 3.4)
    for middle, load in ((52, left), (156, right)):
        sheet.stroke([(middle - 44, 66), (middle + 44, 66)], 2.6)
        sheet.stroke([(middle, 66), (middle, 74)], 2.6)
        start = middle - 23 * (len(load) - 1) / 2
        for k, text in enumerate(load):
            x = start + 23 * k
            if text == "x":
                sheet.box((x - 10, 44), (20, 21), FILLS[1])
            else:
                sheet.ring((x, 54), 11, 1.8, FILLS[0])
            sheet.text((x, 54), text, 12)
    return sheet.finish()


@group(COUNTING, level=2, figure_only=True)
def fig_venn(r: Draw) -> Draft:
    """Two overlapping sets: the parts and the outside make the whole."""
    a, both, b, outside = r.num(5, 30), r.num(2, 12), r.num(5, 30), r.num(1, 15)
    parts: list[Value] = [a, both, b, outside]
    hidden = r.num(0, 3)
    texts = ["x" if k == hidden else str(p) for k, p in enumerate(parts)]
    total = a + both + b + outside
    rest = plain(total - (a, both, b, outside)[hidden])
    sheet = Canvas(208, 144)
    sheet.box((8, 22), (192, 114), width=2)
    for middle in (80, 128):
        sheet.ring((middle, 76), 44, 2.4)
    for at, text in zip(((62, 76), (104, 76), (146, 76), (186, 122)), texts, strict=True):
        sheet.text(at, text, 15, BLUE if text == "x" else (28, 30, 40))
    sheet.text((104, 10), f"total: {total}", 12)
    return read(
        r, total - rest, sheet.finish(), lambda v: v + rest == total,
        ("The parts add up to the whole:", "各部分之和等于总数：", f"$x={total}-{rest}$"),
    )  # fmt: skip
