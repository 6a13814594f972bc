"""Exact values of answers, how they are written in LaTeX and how they are read back."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Root:
    """``coefficient * sqrt(radicand)`` with a square-free radicand; made by ``root_of``."""

    coefficient: Fraction
    radicand: int

    def __float__(self) -> float:
        return float(self.coefficient) * math.sqrt(self.radicand)

    @property
    def square(self) -> Fraction:
        return self.coefficient**2 * self.radicand


@dataclass(frozen=True, slots=True)
class Pi:
    """``factor * pi``."""

    factor: Fraction


#: The unit of an angle, as ``tex`` has none.
DEGREE = r"^\circ"

Number = int | Fraction
Value = int | Fraction | Root | Pi | tuple["Value", ...] | str


def root_of(square: int, factor: Number = 1) -> Value:
    """``factor * sqrt(square)`` in lowest terms: an exact number where the square is perfect."""
    outside = max(k for k in range(1, math.isqrt(square) + 1) if square % (k * k) == 0)
    coefficient, inside = Fraction(factor) * outside, square // outside**2
    return plain(coefficient) if inside == 1 else Root(coefficient, inside)


def plain(number: Number) -> Number:
    """An integer where the fraction is one."""
    fraction = Fraction(number)
    return fraction.numerator if fraction.denominator == 1 else fraction


def tex(value: Value) -> str:
    r"""LaTeX of a value without dollars: ``-\frac{1}{2}``, ``2\sqrt{3}``, ``6\pi``, ``(1,-2)``."""
    match value:
        case str():
            return value
        case tuple():
            return "(" + ",".join(tex(part) for part in value) + ")"
        case Root(coefficient, radicand):
            return _times(coefficient, rf"\sqrt{{{radicand}}}")
        case Pi(factor):
            return _times(factor, r"\pi")
    fraction = Fraction(value)
    if fraction.denominator == 1:
        return str(fraction.numerator)
    sign = "-" if fraction < 0 else ""
    return rf"{sign}\frac{{{abs(fraction.numerator)}}}{{{fraction.denominator}}}"


def _times(coefficient: Fraction, symbol: str) -> str:
    """``3\\pi``, ``\\pi``, ``\\frac{3\\pi}{2}``."""
    sign, top = ("-" if coefficient < 0 else ""), abs(coefficient.numerator)
    body = symbol if top == 1 else f"{top}{symbol}"
    return f"{sign}{body}" if coefficient.denominator == 1 else rf"{sign}\frac{{{body}}}{{{coefficient.denominator}}}"


_FRACTION = re.compile(r"(-?)\\frac\{([^{}]*(?:\{\d+\})?[^{}]*)\}\{(\d+)\}")
_ROOT = re.compile(r"(-?\d*)\\sqrt\{(\d+)\}")
_PI = re.compile(r"(-?\d*)\\pi")


def parse(text: str) -> Value:
    """The value that ``tex`` wrote, dollars, degrees and per cent signs aside; anything else stays a string."""
    body = text.strip().strip("$").replace(r"^\circ", "").replace(r"\%", "").strip()
    if body.startswith("(") and body.endswith(")"):
        return tuple(parse(part) for part in body[1:-1].split(","))
    if re.fullmatch(r"-?\d+(\.\d+)?", body):
        return plain(Fraction(body))
    if match := _FRACTION.fullmatch(body):
        sign, top, bottom = match.groups()
        return _scaled(parse(top), Fraction(-1 if sign else 1, int(bottom)))
    if match := _ROOT.fullmatch(body):
        return Root(_coefficient(match[1]), int(match[2]))
    if match := _PI.fullmatch(body):
        return Pi(_coefficient(match[1]))
    return text


def _coefficient(text: str) -> Fraction:
    return Fraction({"": 1, "-": -1}.get(text) or int(text))


def _scaled(value: Value, by: Fraction) -> Value:
    match value:
        case Root(coefficient, radicand):
            return Root(coefficient * by, radicand)
        case Pi(factor):
            return Pi(factor * by)
        case int() | Fraction():
            return plain(value * by)
    raise ValueError(f"cannot scale {value!r}")
