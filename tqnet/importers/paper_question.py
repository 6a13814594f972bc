"""A question of a paper as its paragraphs are added, and the record that it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tqnet.importers.cells import paths
from tqnet.importers.choices import option_places
from tqnet.importers.job import Job, Place, distinct, lettered
from tqnet.importers.paper_lines import Mark, labelled, options_of
from tqnet.text.lists import named_places

#: "A because ..", "(B) - ..": a letter and the reason for it.
_REASONED = re.compile(
    r"[(（\[]?(?P<letter>[A-H])(?:[)）\]]\s*[.,:：;；，。–—-]?|\s*[.,:：;；，。、–—-]|(?=\s*(?:because|since|因)))\s*(?P<rest>.+)",
    re.DOTALL,
)


@dataclass
class Question:
    """A question, its parts by name as their lines, and the number it has in the paper."""

    mark: Mark
    place: Place
    section: str
    parts: dict[str, list[str]] = field(default_factory=dict)
    options: list[list[str]] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    """The last number of the list within the question, for each form of numbers."""
    key: str | None = None

    def add(self, part: str, text: str) -> None:
        (self.options[-1] if part == "options" else self.parts.setdefault(part, [])).append(text)

    def text(self, part: str) -> str | None:
        return "\n".join(filter(None, self.parts.get(part, []))) or None

    def last_line(self, part: str) -> str:
        return self.options[-1][-1] if part == "options" else self.parts.get(part, [""])[-1]

    def option_texts(self) -> list[str]:
        return ["\n".join(filter(None, lines)) for lines in self.options]

    def take(self, part: str, text: str) -> str:
        """Add a paragraph's text to the part that it belongs to, and return that part."""
        if line := labelled(text):
            self.add(*line)
            return line[0]
        return self.take_options(part, text)

    def take_options(self, part: str, text: str, is_usual: bool = False) -> str:
        takes = part in ("stem", "options")
        stem, options = options_of(text, len(self.options), part, is_usual) if takes else (text, [])
        if not options:
            self.add(part, text)
            return part
        if stem:
            self.add("stem", stem)
        self.right += [place for place, is_right, _ in options if is_right]
        self.options += [[option] for _, _, option in options]
        return "options"


def record_of(job: Job, question: Question) -> dict[str, Any]:
    """Return the record of a draft."""
    options = question.option_texts()
    answer = question.text("answer") or question.key
    if question.right and answer is None:
        answer = lettered(question.right)
    places, reason = _right(answer, options) if answer else ([], "")
    difficulty = question.text("difficulty")
    levels = [word.lower() for word in job.settings.levels]
    section = {"section": question.section} if question.section else {}
    extras: dict[str, Any] = {"number": question.mark.number} | section
    record: dict[str, Any] = {
        "stem": question.text("stem") or "",
        "options": options,
        "answer": lettered(places) if places else answer,
        "analysis": "\n".join(filter(None, (reason, question.text("analysis")))) or None,
        "knowledge": paths(re.split(r"[;；,，、\n]", question.text("knowledge") or "")),
        "images": distinct(question.images),
        "extras": extras,
    }
    if difficulty and (number := re.match(r"-?\d+(?:\.\d+)?", difficulty)):
        record["difficulty"] = float(number[0])
    elif difficulty and difficulty.lower() in levels:
        record["difficulty"] = levels.index(difficulty.lower()) + 1
    elif difficulty:
        extras["difficulty_word"] = difficulty
    return record


def _right(answer: str, options: list[str]) -> tuple[list[int], str]:
    """Return the places of the options that an answer names, and its reason: ``A because ..``."""
    places = option_places(answer, options)
    reasoned = None if places or not options else _REASONED.fullmatch(answer)
    if reasoned:
        return named_places(reasoned["letter"], len(options)), reasoned["rest"]
    return places, ""
