"""Areas and solids."""

from __future__ import annotations

from fractions import Fraction

from PIL import Image

from .canvas import PALE
from .charts import cuboid, round_solid
from .draw import Draw
from .figures import Picture, polar
from .knowledge import CIRCLE_AREA, POLYGON_AREA, SURFACE, VOLUME
from .registry import Ask, Draft, group, pose
from .values import Pi


@group(POLYGON_AREA, level=2)
def rhombus(r: Draw) -> Draft:
    """The diagonals of a rhombus are perpendicular and halve each other."""
    p, q, h = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (6, 8, 10), (9, 12, 15))
    d, e = 2 * p, 2 * q
    area = d * e // 2

    def figure() -> Image.Image:
        pic = Picture(
            {"A": (0, 0.75), "B": (1.2, 0), "C": (0, -0.75), "D": (-1.2, 0), "O": (0, 0)}, r, turn=180, margin=18
        )
        pic.shape("ABCD").line("A", "C", dashed=True, width=1.5).line("B", "D", dashed=True, width=1.5)
        pic.right("A", "O", "B", 8).side("O", "A", str(p), away="B", gap=11).side("O", "D", str(q), away="A", gap=11)
        return pic.finish()

    return pose(
        r,
        [
            "The diagonals of a rhombus are <d> cm and <e> cm. What is its area?",
            "#如图，菱形的两条对角线相交，<求>菱形的面积。",
            Ask("#Half diagonals are given in the rhombus (not to scale). <Find> the length of a side.", h,
                lambda v: v * v == p * p + q * q),
            Ask("菱形的边长为 <h>，一条对角线长为 <d>，"
                "则另一条对角线长为______。", e, lambda v: (Fraction(v) / 2) ** 2 + p * p == h * h),
            Ask("A kite-shaped sign has four equal edges of <h> dm; opposite corners are <d> dm apart in "
                "height. How wide is it?", e,
                lambda v: (Fraction(v) / 2) ** 2 + p * p == h * h),
        ],
        answer=area,
        check=lambda v: 2 * v == d * e,
        work=("The diagonals are perpendicular and bisect each other:", "菱形对角线互相垂直平分：",
              r"$\frac{1}{2}\times <d>\times <e>=<area>$, $<p>^2+<q>^2=<h>^2$"),
        wrong=(d * e,),
        figure=figure, p=p, q=q, h=h, d=d, e=e, area=area,
    )  # fmt: skip


@group(CIRCLE_AREA, level=3)
def sector(r: Draw) -> Draft:
    """A sector is the part angle / 360 of its circle."""
    angle, radius = r.pick(30, 40, 45, 60, 72, 90, 120, 150), r.num(3, 12)
    area, arc = Pi(Fraction(angle * radius * radius, 360)), Pi(Fraction(angle * radius, 180))

    def figure() -> Image.Image:
        steps = {f"P{k}": polar(1, angle * k / 24) for k in range(25)}
        pic = Picture({"O": (0, 0), **steps}, r, margin=24)
        pic.shade(tuple(pic.at)).line(*pic.at, "O")
        return pic.angle("P0", "O", "P24", f"{angle}°", radius=13).side("O", "P0", str(radius), away="P24").finish()

    return pose(
        r,
        [
            r"A sector has the central angle $<angle>^\circ$ and the radius <radius>. What is its area? "
            r"(Keep $\pi$.)",
            r"#如图，<求>扇形的面积（结果保留 $\pi$）。",
            "#<Find> the area of the shaded sector as a multiple of $\\pi$.",
            Ask(r"一段弧所对的圆心角为 $<angle>^\circ$，半径为 <radius>，则弧长为______（保留 $\pi$）。", arc,
                lambda v: v.factor * 360 == 2 * radius * angle),
            Ask("A pendulum of <radius> dm swings through $<angle>^\\circ$. Express the way of its tip from "
                "one side to the other with "
                "$\\pi$.", arc, lambda v: v.factor * 360 == 2 * radius * angle),
        ],
        answer=area,
        check=lambda v: v.factor * 360 == radius * radius * angle,
        work=("Take the part of the whole circle:", "占整圆的比例：", r"$\frac{<angle>}{360}$"),
        figure=figure, angle=angle, radius=radius,
    )  # fmt: skip


