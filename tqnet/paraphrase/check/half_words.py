"""Numbers in digits of which a careless program has made words: "two00", "one/three", "fourteencm", "$twenty"."""

from __future__ import annotations

import re

from tqnet.text.numbers import CARDINALS

_BELOW_TWENTY, _TENS = CARDINALS[:20], CARDINALS[20:]
_WRITTEN = {word: str(value) for value, word in enumerate(_BELOW_TWENTY)}
_WRITTEN |= {word: str(10 * tens) for tens, word in enumerate(_TENS, 2)}
_WRITTEN |= {
    f"{word}-{one}": str(10 * tens + value)
    for tens, word in enumerate(_TENS, 2)
    for value, one in enumerate(_BELOW_TWENTY[1:10], 1)
}
_WORD = rf"(?:{'|'.join(sorted(_WRITTEN, key=len, reverse=True))})"
_ABBREVIATED = r"(?:km|cm|mm|kg|mg|ml|mph|kmph|m|g)"
_HALF_IN_WORDS = re.compile(
    rf"(?<![\w-])(?:\d++{_WORD}|{_WORD}(?=\d))(?:\d++|{_WORD})*(?!\w)"
    rf"|(?<![\w/.-]){_WORD}/{_WORD}(?![\w/-])|(?<![\w/.(-]){_WORD}\.(?-i:(?=[a-z])){_WORD}(?![\w/-])"
    rf"|(?<![\w-]){_WORD}(?={_ABBREVIATED}\b)",
    re.IGNORECASE,
)
_PIECE = re.compile(_WORD, re.IGNORECASE)
#: "$twenty" opens no formula, where each sign is one of money.
_DOLLARS = re.compile(rf"\$(?={_WORD}\b(?!\$|\\))", re.IGNORECASE)
_MONEY = re.compile(rf"\$\s?(?:\d|{_WORD}\b)|(?:\d|\b(?:{_WORD}|hundred|thousand))\s?\$", re.IGNORECASE)
#: "Twenty one/two-bed rooms": the number ends behind what would be a fraction.
_NUMBER_BEFORE = re.compile(rf"\b{_WORD}\s+$", re.IGNORECASE)
#: Of characters before it, in which a number word ends.
_NEAR = 12


def in_digits(text: str) -> str:
    """``text`` with such numbers as "200", "1/3" and "14cm", and "$twenty" as "dollars twenty"."""
    if text.count("$") == len(_MONEY.findall(text)):
        text = _DOLLARS.sub("dollars ", text)
    return _HALF_IN_WORDS.sub(_as_digits, text)


def _as_digits(match: re.Match[str]) -> str:
    if _NUMBER_BEFORE.search(match.string, max(0, match.start() - _NEAR), match.start()):
        return match[0]
    return _PIECE.sub(lambda word: _WRITTEN[word[0].lower()], match[0])
