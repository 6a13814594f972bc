"""Change a question's surface but not its meaning (FSE, "Duplicate Exercise").

Spelling, wording, order, and irrelevant asides such as years and names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tqnet.augment.clauses import repeat_clause, shuffle_clauses
from tqnet.augment.formulas import edit, texts_of, with_texts
from tqnet.augment.strategies import delete_word, swap_words
from tqnet.augment.variables import rename_variable
from tqnet.questions import Question
from tqnet.text.formulas import segments
from tqnet.text.latex import prose
from tqnet.text.replacements import ASIDES, MONTHS, NAMES, OTHERS, TIMES, WORDINGS, as_written

#: (question, generator) -> the changed question, or the same one if the change does not apply.
SurfaceChange = Callable[[Question, np.random.Generator], Question]

_CHINESE = re.compile(r"[\u3400-\u9fff]")
#: Synonymous commands.
_SPELLINGS = (
    (r"\frac", r"\dfrac", r"\tfrac"),
    (r"\leq", r"\le", r"\leqslant"),
    (r"\geq", r"\ge", r"\geqslant"),
    (r"\neq", r"\ne"),
    (r"\dots", r"\ldots", r"\cdots"),
    (r"\to", r"\rightarrow"),
    (r"\varnothing", r"\emptyset"),
)
_SPELT = {command: row for row in _SPELLINGS for command in row}
_COMMAND = re.compile(r"\\[A-Za-z]+")
_POWER = re.compile(r"\^(?:(\d)(?!\d)|\{(\d)\})")
_DELIMITERS = (("$", "$"), (r"\(", r"\)"), ("$ ", " $"))
_CLAUSE_END = re.compile(r"(?<=[a-z])(?=[,.?](?:\s|$))")
_MARKS = str.maketrans("，；：？！（）", ",;:?!()")


def respell_formulas(question: Question, rng: np.random.Generator) -> Question:
    r"""Spell every formula differently: \dfrac for \frac, x^{2} for x^2, \( \) for dollar signs."""
    return with_texts(question, [_respelt(text, rng) for text in texts_of(question)])


def _respelt(text: str, rng: np.random.Generator) -> str:
    changes = {}
    for part in segments(text):
        if part.is_formula:
            commands = list(_COMMAND.finditer(part.body))
            spellings = [_SPELT.get(command[0], (command[0],)) for command in commands]
            chosen = [options[rng.integers(len(options))] for options in spellings]
            body = edit(part.body, {command.span(): new for command, new in zip(commands, chosen, strict=True)})
            if rng.random() < 0.5:
                body = _POWER.sub(lambda power: f"^{{{power[1]}}}" if power[1] else f"^{power[2]}", body)
            display = text.startswith(("$$", r"\["), part.start)
            before, after = ("$$", "$$") if display else _DELIMITERS[rng.integers(len(_DELIMITERS))]
            changes[part.start, part.end] = before + body.strip() + after
    return edit(text, changes)


def reword(question: Question, rng: np.random.Generator) -> Question:
    """Replace every occurrence of one phrase of the stem by a synonym (`tqnet.text.replacements`)."""
    phrases = WORDINGS.find(question.stem)
    if not phrases:
        return question
    stem, chosen = question.stem, phrases[rng.integers(len(phrases))]
    old = stem[chosen.start : chosen.end].lower()
    others = [phrase for phrase in WORDINGS.lines[chosen.line][chosen.sense] if phrase.lower() not in stem.lower()]
    if not others:
        return question
    new = others[rng.integers(len(others))]
    spans = [(phrase.start, phrase.end) for phrase in phrases]
    changes = {(a, b): as_written(new, stem[a:b]) for a, b in spans if stem[a:b].lower() == old}
    return replace(question, stem=edit(stem, changes))


def say_aside(question: Question, rng: np.random.Generator) -> Question:
    """Add a year, a name, points or a polite phrase before or after the question."""
    language = "zh" if _CHINESE.search(question.content) else "en"
    before, after = ASIDES[language]
    goes_first = rng.random() < 0.6
    asides = before if goes_first else after
    aside = _filled(asides[rng.integers(len(asides))], language, rng)
    return replace(question, stem=aside + question.stem if goes_first else question.stem + aside)


def say_time(question: Question, rng: np.random.Generator) -> Question:
    """Add a year or a month to one or two clauses of English prose: "is increased by 25% in May 2020, ..."."""
    stem = question.stem
    places = [match.start() for span in prose(stem) for match in _CLAUSE_END.finditer(stem, *span)]
    if not places or _CHINESE.search(stem):
        return question
    chosen = rng.permutation(places)[: rng.integers(1, 3)].tolist()
    times = {(place, place): _filled(TIMES[rng.integers(len(TIMES))], "en", rng) for place in chosen}
    return replace(question, stem=edit(stem, times))


def _filled(template: str, language: str, rng: np.random.Generator) -> str:
    return template.format(
        year=rng.integers(1995, 2030),
        month=MONTHS[rng.integers(len(MONTHS))],
        number=rng.integers(1, 13),
        age=rng.integers(9, 19),
        points=rng.integers(2, 16),
        name=NAMES[language][rng.integers(len(NAMES[language]))],
    )


def respace(question: Question, rng: np.random.Generator) -> Question:
    """Change whitespace and punctuation of the prose."""
    stem, changes = question.stem, {}
    for start, end in prose(stem):
        part = stem[start:end]
        changes[start, end] = part.translate(_MARKS) if _CHINESE.search(part) else part.replace(". ", ".\n").rstrip(".")
    spaced = edit(stem, changes)
    if rng.random() < 0.5:
        spaced = re.sub(r"(?<=[\u3400-\u9fff])\s*(?=\$)|(?<=\$)\s*(?=[\u3400-\u9fff])", " ", spaced)
    return replace(question, stem=spaced if spaced != stem else stem + " ")


def reorder_options(question: Question, rng: np.random.Generator) -> Question:
    """Shuffle the options."""
    order = rng.permutation(len(question.options))
    return replace(question, options=tuple(question.options[at] for at in order))


def garble(question: Question, rng: np.random.Generator) -> Question:
    """Delete or swap words of prose one to three times, as if typed in haste; keep phrases that say what is asked."""
    changed = question
    for _ in range(rng.integers(1, 4)):
        other = (delete_word if rng.random() < 0.5 else swap_words)(changed, rng)
        if _senses(other.stem) == _senses(question.stem):
            changed = other
    return changed


def _senses(text: str) -> list[tuple[int, int]]:
    return [(phrase.line, phrase.sense) for phrase in OTHERS.find(text)]


#: Name -> change.
SURFACE_CHANGES: dict[str, SurfaceChange] = {
    "respell": respell_formulas,
    "reword": reword,
    "aside": say_aside,
    "time": say_time,
    "garble": garble,
    "respace": respace,
    "options": reorder_options,
    "rename": rename_variable,
    "shuffle": shuffle_clauses,
    "repeat": repeat_clause,
}


def change_surface(question: Question, rng: np.random.Generator, most: int = 4) -> Question:
    """Apply up to ``most`` of SURFACE_CHANGES, then reword up to three times; add an aside if nothing changed."""
    names = rng.permutation(list(SURFACE_CHANGES))[: rng.integers(1, most + 1)].tolist()
    changed = question
    for name in [*names, *["reword"] * int(rng.integers(0, 4))]:
        changed = SURFACE_CHANGES[name](changed, rng)
    return changed if changed != question else say_aside(question, rng)
