"""QuesCo's strategies by name and group (QuesCo, "Question Augmentation"), and those on words.

Random swap and deletion (QuesCo, "Text Augmentation"; Wei and Zou 2019) spare formulas and crucial words: numbers,
units after them, negations, and single letters, which are names. rjieba segments Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import rjieba

from tqnet.augment.clauses import repeat_clause, shuffle_clauses
from tqnet.augment.formulas import replace_number, replace_operator
from tqnet.augment.variables import rename_variable, scale_variable
from tqnet.questions import Question
from tqnet.text.formulas import segments
from tqnet.text.latex import prose
from tqnet.text.numbers import CARDINALS

_ENGLISH = r"(?<![\w$\\<&])[A-Za-z]+(?:['’-][A-Za-z]+)*(?![\w>])"
_CHINESE = r"[\u3400-\u9fff]+"
_PROSE_WORDS = re.compile(rf"(?P<english>{_ENGLISH})|(?P<chinese>{_CHINESE})")
#: Not prose: HTML tags, LaTeX commands with their arguments.
_MARKUP = re.compile(r"<[^<>]*>|\\[A-Za-z]+\*?(?:\[[^\[\]]*\])?(?:\{[^{}]*\})*")

_NEGATIONS = """
    no not non nor none never neither without except cannot 不 没 没有 无 未 非 不是 不能 除了 除
"""
_NUMBER_WORDS = """
    hundred thousand million billion half third fourth fifth sixth seventh eighth ninth tenth quarter twice double
    triple dozen once first second both
"""
_NUMBERS = frozenset((*CARDINALS, *_NUMBER_WORDS.split()))
_KEPT = _NUMBERS | frozenset(_NEGATIONS.split())
#: Words between a number and its unit, or between two units: 5 square meters, 60 miles per hour.
_LINKS = frozenset(("square", "cubic", "per"))
_CHINESE_NUMBER = re.compile(r"[〇零一二两三四五六七八九十百千万亿半几第]")
_ENDS_IN_NUMBER = re.compile(r"[\d%¥￥£€]\s*[-/]?\s*$")


def swap_words(question: Question, rng: np.random.Generator) -> Question:
    """Swap two words of the stem's prose."""
    words = movable_words(question.stem)
    if len(words) < 2:
        return question
    (a, b), (c, d) = (words[place] for place in sorted(rng.choice(len(words), 2, replace=False)))
    stem = question.stem
    return replace(question, stem=stem[:a] + stem[c:d] + stem[b:c] + stem[a:b] + stem[d:])


def delete_word(question: Question, rng: np.random.Generator) -> Question:
    """Delete one word of the stem's prose, if it has two or more."""
    words = movable_words(question.stem)
    if len(words) < 2:
        return question
    start, end = words[rng.integers(len(words))]
    before, after = question.stem[:start], question.stem[end:]
    return replace(question, stem=before.removesuffix(" ") + after if after[:1] in ("", " ") else before + after)


def movable_words(text: str) -> list[tuple[int, int]]:
    """Return spans (start, end) of the words of prose that may be moved or deleted."""
    counts = {part.end for part in segments(text) if part.is_formula}  # a unit may follow
    movable = []
    for start, end in _words(text):
        word = text[start:end].lower()
        counted = _ENDS_IN_NUMBER.search(text, max(0, start - 4), start) or len(text[:start].rstrip(" -")) in counts
        kept = word in _KEPT or word.endswith(("n't", "n’t")) or (len(word) == 1 and word.isascii())
        if word in _LINKS or _is_number(word):
            counts.add(end)
        elif not counted and not kept:
            movable.append((start, end))
    return movable


def _is_number(word: str) -> bool:
    return not _NUMBERS.isdisjoint(word.split("-")) or _CHINESE_NUMBER.search(word) is not None


def _words(text: str) -> Iterator[tuple[int, int]]:
    for start, end in prose(text):
        stretch = _MARKUP.sub(lambda markup: " " * len(markup[0]), text[start:end])
        for match in _PROSE_WORDS.finditer(stretch):
            if match["english"]:
                yield start + match.start(), start + match.end()
                continue
            place = start + match.start()
            for word in rjieba.cut(match["chinese"], False):
                yield place, place + len(word)
                place += len(word)


#: (question, generator) -> the augmented question, or the same one if the strategy does not apply.
Strategy = Callable[[Question, np.random.Generator], Question]

#: In the order of application: content first, then structure.
STRATEGIES: dict[str, Strategy] = {
    "swap": swap_words,
    "delete": delete_word,
    "rename": rename_variable,
    "scale": scale_variable,
    "operator": replace_operator,
    "number": replace_number,
    "shuffle": shuffle_clauses,
    "repeat": repeat_clause,
}

GROUPS: dict[str, tuple[str, ...]] = {
    "text": ("swap", "delete"),
    "formula": ("rename", "scale", "operator", "number"),
    "structure": ("shuffle", "repeat"),
}


def strategy_names(names: Sequence[str]) -> tuple[str, ...]:
    """Expand names and groups of strategies, in the order of STRATEGIES.

    Raises:
        ValueError: Unknown strategy or group.
    """
    for name in names:
        if name not in STRATEGIES and name not in GROUPS:
            raise ValueError(
                f"{name!r} is not one of the strategies {', '.join(STRATEGIES)}, or groups {', '.join(GROUPS)}"
            )
    wanted = {strategy for name in names for strategy in GROUPS.get(name, (name,))}
    return tuple(strategy for strategy in STRATEGIES if strategy in wanted)


def shares_changed(questions: Sequence[Question], names: Sequence[str], seed: int) -> dict[str, float]:
    """Return the share of the questions' stems and options that each named strategy changes."""
    return {
        name: np.mean(
            [
                STRATEGIES[name](question, np.random.default_rng([seed, row])) != question
                for row, question in enumerate(questions)
            ]
        ).item()
        for name in names
    }


def apply_strategies(
    question: Question, names: Sequence[str], probability: float, rng: np.random.Generator
) -> Question:
    """Apply the named strategies in turn, each with this probability."""
    chosen = rng.random(len(names)) < probability
    for name, applies in zip(names, chosen, strict=True):
        if applies:
            question = STRATEGIES[name](question, rng)
    return question
