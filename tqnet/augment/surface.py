"""Changes of a question's surface: another spelling, wording, order, or something said that does not matter.

What comes out asks the same of the same (FSE, "Duplicate Exercise"): other words, other formulas' spelling, years and
names that play no part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tqnet.augment.clauses import repeat_clause, shuffle_clauses
from tqnet.augment.edits import edit, texts_of, with_texts
from tqnet.augment.strategies import delete_word, swap_words
from tqnet.augment.variables import rename_variable
from tqnet.questions import Question
from tqnet.text.formulas import segments
from tqnet.text.latex import prose
from tqnet.text.replacements import ASIDES, MONTHS, NAMES, OTHERS, TIMES, WORDINGS, as_written

#: Question and generator -> the question as somebody else might have typed it; the same one where nothing applies.
SurfaceChange = Callable[[Question, np.random.Generator], Question]

_CHINESE = re.compile(r"[\u3400-\u9fff]")
#: Spellings of one thing; behind a command no letter may follow.
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
    r"""Every formula is spelt otherwise, \dfrac for \frac, x^{2} for x^2, \( \) for dollar signs; it says the same."""
    return with_texts(question, [_respelt(text, rng) for text in texts_of(question)])


def _respelt(text: str, rng: np.random.Generator) -> str:
    changes = {}
    for part in segments(text):
        if part.is_formula:
            row = [_SPELT.get(name[0], (name[0],)) for name in _COMMAND.finditer(part.body)]
            body = _with_commands(part.body, [spellings[rng.integers(len(spellings))] for spellings in row])
            if rng.random() < 0.5:
                body = _POWER.sub(lambda power: f"^{{{power[1]}}}" if power[1] else f"^{power[2]}", body)
            display = text.startswith(("$$", r"\["), part.start)
            before, after = ("$$", "$$") if display else _DELIMITERS[rng.integers(len(_DELIMITERS))]
            changes[part.start, part.end] = before + body.strip() + after
    return edit(text, changes)


def _with_commands(formula: str, names: Sequence[str]) -> str:
    """``formula`` with its commands called ``names``, in order."""
    spans = [match.span() for match in _COMMAND.finditer(formula)]
    return edit(formula, dict(zip(spans, names, strict=True)))


def reword(question: Question, rng: np.random.Generator) -> Question:
    """A phrase of the stem gives way to one that says the same (`tqnet.text.replacements`), wherever it stands."""
    found = WORDINGS.find(question.stem)
    if not found:
        return question
    stem, chosen = question.stem, found[rng.integers(len(found))]
    old = stem[chosen.start : chosen.end].lower()
    others = [phrase for phrase in WORDINGS.lines[chosen.line][chosen.sense] if phrase.lower() not in stem.lower()]
    if not others:
        return question
    new = others[rng.integers(len(others))]
    places = [phrase for phrase in found if stem[phrase.start : phrase.end].lower() == old]
    return replace(
        question,
        stem=edit(stem, {(p.start, p.end): as_written(new, stem[p.start : p.end]) for p in places}),
    )


def say_aside(question: Question, rng: np.random.Generator) -> Question:
    """A year, a name, points or a politeness is said before or behind the question."""
    language = "zh" if _CHINESE.search(question.content) else "en"
    before, after = ASIDES[language]
    first = rng.random() < 0.6
    said = _filled((before if first else after)[rng.integers(len(before if first else after))], language, rng)
    return replace(question, stem=said + question.stem if first else question.stem + said)


def say_time(question: Question, rng: np.random.Generator) -> Question:
    """A year or a month is said behind one or two clauses of English prose: "is increased by 25% in May 2020, ..."."""
    places = [end for span in prose(question.stem) for end in _clause_ends(question.stem, *span)]
    if not places or _CHINESE.search(question.stem):
        return question
    chosen = rng.permutation(places)[: rng.integers(1, 3)].tolist()
    times = {(place, place): _filled(TIMES[rng.integers(len(TIMES))], "en", rng) for place in chosen}
    return replace(question, stem=edit(question.stem, times))


def _clause_ends(text: str, start: int, end: int) -> list[int]:
    return [match.start() for match in _CLAUSE_END.finditer(text, start, end)]


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
    """White space and marks as another keyboard types them; formulas stay."""
    stem, changes = question.stem, {}
    for start, end in prose(stem):
        part = stem[start:end]
        changes[start, end] = part.translate(_MARKS) if _CHINESE.search(part) else part.replace(". ", ".\n").rstrip(".")
    spaced = edit(stem, changes)
    if rng.random() < 0.5:
        spaced = re.sub(r"(?<=[\u3400-\u9fff])\s*(?=\$)|(?<=\$)\s*(?=[\u3400-\u9fff])", " ", spaced)
    return replace(question, stem=spaced if spaced != stem else stem + " ")


def reorder_options(question: Question, rng: np.random.Generator) -> Question:
    """The options change places."""
    order = rng.permutation(len(question.options))
    return replace(question, options=tuple(question.options[at] for at in order))


def garble(question: Question, rng: np.random.Generator) -> Question:
    """One to three words of prose are left out or change places, as where a bank was typed in haste or rephrased; none
    that tells what is asked.
    """
    changed = question
    for _ in range(rng.integers(1, 4)):
        other = (delete_word if rng.random() < 0.5 else swap_words)(changed, rng)
        if _senses(other.stem) == _senses(question.stem):
            changed = other
    return changed


def _senses(text: str) -> list[tuple[int, int]]:
    return [(phrase.line, phrase.sense) for phrase in OTHERS.find(text)]


#: By name.
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
    """``question`` after up to ``most`` of SURFACE_CHANGES, one of them at least where any applies; rewording may come
    more than once.
    """
    names, changed = list(SURFACE_CHANGES), question
    for name in [*rng.permutation(names)[: rng.integers(1, most + 1)].tolist(), *["reword"] * int(rng.integers(0, 4))]:
        changed = SURFACE_CHANGES[name](changed, rng)
    return changed if changed != question else say_aside(question, rng)
