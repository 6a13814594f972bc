"""About whom or what a question asks: "How old is Peter?" and "How old is John?"."""

from __future__ import annotations

import re

from tqnet.paraphrase.check.asked import words_of
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemmas
from tqnet.paraphrase.problem import Problem

#: Somebody or something that has a letter for its name; "I" is who tells, and "x = B" no name.
_LETTER = re.compile(r"\b[A-HJ-Z]\b(?!['’]?\s*[=<>+*/^])")
#: What two do together, each on a side of it.
_DEALS = frozenset(("give", "receive", "pay", "sell", "buy", "lend", "borrow", "owe", "win", "lose", "earn"))
#: Without others, "A" is an article.
_ARTICLE = frozenset("A")


def asks_about_another(original: Problem, paraphrase: Problem) -> list[Difference]:
    """The one name of the question with that of the paraphrase's, where either text has both."""
    if original.question is None or paraphrase.question is None:
        return []
    names = _names(original) & _names(paraphrase)
    asked, instead = (_in_question(problem, names) for problem in (original, paraphrase))
    if len(asked) == len(instead) == 1 and asked != instead and not _from_the_other_side(original, paraphrase):
        return [Difference(Part.WORD, Change.CHANGED, asked.pop(), instead.pop())]
    return []


def _from_the_other_side(original: Problem, paraphrase: Problem) -> bool:
    """Whether one question is about who gives, and the other one about who receives."""
    one, other = (set(lemmas(words_of(problem, problem.question))) & _DEALS for problem in (original, paraphrase))
    return one != other


def _names(problem: Problem) -> set[str]:
    people = {entity.name for entity in problem.entities if entity.label == "PERSON"}
    letters = {match[0] for match in _LETTER.finditer(problem.text)}
    return people | (letters if letters > _ARTICLE else letters - _ARTICLE)


def _in_question(problem: Problem, names: set[str]) -> set[str]:
    start, end = problem.question or (0, 0)
    asked = problem.text[start:end]
    return {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked)}
