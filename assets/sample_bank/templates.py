"""Importing this module registers every template, in a fixed order."""

from . import (
    algebra,
    figure_only,
    functions,
    geometry,
    measurement,
    singles_algebra,
    singles_geometry,
    statistics,
    words,
)
from .registry import KINDS

__all__ = [
    "KINDS",
    "algebra",
    "figure_only",
    "functions",
    "geometry",
    "measurement",
    "singles_algebra",
    "singles_geometry",
    "statistics",
    "words",
]
