"""Angles at parallel lines and in polygons."""

from __future__ import annotations

import math

from PIL import Image

from .draw import Draw
from .figures import Picture, polar, triangle
from .knowledge import PARALLEL, POLYGON
from .registry import Ask, Draft, group, pose
from .values import DEGREE


@group(PARALLEL, level=2)
def alternate_then_supplement(r: Draw) -> Draft:
    """Carry an angle over to the other parallel, then take its supplement."""
    angle = r.num(40, 75)
    a, b, c, d, e, f = r.letters(6)
    lean = 1 / math.tan(math.radians(angle))

    def figure() -> Image.Image:
        points = {
            "A": (-2.2, 0.9), "B": (2.2, 0.9), "C": (-2.2, -0.9), "D": (2.2, -0.9), "E": (0.9 * lean, 0.9),
            "F": (-0.9 * lean, -0.9), "S": (1.7 * lean, 1.7), "T": (-1.7 * lean, -1.7),
        }  # fmt: skip
        pic = Picture(points, r, turn=40, margin=16)
        pic.line("A", "B").line("C", "D").line("S", "T").angle("A", "E", "F", f"{angle}°").angle("C", "F", "E", "?")
        for point, text in zip("ABCD", (a, b, c, d), strict=True):
            pic.name(point, text, gap=9)
        return pic.finish()

    return pose(
        r,
        [
            r"#In the figure $<a><b>\parallel <c><d>$. One angle is marked $<angle>^\circ$; <find> the angle "
            r"with the question mark.",
            r"#如图，$<a><b>\parallel <c><d>$，<求>图中标“?”的角的度数。",
            r"Lines $m$ and $n$ are parallel. A transversal meets $m$ at $<e>$ and makes an angle of "
            r"$<angle>^\circ$ there. How large is the "
            "obtuse angle that it makes with $n$?",
            r"已知 $<a><b>\parallel <c><d>$，直线 $<e><f>$ 与它们分别交于 $<e>,<f>$，若 $\angle "
            r"<a><e><f>=<angle>^\circ$，则 "
            r"$\angle <c><f><e>=$ ______。",
            r"A street crosses two parallel railway tracks. With the first it forms an angle of "
            r"$<angle>^\circ$. What is the larger of "
            "the angles at the second?",
        ],
        answer=180 - angle,
        unit=DEGREE,
        check=lambda v: v + angle == 180 and v > 90,
        work=("Alternate angles are equal, neighbours add up to a straight "
              "angle:", "内错角相等，邻补角互补：",
              r"$180^\circ-<angle>^\circ$"),
        wrong=(angle, 90 - angle),
        figure=figure, a=a, b=b, c=c, d=d, e=e, f=f, angle=angle,
    )  # fmt: skip


@group(PARALLEL, level=3)
def bend_between_parallels(r: Draw) -> Draft:
    """A bend between two parallels: draw a third parallel through it and add the two angles."""
    p, q = r.num(25, 55), r.num(30, 60)
    a, b, c, d, e = r.letters(5)

    def figure() -> Image.Image:
        x, y = 1.5 / math.tan(math.radians(p)), 1.5 / math.tan(math.radians(q))
        points = {
            "E": (0.0, 0.0), "A": (-x, 1.5), "B": (max(0.8, 2.6 - x), 1.5), "C": (-y, -1.5),
            "D": (max(0.8, 2.6 - y), -1.5),
        }  # fmt: skip
        pic = Picture(points, r, turn=30, margin=20)
        pic.line("A", "B").line("C", "D").line("A", "E", "C").angle("B", "A", "E", f"{p}°", radius=18)
        pic.angle("D", "C", "E", f"{q}°", radius=18).angle("A", "E", "C")
        for point, text in zip("ABCDE", (a, b, c, d, e), strict=True):
            pic.name(point, text, gap=11)
        return pic.finish()

    return pose(
        r,
        [
            r"#$<a><b>$ is parallel to $<c><d>$. <Find> $\angle <a><e><c>$.",
            r"#如图，$<a><b>\parallel <c><d>$，$\angle <a>=<p>^\circ$，$\angle <c>=<q>^\circ$，<求> $\angle "
            r"<a><e><c>$ 的度数。",
            r"#A strip of metal leads from one of two parallel rails to the other and has a bend at $<e>$. "
            r"How many degrees has the "
            "marked angle of the bend?",
            r"A point $<e>$ lies between the parallels $<a><b>$ and $<c><d>$ with $\angle "
            r"<b><a><e>=<p>^\circ$ and $\angle <d><c><e>=<q>^\circ$. "
            r"What is $\angle <a><e><c>$?",
            Ask(r"#已知 $<a><b>\parallel <c><d>$，图中标出了两个角，<求>折点 $<e>$ "
                r"处标出的角。", p + q, lambda v: v - p == q, DEGREE),
        ],
        answer=p + q,
        unit=DEGREE,
        check=lambda v: v - p == q,
        work=("A parallel through the bend splits the angle:", "过折点作平行线：", r"$<p>^\circ+<q>^\circ$"),
        wrong=(180 - p - q, abs(p - q) or 5),
        figure=figure, a=a, b=b, c=c, d=d, e=e, p=p, q=q,
    )  # fmt: skip


