"""Groups that only the figure tells apart: all of them draw their stems from one pool, whatever the method."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from PIL import Image

from .canvas import PALE, XY
from .draw import Draw
from .figures import Picture, polar
from .knowledge import CHORDS, INSCRIBED, PARALLEL, POLYGON_AREA, RIGHT, SIMILAR
from .registry import Draft, group
from .values import Number
from .wording import language_of

STEMS = (
    "Find $x$.",
    "Find the value of $x$.",
    "Use the figure to find the value of $x$.",
    "What is the value of $x$ in the figure?",
    "Determine the unknown $x$ marked in the figure.",
    "Look at the figure. What number does $x$ stand for?",
    "Work out $x$ from the figure and show your reasoning.",
    "The figure is drawn for illustration only. Calculate $x$.",
    "求 $x$ 的值。",
    "求图中 $x$ 的值。",
    "如图，求 $x$。",
    "观察图形，求出未知数 $x$。",
)


def read(
    r: Draw, answer: Number, figure: Image.Image, check: Callable[[Fraction], bool], work: tuple[str, str, str]
) -> Draft:
    """A question of the pool with its figure."""
    # Each stem is drawn on its own, never dealt out in turn: the stem must say nothing about the group.
    english, chinese = STEMS[:8], STEMS[8:]
    stem = r.pick(*(chinese if r.chance(0.36) else english))
    language = language_of(stem)
    lead = work[1] if language == "zh" else work[0] + " "
    end = f"，所以 $x={answer}$。" if language == "zh" else f", so $x={answer}$."
    return Draft(stem, answer, f"{lead}{work[2]}{end}", check, language, figures=[figure])


@group(PARALLEL, level=1, figure_only=True)
def fig_alternate_angles(r: Draw) -> Draft:
    """Equal alternate angles at a transversal; the second one is given as a sum with x."""
    angle, add = r.num(48, 76), r.num(8, 30)
    lean = math.cos(math.radians(angle)) / math.sin(math.radians(angle))
    pic = Picture(
        {
            "A": (-2.5, 1), "B": (2.5, 1), "C": (-2.5, -1), "D": (2.5, -1), "P": (lean, 1), "Q": (-lean, -1),
            "S": (1.6 * lean, 1.6), "T": (-1.6 * lean, -1.6),
        },
        r,
        size=(192, 176),
        margin=10,
    )  # fmt: skip
    pic.line("A", "B").line("C", "D").line("S", "T").arrow("A", "B", 0.94).arrow("C", "D", 0.94)
    pic.angle("A", "P", "Q", f"{angle}°", gap=15).angle("D", "Q", "P", f"x+{add}°", gap=20)
    return read(
        r, angle - add, pic.finish(), lambda v: v + add == angle,
        ("Alternate angles are equal:", "两直线平行，内错角相等：", f"$x+{add}={angle}$"),
    )  # fmt: skip


@group(INSCRIBED, level=2, figure_only=True)
def fig_inscribed_angle(r: Draw) -> Draft:
    """The angle at the centre is twice the angle at the circle over the same arc."""
    x = r.num(28, 62)
    given_centre = r.chance(0.5)
    place = 90 + r.real(-25, 25)
    pic = Picture(
        {"O": (0, 0), "A": polar(1, -90 - x), "B": polar(1, -90 + x), "C": polar(1, place)},
        r,
        circles={"O": 1.0},
        size=(160, 160),
        margin=10,
    )
    pic.circle("O", 1).line("A", "C", "B").line("A", "O", "B", width=2.2).dot("O")
    small, large = ("x°", f"{2 * x}°") if given_centre else (f"{x}°", "x°")
    pic.angle("A", "C", "B", small).angle("A", "O", "B", large, radius=11, gap=11)
    return read(
        r, x if given_centre else 2 * x, pic.finish(),
        (lambda v: 2 * v == 2 * x) if given_centre else (lambda v: v == x + x),
        ("The inscribed angle is half of the central angle on the same arc:",
         "同弧所对的圆周角等于圆心角的一半：", rf"${x}=\frac{{1}}{{2}}\times {2 * x}$"),
    )  # fmt: skip


@group(RIGHT, level=2, figure_only=True)
def fig_pythagoras(r: Draw) -> Draft:
    """A right triangle with two sides given."""
    a, b, c = r.pick((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29))
    k = r.num(1, 4)
    a, b, c = a * k, b * k, c * k
    # The drawing is not to scale: a thin triangle has no room for its labels.
    wide = r.real(0.6, 0.8)
    pic = Picture({"A": (0, wide), "B": (1, 0), "C": (0, 0)}, r, size=(184, 160), margin=24)
    pic.shape("ABC", PALE).right("A", "C", "B", 12)
    hidden = r.num(0, 2)
    texts = ["x" if k == hidden else str(side) for k, side in enumerate((a, b, c))]
    for ends, text in zip(("AC", "CB", "AB"), texts, strict=True):
        pic.side(ends[0], ends[1], text)
    sides = (a, b, c)

    def check(v: Fraction) -> bool:
        p, q, h = (v if k == hidden else side for k, side in enumerate(sides))
        return p * p + q * q == h * h

    return read(r, sides[hidden], pic.finish(), check, ("By Pythagoras,", "由勾股定理，", f"${a}^2+{b}^2={c}^2$"))


@group(SIMILAR, level=3, figure_only=True)
def fig_parallel_in_triangle(r: Draw) -> Draft:
    """A line parallel to one side of a triangle cuts the other two in the same ratio."""
    p, q = r.pick((1, 1), (2, 1), (1, 2), (3, 2), (2, 3), (3, 1))
    m, n = r.some((2, 3, 4, 5, 6), 2)
    t = p / (p + q)
    b, c = (-1.0, -1.5), (1.2, -1.5)
    top = (r.real(-0.4, 0.6), 0.5)

    def between(end: tuple[float, float]) -> tuple[float, float]:
        s = 0.35 + 0.3 * t
        return top[0] + s * (end[0] - top[0]), top[1] + s * (end[1] - top[1])

    pic = Picture({"A": top, "B": b, "C": c, "D": between(b), "E": between(c)}, r, size=(184, 168), margin=22)
    pic.shape("ABC").line("D", "E").arrow("D", "E", 0.6).arrow("B", "C", 0.55)
    pic.side("A", "D", str(p * m), away="C").side("D", "B", str(q * m), away="C")
    pic.side("A", "E", str(p * n), away="B").side("E", "C", "x", away="B")
    return read(
        r, q * n, pic.finish(), lambda v: p * m * v == q * m * p * n,
        ("The parallel cuts both sides in the same ratio:", "平行线分线段成比例：",
         rf"$\frac{{{p * m}}}{{{q * m}}}=\frac{{{p * n}}}{{x}}$"),
    )  # fmt: skip


@group(CHORDS, level=2, figure_only=True)
def fig_tangent_radius(r: Draw) -> Draft:
    """A tangent stands at right angles on the radius, so the two other angles add up to 90 degrees."""
    at_point = r.num(28, 38)
    reach = 1 / math.sin(math.radians(at_point))
    pic = Picture(
        {"O": (0, 0), "P": (reach, 0), "T": polar(1, 90 - at_point)}, r, circles={"O": 1.0}, size=(184, 176), margin=12
    )
    pic.circle("O", 1).line("O", "T", "P", "O").dot("O", "T")
    swap = r.chance(0.5)
    pic.angle("T", "P", "O", "x°" if swap else f"{at_point}°", radius=20, gap=12)
    pic.angle("T", "O", "P", f"{90 - at_point}°" if swap else "x°", radius=14, gap=13)
    pic.name("O").name("T", away="O")
    answer, given = (at_point, 90 - at_point) if swap else (90 - at_point, at_point)
    return read(
        r, answer, pic.finish(), lambda v: v + given + 90 == 180,
        ("The radius to the point of contact is perpendicular to the tangent:", "切线垂直于过切点的半径：",
         f"$x=180-90-{given}$"),
    )  # fmt: skip


@group(CHORDS, level=3, figure_only=True)
def fig_crossing_chords(r: Draw) -> Draft:
    """Two chords that cross: the products of their parts are equal."""
    p, q = r.pick((2, 6), (3, 4), (4, 6), (3, 8), (2, 9), (4, 9), (5, 6), (6, 8))
    product = p * q
    s = r.pick(*[k for k in range(2, product // 2 + 1) if product % k == 0 and k not in (p, q)])
    start = r.real(0, 360)
    places = [start, start + 100, start + 175, start + 280]
    ends = {name: polar(1, at) for name, at in zip("ABCD", places, strict=True)}
    pic = Picture(
        ends | {"O": (0, 0), "X": _crossing(*ends.values())}, r, circles={"O": 1.0}, size=(160, 160), margin=8
    )
    pic.circle("O", 1).line("A", "C").line("B", "D").dot("X")
    for end, other, text in (("A", "B", str(p)), ("C", "D", str(q)), ("B", "C", str(s)), ("D", "A", "x")):
        pic.side("X", end, text, away=other, gap=10, at=0.55)
    return read(
        r, product // s, pic.finish(), lambda v: v * s == p * q,
        ("Crossing chords have equal products:", "相交弦定理：", rf"${p}\times {q}={s}\times x$"),
    )  # fmt: skip


def _crossing(a: XY, b: XY, c: XY, d: XY) -> XY:
    """Where the lines ``ac`` and ``bd`` meet."""
    (ux, uy), (wx, wy) = (c[0] - a[0], c[1] - a[1]), (d[0] - b[0], d[1] - b[1])
    t = ((b[0] - a[0]) * wy - (b[1] - a[1]) * wx) / (ux * wy - uy * wx)
    return a[0] + t * ux, a[1] + t * uy


@group(POLYGON_AREA, level=1, figure_only=True)
def fig_l_shape(r: Draw) -> Draft:
    """The missing side of an L-shaped floor plan: opposite sides add up."""
    wide, x = r.num(9, 24), r.num(3, 7)
    step, high, low = wide - x, r.num(8, 18), r.num(3, 6)
    points = {"A": (0, 0), "B": (3, 0), "C": (3, 1.1), "D": (r.real(1.2, 1.9), 1.1)}
    points |= {"E": (points["D"][0], 2.4), "F": (0, 2.4)}
    pic = Picture(points, r, turn=0, margin=26)
    if r.chance(0.5):
        pic = Picture({k: (v[1], v[0]) for k, v in points.items()}, r, turn=0, margin=26)
    pic.shape("ABCDEF", PALE)
    for a, b, c in ("FAB", "ABC", "BCD", "DEF", "EFA"):
        pic.right(a, b, c, 7)
    pic.side("A", "B", str(wide), away="E").side("D", "C", str(step), away="B").side("E", "F", "x", away="A")
    pic.side("A", "F", str(high), away="C").side("B", "C", str(low), away="A")
    return read(
        r, x, pic.finish(), lambda v: v + step == wide,
        ("Opposite sides of the outline add up to the same length:", "对边之和相等：", f"$x+{step}={wide}$"),
    )  # fmt: skip
