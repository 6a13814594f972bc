"""What a question asks for: "how many vans" for "how many cars", "the area" for "the fence"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Token

from tqnet.paraphrase.check.asked import words_of
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma, lemmas
from tqnet.paraphrase.check.nouns import PRONOUNS, may_be_the_same
from tqnet.paraphrase.problem import Problem
from tqnet.text.replacements import Phrases

#: Senses of which a question has but one: it asks for that.
_SENSES = Phrases("""
area, surface, cover, covers, how much land, how much ground, lie within, lies within | perimeter, circumference, \
border, fence, fencing, enclose, surround | hypotenuse | volume : of a figure
interest, earn, earns, earned, earnings, how much more, more than, on top, extra | be worth, total sum, total amount, \
amount due, pay back, paid back, pays back, repay, owe in all : of a loan
begin, begins, began, start, starts, started, leave, leaves, depart, departs, set out, sets out, at first, initially, \
originally, in the beginning, at the beginning | end, ends, ended, finish, finishes, finished, arrive, arrives, \
arrived, in the end, at the end, since the start, from the start : of what takes its time
how many times as, by how many times | by how many, by how much, how many more, how much more, how many fewer, \
difference : comparisons
""")
_CLAUSE = re.compile(
    r"\b(?:by\s+)?\b(?:how|what|which|who|where|find|calculate|determine|when\b(?![^.?!]*,))\b[^,;.?!]*?"
    r"(?=\s+(?:if|when|given|after|before|while|assuming)\b|[,;.?!]|$)"
)
_NEGATIONS = re.compile(r"\b(?:not|never|no|none|neither|nor|without)\b|n['’]t\b", re.IGNORECASE)
#: What may deny something, too.
_NEGATIVE = re.compile(
    rf"{_NEGATIONS.pattern}|\b(?:un[a-z]+|fail\w*|miss\w*|except\w*|other|others|rest|left|remain\w*|lack\w*|avoid\w*|but|most|least|"
    r"still|yet|must|needs?|ha(?:ve|s)\s+to)\b",
    re.IGNORECASE,
)
#: Of them those that deny the word behind: not the "no" of "no more than".
_DENIES = frozenset(("not", "n't", "n’t", "never", "neither", "nor", "without"))
#: Verbs that say nothing without what is drawn.
_DRAWS = frozenset(("draw", "pick", "choose", "select", "get", "take", "roll", "pull"))
_THE = r"(?:(?:the|his|her|their|my)\s+)?"
_AGES = re.compile(
    rf"\bhow\s+old\s+(?:is|was|are|were|will|would)\s+{_THE}(?P<who>[a-z]+)(?!['’])"
    rf"|\b{_THE}(?P<whose>[a-z]+)['’]s\s+(?:[a-z]+\s+){{0,2}}?age\b|\bage\s+of\s+{_THE}(?P<of>[a-z]+)(?!['’])"
)
#: Of a "be", what is something, and what it is.
_SAID_TO_BE = ("nsubj", "attr", "acomp")
#: Nouns by which nothing is counted.
_NO_THINGS = frozenset(("time", "way", "total", "number", "kind", "type", "sort"))


def asks_for_another(original: Problem, paraphrase: Problem) -> list[Difference]:
    """What one question asks for, with what the other one does; the first that is found."""
    if original.question is None or paraphrase.question is None:
        return []
    for differ in (_counts, _ages, _senses, _negations):
        if found := differ(original, paraphrase):
            return [Difference(Part.QUESTION, Change.CHANGED, *found)]
    return []


def _counts(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    """Things that are counted, of which both texts know both and each question only one."""
    known, told = (_lemmas(problem) for problem in (original, paraphrase))
    asked, instead = (list(dict.fromkeys(_counted(problem))) for problem in (original, paraphrase))
    if not asked or not instead or not {asked[0], instead[0]} <= known & told:
        return None
    if not _nouns(original).isdisjoint(instead) or not _nouns(paraphrase).isdisjoint(asked):
        return None
    if any(may_be_the_same(one, other) for one in asked for other in instead):
        return None
    return f"how many: {asked[0]}", f"how many: {instead[0]}"


def _counted(problem: Problem) -> Iterator[str]:
    """Lemmas of what a question counts: "cars" in "how many cars", both nouns of "how many vehicles are cars"."""
    for word in words_of(problem, problem.question):
        if word.lower_ == "many" and word.i and word.nbor(-1).lower_ == "how":
            noun = word.head if word.dep_ in ("amod", "nummod") else _after_of(word)
            if noun is not None and noun.pos_ == "NOUN" and lemma(noun) not in _NO_THINGS:
                yield lemma(noun)
                verb = (word if noun.dep_ == "pobj" else noun).head
                if verb.lemma_ == "be":
                    yield from (lemma(child) for child in verb.children if child.dep_ in _SAID_TO_BE)


def _after_of(word: Token) -> Token | None:
    """The "students" of "how many of the students"."""
    of = next((child for child in word.children if child.lower_ == "of"), None)
    return next((child for child in of.children if child.dep_ == "pobj"), None) if of is not None else None


def _ages(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    asked, instead = (
        {match["who"] or match["whose"] or match["of"] for match in _AGES.finditer(_question(problem))}
        for problem in (original, paraphrase)
    )
    if not len(asked) == len(instead) == 1 or (asked | instead) & PRONOUNS or not instead <= _lemmas(original):
        return None
    if not (asked <= _nouns(original) and instead <= _nouns(paraphrase)):
        return None
    (one,), (other,) = asked, instead
    if one == other or may_be_the_same(one, other) or any(_names_one(one, other, of) for of in (original, paraphrase)):
        return None
    return f"the age of {one}", f"the age of {other}"


def _names_one(one: str, other: str, problem: Problem) -> bool:
    """Whether two words are of one person: "his son Tim", "Tim, his son"."""
    return any(
        re.search(rf"\b{first}\b(?:\s*,)?\s+{_THE}{second}\b", problem.text, re.IGNORECASE)
        for first, second in ((one, other), (other, one))
    )


def _senses(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    """Phrases of two senses of a line, where neither question has both."""
    texts = _wanted(original), _wanted(paraphrase)
    if any(map(_NEGATIONS.search, texts)):
        return None
    found = [[(one.line, one.sense, text[one.start : one.end]) for one in _SENSES.find(text)] for text in texts]
    for line in range(len(_SENSES.lines)):
        old, new = ({sense: said for at, sense, said in of if at == line} for of in found)
        if len(old) == len(new) == 1 and old.keys() != new.keys():
            return next(iter(old.values())), next(iter(new.values()))
    return None


def _negations(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    """What stands behind a negation in one question, and in the other one, which has no negation."""
    for negated, plain in ((original, paraphrase), (paraphrase, original)):
        if _NEGATIVE.search(_question(plain)):
            continue
        words = set(lemmas(words_of(plain, plain.question)))
        for said in _negated(negated):
            if words.issuperset(said):
                both = f"not {said[0]}", said[0]
                return both if negated is original else both[::-1]
    return None


def _negated(problem: Problem) -> Iterator[list[str]]:
    """Of a question, the lemma of the first word that says something behind each "not", "neither" or "without"; of "not
    drawing red", two.
    """
    words = words_of(problem, problem.question)
    for at, word in enumerate(words):
        if word.lower_ in _DENIES:
            said = [lemma(other) for other in words[at + 1 : at + 5] if other.is_alpha and not other.is_stop]
            if said:
                yield said[: 2 if said[0] in _DRAWS else 1]


def _lemmas(problem: Problem) -> set[str]:
    return set(lemmas(problem.doc))


def _nouns(problem: Problem) -> set[str]:
    """Lemmas of a question's nouns but of those that stand before another one: "car" in "car park"."""
    return {
        lemma(token)
        for token in words_of(problem, problem.question)
        if token.pos_ in ("NOUN", "PROPN") and token.dep_ != "compound"
    }


def _wanted(problem: Problem) -> str:
    """The clause of a question that asks: without an "if", and what is told before it."""
    question = _question(problem)
    clause = _CLAUSE.search(question)
    return clause[0] if clause else question


def _question(problem: Problem) -> str:
    start, end = problem.question or (0, 0)
    return problem.text[start:end].lower()
