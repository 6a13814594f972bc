"""Filling the phrases of a template: ``<name>`` is a value, ``<who>`` a person, ``<Find>`` a verb."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from .draw import Draw
from .values import Value, tex

_SLOT = re.compile(r"<([A-Za-z_\u4e00-\u9fff]\w*)(?::([c+]+))?>")
_ENGLISH_NAMES = ["Ana", "Ben", "Chloe", "Daniel", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kira", "Liam"]
_ENGLISH_NAMES += ["Maya", "Noor", "Oscar", "Priya"]
_CHINESE_NAMES = ["小明", "小红", "小华", "小丽", "小刚", "小芳", "李雷", "王芳", "张伟", "陈晨", "刘洋", "赵敏"]


def language_of(text: str) -> str:
    """``zh`` where there is a Chinese character, else ``en``."""
    return "zh" if re.search(r"[\u4e00-\u9fff]", text) else "en"


def words_for(r: Draw, language: str) -> dict[str, Value]:
    """People, and interchangeable words for the request, drawn anew for each question."""
    people = _CHINESE_NAMES if language == "zh" else _ENGLISH_NAMES
    who, other = r.some(people, 2)
    verb = r.pick("find", "determine", "work out", "calculate", "find")
    return {
        "who": who,
        "other": other,
        "Find": verb[0].upper() + verb[1:],
        "find": verb,
        "求": r.pick("求", "试求", "计算", "求出"),
    }


def fill(text: str, values: Mapping[str, Value]) -> str:
    """The text with its slots filled; ``<a:c>`` leaves a coefficient 1 out, ``<a:+>`` always shows the sign."""

    def show(match: re.Match[str]) -> str:
        name, form = match[1], match[2] or ""
        if name not in values:
            raise KeyError(f"<{name}> has no value in: {text}")
        return _shown(values[name], form)

    return _SLOT.sub(show, text)


def _shown(value: Value, form: str) -> str:
    body = tex(value)
    if "c" in form and value in (1, -1):
        body = body.removesuffix("1")
    if "+" in form and isinstance(value, int | Fraction) and value >= 0:
        body = "+" + body
    return body
