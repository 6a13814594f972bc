"""Plane geometry: angles, triangles, circles."""

from __future__ import annotations

import math
from fractions import Fraction

from PIL import Image

from .canvas import PALE
from .draw import Draw
from .figures import Picture, polar, triangle
from .registry import Ask, Draft, group, pose
from .values import plain

PARALLEL = ("Geometry", "Angles", "Parallel lines")
POLYGON = ("Geometry", "Angles", "Polygon angles")
ISOSCELES = ("Geometry", "Triangles", "Isosceles triangles")
RIGHT = ("Geometry", "Triangles", "Right triangles")
SIMILAR = ("Geometry", "Triangles", "Similar triangles")
INSCRIBED = ("Geometry", "Circles", "Inscribed angles")
CHORDS = ("Geometry", "Circles", "Tangents and chords")
DEGREE = r"^\circ"


@group(PARALLEL, level=2)
def alternate_then_supplement(r: Draw) -> Draft:
    """Carry an angle over to the other parallel, then take its supplement."""
    angle = r.int(40, 75)
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
            r"#In the figure $<a><b>\parallel <c><d>$. One angle is marked $<angle>^\circ$; <find> the angle with the question mark.",
            r"#如图，$<a><b>\parallel <c><d>$，<求>图中标“?”的角的度数。",
            r"Lines $m$ and $n$ are parallel. A transversal meets $m$ at $<e>$ and makes an angle of $<angle>^\circ$ there. How large is the "
            "obtuse angle that it makes with $n$?",
            r"已知 $<a><b>\parallel <c><d>$，直线 $<e><f>$ 与它们分别交于 $<e>,<f>$，若 $\angle <a><e><f>=<angle>^\circ$，则 "
            r"$\angle <c><f><e>=$ ______。",
            r"A street crosses two parallel railway tracks. With the first it forms an angle of $<angle>^\circ$. What is the larger of "
            "the angles at the second?",
        ],
        answer=180 - angle,
        unit=DEGREE,
        check=lambda v: v + angle == 180 and v > 90,
        work=("Alternate angles are equal, neighbours add up to a straight angle:", "内错角相等，邻补角互补：",
              r"$180^\circ-<angle>^\circ$"),
        wrong=(angle, 90 - angle),
        figure=figure, a=a, b=b, c=c, d=d, e=e, f=f, angle=angle,
    )  # fmt: skip


