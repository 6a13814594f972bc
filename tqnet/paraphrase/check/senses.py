"""Phrases for which a paraphrase has those of another sense, whatever stands around them: "upstream", "downstream".

One sense of a line of a table is in the original, another one in the paraphrase, and neither text has both. Who tells a
relation from its other side, "Ann is older than Ben" and "Ben is younger than Ann", exchanges words too, so that
comparisons are not looked at here.
"""

from __future__ import annotations

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.text.replacements import OTHERS, Phrases

#: Lines of the table of replacements whose other sense may say the same, from the other side or together with a "not".
_MAY_BE_THE_SAME = frozenset(
    (
        "directions of a comparison",
        "order in time",
        "order",
        "negation",
        "what motion is told by",
        "directions of divisibility",
        "circles of a figure",
        "operations",
        "of a triangle or a solid",
        "sides of a rectangle",
        "price of one and of all",
    )
)
#: Lines of which not every phrase could take another one's place in a text.
_FURTHER = Phrases("""
at least, or more, no fewer than, not fewer than, no less than, not less than, minimum of | \
at most, or fewer, or less, no more than, not more than, maximum of | exactly, precisely : sides of a bound
simple interest, simple rate | compound interest, compounded, compounding : kinds of interest
same direction | opposite direction, opposite directions, towards each other, toward each other, towards it, toward it \
: how two move
against the current, against a current, against the stream, against a stream, upstream | with the current, \
with a current, with the stream, with a stream, downstream : with or against the current
double, doubles, doubled, doubling | triple, triples, tripled, tripling | quadruple, quadruples, quadrupled : multiples
equally, evenly, equal shares, equal parts | in proportion, proportional, proportionally : how something is shared
单利 | 复利 : kinds of interest
""")


def other_senses(original: str, paraphrase: str) -> list[Difference]:
    """Each phrase with that of another sense which the paraphrase has instead, once for a line of a table."""
    found = []
    for table in (OTHERS, _FURTHER):
        before, after = _senses(table, original), _senses(table, paraphrase)
        for line in before.keys() & after.keys():
            old, new = before[line], after[line]
            if table.reasons[line] not in _MAY_BE_THE_SAME and len(old) == len(new) == 1 and old.keys() != new.keys():
                (was,), (became,) = old.values(), new.values()
                found.append(Difference(Part.WORD, Change.CHANGED, was, became))
    return list(dict.fromkeys(found))


def _senses(table: Phrases, text: str) -> dict[int, dict[int, str]]:
    """Line -> its senses that a text has, each by the first of its phrases."""
    found: dict[int, dict[int, str]] = {}
    for phrase in table.find(text):
        found.setdefault(phrase.line, {}).setdefault(phrase.sense, text[phrase.start : phrase.end])
    return found
