"""Options and answers in the forms that tables, papers and data sets use."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_LETTER = re.compile(r"\s*[(（\[]?([A-Za-z])\s*[.)）\]、:：．]\s*")
_LETTERS = re.compile(r"[(（\[]?([A-Za-z])[)）\].]?")
_BETWEEN = re.compile(r"\s*[,，;；、/&+|]\s*|\s+(?:and|und|和)\s+|\s+", re.IGNORECASE)


def without_letters(options: Sequence[str]) -> list[str]:
    """Return ``A) 3``, ``B) 4`` as ``3``, ``4``; options not lettered in order stay as they are."""
    matches = [_LETTER.match(option) for option in options]
    letters = "".join(match[1].upper() if match else " " for match in matches)
    if not options or letters != "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]:
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, matches, strict=True) if match]


def split_options(text: str) -> list[str]:
    """Split ``a ) 38 , b ) 27.675 , c ) none`` into three options; one option if no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(r"(?:^|(?<=[\s,;|\['\"]))[(（]?([A-Za-z])\s?[.)）、．]\s*", text):
        if match[1].upper() == chr(ord("A") + len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end] for start, end in zip(starts, ends, strict=False)]
    return [piece.strip(" \t\n,;|'\"]") for piece in pieces] or [text.strip()]


_TEXTS = ("text", "content", "value", "option", "choice", "answer", "body")


def labelled(value: Any) -> tuple[list[str], list[str]]:
    """Return labels and texts of options: a list, ``{"A": ..}``, ``{"text": [..], "label": [..]}``, or objects."""
    if isinstance(value, dict):
        columns = [column for column in value.values() if isinstance(column, list)]
        if len(columns) == len(value):
            items: list[Any] = [dict(zip(value, row, strict=False)) for row in zip(*columns, strict=False)]
        else:
            items = [{"label": name, "text": text} for name, text in value.items() if text is not None]
    else:
        items = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value if item is not None]
    labels, texts = [], []
    for item in items:
        if isinstance(item, dict):
            words = {name: shown(word) for name, word in item.items() if isinstance(word, str | int | float)}
            name = next(
                (name for name in _TEXTS if name in words), max(words, key=lambda name: len(words[name]), default="")
            )
            texts.append(words.pop(name, ""))
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
    if len(parts) == 1 and re.fullmatch(r"[A-Z]{2,8}", parts[0]):  # "ABD"
        parts = parts if parts[0] in options else list(parts[0])
    letters = [match[1].upper() if (match := _LETTERS.fullmatch(part)) else part for part in parts]
    alphabet = [chr(ord("A") + place) for place in range(min(len(options), 26))]
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
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return "\n".join(map(shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


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