@group(PARALLEL, level=3)
def bend_between_parallels(r: Draw) -> Draft:
    """A bend between two parallels: draw a third parallel through it and add the two angles."""
    p, q = r.int(25, 55), r.int(30, 60)
    a, b, c, d, e = r.letters(5)

    def figure() -> Image.Image:
        x, y = 1.5 / math.tan(math.radians(p)), 1.5 / math.tan(math.radians(q))
        points = {
            "E": (0.0, 0.0), "A": (-x, 1.5), "B": (max(0.8, 2.6 - x), 1.5), "C": (-y, -1.5), "D": (max(0.8, 2.6 - y), -1.5)
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
            r"#如图，$<a><b>\parallel <c><d>$，$\angle <a>=<p>^\circ$，$\angle <c>=<q>^\circ$，<求> $\angle <a><e><c>$ 的度数。",
            r"#A strip of metal leads from one of two parallel rails to the other and has a bend at $<e>$. How many degrees has the "
            "marked angle of the bend?",
            r"A point $<e>$ lies between the parallels $<a><b>$ and $<c><d>$ with $\angle <b><a><e>=<p>^\circ$ and $\angle <d><c><e>=<q>^\circ$. "
            r"What is $\angle <a><e><c>$?",
            Ask(r"#已知 $<a><b>\parallel <c><d>$，图中标出了两个角，<求>折点 $<e>$ 处标出的角。", p + q, lambda v: v - p == q, DEGREE),
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
    p, q = r.int(35, 65), r.int(40, 70)
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
            Ask(r"In $\triangle <a><b><c>$ the exterior angle at $<c>$ measures $<out>^\circ$ and $\angle <a>=<p>^\circ$. <Find> $\angle <b>$.",
                q, lambda v: v + p == out, DEGREE),
            r"已知三角形的两个内角为 $<p>^\circ$ 和 $<q>^\circ$，与第三个角相邻的外角等于多少度？",
            r"Two beams rise from the ends of a floor at $<q>^\circ$ and meet under an angle of $<p>^\circ$. What is the obtuse or acute "
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
    n = r.int(5, 14)
    total = 180 * (n - 2)
    known = [r.int(90, 120) for _ in range(4)]
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
            Ask("#Work with the sum of the angles of the pentagon to <find> $x$.", x, lambda v: v + sum(known) == 3 * 180),
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


@group(ISOSCELES, level=2)
def isosceles_angles(r: Draw) -> Draft:
    """Base angles of an isosceles triangle are equal."""
    base = r.int(35, 75)
    top = 180 - 2 * base
    a, b, c, d = r.letters(4)

    def figure() -> Image.Image:
        pic = Picture(triangle(2, base, base), r, margin=22)
        pic.shape("ABC").ticks("A", "B").ticks("A", "C").angle("A", "B", "C", f"{base}°", radius=18, gap=12)
        return pic.angle("B", "A", "C", "?", radius=16).names("ABC", [a, b, c]).finish()

    return pose(
        r,
        [
            r"#The marked sides are equal. <Find> the angle at the apex.",
            r"#如图，$<a><b>=<a><c>$，<求> $\angle <a>$ 的度数。",
            Ask(r"$\triangle <a><b><c>$ is isosceles with $<a><b>=<a><c>$ and $\angle <a>=<top>^\circ$. How large is $\angle <b>$?", base,
                lambda v: 2 * v + top == 180, DEGREE),
            r"等腰三角形的一个底角为 $<base>^\circ$，则顶角为______。",
            Ask(r"A roof has two equal slopes that meet at $<top>^\circ$. At what angle do they rise from the horizontal?", base,
                lambda v: 2 * v + top == 180, DEGREE),
        ],
        answer=top,
        unit=DEGREE,
        check=lambda v: v + 2 * base == 180,
        work=("The base angles are equal:", "等边对等角：", r"$<top>^\circ+2\times <base>^\circ=180^\circ$"),
        wrong=(180 - base,),
        figure=figure, a=a, b=b, c=c, d=d, base=base, top=top,
    )  # fmt: skip


@group(RIGHT, level=2)
def ladder(r: Draw) -> Draft:
    """Pythagoras in a story: find the right triangle first."""
    p, q, h = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25))
    k = r.int(1, 3)
    p, q, h = p * k, q * k, h * k

    def figure() -> Image.Image:
        points = {"A": (0, 2), "B": (1.5, 0), "C": (0, 0), "U": (0, 2.4), "V": (2.4, 0)}
        pic = Picture(points, r, turn=0, margin=18)
        pic.shade("ABC").line("U", "C", "V", width=3.4).line("A", "B").right("A", "C", "B")
        return pic.side("A", "B", str(h), away="C").side("C", "B", str(p), away="A").finish()

    return pose(
        r,
        [
            "#A ladder leans against a wall as in the figure (lengths in dm). How high does it reach?",
            "#如图，梯子斜靠在墙上，长度单位为分米，<求>梯子顶端离地面的高度。",
            "A kite flies on a taut string of <h> m and stands above a point <p> m away from <who>. How high is it?",
            Ask("<who>先向东走 <p> 米，再向北走 <q> 米，此时离出发点的直线距离是多少米？", h, lambda v: p * p + q * q == v * v),
            Ask("A rectangular field measures <p> m by <q> m. How long is the straight path from corner to opposite corner?", h,
                lambda v: p * p + q * q == v * v),
        ],
        answer=q,
        check=lambda v: p * p + v * v == h * h,
        work=("By Pythagoras,", "由勾股定理，", "$<p>^2+<q>^2=<h>^2$"),
        wrong=(h - p,),
        figure=figure, p=p, q=q, h=h,
    )  # fmt: skip


