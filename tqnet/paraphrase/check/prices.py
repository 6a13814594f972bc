"""What costs how much: "30 kg of rice at $1.20", "$10 for an adult"."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from tqnet.paraphrase.check.values import by_value, value_of
from tqnet.paraphrase.problem import Problem

#: Behind what an amount is sold or mixed at.
_AT = re.compile(
    r"[^\d.?!,;]{0,40}?\b(?:at|for|costing|worth|priced\s+at|of\s+an?|of)\s+(?:a\s+price\s+of\s+)?[$£€]?\s*",
    re.IGNORECASE,
)
#: Before and behind a sum of money, what that is for.
_COSTS = re.compile(r"\b(?P<thing>[a-z]+)\s+(?:each\s+)?(?:costs?|at|for|sells?\s+for)\s+$", re.IGNORECASE)
_FOR = re.compile(r"\s+(?:for|per)\s+(?:an?\s+|each\s+|every\s+|one\s+)?(?P<thing>[a-z]+)\b", re.IGNORECASE)
_MONEY = tuple("$£€")
#: Of characters before a sum, in which stands what it is for.
_THING = 40


def rates_of(problem: Problem) -> dict[Fraction, str]:
    """Value of which there is one number -> that at which so much is sold: 1.2 of 30 in "30 kg of rice at $1.20"."""
    single = {value for value, numbers in by_value(problem).items() if len(numbers) == 1}
    return {
        value_of(one): f"at {value_of(other)}"
        for one, other in pairwise(problem.numbers)
        if value_of(one) in single and _AT.fullmatch(problem.text, one.outer[1], other.start)
    }


def prices(problem: Problem) -> dict[Fraction, str]:
    """Value of which there is one sum of money -> what costs so much, or who pays it: "$10 for an adult"."""
    text, found = problem.text, {}
    for value, numbers in by_value(problem).items():
        if len(numbers) > 1 or numbers[0].sign not in _MONEY:
            continue
        start, end = numbers[0].outer
        match = _FOR.match(text, end) or _COSTS.search(text, max(0, start - _THING), start)
        span = problem.doc.char_span(*match.span("thing")) if match else None
        if span is not None:
            found[value] = f"for {span.lemma_.lower()}"
    return found
