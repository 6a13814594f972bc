"""Words of which one asks or states another thing than the other: "area" and "perimeter", "more" and "less"."""

from __future__ import annotations

from collections import defaultdict

from tqnet.text.replacements import OTHERS

#: Too common to tell a question from another one, unless all around them is as it was. Senses by "|".
_COMMON = """
more greater larger bigger higher | fewer less smaller lower
most | fewest least
above | below
taller | shorter
heavier | lighter
later | earlier
gains gained gaining | loses lost losing
increases | decreases
buys bought buying | sells sold selling
cost | selling
saved | spent
filled | emptied
fills | empties
added | subtracted
multiplied | divided
simple | compound
oldest eldest | youngest
first | second | third
with | without
ascending | descending
+ | - − – | × * · | ÷ /
< | > | ≤ | ≥
"""


def are_opposites(old: str, new: str) -> bool:
    """Whether two words are in one line of a table, and in other senses of it."""
    one, other = _SENSES.get(old.lower(), {}), _SENSES.get(new.lower(), {})
    lines = one.keys() & other.keys()
    return bool(lines) and all(one[line] != other[line] for line in lines)


def _senses() -> dict[str, dict[int, int]]:
    """Word -> its lines of the tables, each with its sense there."""
    common = [[sense.split() for sense in line.split("|")] for line in _COMMON.strip().splitlines()]
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for line, senses in enumerate([*OTHERS.lines, *common]):
        for sense, words in enumerate(senses):
            for word in words:
                found[word][line] = sense
    return dict(found)


_SENSES = _senses()