@group(SIMILAR, level=2)
def shadow(r: Draw) -> Draft:
    """Heights and shadows at one time of day are in proportion."""
    small, ratio, step = r.int(2, 6), r.int(2, 7), r.int(1, 4)
    near = small * step
    big, far = small * ratio, near * ratio

    def figure() -> Image.Image:
        points = {"A": (0, 2), "B": (0, 0), "C": (3, 0), "D": (2, 0), "E": (2, 2 / 3)}
        pic = Picture(points, r, turn=0, margin=20)
        pic.line("A", "B", "C", "A").line("D", "E").right("A", "B", "C").right("E", "D", "C", 6)
        pic.side("A", "B", "?", away="C").side("D", "E", str(small), away="C", gap=10)
        pic.canvas.text((pic.at["B"][0] + 40, pic.at["B"][1] + 12), str(far - near))
        pic.canvas.text(((pic.at["D"][0] + pic.at["C"][0]) / 2, pic.at["C"][1] + 12), str(near))
        return pic.finish()

    return pose(
        r,
        [
            "A stick of <small> m throws a shadow of <near> m while a tree throws one of <far> m. How tall is the tree?",
            "同一时刻，高 <small> 米的标杆影长 <near> 米，旗杆影长 <far> 米，旗杆高多少米？",
            "#Two vertical posts and one ray of light: <find> the height marked with a question mark.",
            "#如图，两条竖直线段互相平行，<求>标“?”的高度。",
            r"$\triangle ABC\sim\triangle DEF$ with $AB=<near>$, $DE=<far>$ and $BC=<small>$. <Find> $EF$.",
        ],
        answer=big,
        check=lambda v: Fraction(small, near) == Fraction(v) / far,
        work=("Corresponding sides are in proportion:", "对应边成比例：", r"$\frac{<small>}{<near>}=\frac{<big>}{<far>}$"),
        wrong=(far - near,),
        figure=figure, small=small, near=near, far=far, big=big,
    )  # fmt: skip


@group(SIMILAR, level=4)
def area_ratio(r: Draw) -> Draft:
    """Areas of similar figures are as the squares of the sides."""
    p, q = r.pick((1, 2), (2, 3), (1, 3), (3, 4), (2, 5), (3, 5))
    k = r.int(1, 9)
    small, large = p * p * k, q * q * k
    return pose(
        r,
        [
            "Two similar triangles have a pair of corresponding sides of $<p>$ cm and $<q>$ cm. The smaller one covers $<small>$ cm$^2$. "
            "What does the larger one cover?",
            r"$\triangle ABC\sim\triangle A'B'C'$，相似比为 $<p>:<q>$，若 $S_{\triangle ABC}=<small>$，则 $S_{\triangle A'B'C'}=$ ______。",
            Ask("A photo of $<large>$ cm$^2$ is reduced so that every length becomes $\\frac{<p>}{<q>}$ of what it was. <Find> the new "
                "area.", small, lambda v: v * q * q == large * p * p),
            "两个相似多边形的周长比是 $<p>:<q>$，较小的面积是 <small>，<求>较大的面积。",
            r"In $\triangle ABC$ a parallel to $BC$ cuts off a triangle of area $<small>$ whose side on $AB$ is $\frac{<p>}{<q>}$ of $AB$. "
            r"What is the area of $\triangle ABC$?",
        ],
        answer=large,
        check=lambda v: v * p * p == small * q * q,
        work=("Areas go with the square of the ratio:", "面积比等于相似比的平方：", r"$\frac{<small>}{<large>}=\left(\frac{<p>}{<q>}\right)^2$"),
        wrong=(plain(Fraction(small * q, p)),),
        p=p, q=q, small=small, large=large,
    )  # fmt: skip


@group(INSCRIBED, level=3)
def angle_on_diameter(r: Draw) -> Draft:
    """The angle over a diameter is a right angle."""
    x = r.int(22, 66)
    a, b, c, _ = r.letters(4)

    def figure() -> Image.Image:
        points = {"O": (0, 0), "A": (-1, 0), "B": (1, 0), "C": polar(1, 2 * x)}
        pic = Picture(points, r, circles={"O": 1.0}, size=(168, 160), margin=18)
        pic.circle("O", 1).shape("ABC").dot("O").angle("C", "A", "B", f"{x}°", radius=20).angle("A", "B", "C", "?", radius=18)
        return pic.names("ABC", [a, b, c]).finish()

    return pose(
        r,
        [
            r"#$<a><b>$ is a diameter of the circle. <Find> $\angle <a><b><c>$.",
            r"#如图，$<a><b>$ 是 $\odot O$ 的直径，点 $<c>$ 在圆上，<求> $\angle <b>$ 的度数。",
            r"Let $<c>$ be a point of the circle on the diameter $<a><b>$, with $\angle <c><a><b>=<x>^\circ$. How large is the angle at $<b>$?",
            r"已知 $<a><b>$ 为圆的直径，$<c>$ 为圆上一点，$\angle <b><a><c>=<x>^\circ$，则 $\angle <a><b><c>=$ ______。",
            r"#The longest side of the triangle runs through the centre of its circumcircle. What size has the angle with the question mark?",
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
    x = r.int(58, 118)
    a, b, c, d = r.letters(4)

    def figure() -> Image.Image:
        half = 180 - x
        points = {"O": (0, 0), "A": polar(1, 90 + r.real(-15, 15)), "B": polar(1, 270 - half), "C": polar(1, 270), "D": polar(1, 270 + half)}
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
            r"Four trees $<a>$, $<b>$, $<c>$, $<d>$ stand in this order around a round pond, on its edge. From $<a>$ the trees $<b>$ and $<d>$ "
            r"appear $<other>^\circ$ apart. How far apart, in degrees, do they appear from $<c>$?",
        ],
        answer=x,
        unit=DEGREE,
        check=lambda v: v + other == 180,
        work=("Opposite angles add up to a straight angle:", "圆内接四边形对角互补：", r"$180^\circ-<other>^\circ$"),
        wrong=(other,),
        figure=figure, a=a, b=b, c=c, d=d, other=other,
    )  # fmt: skip