@group(CIRCLE_AREA, level=3)
def ring_area(r: Draw) -> Draft:
    """The area of a ring is the difference of two circles."""
    small, width = r.num(2, 8), r.num(1, 5)
    big = small + width
    area = Pi(Fraction(big * big - small * small))

    def figure() -> Image.Image:
        pic = Picture(
            {"O": (0, 0), "A": polar(1, 30), "B": polar(0.55, 150)}, r, circles={"O": 1.0}, size=(168, 160), margin=10
        )
        pic.circle("O", 1, PALE).circle("O", 0.55, (255, 255, 255)).line("O", "A").line("O", "B").dot("O")
        return (
            pic.side("O", "A", str(big), away="B", gap=10, at=0.78)
            .side("O", "B", str(small), away="A", gap=10)
            .finish()
        )

    return pose(
        r,
        [
            r"#<Find> the shaded area between the two circles (in terms of $\pi$).",
            r"#如图，两个同心圆，<求>阴影部分的面积（结果保留 $\pi$）。",
            r"Around a round pond of radius <small> m runs a path <width> m wide. What is the area of the "
            r"path, with $\pi$ kept?",
            r"一个圆环，外圆半径 <big>，内圆半径 <small>，它的面积是______（保留 $\pi$）。",
            r"A washer is a disc of radius <big> mm with a concentric hole of radius <small> mm. Give the "
            r"area of metal on one side as a "
            r"multiple of $\pi$.",
        ],
        answer=area,
        check=lambda v: v.factor + small * small == big * big,
        work=("Subtract the circles:", "大圆减小圆：", r"$<big>^2\pi-<small>^2\pi=<area>$"),
        figure=figure, small=small, big=big, width=width, area=area,
    )  # fmt: skip