@group(POLYGON, level=2)
def exterior_angle(r: Draw) -> Draft:
    """An exterior angle of a triangle is the sum of the two far interior ones."""
    p, q = r.num(35, 65), r.num(40, 70)
    out = p + q
    a, b, c, d = r.letters(4)

    def figure() -> Image.Image:
        points = triangle(3, q, 180 - p - q)
        pic = Picture(points | {"D": (4.3, 0)}, r, margin=20)
        pic.shape("ABC").line("C", "D").angle("B", "A", "C", f"{p}°").angle("A", "B", "C", f"{q}°", radius=18)
        return pic.angle("A", "C", "D", "?", radius=12, gap=10).names("ABCD", [a, b, c, d]).finish()

    return pose(
        r,
        [
            r"#Side $<b><c>$ is extended to $<d>$. <Find> $\angle <a><c><d>$.",
            r"#如图，$\angle <a><c><d>$ 是 $\triangle <a><b><c>$ 的外角，<求>它的度数。",
            Ask(r"In $\triangle <a><b><c>$ the exterior angle at $<c>$ measures $<out>^\circ$ and $\angle "
                r"<a>=<p>^\circ$. <Find> $\angle <b>$.",
                q, lambda v: v + p == out, DEGREE),
            r"已知三角形的两个内角为 $<p>^\circ$ 和 $<q>^\circ$，与第三个角相邻的外角等于多少度？",
            r"Two beams rise from the ends of a floor at $<q>^\circ$ and meet under an angle of $<p>^\circ$. "
            r"What is the obtuse or acute "
            "angle between the second beam and the floor's extension beyond it?",
        ],
        answer=out,
        unit=DEGREE,
        check=lambda v: (180 - v) + p + q == 180,
        work=("The exterior angle is the sum of the far interior angles:", "外角等于不相邻两内角之和：",
              r"$<p>^\circ+<q>^\circ=<out>^\circ$"),
        wrong=(180 - p - q,),
        figure=figure, a=a, b=b, c=c, d=d, p=p, q=q, out=out,
    )  # fmt: skip


@group(POLYGON, level=2)
def polygon_sum(r: Draw) -> Draft:
    """The interior angles of an n-gon add up to (n - 2) straight angles."""
    n = r.num(5, 14)
    total = 180 * (n - 2)
    known = [r.num(90, 120) for _ in range(4)]
    x = 540 - sum(known)
    listed = ", ".join(rf"{k}^\circ" for k in known)

    def figure() -> Image.Image:
        bends = [polar(r.real(0.9, 1.1), 90 + 72 * k) for k in range(5)]
        pic = Picture(dict(zip("ABCDE", bends, strict=True)), r, size=(168, 160), margin=14)
        pic.shape("ABCDE")
        for k, text in enumerate([*(f"{v}°" for v in known), "x°"]):
            pic.angle("ABCDE"[k - 1], "ABCDE"[k], "ABCDE"[(k + 1) % 5], text, radius=12, gap=13)
        return pic.finish()

    return pose(
        r,
        [
            r"The interior angles of a polygon add up to $<total>^\circ$. How many sides has it?",
            r"一个多边形的内角和是 $<total>^\circ$，这个多边形是几边形？",
            Ask("#Work with the sum of the angles of the pentagon to <find> "
                "$x$.", x, lambda v: v + sum(known) == 3 * 180),
            Ask("#如图，五边形的四个内角已标出，<求> $x$。", x, lambda v: v + sum(known) == 3 * 180),
            Ask("Four angles of a pentagon measure $<listed>$. How large is the fifth, in degrees?", x,
                lambda v: v + sum(known) == 3 * 180),
            r"某多边形的内角和比外角和多 $<more>^\circ$，<求>它的边数。",
        ],
        answer=n,
        check=lambda v: 180 * (v - 2) == total,
        work=("The sum of the interior angles is", "内角和为", r"$(n-2)\times 180^\circ$"),
        figure=figure, total=total, listed=listed, more=total - 360,
    )  # fmt: skip
