"""Tables of Word papers as paragraphs: options, numbered questions and answers in cells; otherwise rows with ``|``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from tqnet.importers import paper_key
from tqnet.importers.job import Place
from tqnet.importers.paper_lines import Paragraph, options_of

#: The paragraphs of a cell.
Cell = list[Paragraph]

_OPTION = re.compile(r"\s*\*?[(（]?(?P<letter>[A-H])\s?[.)）、．:：]\s*")
_LETTER = re.compile(r"\s*(?P<letter>[A-H])\s*")
_NUMBER = re.compile(r"(\d{1,4})\s*[.)）、．]?")
_WORDS = re.compile(r"[^\W\d_]{2}")


def paragraphs_of(
    rows: Sequence[list[Cell]], is_key: bool, starts: Collection[int], options_follow: bool
) -> Iterator[Paragraph]:
    """Yield the paragraphs of a table.

    Args:
        is_key: It stands below the title of a key.
        starts: Numbers that the next question may have.
        options_follow: Options stand below it, so that letters in it name something else.
    """
    rows = [row for row in rows if any(row)]
    texts = [[_text(cell) for cell in row] for row in rows]
    lines = _answers(texts, is_key)
    if not lines and (is_key or _asks(texts, starts)):
        lines = _numbered(texts)
        lines = {} if is_key and len(lines) < len(rows) else lines
    columns = {} if lines or options_follow else _lettered_columns(rows)
    if columns or (not lines and not options_follow and _are_letters(texts)):
        options = columns or dict(_options(rows, _LETTER))
        yield from (options[name] for name in sorted(options))
        return
    whole = dict(_options(rows, _OPTION))
    if whole and sorted(whole) == _alphabet(len(whole)) and all(map(_begins_with_option, rows)):
        yield from (whole[name] for name in sorted(whole))  # perhaps column by column
        return
    last = "@"
    for at, row in enumerate(rows):
        options = dict(_options([row], _OPTION)) if _begins_with_option(row) else {}
        if at in lines:
            yield from [_paragraph(lines[at], row)] if lines[at] else []
        elif options and list(options) == sorted(options) and min(options) in ("A", chr(ord(last) + 1)):
            yield from options.values()
            name, paragraph = list(options.items())[-1]  # which may hold several
            last = chr(ord(name) + len(options_of(paragraph.text, ord(name) - ord("A"), "options")[1]) - 1)
        elif len(row) == 1 or any(_OPTION.match(part.text) and part.text.strip()[0] == "A" for c in row for part in c):
            yield from (part for cell in row for part in cell)
        else:
            yield _paragraph(" | ".join(texts[at]) if any(texts[at]) else "", row)


def _text(cell: Cell) -> str:
    return " ".join(part.text for part in cell).strip()


def _place(row: list[Cell]) -> Place:
    return next(part.place for cell in row for part in cell)


def _paragraph(text: str, row: list[Cell]) -> Paragraph:
    last = [part.place for cell in row for part in cell][-1]
    return Paragraph(text, last, tuple(image for cell in row for part in cell for image in part.images))


def _alphabet(count: int) -> list[str]:
    return [chr(ord("A") + place) for place in range(count)]


def _number(text: str) -> int:
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else 0


def _rise(numbers: Sequence[int]) -> bool:
    return all(after == before + 1 for before, after in pairwise(numbers)) and 0 not in numbers


def _answers(texts: list[list[str]], is_key: bool) -> dict[int, str]:
    """Return the lines of a key with numbers above answers (``题号 | 1 | 2``, ``答案 | A | B``), by row."""
    lines: dict[int, str] = {}
    for at in range(0, len(texts) - 1, 2):
        upper, lower, title = texts[at], texts[at + 1], ""
        if upper and lower and not _number(upper[0]) and paper_key.title(lower[0]):
            title, upper, lower = f"{lower[0].rstrip(':：')}: ", upper[1:], lower[1:]
        numbers = list(map(_number, upper))
        is_clear = bool(title) or (is_key and len(numbers) > 1 and all(map(paper_key.TIGHT.fullmatch, lower)))
        if not (is_clear and numbers and len(upper) == len(lower) and _rise(numbers) and all(lower)):
            return {}
        answers = " ".join(f"{number}. {answer}" for number, answer in zip(numbers, lower, strict=True))
        lines |= {at: "", at + 1: answers if is_key else title + answers}
    return lines if len(lines) == len(texts) else {}


def _numbered(texts: list[list[str]]) -> dict[int, str]:
    """Return ``1. B`` for each row that has a number before each text, and nothing for the heads of the columns."""
    lines: dict[int, str] = {}
    for at, row in enumerate(texts):
        pairs = [(_number(number), text) for number, text in zip(row[::2], row[1::2], strict=False)]
        if len(row) % 2 == 0 and pairs and all(number and text for number, text in pairs):
            lines[at] = " ".join(f"{number}. {text}" for number, text in pairs)
        elif all(paper_key.begins_with_entry(text) for text in row):
            lines[at] = " ".join(row)
    if 0 not in lines and lines and not re.search(r"\d", "".join(texts[0])):
        lines[0] = ""
    return lines


def _asks(texts: list[list[str]], starts: Collection[int]) -> bool:
    """Return True if each row is a number and a question's text, or an option."""
    numbered = [row for row in texts if len(row) == 2 and _number(row[0])]
    others = [row for row in texts if row not in numbered]
    numbers = [_number(row[0]) for row in numbered]
    is_rising = bool(numbers) and numbers[0] in starts and _rise(numbers)
    return is_rising and all(_WORDS.search(row[1]) for row in numbered) and all(_OPTION.match(row[0]) for row in others)


def _begins_with_option(row: list[Cell]) -> bool:
    first = next((part for cell in row for part in cell), None)
    return first is not None and _OPTION.match(first.text) is not None


def _are_letters(texts: list[list[str]]) -> bool:
    """Return True if each row is a letter, in order, and a text."""
    names = [row[0].strip() for row in texts]
    return len(names) > 1 and names == _alphabet(len(names)) and all(len(row) == 2 and row[1] for row in texts)


def _lettered_columns(rows: Sequence[list[Cell]]) -> dict[str, Paragraph]:
    """Return the options whose letters stand alone in the first of two rows, above texts or figures."""
    if len(rows) != 2 or len(rows[0]) != len(rows[1]) or len(rows[0]) < 2 or not all(rows[1]):
        return {}
    if [_text(cell) for cell in rows[0]] != _alphabet(len(rows[0])):
        return {}
    pairs = zip(rows[0], rows[1], strict=True)
    return {_text(name): _paragraph(f"{_text(name)}. {_text(cell)}", [cell]) for name, cell in pairs}


def _options(rows: Sequence[list[Cell]], mark: re.Pattern[str]) -> Iterator[tuple[str, Paragraph]]:
    """Yield letters and options: a cell with a mark, and the cells up to the next."""
    for row in rows:
        name, pieces, place = "", "", _place(row)
        images: list[str] = []
        for cell in row:
            for at, part in enumerate(cell):
                if match := mark.match(part.text):
                    if name:
                        yield name, Paragraph(pieces, place, tuple(images))
                    star = "*" if part.text.strip().startswith("*") else ""
                    name, place, images = match["letter"], part.place, [*part.images]
                    pieces = f"{star}{name}. {part.text[match.end() :].strip()}"
                    continue
                pieces += ("\n" if at else "" if pieces.endswith(". ") else " | ") + part.text.strip()
                images += part.images
        if name:
            yield name, Paragraph(pieces, place, tuple(images))
