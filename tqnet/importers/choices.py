"""Options and answers in the forms that tables, papers and data sets use."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

from tqnet.importers.columns import is_figure, plain_key
from tqnet.text.formulas import segments
from tqnet.text.lists import letter, narrow
from tqnet.text.normal import normal_formula

# Texts are compared as `narrow` writes them: "（Ｂ）" and "Ｂ．" are "(B)" and "B.".
_NAME = "[A-Za-z]|[A-Z]{2}"
_LETTER = re.compile(rf"\s*[(\[]?({_NAME})\s*[.)\]、:]\s*")
_LETTERS = re.compile(rf"[(\[]?({_NAME})[)\]]?[.。、:]?")
_AROUND = " \u3000\t\n,;，；、|'\"]"
_BETWEEN = re.compile(r"\s*[,;、/&+|]\s*|\s+(?:and|und|和)\s+|\s+", re.IGNORECASE)


def without_letters(options: Sequence[str]) -> list[str]:
    """Return ``A) 3``, ``B) 4`` as ``3``, ``4``; options not lettered in order stay as they are."""
    matches = [_LETTER.match(narrow(option)) for option in options]
    if not all(match and match[1].upper() == letter(place) for place, match in enumerate(matches)):
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, matches, strict=True) if match]


def split_options(text: str) -> list[str]:
    """Split ``a ) 38 , b ) 27.675 , c ) none`` into three options; one option if no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(rf"(?:^|(?<=[\s,;、。|\['\"]))[(]?({_NAME})\s?[.)、]\s*", narrow(text)):
        if match[1].upper() == letter(len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end].strip(_AROUND) for start, end in zip(starts, ends, strict=False)]
    if len(pieces) > 1 and not any(piece.endswith("。") for piece in pieces[:-1]):  # it ends the list, not a sentence
        pieces[-1] = pieces[-1].removesuffix("。")
    return pieces or [text.strip()]


_TEXTS = ("text", "content", "value", "option", "choice", "answer", "body", "option text", "answer text", "choice text")
#: Names of what marks a right option, and of what an answer calls an option by.
_MARKED = "correct, is correct, right, is right, is answer, is true, fraction, score, weight, points, 正确"
_MARKS = frozenset(_MARKED.split(", "))
_LABELS = ("label", "key", "letter", "id", "identifier", "option id", "choice id", "name", "index", "value")


@dataclass(frozen=True)
class Options:
    """The options of a question in the forms of tables and data sets.

    Attributes:
        labels: Their names; without names of their own, none.
        places: Of each from 0, counted with the empty ones, as a number in an answer counts them.
        right: Places in ``texts`` of those that are marked.
        figures: Of each: paths, bytes, or objects with either.
        are_numbers: They are numbers, not texts.
    """

    texts: list[str]
    labels: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    figures: list[Sequence[Any]] = field(default_factory=list)
    are_numbers: bool = False

    def counted(self) -> list[int]:
        return self.places or list(range(len(self.texts)))


def listed_options(value: Any) -> Options:
    """Read a list, ``{"A": ..}``, ``{"text": [..], "label": [..]}``, or objects; one without a text is shown."""
    items = [_item(item) for item in _items(value)]
    texts = [item.text for item in items]
    labels = _labels([item.words for item in items])
    right = [place for place, item in enumerate(items) if item.is_right]
    are_numbers = isinstance(value, list) and all(type(item) in (int, float) for item in value)
    return Options(
        texts if labels else without_letters(texts),
        labels,
        right=right,
        figures=[item.figures for item in items],
        are_numbers=are_numbers,
    )


def listed_answers(value: Any) -> list[str]:
    """Read answers that all count: ``["Paris", "paris"]``, ``{"text": ["Bob"], "answer_start": [0]}``."""
    listed = json_value(value) or value
    if isinstance(listed, dict) and any(isinstance(item, str) for item in listed.values()):
        listed = [listed]
    texts = listed_options(listed).texts if isinstance(listed, list | dict) else [shown(listed)]
    return list(dict.fromkeys(filter(None, texts)))


def are_options(value: Any) -> bool:
    """Return True if ``answers`` are to choose from: some are marked as right, or they have letters."""
    listed = json_value(value) or value
    options = listed_options(listed) if isinstance(listed, list | dict) else Options([])
    text = shown(listed)
    is_lettered = _LETTER.match(narrow(text)) is not None and len(split_options(text)) > 1
    return bool(options.right) or options.labels[:2] == ["A", "B"] or is_lettered


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value if item is not None]
    value = {name: item for name, item in value.items() if item is not None}
    columns = [column for column in value.values() if isinstance(column, list)]
    if len(columns) == len(value):
        return [dict(zip(value, row, strict=True)) for row in zip_longest(*columns)]
    return [{"label": name} | (item if isinstance(item, dict) else {"text": item}) for name, item in value.items()]


