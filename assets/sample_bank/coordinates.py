"""Points in the coordinate plane."""

from __future__ import annotations

import math

from PIL import Image

from .charts import Graph
from .draw import Draw
from .knowledge import DISTANCE, MOVES
from .registry import Ask, Draft, group, pose
from .values import root_of


@group(DISTANCE, level=2)
def distance_of_points(r: Draw) -> Draft:
    """Differences of coordinates are the legs of a right triangle."""
    p, q = r.num(1, 5), r.num(1, 5)
    x, y = r.num(-5, 2), r.num(-4, 2)
    u, v = x + p, y + q
    length = root_of(p * p + q * q)

    def figure() -> Image.Image:
        low = min(x, y, 0) - 1
        high = max(u, v, 0) + 1
        graph = Graph((low, high), (low, high), (176, 168)).grid().line((x, y), (u, v))
        return graph.point(x, y, "A", (-9, 9)).point(u, v, "B", (9, -9)).finish()

    def check(value: object) -> bool:
        return math.isclose(float(value) ** 2, (u - x) ** 2 + (v - y) ** 2)  # type: ignore[arg-type]

    return pose(
        r,
        [
            "How far is $A(<x>,<y>)$ from $B(<u>,<v>)$? Give the exact value.",
            "#Read the points off the grid and <find> the length of $AB$ (exact value, unit squares).",
            "已知点 $A(<x>,<y>)$、$B(<u>,<v>)$，则线段 $AB$ 的长为______。",
            "#如图，网格中每个小正方形的边长为 1，<求> $AB$ 的长。",
            "On a town map with a square grid the school is at $(<x>,<y>)$ and the pool at $(<u>,<v>)$. "
            "<Find> the distance as the crow "
            "flies, in grid units.",
        ],
        answer=length,
        check=check,
        work=("The coordinates differ by the legs of a right "
              "triangle:", "由两点间距离公式：", r"$\sqrt{<p>^2+<q>^2}=<length>$"),
        choice=0.0, figure=figure, x=x, y=y, u=u, v=v, p=p, q=q, length=length,
    )  # fmt: skip


@group(DISTANCE, level=2)
def midpoint(r: Draw) -> Draft:
    """The midpoint has the mean coordinates."""
    x, y, p, q = r.num(-6, 3), r.num(-5, 4), r.num(1, 5), r.nonzero(-4, 4)
    m, end = (x + p, y + q), (x + 2 * p, y + 2 * q)
    start = (x, y)

    def meets(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
        return all(a + c == 2 * b for a, b, c in zip(first, middle, last, strict=True))

    return pose(
        r,
        [
            "<Find> the midpoint of the segment from $A<start>$ to $B<end>$.",
            "已知 $A<start>$，$B<end>$，线段 $AB$ 的中点坐标为______。",
            Ask("$M<m>$ halves the segment $PQ$ and $P$ is $<start>$. Where is "
                "$Q$?", end, lambda v: meets(start, m, v)),
            Ask("点 $A<start>$ 关于点 $M<m>$ 的对称点的坐标是多少？", end, lambda v: meets(start, m, v)),
            "A parallelogram has opposite corners $<start>$ and $<end>$. In which point do its diagonals "
            "cross?",
        ],
        answer=m,
        check=lambda v: meets(start, v, end),
        work=("Take the mean of the "
              "coordinates:", "坐标取平均：", r"$M=\left(\frac{x_1+x_2}{2},\frac{y_1+y_2}{2}\right)=<m>$"),
        m=m, end=end, start=start,
    )  # fmt: skip


@group(MOVES, level=2)
def reflect_point(r: Draw) -> Draft:
    """Reflections in the axes change the sign of one coordinate."""
    x, y = r.nonzero(-6, 6), r.nonzero(-6, 6)

    def figure() -> Image.Image:
        graph = Graph((-7, 7), (-7, 7), (176, 168)).grid(2)
        return graph.point(x, y, "P", (10 if x > 0 else -10, -10)).finish()

    here, in_x, in_y, through = (x, y), (x, -y), (-x, y), (-x, -y)
    return pose(
        r,
        [
            "Point $P<here>$ is mirrored in the $x$-axis. What are the coordinates of the image?",
            "点 $P<here>$ 关于 $x$ 轴对称的点的坐标是______。",
            Ask("Fold the plane along the $y$-axis. On which point does $A<here>$ come to lie?", in_y,
                lambda v: v[0] + x == 0 and v[1] == y),
            Ask("把点 $A<here>$ 绕原点旋转 $180^\\circ$，"
                "<求>对应点的坐标。", through, lambda v: v[0] + x == 0 and v[1] + y == 0),
            "#The lines of the grid are 2 units apart and $P=<here>$. <Find> the reflection of $P$ across "
            "the horizontal axis.",
        ],
        answer=in_x,
        check=lambda v: v[0] == x and v[1] + y == 0,
        work=("A reflection changes the sign of one "
              "coordinate:", "对称改变坐标的符号：", r"$<here>\to <answer>$"),
        figure=figure, here=here,
    )  # fmt: skip


@group(MOVES, level=3)
def quarter_turn(r: Draw) -> Draft:
    """A quarter turn about the origin swaps the coordinates and changes one sign."""
    x, y = r.nonzero(-6, 6), r.nonzero(-6, 6)
    here, left, right = (x, y), (-y, x), (y, -x)

    def perpendicular(v: tuple[int, int], sign: int) -> bool:
        return v[0] * x + v[1] * y == 0 and (x * v[1] - y * v[0]) * sign == x * x + y * y

    return pose(
        r,
        [
            r"Turn $A<here>$ about the origin by $90^\circ$ anticlockwise. Where does it land?",
            r"将点 $A<here>$ 绕原点逆时针旋转 $90^\circ$，所得点的坐标为______。",
            Ask(r"A clock hand reaches from $(0,0)$ to $<here>$. Where is its tip after a quarter of a full "
                r"turn clockwise?", right,
                lambda v: perpendicular(v, -1)),
            Ask(r"点 $B<here>$ 绕坐标原点顺时针转 $90^\circ$ 后到达点 $B'$，<求> $B'$ "
                r"的坐标。", right, lambda v: perpendicular(v, -1)),
            r"$OABC$ is a square, named anticlockwise, with $O$ at the origin and $A<here>$. <Find> $C$.",
        ],
        answer=left,
        check=lambda v: perpendicular(v, 1),
        work=("A quarter turn swaps the coordinates and one "
              "sign:", "旋转 90 度，坐标互换并改变一个符号：", r"$<here>\to <answer>$"),
        here=here,
    )  # fmt: skip
