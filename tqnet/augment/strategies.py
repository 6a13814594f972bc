"""QuesCo's strategies by name and by group (QuesCo, "Question Augmentation")."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tqnet.augment.clauses import repeat_clause, shuffle_clauses
from tqnet.augment.numbers import replace_number
from tqnet.augment.operators import replace_operator
from tqnet.augment.variables import rename_variable, scale_variable
from tqnet.augment.words import delete_word, swap_words
from tqnet.questions import Question

#: Question and generator -> a question for the same purpose; the same one where a strategy finds nothing to do.
Strategy = Callable[[Question, np.random.Generator], Question]

#: In the order in which they are applied: the content first, then the structure.
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
    """The strategies of these names and groups, in the order of STRATEGIES.

    Raises:
        ValueError: There is no such strategy or group.
    """
    for name in names:
        if name not in STRATEGIES and name not in GROUPS:
            raise ValueError(
                f"{name!r} is none of the strategies {', '.join(STRATEGIES)}, or groups {', '.join(GROUPS)}"
            )
    wanted = {strategy for name in names for strategy in GROUPS.get(name, (name,))}
    return tuple(strategy for strategy in STRATEGIES if strategy in wanted)


def apply_strategies(
    question: Question, names: Sequence[str], probability: float, rng: np.random.Generator
) -> Question:
    """``question`` after each of these strategies in turn, each with this probability of its own."""
    chosen = rng.random(len(names)) < probability
    for name, applies in zip(names, chosen, strict=True):
        if applies:
            question = STRATEGIES[name](question, rng)
    return question
