"""Graphs of functions, charts, number lines and solids."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PIL import Image

from .canvas import BLUE, FILLS, GREY, INK, PALE, XY, Canvas


class Graph:
    """A coordinate plane with the given ranges of x and y; ``names`` are the letters at the axes, if any."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], size: tuple[int, int] = (192, 160), names: str = "xy"
    ):
        self.canvas = Canvas(*size)
        self.x, self.y, self.size, self.names = x, y, size, names
        self._axes()

    def put(self, x: float, y: float) -> XY:
        """Where a point of the plane lies on the sheet."""
        (left, right), (low, high) = self.x, self.y
        margin = 12
        width, height = self.size[0] - 2 * margin, self.size[1] - 2 * margin
        return margin + (x - left) / (right - left) * width, self.size[1] - margin - (y - low) / (high - low) * height

    def _axes(self) -> None:
        origin = self.put(0, 0)
        left, right = self.put(self.x[0], 0), self.put(self.x[1], 0)
        low, high = self.put(0, self.y[0]), self.put(0, self.y[1])
        for start, end in ((left, right), (low, high)):
            self.canvas.stroke([start, end], 1.5)
            self.canvas.head(end, (end[0] - start[0], end[1] - start[1]))
        if self.names:
            self.canvas.text((right[0] - 2, right[1] + 9), self.names[0], 12)
            self.canvas.text((high[0] - 9, high[1] + 3), self.names[1], 12)
        self.canvas.text((origin[0] - 7, origin[1] + 8), "O", 11)

    def grid(self, step: int = 1) -> Graph:
        for x in range(math.ceil(self.x[0]), math.floor(self.x[1]) + 1, step):
            self.canvas.stroke([self.put(x, self.y[0]), self.put(x, self.y[1])], 0.7, PALE)
        for y in range(math.ceil(self.y[0]), math.floor(self.y[1]) + 1, step):
            self.canvas.stroke([self.put(self.x[0], y), self.put(self.x[1], y)], 0.7, PALE)
        self._axes()
        return self

    def plot(self, f: Callable[[float], float], x: tuple[float, float] | None = None) -> Graph:
        """A curve, as far as it stays on the sheet."""
        start, end = x or self.x
        piece: list[XY] = []
        for k in range(161):
            at = start + (end - start) * k / 160
            value = f(at)
            if self.y[0] <= value <= self.y[1]:
                piece.append(self.put(at, value))
            else:
                self.canvas.stroke(piece, 2.6, BLUE)
                piece = []
        self.canvas.stroke(piece, 2.6, BLUE)
        return self

    def point(self, x: float, y: float, text: str = "", shift: XY = (12, -11), mark: bool = True) -> Graph:
        at = self.put(x, y)
        if mark:
            self.canvas.dot(at, 2.8)
        if text:
            self.canvas.text((at[0] + shift[0], at[1] + shift[1]), text, 13)
        return self

    def dashed(self, *points: XY) -> Graph:
        self.canvas.stroke([self.put(*p) for p in points], 1.4, GREY, dashed=True)
        return self

    def line(self, *points: XY) -> Graph:
        self.canvas.stroke([self.put(*p) for p in points], 2.4)
        return self

    def finish(self) -> Image.Image:
        return self.canvas.finish()


def bars(labels: Sequence[str], values: Sequence[float], shown: Sequence[str], note: str = "") -> Image.Image:
    """A bar chart with a number above each bar."""
    sheet = Canvas(208, 160)
    left, bottom, top = 24, 134, 34
    step = (208 - left - 12) / len(values)
    for k, value in enumerate(values):
        height = (bottom - top) * value / max(values)
        x = left + step * (k + 0.2)
        sheet.box((x, bottom - height), (step * 0.6, height), FILLS[0])
        sheet.text((x + step * 0.3, bottom + 11), labels[k], 12)
        sheet.text((x + step * 0.3, bottom - height - 9), shown[k], 13)
    sheet.stroke([(left, 18), (left, bottom), (200, bottom)], 1.8)
    if note:
        sheet.text((124, 9), note, 12)
    return sheet.finish()


def pie(values: Sequence[float], shown: Sequence[str], start: float = -90) -> Image.Image:
    """A pie chart with a text in each sector."""
    sheet = Canvas(168, 160)
    centre, radius = (84.0, 80.0), 70.0
    total, at = sum(values), start
    for k, value in enumerate(values):
        end = at + 360 * value / total
        sheet.wedge(centre, radius, at, end, FILLS[k % len(FILLS)])
        at = end
    at = start
    for value, text in zip(values, shown, strict=True):
        half = math.radians(at + 180 * value / total)
        at += 360 * value / total
        sheet.text((centre[0] + 44 * math.cos(half), centre[1] + 44 * math.sin(half)), text, 13)
    return sheet.finish()


