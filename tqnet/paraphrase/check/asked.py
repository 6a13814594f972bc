"""Whether a paraphrase still asks, and still tells every sentence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spacy.tokens import Token

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma
from tqnet.paraphrase.check.values import value_of
from tqnet.paraphrase.problem import Problem
from tqnet.text.formulas import Span

#: A sentence of at least so many words that say something is missing where fewer than this share of them are left.
_WORDS, _SHARE = 2, 1 / 3
#: No text ends in these words; "a" and "an" may be variables.
_DANGLING = re.compile(
    r"\b(?:the|and|or|if|than|whose|what\s+(?:is|are|was|were)|how\s+many\s+(?:did|does|do|will))\s*[.?!]?\s*$",
    re.IGNORECASE,
)
_END = 20
#: Words of which every question has one, however it is put, unless it is one to be completed.
_ASKS = re.compile(
    r"[?？:=_…]|(?<!of\s)(?<!,\s)\b(?:which|who|whose|whom|where)\b|"
    r"\b(?:how|what|when|why|whether|find|calculate|compute|determine|evaluate|solve|simplify|express|give|state|name|tell|"
    r"show|prove|estimate|work\s+out|figure\s+out|write|list|choose|select|identify|explain|describe|convert|factor\w*|"
    r"expand|let|say|need(?:ed)?|requir\w+|asked|want(?:ed)?|unknown|mini\w+|maxi\w+|count|draw|add|subtract|multiply|divide|"
    r"reduce|round|approximate|complete|fill|help|look\w*|sought|see|check|if)\b",
    re.IGNORECASE,
)
#: A question that is to be completed: "the sum is", "the sum gives", "the cost is in dollars".
_TO_COMPLETE = re.compile(r"\b(?:is|are|was|were|gives?|equals?)(?:\s+in\s+[a-z]+)?[\s:=>.…_-]*$", re.IGNORECASE)
_LAST = 40


def question_differences(original: Problem, paraphrase: Problem, renamed: Mapping[str, str]) -> list[Difference]:
    """A question that is missing, breaks off or lost words, and other sentences that are missing.

    A question that was put in other words is not judged: that is what the score is for.

    Args:
        renamed: What other names entities have in the paraphrase.
    """
    found = []
    told = [span for span in original.sentences if span != original.question]
    kept = _contents(paraphrase, None) | {("word", old.lower()) for old in renamed}
    for span in told:
        contents = _contents(original, span)
        if len(contents) >= _WORDS and len(contents & kept) < _SHARE * len(contents):
            found.append(Difference(Part.SENTENCE, Change.LOST, original.text[slice(*span)]))
    if original.question is None:
        return found
    question = original.text[slice(*original.question)]
    if not _asks(original, paraphrase, told):
        return [*found, Difference(Part.QUESTION, Change.LOST, question)]
    asked, still_asked = words_of(original, original.question), words_of(paraphrase, paraphrase.question)
    lost = [token for row in left_out(asked, still_asked) for token in row if not token.is_stop]
    dangles = _DANGLING.search(paraphrase.text[-_END:]) and not _DANGLING.search(original.text[-_END:])
    if dangles or (lost and _waits(asked, still_asked)):
        rest = paraphrase.text[slice(*(paraphrase.question or (0, len(paraphrase.text))))]
        found.append(Difference(Part.QUESTION, Change.CUT_OFF, question, rest))
    elif lost:
        found.append(Difference(Part.QUESTION, Change.SHORTENED, " ".join(token.text for token in lost)))
    return found


def _asks(original: Problem, paraphrase: Problem, told: Sequence[Span]) -> bool:
    """Whether the paraphrase demands something, or has a question that is no other sentence of the original ("the ...,
    which ...").
    """
    if all(_TO_COMPLETE.search(problem.text[-_LAST:]) for problem in (original, paraphrase)):
        return not _is_told(paraphrase, paraphrase.sentences[-1], original, told)
    if original.text.rstrip().endswith("?") and not _ASKS.search(paraphrase.text):
        return _TO_COMPLETE.search(paraphrase.text[-_LAST:]) is not None
    if paraphrase.question is None:
        return any(_demands(words_of(paraphrase, span)) for span in paraphrase.sentences)
    if paraphrase.text[slice(*paraphrase.question)].rstrip().endswith(("?", "？")):
        return True
    return not _is_told(paraphrase, paraphrase.question, original, told)


def _is_told(paraphrase: Problem, span: Span, original: Problem, told: Sequence[Span]) -> bool:
    """Whether a sentence of the paraphrase is one that the original tells, word for word."""
    words = list(map(plain, words_of(paraphrase, span)))
    return any(list(map(plain, words_of(original, other))) == words for other in told)


def _demands(words: Sequence[Token]) -> bool:
    """Whether a sentence is an imperative: "Give the value of x." """
    return next((word.tag_ == "VB" for word in words if word.lower_ != "please"), False)


def left_out(before: Sequence[Token], after: Sequence[Token]) -> list[list[Token]]:
    """Rows of words that were left out, where nothing else was done; else none."""
    rows: list[list[Token]] = [[]]
    rest = list(reversed(after))
    for token in before:
        if rest and plain(token) == plain(rest[-1]):
            rest.pop()
            rows.append([])
        else:
            rows[-1].append(token)
    return [] if rest else [row for row in rows if row]


def _waits(asked: Sequence[Token], begun: Sequence[Token]) -> bool:
    """Whether the first words of a question wait for the rest: "how many did she", "what is the value of".

    "How many?" and "how many did not?" are questions, and so is "Which town does he live in?".
    """
    if not begun or list(map(plain, begun)) != list(map(plain, asked[: len(begun)])):
        return False
    last, cut = asked[len(begun) - 1], asked[len(begun) :]
    if last.dep_ == "nsubj" and last.head in cut:
        return any(token.dep_ == "aux" and token.head == last.head for token in asked[: len(begun)])
    governs = any(token.head == last and token.dep_ in ("pobj", "pcomp") for token in cut)
    if last.dep_ in ("amod", "compound") and last.head in cut:  # "what is the average?" may be all that is asked
        return not any(map(begun[-1].doc.text.rstrip().endswith, ".?!"))
    return governs or (last.dep_ in ("det", "poss") and last.head in cut)


def plain(token: Token) -> str:
    """Without the marks that a tokenizer leaves at a word: "{1" is "1"."""
    return "".join(filter(str.isalnum, token.lower_))


def words_of(problem: Problem, span: Span | None) -> list[Token]:
    """The words of a sentence, or of the whole text."""
    tokens = beginning_in(span, problem.doc, lambda token: token.idx) if span else problem.doc
    return [token for token in tokens if any(map(str.isalnum, token.text))]


def _contents(problem: Problem, span: Span | None) -> set[tuple[str, object]]:
    """Words and numbers that say something."""
    words = {("word", lemma(token)) for token in words_of(problem, span) if token.is_alpha and not token.is_stop}
    numbers = beginning_in(span, problem.numbers, lambda number: number.start) if span else problem.numbers
    return words | {("number", value_of(number)) for number in numbers}


def beginning_in(span: Span, parts: Any, start: Callable[[Any], int]) -> Any:
    """Those parts of a text, in their order, that begin within a span."""
    first, behind = (bisect_left(parts, place, key=start) for place in span)
    return parts[first:behind]
