"""Words without which a problem is another one, however it is told: "consecutive", "isosceles", half of the "rest"."""

from __future__ import annotations

import re

from tqnet.paraphrase.difference import Change, Difference, Part

_SHARE = r"(?:half|third|quarter|fourth|fifth|\d\s*%|per ?cent|\d)"

_EQUAL_SIDES = (
    r"equal (?:sides|lengths?)|sides (?:are |have )?equal|same length|congruent|equally long|[A-Z]{2}\s*=\s*[A-Z]{2}"
)

#: A word, and in what other words it may be told.
_QUALIFIERS = {
    r"consecutive": r"successive|in a row|next to|side by side|adjacent|follow\w*|back[- ]to[- ]back|sequen\w+|"
    r"one after|differ by|running|straight|neighbou?r\w*|previous|before it|next|by 1|by one",
    r"isosceles": rf"{_EQUAL_SIDES}|both|two (?:sides|legs)",
    r"equilateral": rf"{_EQUAL_SIDES}|regular|all (?:three )?sides|each side",
    rf"{_SHARE}\s+of\s+(?:the|his|her|its|their)\s+(?P<rest>remaining|remainder|rest)": (
        r"remain\w*|rest|left|left-?overs?|balance|others?|still|un[a-z]+ed|unsold|unread|not"
    ),
    "连续": "相邻|相连|挨着|依次|一连|接连",
    "等腰": "两腰|两边相等|两条边相等|一样长|[A-Z]{2}=[A-Z]{2}",
    "等边": "正三角|边都相等|边相等|边长相等|一样长",
}


def _whole(words: str) -> str:
    """Words that do not stand within others, "rest" in "interest"; Chinese has no marks between them."""
    return rf"\b(?:{words})\b" if words.isascii() else words


_PATTERNS = [
    (re.compile(_whole(word), re.IGNORECASE), re.compile(_whole(f"{word}|{others}"), re.IGNORECASE))
    for word, others in _QUALIFIERS.items()
]


def lost_qualifiers(original: str, paraphrase: str) -> list[Difference]:
    """Each of them that the paraphrase has in no words."""
    found = []
    for word, told in _PATTERNS:
        match = word.search(original)
        if match and not told.search(paraphrase):
            found.append(Difference(Part.WORD, Change.LOST, match.groupdict().get("rest") or match[0]))
    return found