def line_chart(labels: Sequence[str], values: Sequence[float], top: int, step: int) -> Image.Image:
    """A line chart with a labelled scale."""
    sheet = Canvas(216, 160)
    left, bottom, high = 34, 134, 14

    def put(k: int, value: float) -> XY:
        return left + 14 + (216 - left - 34) * k / (len(values) - 1), bottom - (bottom - high) * value / top

    for mark in range(0, top + 1, step):
        y = put(0, mark)[1]
        sheet.stroke([(left, y), (208, y)], 0.8, PALE)
        sheet.text((left - 14, y), str(mark), 11)
    sheet.stroke([(left, 8), (left, bottom), (210, bottom)], 1.8)
    points = [put(k, value) for k, value in enumerate(values)]
    sheet.stroke(points, 2.4, BLUE)
    for k, point in enumerate(points):
        sheet.dot(point)
        sheet.text((point[0], bottom + 12), labels[k], 11)
    return sheet.finish()


def number_line(marks: Sequence[tuple[float, str, str]], ticks: int = 0, width: int = 208) -> Image.Image:
    """A number line; a mark is its place in 0..1, the text above and the text below."""
    sheet = Canvas(width, 84)
    y = 44.0
    left, right = 14.0, width - 10.0
    sheet.stroke([(left, y), (right, y)], 2.2)
    sheet.head((right + 4, y), (1, 0), 9)

    def put(place: float) -> float:
        return left + 12 + (right - left - 34) * place

    for k in range(ticks + 1 if ticks else 0):
        x = put(k / ticks)
        sheet.stroke([(x, y - 4), (x, y + 4)], 1.5)
    for place, above, below in marks:
        x = put(place)
        sheet.dot((x, y), 3.4)
        if above:
            sheet.text((x, y - 17), above, 14)
        if below:
            sheet.text((x, y + 18), below, 14)
    return sheet.finish()


def interval(low: float, high: float, low_text: str, high_text: str, open_ends: tuple[bool, bool]) -> Image.Image:
    """A solution set between two ends on a number line, hollow where an end is left out."""
    sheet = Canvas(208, 84)
    sheet.stroke([(12, 52), (196, 52)], 1.8)
    sheet.head((202, 52), (1, 0), 8)
    a, b = 24 + 160 * low, 24 + 160 * high
    sheet.stroke([(a, 52), (a, 30), (b, 30), (b, 52)], 2.4, BLUE)
    for x, text, hollow in ((a, low_text, open_ends[0]), (b, high_text, open_ends[1])):
        sheet.dot((x, 52), 4, hollow)
        sheet.text((x, 69), text, 13)
    return sheet.finish()


def cuboid(length: float, depth: float, height: float, texts: tuple[str, str, str], note: str = "") -> Image.Image:
    """A box in oblique projection; the texts are the length, depth and height."""
    sheet = Canvas(192, 160)
    slant = 0.42 * depth
    scale = min(128 / (length + slant), (104 if note else 116) / (height + slant))
    w, h, s = length * scale, height * scale, slant * scale
    x, y = (192 - w - s) / 2 - 4, (160 + h + s) / 2 - (14 if note else 6)
    front = [(x, y), (x + w, y), (x + w, y - h), (x, y - h)]
    back = [(px + s, py - s) for px, py in front]
    sheet.stroke([back[1], back[0], back[3]], 1.4, INK, dashed=True)
    sheet.stroke([front[0], back[0]], 1.4, INK, dashed=True)
    sheet.area([front[3], front[2], back[2], back[3]], PALE)
    sheet.stroke([*front, front[0]])
    sheet.stroke([front[3], back[3], back[2], back[1], front[1]])
    sheet.stroke([front[2], back[2]])
    sheet.text((x + w / 2, y + 11), texts[0])
    sheet.text((x + w + s / 2 + 13, y - s / 2 + 6), texts[1])
    sheet.text((x - 13, y - h / 2), texts[2])
    if note:
        sheet.text((96, 150), note, 13)
    return sheet.finish()


def round_solid(kind: str, radius: float, height: float, texts: tuple[str, str]) -> Image.Image:
    """A ``cylinder`` or a ``cone``; the texts are the radius and the height."""
    sheet = Canvas(168, 160)
    scale = min(50 / radius, 100 / height)
    rx, h = radius * scale, height * scale
    x, low = 80.0, 132.0
    high, ry = low - h, rx * 0.28
    sheet.oval((x, low), rx, ry, "front")
    sheet.oval((x, low), rx, ry, "back", 1.4)
    tops = [(x, high), (x, high)] if kind == "cone" else [(x - rx, high), (x + rx, high)]
    sheet.stroke([(x - rx, low), tops[0]])
    sheet.stroke([(x + rx, low), tops[1]])
    if kind == "cylinder":
        sheet.oval((x, high), rx, ry)
    sheet.stroke([(x, low), (x + rx, low)], 1.5)
    sheet.stroke([(x, low), (x, high)], 1.5, INK, dashed=True)
    sheet.dot((x, low), 2.2)
    sheet.text((x + rx / 2, low + ry + 10 if ry < 16 else low + 9), texts[0], 13)
    sheet.text((x - 11, low - h / 2), texts[1], 13)
    return sheet.finish()
