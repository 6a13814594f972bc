"""Texts that are not in English: what is compared in any language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from spacy.lang.en.stop_words import STOP_WORDS

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.text.formulas import formula_character_spans

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W\d_]{2,}")

#: Of so many words, this share are in a list of frequent English words wherever a text is English. Of 18,650 English
#: word problems, 4 have fewer, all of them formulas; of another European language, nearly every text has.
_WORDS, _SHARE = 8, 0.15


def is_english(text: str, language: str | None = None) -> bool:
    """Whether its ``language`` is ``en``; where that is not known, whether nothing speaks against it: another script,
    or hardly a frequent English word among many.
    """
    if language:
        return language == "en"
    for start, end in reversed(formula_character_spans(text)):
        text = text[:start] + text[end:]
    letters = [character for character in text if character.isalpha()]
    if sum(map(str.isascii, letters)) < len(letters) / 2:
        return False
    words = [word.casefold() for word in _WORD.findall(text)]
    return len(words) < _WORDS or sum(word in STOP_WORDS for word in words) >= _SHARE * len(words)


def digit_differences(original: str, paraphrase: str) -> list[Difference]:
    """Numbers in digits that are lost or new, whatever the language; of "1,000", "1.000" and "1000" all are one."""
    before, after = _numbers(original), _numbers(paraphrase)
    return [
        *(
            Difference(Part.NUMBER, Change.LOST, before=number, mentions=(count, left) if left else None)
            for number, count in before.items()
            if (left := after[number]) < count
        ),
        *(Difference(Part.NUMBER, Change.NEW, after=number) for number in after if number not in before),
    ]


def _numbers(text: str) -> Counter[str]:
    plain = unicodedata.normalize("NFKC", text)
    return Counter(_THOUSANDS.sub("", number).replace(",", ".") for number in _DIGITS.findall(plain))