class _Item(NamedTuple):
    text: str
    words: dict[str, str]
    is_right: bool = False
    figures: Sequence[Any] = ()


def _item(item: Any) -> _Item:
    if not isinstance(item, dict):
        return _Item(shown(item), {})
    if is_picture(item):
        return _Item("", {}, figures=[item])
    named = {plain_key(name): value for name, value in item.items() if value is not None}
    figures = [value for name, value in named.items() if is_figure(name) and isinstance(value, str | bytes | dict)]
    booleans = [name for name, value in named.items() if isinstance(value, bool)]
    known = [name for name in named if name in _MARKS]
    marks = known or booleans  # "locked": true marks nothing beside "correct"
    is_right = any(is_yes(named[name]) for name in marks)
    rest = {name: value for name, value in named.items() if not is_figure(name) and name not in (*known, *booleans)}
    words = {name: shown(value) for name, value in rest.items() if isinstance(value, str | int | float)}
    long = [name for name, word in words.items() if not (figures and _LABEL.fullmatch(word))]
    longest = max(long, key=lambda name: len(words[name]), default="")
    name = next((name for name in _TEXTS if name in rest), longest)
    text = shown(rest[name]) if name else "" if figures else shown(item)
    words.pop(name, None)
    return _Item(text, words, is_right, figures)


_LABEL = re.compile(r"[A-Za-z]|\d{1,2}")


def _labels(items: Sequence[dict[str, str]]) -> list[str]:
    """Return what tells the options apart: letters or numbers, or else the values of a key such as ``id``."""
    names = [name for name in (items[0] if items else ()) if all(name in item for item in items)]
    columns = {name: [item[name] for item in items] for name in names}
    columns = {name: column for name, column in columns.items() if len(set(column)) == len(column)}
    marked = [column for column in columns.values() if all(map(_LABEL.fullmatch, column))]
    return next(iter([*marked, *(columns[name] for name in _LABELS if name in columns)]), [])


def is_picture(value: Any) -> bool:
    """Return True for an object of Hugging Face's tables: ``{"bytes": .., "path": ..}``."""
    return isinstance(value, dict) and value.keys() <= {"bytes", "path"} and any(value.values())


TICKS = frozenset({"x", "√", "✓", "✔"})
_TRUE, _FALSE = (
    "true t yes y √ ✓ ✔ 对 對 正确 正確 是 right correct wahr richtig ja vrai oui verdadero sí verdadeiro sim верно да",
    "false f no n × ✗ ✘ 错 錯 错误 錯誤 否 不对 不對 不正确 不正確 wrong incorrect "
    "falsch nein faux non falso não неверно нет",
)
_VERDICTS = dict.fromkeys(_TRUE.split(), True) | dict.fromkeys(_FALSE.split(), False)
_IS_RIGHT = _VERDICTS | dict.fromkeys((*TICKS, "1", "100"), True) | dict.fromkeys(("0", "-", ""), False)


def is_yes(value: Any) -> bool:
    if isinstance(value, str):
        return _IS_RIGHT.get(value.strip().lower(), False)
    return isinstance(value, int | float) and value > 0


def is_mark(value: Any) -> bool:
    """Return True for a cell that says whether an option is right."""
    return isinstance(value, bool) or str(value).strip().lower() in _IS_RIGHT


def answers(answer: Any) -> list[str]:
    """Return the answers in one cell as `narrow` writes them: items of a list, or pieces between commas."""
    answer = json_value(answer) if isinstance(answer, str) and answer.startswith("[") else answer
    if isinstance(answer, list):
        return [narrow(shown(item)) for item in answer if item is not None]
    return list(filter(None, _BETWEEN.split(narrow(shown(answer))))) if answer is not None else []


def are_letters(answer: str) -> bool:
    """Return True for ``B``, ``(B)``, ``A, C`` and ``ABD``, but not for ``F``, which may be "false"."""
    letters = re.sub(r"[\s,;、.。()]", "", narrow(answer))
    return letters not in ("", "F") and re.fullmatch("A?B?C?D?E?F?G?H?", letters) is not None


def whole_numbers(answer: Any) -> list[int]:
    """Return the numbers in an answer of whole numbers alone: ``[0, 2]``, ``1,2``, ``2.0``; [] for any other."""
    if isinstance(answer, bool | dict) or _mask(answer):
        return []
    numbers = [_WHOLE.fullmatch(part) for part in answers(answer)]
    return [int(number[1]) for number in numbers if number] if all(numbers) else []


