"""Texts as their numbers and sentences are read, whoever wrote or translated them."""

from __future__ import annotations

import re
import unicodedata

from tqnet.paraphrase.check.half_words import in_digits

#: A sentence that begins right behind another one, as translators leave them: "sold for $5.How much".
_NO_SPACE = re.compile(r"(?<=[\da-z%)$])[.?!](?=[A-Z][a-z]|\$\d)|(?<=[a-z]{2})[.?!](?=\d+%)")
_SPACED_POWER = re.compile(r"(?<!\s)\s*\^\s*")
_RUPEES_BEHIND = re.compile(
    r"(?<![\d,.:/])((?:\d+\s)?\d+/\d+|\d+(?:,\d{2,3})*(?:\.\d+)?)\s*Rs\b\.?+(?!\s*\d)", re.IGNORECASE
)
_GLUED = re.compile(r"(Rs\. [\d.,/ ]*\d)(?=(?!th|st|nd|rd)[a-z]{2})")
_DOLLARS = re.compile(r"\$\d|(?<=\d) ?\$(?!\d)")
_DOLLARS_BEHIND = re.compile(r"(?<![\d,.$])(\d+(?:,\d{3})*(?:\.\d+)?) ?\$(?!\d)")
_WORD = re.compile(r"[A-Za-z]{2}")
#: So many words between two dollar signs are no formula.
_PROSE = 3
#: "0,6 miles", as some languages write it; not the "0,1" of "digits 0,1 and 2" or "(0,1)".
_DECIMAL_COMMA = re.compile(
    r"(?<=\s)0,(?=\d+\s+(?:[kcm]?m|[km]?g|[cm]?l|miles?|(?:kilo|centi)?met(?:re|er)s?|(?:kilo)?grams?|lit(?:re|er)s?|hours?)\b)"
)
_FRACTION_SIGN = re.compile(r"(?P<whole>\d)?(?P<sign>[\u00bc-\u00be\u2150-\u215e])")


def tidied(text: str) -> str:
    """``text`` with "2½" as "2 1/2", "5 Rs" as "Rs. 5", "5$" as "$5" where no sign is a formula's, "0,6 km" as
    "0.6 km", "cm ^ 2" as "cm^2", numbers half in words in digits, and sentences apart.
    """
    text = in_digits(_DECIMAL_COMMA.sub("0.", text))
    text = _RUPEES_BEHIND.sub(r"Rs. \1", _SPACED_POWER.sub("^", _NO_SPACE.sub(lambda match: f"{match[0]} ", text)))
    text = _GLUED.sub(r"\1 ", text)
    if _is_all_money(text):
        text = _DOLLARS_BEHIND.sub(r"$\1", text)
    return _FRACTION_SIGN.sub(
        lambda match: (
            (f"{match['whole']} " if match["whole"] else "")
            + unicodedata.normalize("NFKC", match["sign"]).replace("\u2044", "/")
        ),
        text,
    )


def _is_all_money(text: str) -> bool:
    """Whether each dollar sign stands at a number, with words from one to the next."""
    between = text.split("$")[1:-1]
    signs = len(_DOLLARS.findall(text))
    return "\\" not in text and signs == text.count("$") and all(len(_WORD.findall(of)) >= _PROSE for of in between)
