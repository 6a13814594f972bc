"""Words without which a problem is another one, however it is told: "consecutive", "isosceles", half of the "rest"."""

from __future__ import annotations

import re

from tqnet.paraphrase.difference import Change, Difference, Part

_SHARE = r"(?:half|third|quarter|fourth|fifth|%|per ?cent|\d)"

#: A word, and in what other words it may be told.
_QUALIFIERS = {
    r"consecutive": r"successive|in a row|next to each other|side by side|adjacent|follow\w*|back[- ]to[- ]back|"
    r"sequen\w+|one after|differ by|running",
    r"isosceles": r"equal sides|sides are equal|sides equal|same length|congruent|equally long",
    r"equilateral": r"equal sides|sides are equal|sides equal|same length|regular|congruent",
    rf"{_SHARE}\s+of\s+(?:the|his|her|its|their)\s+(?P<rest>remaining|remainder|rest)": (
        r"remain\w*|rest|left|left-?overs?|balance|others?|unsold|unread|unused|not"
    ),
    "连续": "相邻|相连|挨着|依次",
    "等腰": "两腰|两边相等|两条边相等",
    "等边": "正三角|边都相等|边相等|边长相等",
}
_PATTERNS = [
    (re.compile(rf"(?<![a-z]){word}", re.IGNORECASE), re.compile(f"{word}|{others}", re.IGNORECASE))
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