@group(CHORDS, RIGHT, level=3)
def chord_distance(r: Draw) -> Draft:
    """The perpendicular from the centre halves the chord; then Pythagoras."""
    p, q, h = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (4, 3, 5), (12, 5, 13), (20, 21, 29))
    k = r.int(1, 2)
    p, q, h = p * k, q * k, h * k
    chord = 2 * q

    def figure() -> Image.Image:
        points = {"O": (0, 0), "A": polar(1, 215), "B": polar(1, 325), "M": (0, math.sin(math.radians(215)))}
        pic = Picture(points, r, circles={"O": 1.0}, size=(168, 160), margin=14)
        pic.circle("O", 1).line("A", "B").line("O", "M", dashed=True).line("O", "B").right("O", "M", "B", 8).dot("O")
        return pic.side("O", "B", str(h), away="M", gap=11).side("O", "M", str(p), away="B", gap=11).name("A").name("B").finish()

    return pose(
        r,
        [
            "#Use the two lengths given in the circle to <find> the chord $AB$.",
            "#如图，圆心到弦 $AB$ 的距离和半径已标出，<求>弦 $AB$ 的长。",
            "A chord lies <p> cm from the centre of a circle of radius <h> cm. How long is it?",
            Ask(r"在半径为 <h> 的 $\odot O$ 中，弦长为 <chord>，<求>圆心到这条弦的距离。", p, lambda v: v * v + (chord // 2) ** 2 == h * h),
            Ask("A round pipe of radius <h> cm is partly filled. The water surface is <chord> cm wide. How far below the pipe's axis does "
                "it lie?", p, lambda v: v * v + (chord // 2) ** 2 == h * h),
        ],
        answer=chord,
        check=lambda v: p * p + Fraction(v, 2) ** 2 == h * h,
        work=("Half the chord, the distance and the radius form a right triangle:", "半弦、弦心距、半径构成直角三角形：",
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
            "#The circle touches all sides of the triangle (not to scale). <Find> the side with the question mark.",
            "#如图，圆与三角形三边都相切，<求>标“?”的边长（图形未按比例画）。",
            Ask("The incircle of a triangle with sides <a>, <b> and <c> touches the sides of lengths <b> and <c> at equal distance from their "
                "common vertex. <Find> this distance.", x, lambda v: (b - v) + (c - v) == a),
            Ask(r"$\triangle ABC$ 的内切圆与 $AB,AC$ 切于 $D,E$，$BC=<a>$，$CA=<b>$，$AB=<c>$，则 $AD=$ ______。", x,
                lambda v: (b - v) + (c - v) == a),
            Ask("Around a round table stands a triangular frame that touches it three times. From its corners to the points of contact one "
                "measures <x>, <y> and <z> dm. What is the length of the whole frame?", perimeter, lambda v: v == 2 * x + 2 * y + 2 * z),
        ],
        answer=a,
        check=lambda v: v == z + (c - x),
        work=("Tangents from one point are equal:", "切线长相等：", "$<x>+<y>=<c>$, $<y>+<z>=<a>$, $<z>+<x>=<b>$"),
        figure=figure, a=a, b=b, c=c, x=x, y=y, z=z,
    )  # fmt: skip
