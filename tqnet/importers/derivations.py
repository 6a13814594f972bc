"""Answers within derivations, as GSM8K (``#### 24``) and MATH (a box) write them."""

from __future__ import annotations

import re

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{|([^\s{}$.,]+))")
_CALCULATION = re.compile(r"<<((?:(?!<<).)*?)>>")


def derivation(text: str) -> tuple[str, str, str]:
    """Return what precedes ``####``, the answer after it, and the calculator's input, ``<<48/2=24>>``."""
    before, _, answer = text.partition("####")
    return _CALCULATION.sub("", before).strip(), answer.strip(), "; ".join(_CALCULATION.findall(before))


def boxed(solution: str) -> str | None:
    r"""Return the contents of the last ``\boxed`` of a solution; None without a closed one."""
    answer = None
    for match in _BOX.finditer(solution):
        if match[1]:
            answer = match[1]
            continue
        depth, place = 1, match.end()
        while place < len(solution) and depth:
            if solution[place] == "\\":
                place += 1
            elif solution[place] in "{}":
                depth += 1 if solution[place] == "{" else -1
            place += 1
        if not depth:
            answer = solution[match.end() : place - 1].strip()
    return answer
