"""Nouns by which one thing is called in the two texts of a pair: "students" and "pupils", "nurses" and "people"."""

from __future__ import annotations

from tqnet.text.replacements import WORDINGS

#: What may be said of many a thing or of anybody, as often as its name: "12 nurses work here. 5 of these 12 people".
_ANYTHING = """
one thing item object piece part unit element person people member individual human participant player guest worker
animal bird pet plant tree flower fruit vegetable vehicle toy coin copy
"""
#: Other names for what word problems count, by the line.
_ALIKE = """
candy sweet lollipop
man labourer laborer employee
child kid youngster
student pupil learner
cookie biscuit
bicycle bike
plane airplane aeroplane aircraft
picture photo photograph
stone rock
game match
film movie
note bill
box carton pack packet package
bag sack
cent penny
woman lady
number integer
question problem
"""
_GENERAL = frozenset(_ANYTHING.split())
_LINES = {noun: line for line, nouns in enumerate(_ALIKE.split("\n")) for noun in nouns.split()}

#: These may be anybody.
PRONOUNS = frozenset(
    "he him she her it they them i we you that those this one what when if there of 它 他 她".split()  # noqa: SIM905
)


def may_be_the_same(noun: str, other: str) -> bool:
    """Whether two nouns, as lemmas, may stand for the same."""
    if noun in _GENERAL or other in _GENERAL:
        return True
    if noun in _LINES and _LINES[noun] == _LINES.get(other):
        return True
    one, two = WORDINGS.find(noun), WORDINGS.find(other)
    return bool(one and two) and one[0].line == two[0].line
