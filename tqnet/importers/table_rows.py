"""One row of a table as a question: the cells of each field, read as what the field holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tqnet.importers.cells import items_of, paths
from tqnet.importers.choices import (
    Options,
    are_letters,
    json_value,
    listed_answers,
    listed_options,
    option_places,
    shown,
    split_options,
    without_letters,
)
from tqnet.importers.columns import ANSWERS, heading
from tqnet.importers.job import Job, Place, distinct, lettered
from tqnet.importers.paper_lines import options_of
from tqnet.text.plain import Plain, plain_texts

_SPLITS = {"training": "train", "testing": "test"}
_SPLITS |= dict.fromkeys(("validation", "val", "dev", "development"), "valid")


@dataclass(frozen=True)
class Layout:
    """What the columns of a table hold.

    Attributes:
        columns: Field -> its columns, in order.
        others: Field -> columns of which a row has the first filled one, where its own are empty.
        first: The number that names the first option in answers, 0 or 1; None if numbers are the options' texts.
        texts_are_options: Numbers that are written as texts are always the options' texts.
        letters_first: Letters name options by their places even if they are texts of others.
    """

    columns: Mapping[str, tuple[str, ...]]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int | None = None
    texts_are_options: bool = False
    letters_first: bool = False


class TableRow:
    """The cells of one row by field."""

    def __init__(self, job: Job, place: Place, document: str, layout: Layout, cells: Mapping[str, Any]):
        self._job, self._place, self._document = job, place, document
        self._layout, self._cells = layout, cells

    def record(self) -> dict[str, Any]:
        options = self.options()
        answers = self._answer(options)
        answer, accepted = (answers[0] if answers else None), answers[1:]
        texts = {"stem": self._text("stem"), "analysis": self._text("analysis"), "answer": answer}
        if passage := self._text("passage"):
            texts["stem"] = f"{passage}\n{texts['stem']}" if texts["stem"] else passage
        present = [name for name, text in texts.items() if text is not None]
        written = [*(texts[name] or "" for name in present), *options.texts, *accepted]
        plain = plain_texts(written, self._job.settings.fixed.get("language"))
        of_fields, of_options = dict(zip(present, plain, strict=False)), plain[len(present) :][: len(options.texts)]
        difficulty, extras = self._difficulty()
        if accepted:
            extras |= {"accepted": [text.text for text in plain[-len(accepted) :]]}
        record: dict[str, Any] = texts | {name: text.text for name, text in of_fields.items()}
        choices = [text.text for text in of_options]
        if not choices and are_letters(record["answer"] or ""):
            record["stem"], choices = self._within(record["stem"] or "", record["answer"])
            record["answer"] = lettered(option_places(record["answer"], choices)) or record["answer"]
        record |= {name: self._text(name) for name in ("id", "type", "language", "group", "source")}
        return record | {
            "options": choices,
            "images": self._figures(of_fields, of_options, options.figures),
            "knowledge": self._knowledge(),
            "difficulty": difficulty,
            "split": self._split(),
            "extras": extras,
        }

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a field in this row."""
        columns = self._layout.columns.get(name, ())
        if any(self._cells.get(column) is not None for column in columns):
            return columns
        others = self._layout.others.get(name, ())
        return next(((column,) for column in others if self._cells.get(column) is not None), columns)

    @property
    def taken(self) -> set[str]:
        """The columns of this row that stand in for another."""
        return {column for name in self._layout.others for column in self.columns(name)}

    def cells(self, name: str) -> list[Any]:
        values = (self._cells.get(column) for column in self.columns(name))
        return [value for value in values if value is not None]

    def _fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)

    def _text(self, name: str) -> str | None:
        """Join several columns as lines of one text."""
        pieces = [shown(cell) for cell in self.cells(name)]
        return "\n".join(pieces) if pieces else None

    def _several(self, name: str, usual: str) -> list[str]:
        """Return the values of cells with several: items of a JSON list, or pieces between separators."""
        pieces: list[str] = []
        for cell in self.cells(name):
            listed = cell if isinstance(cell, list) else json_value(cell)
            if isinstance(listed, list):
                pieces += [shown(item) for item in listed if item is not None]
            elif separator := self._job.settings.separators.get(name):
                pieces += shown(cell).split(separator)
            else:
                pieces += re.split(usual, shown(cell))
        return [piece.strip() for piece in pieces if piece.strip()]

    def options(self) -> Options:
        """Return the options: a column each, one column, or the answer among ``distractors``, in alphabetical order."""
        columns = self._layout.columns.get("options", ())
        if len(columns) > 1:
            cells = [self._cells.get(column) for column in columns]
            while cells and cells[-1] is None:
                cells.pop()
            if None in cells:
                self._fault("options", f"an empty cell before the last: {columns[cells.index(None)]!r}")
            places = [place for place, cell in enumerate(cells) if cell is not None]
            texts = without_letters([shown(cell) for cell in cells if cell is not None])
            return Options(
                texts,
                [columns[place] for place in places],
                places,
                are_numbers=all(not isinstance(cell, str) for cell in cells),
            )
        if wrong := self._several("distractors", r"[;\n]"):
            return Options(sorted({*wrong, *self._answers()[:1]}))
        cell = next(iter(self.cells("options")), None)
        value = json_value(cell) if isinstance(cell, str) else cell
        if isinstance(value, list | dict):
            return listed_options(value)
        options = self._several("options", r"[;；,，、]?(?:\n|$)")
        if len(options) == 1:
            options = split_options(options[0])
        if len(options) == 1:
            self._fault("options", "one option; what separates them? --separate options=SEPARATOR")
        return Options(without_letters(options))

    def _within(self, stem: str, answer: str) -> tuple[str, list[str]]:
        """Split the options off that a stem ends with, whose answer is letters."""
        before, listed = options_of(stem, 0, "stem")
        texts = [text for *_, text in listed]
        if before and texts and not any("\n" in text or options_of(text, 0, "options")[1] for text in texts):
            return before, texts
        self._fault("answer", f"names no option: {answer!r:.80}")
        return stem, []

    def _answer(self, options: Options) -> list[str]:
        """Return the letters of right options, or the texts of the answer and of others that are as good."""
        cells = self.cells("answer")
        if not cells:
            return [lettered(options.right)] if options.right else []
        answer = cells[0] if len(cells) == 1 else self._text("answer")
        first = None if self._layout.texts_are_options and isinstance(answer, str) else self._layout.first
        letters_first = self._layout.letters_first
        if places := option_places(answer, options.texts, options.labels, first, options.places, letters_first):
            return [lettered(places)]
        answers = self._answers()
        if len(answers) > 1 and self._job.first_time("answers"):
            self._fault("answer", "the first of several; the others are kept as accepted (--map options=answers)")
        return answers

    def _answers(self) -> list[str]:
        """Return the text of the answer; of a column ``answers``, the text of each."""
        cells = self.cells("answer")
        if len(cells) == 1 and heading(self.columns("answer")[0]) == ANSWERS:
            return listed_answers(cells[0])
        if len(cells) == 1 and isinstance(cells[0], list):
            return [", ".join(map(shown, cells[0]))]
        return list(filter(None, [self._text("answer")]))

    def _figures(
        self, texts: Mapping[str, Plain], options: Sequence[Plain], references: Sequence[Sequence[Any]]
    ) -> list[str]:
        """Collect the figures of the stem and the options, then those of the columns."""
        job, place, document = self._job, self._place, self._document
        figures = job.figures_of(texts["stem"], document, place, "stem") if "stem" in texts else []
        for number, option in enumerate(options):
            figures += job.figures_of(option, document, place, f"options[{number}]")
            for item in references[number] if references else ():
                figures += self._figure(item, f"options[{number}]")
        separator = re.escape(self._job.settings.separators.get("images", "")) or r"[;\n]"
        for cell in self.cells("images"):
            for item in items_of(cell):
                is_path = isinstance(item, str) and not item.startswith("data:")
                pieces = [piece.strip() for piece in re.split(separator, item)] if is_path else [item]
                figures += chain.from_iterable(self._figure(piece, "images") for piece in pieces if piece)
        return distinct(figures)

    def _figure(self, item: Any, name: str) -> list[str]:
        """Take a figure by its bytes, its path, or an object with either."""
        named = item if isinstance(item, dict) else {"bytes" if isinstance(item, bytes) else "path": item}
        path = next((named[key] for key in ("path", "src", "url", "file") if isinstance(named.get(key), str)), None)
        if isinstance(content := named.get("bytes"), bytes):
            return self._job.embedded(content, self._place, name, f": {path!r:.200}" if path else "")
        if path is None:
            self._fault(name, f"no figure: {shown(item)!r:.80}")
            return []
        return self._job.figure(path, self._document, self._place, name)

    def _knowledge(self) -> list[list[str]]:
        """Read ``Algebra > Equations; Geometry`` in one column, or a column per level."""
        columns = self._layout.columns.get("knowledge", ())
        cells = self.cells("knowledge")
        if len(columns) > 1:
            return [list(map(shown, cells))] if cells else []
        if cells and isinstance(cells[0], list) and any(isinstance(item, list) for item in cells[0]):
            listed = [item if isinstance(item, list) else [item] for item in cells[0]]
            named = ([shown(name) for name in names if name is not None] for names in listed)
            return [path for path in named if path]
        return paths(self._several("knowledge", r"[;；、\n]"))

    def _difficulty(self) -> tuple[float | None, dict[str, Any]]:
        """Return the number; of a word that has none, the word as an extra."""
        text = self._text("difficulty")
        if text is None:
            return None, {}
        levels = self._job.settings.levels
        if (word := text.strip().lower()) in levels:
            return levels.index(word) + 1, {}
        if number := re.fullmatch(r"(?:level|grade|难度)?\s*(-?\d+(?:[.,]\d+)?)\s*(%?)", word):
            return float(number[1].replace(",", ".")) / (100 if number[2] else 1), {}
        if self._job.first_time("difficulty", word):
            self._fault("difficulty", f"no number: {text!r:.80}; kept as difficulty_word (--levels orders words)")
        return None, {"difficulty_word": text}

    def _split(self) -> str | None:
        text = self._text("split")
        return None if text is None else _SPLITS.get(text.lower(), text.lower())
