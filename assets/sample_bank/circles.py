"""Circles: inscribed angles, chords and tangents."""

from __future__ import annotations

import math
from fractions import Fraction

from PIL import Image

from .canvas import PALE
from .draw import Draw
from .figures import Picture, polar
from .knowledge import CHORDS, INSCRIBED, RIGHT
from .registry import Ask, Draft, group, pose
from .values import DEGREE


@group(INSCRIBED, level=3)
def angle_on_diameter(r: Draw) -> Draft:
    """The angle over a diameter is a right angle."""
    x = r.num(22, 66)
    a, b, c, _ = r.letters(4)

    def figure() -> Image.Image:
        points = {"O": (0, 0), "A": (-1, 0), "B": (1, 0), "C": polar(1, 2 * x)}
        pic = Picture(points, r, circles={"O": 1.0}, size=(168, 160), margin=18)
        pic.circle("O", 1).shape("ABC").dot("O").angle("C", "A", "B", f"{x}°", radius=20).angle(
            "A", "B", "C", "?", radius=18
        )
        return pic.names("ABC", [a, b, c]).finish()

    return pose(
        r,
        [
            r"#$<a><b>$ is a diameter of the circle. <Find> $\angle <a><b><c>$.",
            r"#如图，$<a><b>$ 是 $\odot O$ 的直径，点 $<c>$ 在圆上，<求> $\angle <b>$ 的度数。",
            r"Let $<c>$ be a point of the circle on the diameter $<a><b>$, with $\angle "
            r"<c><a><b>=<x>^\circ$. How large is the angle at $<b>$?",
            r"已知 $<a><b>$ 为圆的直径，$<c>$ 为圆上一点，$\angle <b><a><c>=<x>^\circ$，则 $\angle "
            r"<a><b><c>=$ ______。",
            r"#The longest side of the triangle runs through the centre of its circumcircle. What size has "
            r"the angle with the question mark?",
        ],
        answer=90 - x,
        unit=DEGREE,
        check=lambda v: v + x + 90 == 180,
        work=("The angle over a diameter is right:", "直径所对的圆周角是直角：", r"$90^\circ-<x>^\circ$"),
        wrong=(x, 180 - x),
        figure=figure, a=a, b=b, c=c, x=x,
    )  # fmt: skip


@group(INSCRIBED, level=3)
def cyclic_quadrilateral(r: Draw) -> Draft:
    """Opposite angles of a quadrilateral in a circle add up to 180 degrees."""
    x = r.num(58, 118)
    a, b, c, d = r.letters(4)

    def figure() -> Image.Image:
        half = 180 - x
        points = {
            "O": (0, 0),
            "A": polar(1, 90 + r.real(-15, 15)),
            "B": polar(1, 270 - half),
            "C": polar(1, 270),
            "D": polar(1, 270 + half),
        }
        pic = Picture(points, r, circles={"O": 1.0}, size=(168, 160), margin=18)
        pic.circle("O", 1).shape("ABCD").angle("B", "A", "D", f"{180 - x}°").angle("B", "C", "D", "?", radius=12)
        return pic.names("ABCD", [a, b, c, d]).finish()

    other = 180 - x
    return pose(
        r,
        [
            r"#The four vertices lie on a circle. <Find> the angle at $<c>$.",
            r"#如图，四边形 $<a><b><c><d>$ 内接于圆，<求> $\angle <c>$。",
            r"$<a><b><c><d>$ is a cyclic quadrilateral and $\angle <a>=<other>^\circ$. What is $\angle <c>$?",
            r"圆内接四边形 $<a><b><c><d>$ 中，$\angle <a>=<other>^\circ$，则它的对角 $\angle <c>=$ ______。",
            r"Four trees $<a>$, $<b>$, $<c>$, $<d>$ stand in this order around a round pond, on its edge. "
            r"From $<a>$ the trees $<b>$ and $<d>$ "
            r"appear $<other>^\circ$ apart. How far apart, in degrees, do they appear from $<c>$?",
        ],
        answer=x,
        unit=DEGREE,
        check=lambda v: v + other == 180,
        work=("Opposite angles add up to a straight "
              "angle:", "圆内接四边形对角互补：", r"$180^\circ-<other>^\circ$"),
        wrong=(other,),
        figure=figure, a=a, b=b, c=c, d=d, other=other,
    )  # fmt: skip


