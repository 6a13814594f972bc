"""What errors of libraries say, in short."""

from __future__ import annotations


def first_line(error: object) -> str:
    """The first line of its message, or its name where it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
