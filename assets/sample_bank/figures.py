"""Plane figures with labels: points are given freely, then turned, mirrored and fitted to the sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PIL import Image

from .canvas import INK, PALE, XY, Canvas, Colour, unit
from .draw import Draw


class Picture:
    """A drawing of named points, ``y`` upwards in any unit.

    Args:
        points: Where the points are.
        r: Gives the turn and the mirroring; ``None`` keeps the figure as it stands.
        turn: The largest turn in degrees.
        circles: Circles (centre, radius) that must fit on the sheet too.
    """

    def __init__(
        self,
        points: Mapping[str, XY],
        r: Draw | None = None,
        turn: float = 180,
        circles: Mapping[str, float] | None = None,
        size: tuple[int, int] = (192, 160),
        margin: float = 22,
    ):
        self.canvas = Canvas(*size)
        angle = math.radians(r.real(-turn, turn)) if r else 0.0
        mirror = -1.0 if r and r.chance(0.5) else 1.0
        turned = {name: _turned(xy, angle, mirror) for name, xy in points.items()}
        reach = [(xy, (circles or {}).get(name, 0.0)) for name, xy in turned.items()]
        left, right = min(p[0] - k for p, k in reach), max(p[0] + k for p, k in reach)
        low, high = min(p[1] - k for p, k in reach), max(p[1] + k for p, k in reach)
        shrink = r.real(0.88, 1.0) if r else 1.0
        width, height = size[0] - 2 * margin, size[1] - 2 * margin
        self.scale = shrink * min(width / max(right - left, 1e-6), height / max(high - low, 1e-6))
        middle = ((left + right) / 2, (low + high) / 2)
        self.at: dict[str, XY] = {
            name: (size[0] / 2 + (x - middle[0]) * self.scale, size[1] / 2 - (y - middle[1]) * self.scale)
            for name, (x, y) in turned.items()
        }
        self.centre = (size[0] / 2, size[1] / 2)

    def finish(self) -> Image.Image:
        return self.canvas.finish()

    def line(self, *names: str, dashed: bool = False, width: float = 2.2, colour: Colour = INK) -> Picture:
        """Segments from point to point."""
        self.canvas.stroke([self.at[n] for n in names], width, colour, dashed)
        return self

    def shape(self, names: str, fill: Colour | None = None) -> Picture:
        """A closed polygon."""
        if fill:
            self.canvas.area([self.at[n] for n in names], fill)
        return self.line(*names, names[0])

    def shade(self, names: Sequence[str], fill: Colour = PALE) -> Picture:
        self.canvas.area([self.at[n] for n in names], fill)
        return self

    def circle(self, centre: str, radius: float, fill: Colour | None = None) -> Picture:
        self.canvas.ring(self.at[centre], radius * self.scale, fill=fill)
        return self

    def name(self, point: str, text: str | None = None, away: str | None = None, gap: float = 12) -> Picture:
        """The point's name, away from another point or from the middle of the sheet."""
        x, y = self.at[point]
        from_x, from_y = self.at[away] if away else self.centre
        ux, uy = unit((x - from_x, y - from_y))
        if (ux, uy) == (0.0, 0.0):
            ux, uy = 0.7, 0.7
        self.canvas.text((x + gap * ux, y + gap * uy), text or point, 13)
        return self

    def names(self, points: str, texts: list[str] | None = None) -> Picture:
        for k, point in enumerate(points):
            self.name(point, texts[k] if texts else None)
        return self

    def side(self, a: str, b: str, text: str, away: str | None = None, gap: float = 12, at: float = 0.5) -> Picture:
        """A length beside a segment, on the far side from ``away`` (or from the middle of the sheet)."""
        (ax, ay), (bx, by) = self.at[a], self.at[b]
        mx, my = ax + (bx - ax) * at, ay + (by - ay) * at
        nx, ny = unit((ay - by, bx - ax))
        from_x, from_y = self.at[away] if away else self.centre
        if (mx - from_x) * nx + (my - from_y) * ny < 0:
            nx, ny = -nx, -ny
        gap += 2.2 * abs(nx) * (len(text) - 1)
        self.canvas.text((mx + gap * nx, my + gap * ny), text, 14)
        return self

    def angle(
        self, a: str, vertex: str, b: str, text: str = "", radius: float = 15, arcs: int = 1, gap: float = 13
    ) -> Picture:
        """The arc of the angle ``a vertex b`` (below 180 degrees) and its size along the bisector."""
        v = self.at[vertex]
        start, end = self._direction(v, a), self._direction(v, b)
        if (end - start) % 360 > 180:
            start, end = end, start
        end = start + (end - start) % 360
        for k in range(arcs):
            self.canvas.arc(v, radius - 3.5 * k, start, end)
        if text:
            half = math.radians((start + end) / 2)
            # A narrow angle pushes its number outwards, where there is room for it.
            out = radius + gap + max(0.0, 40 - (end - start)) * 0.4
            self.canvas.text((v[0] + out * math.cos(half), v[1] + out * math.sin(half)), text, 14)
        return self

    def right(self, a: str, vertex: str, b: str, size: float = 9) -> Picture:
        """The square of a right angle."""
        v = self.at[vertex]
        ux, uy = unit((self.at[a][0] - v[0], self.at[a][1] - v[1]))
        wx, wy = unit((self.at[b][0] - v[0], self.at[b][1] - v[1]))
        corner = (v[0] + size * (ux + wx), v[1] + size * (uy + wy))
        self.canvas.stroke([(v[0] + size * ux, v[1] + size * uy), corner, (v[0] + size * wx, v[1] + size * wy)], 1.5)
        return self

    def ticks(self, a: str, b: str, count: int = 1) -> Picture:
        """The marks of equal lengths across the middle of a segment."""
        (ax, ay), (bx, by) = self.at[a], self.at[b]
        ux, uy = unit((bx - ax, by - ay))
        for k in range(count):
            shift = 4 * (k - (count - 1) / 2)
            x, y = (ax + bx) / 2 + shift * ux, (ay + by) / 2 + shift * uy
            self.canvas.stroke([(x - 5 * uy, y + 5 * ux), (x + 5 * uy, y - 5 * ux)], 1.6)
        return self

    def arrow(self, a: str, b: str, at: float = 0.5) -> Picture:
        """The mark of parallel lines on a segment."""
        (ax, ay), (bx, by) = self.at[a], self.at[b]
        self.canvas.head((ax + (bx - ax) * at, ay + (by - ay) * at), (bx - ax, by - ay), 9)
        return self

    def dot(self, *names: str) -> Picture:
        for n in names:
            self.canvas.dot(self.at[n], 2.6)
        return self

    def _direction(self, vertex: XY, name: str) -> float:
        x, y = self.at[name]
        return math.degrees(math.atan2(y - vertex[1], x - vertex[0]))


def _turned(xy: XY, angle: float, mirror: float) -> XY:
    x, y = xy[0] * mirror, xy[1]
    return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)


def polar(radius: float, degrees: float, centre: XY = (0.0, 0.0)) -> XY:
    """A point by direction and distance, ``y`` upwards."""
    t = math.radians(degrees)
    return centre[0] + radius * math.cos(t), centre[1] + radius * math.sin(t)


def triangle(base: float, left: float, right: float) -> dict[str, XY]:
    """The corners ``A`` (top), ``B``, ``C`` of a triangle with a base and the angles in degrees at its ends."""
    a, b = math.tan(math.radians(left)), math.tan(math.radians(right))
    x = base * b / (a + b)
    return {"A": (x, x * a), "B": (0.0, 0.0), "C": (base, 0.0)}
