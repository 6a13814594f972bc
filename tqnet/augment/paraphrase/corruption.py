"""Tokens shuffled, left out, inserted: what a model is to restore (ParaQD, f_b), and random deletion (f_d)."""

from __future__ import annotations

import numpy as np

from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.spans import rewrite
from tqnet.text.spans import Span, formula_spans

#: Tokens at the end that tell what is asked (ParaQD, A.3).
_LAST = 3
#: How far a token may move.
_WINDOW = 3


def corrupt(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Tokens moved by a place or two, left out, replaced and inserted, ``share`` of them each; numbers, units, formulas
    and the last three tokens stay where they are (A.3).

    What is inserted are other words of the same text. A model that restores the text from it paraphrases.
    """
    tokens = problem.tokens
    free = _free(problem)
    if len(free) < 2:
        raise NotApplicable("there are fewer than two words besides numbers, units and the end")
    words = [problem.text[start:end] for start, end in tokens]
    own = [words[at] for at in free]
    _shuffle(words, free, share, rng)
    for at in free:
        drawn = rng.random()
        if drawn < share:
            words[at] = ""
        elif drawn < 2 * share:
            words[at] = own[rng.integers(len(own))]
        elif drawn < 3 * share:
            words[at] += f" {own[rng.integers(len(own))]}"
    changes = {token: word for token, word in zip(tokens, words, strict=True) if problem.text[slice(*token)] != word}
    if not changes:
        changes = {tokens[free[rng.integers(len(free))]]: ""}
    return rewrite(problem.text, changes)


def delete_words(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Each token is left out with probability ``share``, one at least; one at least stays (Wei and Zou 2019; f_d)."""
    tokens = problem.tokens
    if len(tokens) < 2:
        raise NotApplicable("there are no two tokens")
    gone = rng.random(len(tokens)) < share
    if not gone.any():
        gone[rng.integers(len(tokens))] = True
    if gone.all():
        gone[rng.integers(len(tokens))] = False
    return rewrite(problem.text, {token: "" for token, out in zip(tokens, gone, strict=True) if out})


def _free(problem: Problem) -> list[int]:
    """The places of the words that may change: those that stand between spaces or before a mark."""
    kept: list[Span] = [number.outer for number in problem.numbers]
    kept += [(unit.start, unit.end) for unit in problem.units] + formula_spans(problem.text)
    return [
        at
        for at, (start, end) in enumerate(problem.tokens[:-_LAST])
        if _is_word(problem.text, start, end) and not any(first < end and start < last for first, last in kept)
    ]


def _is_word(text: str, start: int, end: int) -> bool:
    apart = (not start or text[start - 1].isspace()) and (text[end].isspace() or text[end] in ".,;:?!")
    return apart and text[start:end].isalpha()


def _shuffle(words: list[str], free: list[int], share: float, rng: np.random.Generator) -> None:
    """Neighbours among the free places change them, in windows that begin with probability ``share``."""
    for begin in np.flatnonzero(rng.random(len(free)) < share):
        window = free[begin : begin + _WINDOW]
        moved = rng.permutation(len(window))
        for place, word in zip(window, [words[window[other]] for other in moved], strict=True):
            words[place] = word
