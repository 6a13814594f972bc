"""Triangles: isosceles, right and similar ones."""

from __future__ import annotations

from fractions import Fraction

from PIL import Image

from .draw import Draw
from .figures import Picture, triangle
from .knowledge import ISOSCELES, RIGHT, SIMILAR
from .registry import Ask, Draft, group, pose
from .values import DEGREE, plain


@group(ISOSCELES, level=2)
def isosceles_angles(r: Draw) -> Draft:
    """Base angles of an isosceles triangle are equal."""
    base = r.num(35, 75)
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
            Ask(r"$\triangle <a><b><c>$ is isosceles with $<a><b>=<a><c>$ and $\angle <a>=<top>^\circ$. How "
                r"large is $\angle <b>$?", base,
                lambda v: 2 * v + top == 180, DEGREE),
            r"等腰三角形的一个底角为 $<base>^\circ$，则顶角为______。",
            Ask(r"A roof has two equal slopes that meet at $<top>^\circ$. At what angle do they rise from "
                r"the horizontal?", base,
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
    k = r.num(1, 3)
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
            "A kite flies on a taut string of <h> m and stands above a point <p> m away from <who>. How high "
            "is it?",
            Ask("<who>先向东走 <p> 米，再向北走 <q> 米，"
                "此时离出发点的直线距离是多少米？", h, lambda v: p * p + q * q == v * v),
            Ask("A rectangular field measures <p> m by <q> m. How long is the straight path from corner to "
                "opposite corner?", h,
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
    small, ratio, step = r.num(2, 6), r.num(2, 7), r.num(1, 4)
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
            "A stick of <small> m throws a shadow of <near> m while a tree throws one of <far> m. How tall "
            "is the tree?",
            "同一时刻，高 <small> 米的标杆影长 <near> 米，旗杆影长 <far> 米，旗杆高多少米？",
            "#Two vertical posts and one ray of light: <find> the height marked with a question mark.",
            "#如图，两条竖直线段互相平行，<求>标“?”的高度。",
            r"$\triangle ABC\sim\triangle DEF$ with $AB=<near>$, $DE=<far>$ and $BC=<small>$. <Find> $EF$.",
        ],
        answer=big,
        check=lambda v: Fraction(small, near) == Fraction(v) / far,
        work=("Corresponding sides are in "
              "proportion:", "对应边成比例：", r"$\frac{<small>}{<near>}=\frac{<big>}{<far>}$"),
        wrong=(far - near,),
        figure=figure, small=small, near=near, far=far, big=big,
    )  # fmt: skip


@group(SIMILAR, level=4)
def area_ratio(r: Draw) -> Draft:
    """Areas of similar figures are as the squares of the sides."""
    p, q = r.pick((1, 2), (2, 3), (1, 3), (3, 4), (2, 5), (3, 5))
    k = r.num(1, 9)
    small, large = p * p * k, q * q * k
    return pose(
        r,
        [
            "Two similar triangles have a pair of corresponding sides of $<p>$ cm and $<q>$ cm. The smaller "
            "one covers $<small>$ cm$^2$. "
            "What does the larger one cover?",
            r"$\triangle ABC\sim\triangle A'B'C'$，相似比为 $<p>:<q>$，若 $S_{\triangle ABC}=<small>$，则 "
            r"$S_{\triangle A'B'C'}=$ ______。",
            Ask("A photo of $<large>$ cm$^2$ is reduced so that every length becomes $\\frac{<p>}{<q>}$ of "
                "what it was. <Find> the new "
                "area.", small, lambda v: v * q * q == large * p * p),
            "两个相似多边形的周长比是 $<p>:<q>$，较小的面积是 <small>，<求>较大的面积。",
            r"In $\triangle ABC$ a parallel to $BC$ cuts off a triangle of area $<small>$ whose side on $AB$ "
            r"is $\frac{<p>}{<q>}$ of $AB$. "
            r"What is the area of $\triangle ABC$?",
        ],
        answer=large,
        check=lambda v: v * p * p == small * q * q,
        work=("Areas go with the square of the "
              "ratio:", "面积比等于相似比的平方：", r"$\frac{<small>}{<large>}=\left(\frac{<p>}{<q>}\right)^2$"),
        wrong=(plain(Fraction(small * q, p)),),
        p=p, q=q, small=small, large=large,
    )  # fmt: skip