@group(VOLUME, level=3)
def cone_and_cylinder(r: Draw) -> Draft:
    """Base times height, for the cone a third of it."""
    radius, height = r.num(2, 9), 3 * r.num(1, 6)
    cone, cylinder = Pi(Fraction(radius * radius * height, 3)), Pi(Fraction(radius * radius * height))
    kind = "cone"

    def figure() -> Image.Image:
        return round_solid(kind, r.real(0.9, 1.4), r.real(1.8, 2.6), (str(radius), str(height)))

    return pose(
        r,
        [
            r"#<Find> the volume of the cone in terms of $\pi$.",
            r"#如图是一个圆锥，<求>它的体积（结果保留 $\pi$）。",
            r"A cone-shaped heap of sand is <height> dm high and its base has radius <radius> dm. How much "
            r"sand is it? Keep $\pi$.",
            Ask(r"圆柱的底面半径为 <radius>，高为 <height>，它的体积是______（保留 $\pi$）。", cylinder,
                lambda v: v.factor == radius**2 * height),
            Ask("A paper cone of radius <radius> cm and height <height> cm is filled with water and emptied "
                "into a glass with the same base "
                "radius. How high does the water "
                "stand?", height // 3, lambda v: radius**2 * v * 3 == radius**2 * height),
        ],
        answer=cone,
        check=lambda v: v.factor * 3 == radius**2 * height,
        work=("Base times height, a third of it for a cone:", "底面积乘高，圆锥取三分之一：",
              r"$\pi\times <radius>^2\times <height>=<cylinder>$"),
        figure=figure, radius=radius, height=height, cylinder=cylinder,
    )  # fmt: skip


@group(VOLUME, level=4)
def displaced_water(r: Draw) -> Draft:
    """A body under water lifts the level by its volume over the base."""
    a, b, rise = r.num(2, 6) * 5, r.num(2, 5) * 4, r.num(1, 4)
    body = a * b * rise

    def figure() -> Image.Image:
        return cuboid(r.real(1.6, 2.2), r.real(1.1, 1.7), r.real(1.1, 1.6), (str(a), str(b), "h"))

    return pose(
        r,
        [
            "#A tank with the base shown (in cm) is half full. A stone of <body> cm$^3$ is laid under water. "
            "By how many cm does the level "
            "rise?",
            "长 <a> 厘米、宽 <b> 厘米的长方体水槽中放入一块体积为 <body> 立方厘米的石头（完全浸没，"
            "水未溢出），水面上升多少厘米？",
            Ask("When <who> sinks a crown in a box-shaped basin of <a> cm by <b> cm, the surface goes up by "
                "<rise> cm. <Find> the volume "
                "of the crown.", body, lambda v: Fraction(v, a * b) == rise),
            Ask("#如图的长方体容器（单位：厘米）中浸没一个铁块，水面升高 <rise> 厘米，"
                "铁块的体积是多少立方厘米？", body,
                lambda v: Fraction(v, a * b) == rise),
            "Ice cubes of together <body> cm$^3$ are pushed just under the water of an aquarium, <a> cm long "
            "and <b> cm wide. How much higher "
            "does the water stand?",
        ],
        answer=rise,
        check=lambda v: a * b * v == body,
        work=("Volume is base times rise:", "体积等于底面积乘上升高度：", r"$<a>\times <b>\times "
                                                             r"<rise>=<body>$"),
        figure=figure, a=a, b=b, rise=rise, body=body,
    )  # fmt: skip


@group(SURFACE, level=3)
def space_diagonal(r: Draw) -> Draft:
    """Pythagoras twice: the diagonal of a box."""
    a, b, c, d = r.pick(
        (1, 2, 2, 3),
        (2, 3, 6, 7),
        (1, 4, 8, 9),
        (4, 4, 7, 9),
        (2, 6, 9, 11),
        (6, 6, 7, 11),
        (3, 4, 12, 13),
        (2, 5, 14, 15),
    )
    a, b, c = r.shuffled((a, b, c))

    def figure() -> Image.Image:
        return cuboid(r.real(1.6, 2.2), r.real(1.1, 1.7), r.real(1.1, 1.6), (str(a), str(b), str(c)))

    return pose(
        r,
        [
            "#How long is the longest straight line inside the box (not to scale)?",
            "#如图，长方体的三条棱长已标出，<求>它的体对角线长。",
            "A box is <a> dm long, <b> dm wide and <c> dm high. What is the longest thin rod that fits into "
            "it?",
            Ask("长方体的长、宽分别为 <a> 和 <b>，体对角线长为 <d>，"
                "则它的高是______。", c, lambda v: a * a + b * b + v * v == d * d),
            r"In a cuboid three edges that meet in a vertex measure $<a>$, $<b>$, $<c>$. <Find> the distance "
            r"between opposite vertices.",
        ],
        answer=d,
        check=lambda v: a * a + b * b + c * c == v * v,
        work=("By Pythagoras twice,", "两次勾股定理：", r"$<a>^2+<b>^2+<c>^2=<d>^2$"),
        wrong=(a + b + c,),
        figure=figure, a=a, b=b, c=c, d=d,
    )  # fmt: skip


@group(SURFACE, level=2)
def box_surface(r: Draw) -> Draft:
    """Three pairs of faces."""
    a, b, c = r.num(3, 9), r.num(2, 8), r.num(2, 7)
    total = 2 * (a * b + b * c + c * a)
    no_lid = total - a * b

    def figure() -> Image.Image:
        return cuboid(a / 3, b / 3, c / 3, (str(a), str(b), str(c)))

    return pose(
        r,
        [
            "#How much paper is needed to cover all faces of the box?",
            "#<求>图中长方体的表面积。",
            "A wooden block of <a> cm by <b> cm by <c> cm is painted all over. What area is painted?",
            Ask("做一个长 <a> 分米、宽 <b> 分米、高 <c> 分米的无盖铁皮水箱，"
                "至少需要铁皮多少平方分米？", no_lid,
                lambda v: v == a * b + 2 * b * c + 2 * a * c),
            Ask("An open aquarium is to be made of glass: base <a> by <b>, height <c> (dm). <Find> the area "
                "of glass.", no_lid,
                lambda v: v == a * b + 2 * b * c + 2 * a * c),
        ],
        answer=total,
        check=lambda v: v == sum(2 * x * y for x, y in ((a, b), (b, c), (a, c))),
        work=("Add the faces:", "各面面积相加：", r"$2(<a>\times <b>+<b>\times <c>+<a>\times <c>)=<total>$"),
        wrong=(a * b * c,),
        figure=figure, a=a, b=b, c=c, total=total,
    )  # fmt: skip
