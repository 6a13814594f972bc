"""Numbers that options take, as argparse types, and errors that name an option."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def whole_number(least: int) -> Callable[[str], int]:
    """An argparse type: whole numbers from ``least`` on."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return read


def number(least: float = -math.inf, most: float = math.inf, *, above: bool = False) -> Callable[[str], float]:
    """An argparse type: finite numbers from ``least`` to ``most``, or, with ``above``, above ``least``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"{text!r} is no number")
        if value > most or value < least or (above and value == least):
            within = f"between {least:g} and {most:g}" if most < math.inf else f"{least:g} or more"
            raise argparse.ArgumentTypeError(f"{text} is not {within}{f', {least:g} left out' if above else ''}")
        return value

    return read


@contextmanager
def naming(option: str) -> Iterator[None]:
    """What cannot be opened within is an error that names the option.

    Raises:
        OSError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise OSError(f"{option}: {error}") from error
