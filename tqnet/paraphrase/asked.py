"""Whether a paraphrase still asks, and still tells every sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.paraphrase.numbers import value_of
from tqnet.text.spans import Span

#: A sentence of at least so many words that say something is missing where fewer than this share of them are left.
_WORDS, _SHARE = 2, 1 / 3


def question_differences(original: Problem, paraphrase: Problem, renamed: Mapping[str, str]) -> list[Difference]:
    """A question that is missing or lost words, and other sentences that are missing.

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
    lost = _left_out(_words(original, original.question), _words(paraphrase, paraphrase.question))
    if lost:
        found.append(Difference(Part.QUESTION, Change.SHORTENED, " ".join(token.text for token in lost)))
    return found


def _asks(original: Problem, paraphrase: Problem, told: Sequence[Span]) -> bool:
    """Whether the paraphrase demands something, or has a question that is no other sentence of the original ("the ...,
    which ...").
    """
    if paraphrase.question is None:
        return any(_demands(_words(paraphrase, span)) for span in paraphrase.sentences)
    if paraphrase.text[slice(*paraphrase.question)].rstrip().endswith(("?", "？")):
        return True
    asked = list(map(_plain, _words(paraphrase, paraphrase.question)))
    return all(list(map(_plain, _words(original, span))) != asked for span in told)


def _demands(words: Sequence[Token]) -> bool:
    """Whether a sentence is an imperative: "Give the value of x." """
    return next((word.tag_ == "VB" for word in words if word.lower_ != "please"), False)


def _left_out(before: Sequence[Token], after: Sequence[Token]) -> list[Token]:
    """The words that say something of those that were left out, where nothing else was done; else none."""
    lost, rest = [], iter(after)
    expected = next(rest, None)
    for token in before:
        if expected is not None and _plain(token) == _plain(expected):
            expected = next(rest, None)
        elif not token.is_stop:
            lost.append(token)
    return lost if expected is None else []


def _plain(token: Token) -> str:
    """Without the marks that a tokenizer leaves at a word: "{1" is "1"."""
    return "".join(filter(str.isalnum, token.lower_))


def _words(problem: Problem, span: Span | None) -> list[Token]:
    """The words of a sentence, or of the whole text."""
    tokens = beginning_in(span, problem.doc, lambda token: token.idx) if span else problem.doc
    return [token for token in tokens if any(map(str.isalnum, token.text))]


def _contents(problem: Problem, span: Span | None) -> set[tuple[str, object]]:
    """Words and numbers that say something."""
    words = {("word", token.lemma_.lower()) for token in _words(problem, span) if token.is_alpha and not token.is_stop}
    numbers = beginning_in(span, problem.numbers, lambda number: number.start) if span else problem.numbers
    return words | {("number", value_of(number)) for number in numbers}


def beginning_in(span: Span, parts: Any, start: Callable[[Any], int]) -> Any:
    """Those parts of a text, in their order, that begin within a span."""
    first, behind = (bisect_left(parts, place, key=start) for place in span)
    return parts[first:behind]
