"""A small drawing sheet: everything is drawn four times too large and averaged down (anti-aliasing)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SCALE = 4
INK = (28, 30, 40)
GREY = (150, 154, 164)
PALE = (221, 238, 255)
BLUE = (52, 104, 176)
RED = (196, 62, 56)
FILLS = ((120, 158, 206), (238, 190, 120), (150, 194, 150), (214, 148, 148), (190, 190, 200), (180, 160, 204))

XY = tuple[float, float]
Colour = tuple[int, int, int]


def font(size: float) -> ImageFont.FreeTypeFont:
    """Pillow's own font; the basic layout engine, since the other depends on what is installed."""
    face = ImageFont.load_default(size=round(size * SCALE))
    assert isinstance(face, ImageFont.FreeTypeFont)
    return face.font_variant(layout_engine=ImageFont.Layout.BASIC)


class Canvas:
    """A sheet in pixels, y downwards; line widths and font sizes are in final pixels."""

    def __init__(self, width: int = 192, height: int = 160):
        self.width, self.height = width, height
        self._sheet = Image.new("RGB", (width * SCALE, height * SCALE), (255, 255, 255))
        self._pen = ImageDraw.Draw(self._sheet)

    def finish(self) -> Image.Image:
        """The figure as a palette image; colours are rounded to sixteen steps a channel, white stays white."""
        small = np.asarray(self._sheet.resize((self.width, self.height), Image.Resampling.BOX), dtype=np.uint16)
        rounded = ((small + 8) // 17 * 17).astype(np.uint8)
        colours, index = np.unique(rounded.reshape(-1, 3), axis=0, return_inverse=True)
        figure = Image.fromarray(index.reshape(rounded.shape[:2]).astype(np.uint8), mode="P")
        figure.putpalette(colours.tobytes())
        return figure

    def stroke(self, points: Sequence[XY], width: float = 2.2, colour: Colour = INK, dashed: bool = False) -> None:
        """A polyline; dashes are five pixels long."""
        for start, end in itertools.pairwise(points):
            if dashed:
                for a, b in _dashes(start, end):
                    self._segment(a, b, width, colour)
            else:
                self._segment(start, end, width, colour)

    def _segment(self, start: XY, end: XY, width: float, colour: Colour) -> None:
        a, b, w = _big(start), _big(end), max(1, round(width * SCALE))
        self._pen.line([a, b], fill=colour, width=w)
        for x, y in (a, b):
            self._pen.ellipse([x - w // 2, y - w // 2, x + w // 2, y + w // 2], fill=colour)

    def area(self, points: Sequence[XY], fill: Colour = PALE) -> None:
        self._pen.polygon([_big(p) for p in points], fill=fill)

    def ring(self, centre: XY, radius: float, width: float = 2.2, fill: Colour | None = None) -> None:
        box = [_big((centre[0] - radius, centre[1] - radius)), _big((centre[0] + radius, centre[1] + radius))]
        self._pen.ellipse(box, outline=INK, width=round(width * SCALE), fill=fill)

    def oval(self, centre: XY, rx: float, ry: float, part: str = "whole", width: float = 2.0) -> None:
        """An ellipse as seen of a solid's base: its ``front`` half, its dashed ``back`` half, or the whole."""
        start, end = {"whole": (0, 360), "front": (0, 180), "back": (180, 360)}[part]
        steps = [math.radians(start + (end - start) * k / 48) for k in range(49)]
        points = [(centre[0] + rx * math.cos(t), centre[1] + ry * math.sin(t)) for t in steps]
        if part == "back":
            for k in range(0, 48, 6):
                self.stroke(points[k : k + 4], width)
        else:
            self.stroke(points, width)

    def arc(self, centre: XY, radius: float, start: float, end: float, width: float = 1.5) -> None:
        """An arc between two directions in degrees, y downwards, as a polyline."""
        steps = [math.radians(start + (end - start) * k / 24) for k in range(25)]
        self.stroke([(centre[0] + radius * math.cos(t), centre[1] + radius * math.sin(t)) for t in steps], width)

    def wedge(self, centre: XY, radius: float, start: float, end: float, fill: Colour) -> None:
        """A filled sector with its outline."""
        box = [_big((centre[0] - radius, centre[1] - radius)), _big((centre[0] + radius, centre[1] + radius))]
        self._pen.pieslice(box, start, end, fill=fill, outline=INK, width=round(1.6 * SCALE))

    def box(self, corner: XY, size: XY, fill: Colour | None = None, width: float = 1.8) -> None:
        """A rectangle by its upper left corner."""
        end = (corner[0] + size[0], corner[1] + size[1])
        self._pen.rectangle([_big(corner), _big(end)], fill=fill, outline=INK, width=round(width * SCALE))

    def dot(self, at: XY, radius: float = 3.0, hollow: bool = False) -> None:
        fill = (255, 255, 255) if hollow else INK
        self.ring(at, radius, 1.6, fill)

    def text(self, at: XY, words: str, size: float = 14, colour: Colour = INK) -> None:
        """Text centred at a point, with a white halo so that lines do not run through it."""
        halo = round(1.5 * SCALE)
        self._pen.text(
            _big(at), words, fill=colour, font=font(size), anchor="mm", stroke_width=halo, stroke_fill=(255, 255, 255)
        )
        self._pen.text(_big(at), words, fill=colour, font=font(size), anchor="mm")

    def head(self, tip: XY, along: XY, size: float = 7.0, colour: Colour = INK) -> None:
        """An arrow head at ``tip`` that points in the direction ``along``."""
        ux, uy = unit(along)
        left = (tip[0] - size * ux - size * 0.45 * uy, tip[1] - size * uy + size * 0.45 * ux)
        right = (tip[0] - size * ux + size * 0.45 * uy, tip[1] - size * uy - size * 0.45 * ux)
        self._pen.polygon([_big(tip), _big(left), _big(right)], fill=colour)


def unit(vector: XY) -> XY:
    length = math.hypot(*vector) or 1.0
    return vector[0] / length, vector[1] / length


def _big(point: XY) -> tuple[int, int]:
    # Rounded to thousandths first: the last bit of a sine may differ between machines.
    return round(round(point[0], 3) * SCALE), round(round(point[1], 3) * SCALE)


def _dashes(start: XY, end: XY, dash: float = 5.0, gap: float = 3.5) -> list[tuple[XY, XY]]:
    length = math.dist(start, end)
    ux, uy = unit((end[0] - start[0], end[1] - start[1]))
    count = int(length / (dash + gap)) + 1
    spans = [(k * (dash + gap), min(k * (dash + gap) + dash, length)) for k in range(count)]
    return [((start[0] + a * ux, start[1] + a * uy), (start[0] + b * ux, start[1] + b * uy)) for a, b in spans if b > a]
