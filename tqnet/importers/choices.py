"""Options and answers in the forms that tables, papers and data sets use."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from tqnet.text.lists import letter

_NAME = "[A-Za-z]|[A-Z]{2}"
_LETTER = re.compile(rf"\s*[(（\[]?({_NAME})\s*[.)）\]、:：．]\s*")
_LETTERS = re.compile(rf"[(（\[]?({_NAME})[)）\].]?")
_BETWEEN = re.compile(r"\s*[,，;；、/&+|]\s*|\s+(?:and|und|和)\s+|\s+", re.IGNORECASE)


def without_letters(options: Sequence[str]) -> list[str]:
    """Return ``A) 3``, ``B) 4`` as ``3``, ``4``; options not lettered in order stay as they are."""
    matches = [_LETTER.match(option) for option in options]
    if not all(match and match[1].upper() == letter(place) for place, match in enumerate(matches)):
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, matches, strict=True) if match]


def split_options(text: str) -> list[str]:
    """Split ``a ) 38 , b ) 27.675 , c ) none`` into three options; one option if no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(rf"(?:^|(?<=[\s,;|\['\"]))[(（]?({_NAME})\s?[.)）、．]\s*", text):
        if match[1].upper() == letter(len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end] for start, end in zip(starts, ends, strict=False)]
    return [piece.strip(" \t\n,;|'\"]") for piece in pieces] or [text.strip()]


_TEXTS = ("text", "content", "value", "option", "choice", "answer", "body")


def labelled(value: Any) -> tuple[list[str], list[str]]:
    """Return labels and texts of options: a list, ``{"A": ..}``, ``{"text": [..], "label": [..]}``, or objects.

    An object without a text or a number is shown as JSON.
    """
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if item is not None}
        columns = [column for column in value.values() if isinstance(column, list)]
        if len(columns) == len(value):
            items: list[Any] = [dict(zip(value, row, strict=True)) for row in zip_longest(*columns)]
        else:
            items = [
                {"label": name} | (item if isinstance(item, dict) else {"text": item}) for name, item in value.items()
            ]
    else:
        items = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value if item is not None]
    labels, texts = [], []
    for item in items:
        if isinstance(item, dict):
            words = {
                name: shown(word)
                for name, word in item.items()
                if isinstance(word, str | int | float) and not isinstance(word, bool)  # a mark: "correct": false
            }
            longest = max(words, key=lambda name: len(words[name]), default="")
            name = next((name for name in _TEXTS if item.get(name) is not None), longest)
            texts.append(shown(item.get(name, item)))
            words.pop(name, None)
            labels += [word for word in words.values() if re.fullmatch(r"[A-Za-z]|\d{1,2}", word)][:1]
        else:
            texts.append(shown(item))
    return (labels if len(labels) == len(texts) else []), texts


def answers(answer: Any) -> list[str]:
    """Return the answers in one cell: items of a list, or pieces between commas."""
    answer = json_value(answer) if isinstance(answer, str) and answer.startswith("[") else answer
    if isinstance(answer, list):
        return [shown(item) for item in answer if item is not None]
    return list(filter(None, _BETWEEN.split(shown(answer)))) if answer is not None else []


def option_places(
    answer: Any, options: Sequence[str], labels: Sequence[str] = (), first: int | None = None
) -> list[int]:
    """Return the places of the right options, which an answer names by text, label, letter or number; [] if by none."""
    if not options or isinstance(answer, dict):
        return []
    whole = shown(answer).strip()
    parts = answers(answer)
    if (match := _LETTER.match(whole)) and whole[match.end() :].strip() in options:  # "B. 5"
        parts = [match[1]]
    alphabet = list(map(letter, range(len(options))))
    if len(parts) == 1 and re.fullmatch(r"[A-Z]{2,8}", parts[0]):  # "ABD"; of more than 27 options, "AB" is the 28th
        parts = parts if parts[0] in (*options, *alphabet) else list(parts[0])
    letters = [match[1].upper() if (match := _LETTERS.fullmatch(part)) else part for part in parts]
    numbers = [] if first is None else [str(place + first) for place in range(len(options))]
    keys, named = [plain_key(whole)], [plain_key(label) for label in labels]
    if match := re.fullmatch(r"(?:option|choice|answer|选项)\s*(\w)", keys[0], re.IGNORECASE):
        letters, parts = [match[1].upper()], [match[1]]
    readings = (
        (parts, numbers),
        ([whole], options),
        (keys, named),
        (parts, labels),
        (parts, options),
        (letters, alphabet),
    )
    for words, names in readings:
        if words and all(names.count(word) == 1 for word in words):
            return sorted({names.index(word) for word in words})
    return []


def shown(value: Any) -> str:
    """Return a value as text: lists of texts as lines, other lists and objects as JSON, bytes as their number."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return "\n".join(map(shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=size)


def size(content: bytes) -> str:
    return f"{len(content)} bytes"


def json_value(cell: Any) -> Any:
    """Return the list or object that a text is in JSON; None for any other."""
    if not isinstance(cell, str) or not cell.startswith(("[", "{")):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def plain_key(column: str) -> str:
    """``answerKey``, ``Answer_key`` and ``answer key`` are one name."""
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)).strip().lower()