@group(CHORDS, RIGHT, level=3)
def chord_distance(r: Draw) -> Draft:
    """The perpendicular from the centre halves the chord; then Pythagoras."""
    p, q, h = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (4, 3, 5), (12, 5, 13), (20, 21, 29))
    k = r.num(1, 2)
    p, q, h = p * k, q * k, h * k
    chord = 2 * q

    def figure() -> Image.Image:
        points = {"O": (0, 0), "A": polar(1, 215), "B": polar(1, 325), "M": (0, math.sin(math.radians(215)))}
        pic = Picture(points, r, circles={"O": 1.0}, size=(168, 160), margin=22)
        pic.circle("O", 1).line("A", "B").line("O", "M", dashed=True).line("O", "B").right("O", "M", "B", 8).dot("O")
        return (
            pic.side("O", "B", str(h), away="M", gap=11)
            .side("O", "M", str(p), away="B", gap=11)
            .name("A")
            .name("B")
            .finish()
        )

    return pose(
        r,
        [
            "#Use the two lengths given in the circle to <find> the chord $AB$.",
            "#如图，圆心到弦 $AB$ 的距离和半径已标出，<求>弦 $AB$ 的长。",
            "A chord lies <p> cm from the centre of a circle of radius <h> cm. How long is it?",
            Ask(r"在半径为 <h> 的 $\odot O$ 中，弦长为 <chord>，"
                r"<求>圆心到这条弦的距离。", p, lambda v: v * v + (chord // 2) ** 2 == h * h),
            Ask("A round pipe of radius <h> cm is partly filled. The water surface is <chord> cm wide. How "
                "far below the pipe's axis does "
                "it lie?", p, lambda v: v * v + (chord // 2) ** 2 == h * h),
        ],
        answer=chord,
        check=lambda v: p * p + Fraction(v, 2) ** 2 == h * h,
        work=("Half the chord, the distance and the radius form a right "
              "triangle:", "半弦、弦心距、半径构成直角三角形：",
              "$<p>^2+<q>^2=<h>^2$"),
        wrong=(q,),
        figure=figure, p=p, q=q, h=h, chord=chord,
    )  # fmt: skip


@group(CHORDS, level=3)
def equal_tangents(r: Draw) -> Draft:
    """Tangents from one point are equal: sides of a triangle around its incircle."""
    x, y, z = r.distinct(3, 12, 3)
    a, b, c = y + z, x + z, x + y
    perimeter = a + b + c

    def figure() -> Image.Image:
        # An equilateral drawing serves for all lengths: the figure is not to scale.
        points = {"A": polar(2, 90), "B": polar(2, 210), "C": polar(2, 330), "O": (0.0, 0.0), "D": polar(1, 30)}
        pic = Picture(points, r, margin=18)
        pic.circle("O", 1, PALE).shape("ABC")
        pic.side("A", "D", str(x), away="O").side("D", "C", str(z), away="O").side("B", "A", str(c), away="O")
        return pic.side("B", "C", "?", away="O").finish()

    return pose(
        r,
        [
            "#The circle touches all sides of the triangle (not to scale). <Find> the side with the question "
            "mark.",
            "#如图，圆与三角形三边都相切，<求>标“?”的边长（图形未按比例画）。",
            Ask("The incircle of a triangle with sides <a>, <b> and <c> touches the sides of lengths <b> and "
                "<c> at equal distance from their "
                "common vertex. <Find> this distance.", x, lambda v: (b - v) + (c - v) == a),
            Ask(r"$\triangle ABC$ 的内切圆与 $AB,AC$ 切于 $D,E$，$BC=<a>$，$CA=<b>$，$AB=<c>$，则 $AD=$ "
                r"______。", x,
                lambda v: (b - v) + (c - v) == a),
            Ask("Around a round table stands a triangular frame that touches it three times. From its "
                "corners to the points of contact one "
                "measures <x>, <y> and <z> dm. What is the length of the whole "
                "frame?", perimeter, lambda v: v == 2 * x + 2 * y + 2 * z),
        ],
        answer=a,
        check=lambda v: v == z + (c - x),
        work=("Tangents from one point are equal:", "切线长相等：", "$<x>+<y>=<c>$, $<y>+<z>=<a>$, "
                                                              "$<z>+<x>=<b>$"),
        figure=figure, a=a, b=b, c=c, x=x, y=y, z=z,
    )  # fmt: skip
