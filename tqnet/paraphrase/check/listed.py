"""Counts of what a text lists: the two of "two pipes, A and B", the three tests of "72, 85 and 91"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from tqnet.paraphrase.check.counted import DEFINITE_BEFORE, counted_noun
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.text.numbers import Kind, Number

_ITEM = (
    r"(?<![\w$])(?>(?:Mrs?|Ms|Dr)\.\s[A-Z][\w'’]*|[A-Z][\w'’]*|[a-zA-Z]|\$[^$\s]+\$|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?)"
    r"(?![\w$])"
)
_ITEMS = re.compile(_ITEM)
#: "A and B", "Tom, Ann and Eve", "15, 18 and 22"; also "A, B, C", without what joins the last one. Taken as far as it
#: goes: a long row has many readings as items and commas, and trying them all takes for ever.
_LISTED = re.compile(rf"{_ITEM}(?:\s*+,\s*+{_ITEM})*+(?P<last>(?:\s*+,)?\s++(?:and|or|&)\s++{_ITEM})?")
_ONE_AND_ANOTHER = re.compile(r"\bone\s+([a-z]+)\b(?=[^.?!]{0,99}\b(?:another|the\s+other)\b)", re.IGNORECASE)
#: What a row of names may be.
_PEOPLE = frozenset(
    (
        "friend",
        "person",
        "people",
        "child",
        "kid",
        "boy",
        "girl",
        "student",
        "man",
        "woman",
        "player",
        "partner",
        "brother",
        "sister",
        "worker",
    )
)
_GAP = re.compile(r"\s*[,:(–-]?\s*(?:(?:namely|called|named)\s+)?", re.IGNORECASE)


class Listed:
    """Names, labels and numbers that a text has in rows."""

    def __init__(self, problem: Problem):
        self._problem = problem

    def has(self, number: Number, others: Listed) -> bool:
        """Whether a number of another text says how many it or this text names, or is "the two"."""
        if number.kind is not Kind.WHOLE or number.sign:
            return False
        if number.value == 2 and DEFINITE_BEFORE.search(others._problem.text, max(0, number.start - 8), number.start):
            return True
        both = (self, others)
        if number.start not in others._numbers and any(number.value in of._lengths_of_numbers for of in both):
            return True
        noun = counted_noun(others._problem, number)
        if noun is None:
            return False
        if noun.lemma_ in _PEOPLE and any(number.value in of._lengths_of_names for of in both):
            return True
        if number.value == 2 and (noun.lemma_ in self._both or self._has_one_and_another(noun.lemma_)):
            return True
        return any(number.value in of._lengths_behind.get(noun.lemma_, ()) for of in both)

    @cached_property
    def _rows(self) -> dict[tuple[int, int], list[str]]:
        """Where rows stand -> their items."""
        rows = _LISTED.finditer(self._problem.text)
        return {match.span(): _ITEMS.findall(match[0]) for match in rows if match["last"]}

    @cached_property
    def _lengths_of_numbers(self) -> set[int]:
        """How many numbers stand in rows of three or more."""
        return {len(row) for row in self._rows.values() if len(row) > 2 and _are_numbers(row)}

    @cached_property
    def _lengths_of_names(self) -> set[int]:
        """How many names stand in rows of three or more: the "three friends" Ann, Tom and Eve."""
        return {len(row) for row in self._rows.values() if len(row) > 2 and all(item[0].isupper() for item in row)}

    @cached_property
    def _numbers(self) -> Covered:
        """Where rows of numbers stand."""
        return Covered(span for span, row in self._rows.items() if _are_numbers(row))

    @cached_property
    def _lengths_behind(self) -> dict[str, set[int]]:
        """Thing -> how many of it are named right behind it: "pipes A and B", "three numbers: 4, 7 and 9"."""
        lengths = {start: len(row) for (start, _), row in self._rows.items()}
        found: dict[str, set[int]] = defaultdict(set)
        for token in self._problem.doc if lengths else ():
            gap = _GAP.match(self._problem.text, token.idx + len(token))
            if gap and gap.end() in lengths:
                found[token.lemma_].add(lengths[gap.end()])
        return dict(found)

    @cached_property
    def _both(self) -> set[str]:
        """Things of which there are two: "both numbers"."""
        return {token.lemma_ for before, token in pairwise(self._problem.doc) if before.lower_ == "both"}

    def _has_one_and_another(self, noun: str) -> bool:
        """Whether there is "one" of them, "and another"."""
        return any(match[1].lower() == noun for match in _ONE_AND_ANOTHER.finditer(self._problem.text))


def _are_numbers(row: Sequence[str]) -> bool:
    return all(item[0].isdigit() for item in row)
