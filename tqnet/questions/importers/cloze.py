"""The gaps of Moodle's embedded answers: ``{1:SHORTANSWER:=Paris~%50%paris#feedback}``."""

from __future__ import annotations

import re

_GAP = re.compile(r"(?<!\\)\{\d*:(?P<kind>[A-Z_]+):(?P<body>(?:\\.|[^\\}])*)\}", re.DOTALL)
_CHOICE_CODES = (
    "MULTICHOICE MC MULTICHOICE_H MULTICHOICE_V MULTICHOICE_S MCH MCV MCS MULTICHOICE_HS MULTICHOICE_VS MCHS MCVS "
    "MULTIRESPONSE MULTIRESPONSE_H MULTIRESPONSE_S MULTIRESPONSE_HS MR MRH MRS MRHS"
)
_CHOICES = frozenset(_CHOICE_CODES.split())
_SEVERAL = ("MULTIRESPONSE", "MR")
_SHARE = re.compile(r"%(-?\d+(?:[.,]\d+)?)%")


def cloze(text: str, blank: str) -> tuple[str, list[str]]:
    """The text with a blank for each gap, and the choices of those that have some; and the right answer of each."""
    answers: list[str] = []

    def fill(gap: re.Match[str]) -> str:
        parsed = [_alternative(part) for part in re.split(r"(?<!\\)~", gap["body"]) if part.strip()]
        right = [answer for share, answer in parsed if share > 0]
        most = max((share for share, _ in parsed), default=0.0)
        best = [answer for share, answer in parsed if share == most > 0]
        answers.append(" and ".join(right) if gap["kind"].startswith(_SEVERAL) else (best or [""])[0])
        if gap["kind"] not in _CHOICES:
            return blank
        return f"{blank} ({' / '.join(answer for _, answer in parsed)})"

    return _GAP.sub(fill, text), answers


def _alternative(part: str) -> tuple[float, str]:
    """How much an alternative counts, and what it says; a number's tolerance is left off."""
    share, answer = 0.0, part.strip()
    if answer.startswith("="):
        share, answer = 100.0, answer[1:]
    elif match := _SHARE.match(answer):
        share, answer = float(match[1].replace(",", ".")), answer[match.end() :]
    answer = re.split(r"(?<!\\)#", answer)[0]
    number = re.fullmatch(r"\s*(-?[\d.,]+):[\d.,]+\s*", answer)
    return share, re.sub(r"\\(.)", r"\1", number[1] if number else answer).strip()
