"""Words without which a problem is another one, however it is told: "consecutive", "isosceles", half of the "rest"."""

from __future__ import annotations

import re

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.text.numbers import CARDINALS

_SEVERAL = rf"(?:\d+|{'|'.join(CARDINALS[2:])})"
_SHARE = r"(?:half|third|quarter|fourth|fifth|\d\s*%|per ?cent|\d)"

_EQUAL_SIDES = (
    r"equal (?:sides|lengths?)|sides (?:are |have )?equal|same length|congruent|equally long|[A-Z]{2}\s*=\s*[A-Z]{2}"
)

_WHOLE_NUMBERS = r"(?:integers?|numbers?|factors?|divisors?|multiples?|digits?|roots?|solutions?)"

#: A word, and in what other words it may be told.
_QUALIFIERS = {
    r"consecutive": r"successive|in a row|next to|side by side|adjacent|follow\w*|back[- ]to[- ]back|sequen\w+|"
    r"one after|differ by|running|straight|neighbou?r\w*|previous|before it|next|by 1|by one|(?:one|1) (?:more|less)",
    r"isosceles": rf"{_EQUAL_SIDES}|both|two (?:sides|legs)",
    r"equilateral": rf"{_EQUAL_SIDES}|regular|all (?:three )?sides|each side",
    rf"{_SHARE}\s+of\s+(?:the|his|her|its|their)\s+(?P<rest>remaining|remainder|rest)": (
        r"remain\w*|rest|left|left-?overs?|balance|others?|still|un[a-z]+ed|unsold|unread|not"
    ),
    rf"(?P<each>each|every)\s+(?:of\s+(?:the\s+)?{_SEVERAL}|[a-z]+\s+"
    r"(?:has|have|had|holds?|held|contains?|contained|gets?|got))": (
        r"each|every\w*|apiece|per|respectively|individual\w*|both|all|any\w*|an?|one|two|single|either|times|pairs?|"
        rf"equal\w*|same|even(?:ly)?|alike|(?:dai|hour|week|month|year)ly|annual(?:ly)?|of\s+{_SEVERAL}"
    ),
    r"without\s+(?:replacement|replacing|putting)": (
        r"without|not|no|[a-z]{1,8}n['’]t|never|kept|keep\w*|aside|remov\w+|at once|together|simultaneous\w*|"
        r"at the same time|in one go"
    ),
    r"all\s+but": (
        r"but|except\w*|apart\s+from|other\s+than|besides|not|[a-z]{1,8}n['’]t|only|rest|surviv\w*|whole|intact"
    ),
    r"with\s+replacement": r"replac\w+|back|return\w*",
    rf"(?P<even>even)\s+{_WHOLE_NUMBERS}": r"even|divisible|multiples?|double|halv\w+|by\s+(?:2|two)",
    rf"(?P<odd>odd)\s+{_WHOLE_NUMBERS}": r"odd|not\s+(?:even|divisible)",
    r"(?P<positive>positive)\s+(?:integers?|numbers?|roots?|solutions?)": (
        r"positive|natural|counting|whole|(?:greater|more|larger)\s+than\s+(?:0|zero)|above\s+zero|from\s+1|non-?zero"
    ),
    rf"(?P<negative>negative)\s+{_WHOLE_NUMBERS}": (
        r"negative|(?:less|smaller)\s+than\s+(?:0|zero)|below\s+(?:0|zero)|under\s+(?:0|zero)"
    ),
    rf"(?P<prime>primes?)\s+{_WHOLE_NUMBERS}": "primes?|no other divisors?",
    r"perfect\s+(?:square|cube)": r"squares?|cubes?|squared|cubed|roots?",
    r"right(?:[\s-]angled)?\s+triangle": r"right|perpendicular|90|hypotenuse|legs?",
    r"regular\s+(?:[a-z]+gon|polygon)": rf"{_EQUAL_SIDES}|equilateral|equal|(?:all|whose)\s+(?:its\s+)?sides",
    r"at\s+least\s+\w+": (
        r"least|smallest|minimum|both|more|no\s+(?:fewer|less)|not\s+(?:fewer|less)|never\s+less|fewest|lowest|upwards?|up|any|some|"
        r"enough|only if|not|none|neither|exactly|precisely"
    ),
    r"at\s+most\s+\w+": (
        r"most|maximum|less|fewer|no\s+more|not\s+more|never\s+more|up\s+to|limit\w*|exceed\w*|within|only|exactly|precisely"
    ),
    r"no\s+[a-z]+\s+(?:is|are|may\s+be|can\s+be|being)\s+(?:repeated|used\s+(?:twice|again))|without\s+repetition": (
        r"repeat\w*|repetitions?|distinct|different\s+digits?|digits\s+(?:are\s+)?different|all\s+digits|once|twice|again|reus\w+|unique|same|all\s+different"
    ),
    r"(?:pipe|tap|outlet|(?-i:[B-HJ-Z])|(?:pipe|tap)\s+[a-z])\s+(?:can\s+)?(?P<empties>empties|empty|drains?)": (
        r"empt(?:ied|y\s+(?:it|the))|(?:can|to|could|would)\s+empty|drain\w*|leak\w*|out|waste|discharg\w*|remov\w*|outlet"
    ),
    r"(?:is|are|was|were)\s+(?P<without>excluded|left\s+out|removed|omitted|discarded)": (
        r"exclu\w*|remov\w*|left|leav\w*|omit\w*|discard\w*|drop\w*|took|tak\w+|missing|without|out|away|other|remain\w*|rest|minus|except|"
        r"eliminat\w*|delet\w*|cross\w*|withdraw\w*"
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
            found.append(Difference(Part.WORD, Change.LOST, next(filter(None, match.groups()), match[0])))
    return found