_WHOLE = re.compile(r"(\d{1,4})(?:\.0+)?")
#: What stands before a letter: "Answer: B", "Option c", "选B".
_SAYS = re.compile(
    r"(?:the\s+)?(?:correct\s+|right\s+)?(?:answers?|ans|key|options?|choices?|正确答案|答案|选项|选)"
    r"\s*(?:is|are|[为是])?\s*[:.]?\s*(?=\S)",
    re.IGNORECASE,
)


def option_places(
    answer: Any,
    options: Sequence[str],
    labels: Sequence[str] = (),
    first: int | None = None,
    places: Sequence[int] = (),
    letters_first: bool = False,
) -> list[int]:
    """Return the places of the right options, which an answer names by text, label, letter or number; [] if by none.

    Args:
        first: The number that names the first option; None if numbers are the options' texts.
        places: Of each option as letters and numbers count them, if some have been left out.
        letters_first: A letter names an option by its place even if it is the text of another.
    """
    if not options or isinstance(answer, dict):
        return []
    if mask := _mask(answer):
        return [place for place, mark in enumerate(mask) if mark] if len(mask) == len(options) else []
    places = places or range(len(options))
    whole, options, labels = narrow(shown(answer)).strip(), list(map(narrow, options)), list(map(narrow, labels))
    chosen = _named(whole, answers(answer), options, labels, first, places, letters_first)
    if not chosen and (says := _SAYS.match(whole)):
        rest = whole[says.end() :].rstrip(".。")
        chosen = _named(rest, answers(rest), options, labels, 1 if first is None else first, places)
    return chosen


def _mask(answer: Any) -> list[Any]:
    """Return an answer that says of each option whether it is right: ``[false, true]``, ``[0, 0, 1]``."""
    if not isinstance(answer, list) or not all(item in (0, 1) for item in answer):
        return []
    return answer if len(set(answer)) < len(answer) or all(isinstance(item, bool) for item in answer) else []


def _named(
    whole: str,
    parts: list[str],
    options: Sequence[str],
    labels: Sequence[str],
    first: int | None,
    places: Sequence[int],
    letters_first: bool = False,
) -> list[int]:
    plain = list(map(_same_text, options))
    if (match := _LETTER.match(whole)) and _same_text(whole[match.end() :]) in plain:  # "B. 5"
        parts = [match[1]]
    alphabet = list(map(letter, places))
    if len(parts) == 1 and re.fullmatch(r"[A-Z]{2,8}", parts[0]):  # "ABD"; of more than 27 options, "AB" is the 28th
        parts = parts if parts[0] in (*options, *alphabet) else list(parts[0])
    letters = [match[1].upper() if (match := _LETTERS.fullmatch(part)) else part for part in parts]
    numbers = [] if first is None else [str(place + first) for place in places]
    wholes = [number[1] if (number := _WHOLE.fullmatch(part)) else part for part in parts]
    verdicts = [_VERDICTS.get(option.strip().lower()) for option in options]
    verdict = _VERDICTS.get(whole.lower().rstrip("."))
    readings: tuple[tuple[Sequence[Any], Sequence[Any]], ...] = (
        (letters if letters_first else (), alphabet),
        (wholes, numbers),
        ([whole], options),
        ([plain_key(whole)], [plain_key(label) for label in labels]),
        (parts, labels),
        (parts, options),
        (letters, alphabet),
        ([_same_text(whole)], plain),
        (list(map(_same_text, parts)), plain),
        ([verdict] if {*verdicts} == {True, False} and verdict is not None else [], verdicts),
    )
    for words, names in readings:
        counts, named = Counter(names), {*words}
        if named and all(counts[word] == 1 for word in named):
            return [place for place, name in enumerate(names) if name in named]
    return []


def _same_text(text: str) -> str:
    """Return a text in which case, the spelling of numbers and formulas, and a full stop do not count."""
    text = text.strip().removesuffix(".").strip()
    if re.fullmatch(r"-?\d+\.\d+", text):
        return text.rstrip("0").rstrip(".")
    parts = list(segments(text))
    if len(parts) == 1 and (parts[0].is_formula or re.search(r"[\\^_]", text)):
        return normal_formula(parts[0].body)
    return text.casefold()


def shown(value: Any) -> str:
    """Return a value as text: lists of texts as lines, other lists and objects as JSON, bytes as their number."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return "\n".join(map(shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=size)


def size(content: bytes) -> str:
    return f"{len(content)} bytes"


#: A list or object of Python's with texts, as some data sets store their options.
_PYTHON = re.compile(r"[\[{]\s*['\"]")
_LONGEST_LITERAL = 2**16


def json_value(cell: Any) -> Any:
    """Return the list or object that a text is in JSON, or as Python shows one; None for any other."""
    if not isinstance(cell, str) or not cell.startswith(("[", "{")):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        value = None
    if value is None and _PYTHON.match(cell) and len(cell) < _LONGEST_LITERAL:
        try:
            value = ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return value if isinstance(value, list | dict) else None
