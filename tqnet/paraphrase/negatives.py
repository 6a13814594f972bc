"""Operators after which a question asks something else: phrases and sentences left out (ParaQD, f5 and f6), names and
units replaced by others of their kind (f7 and f10), numbers made vague (f8).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from typing import Any

import numpy as np
from spacy.tokens import Doc
from tqdm import tqdm

from tqnet.paraphrase.positives import capital_of, is_american, is_calculated, is_plural, written
from tqnet.paraphrase.problem import NAMES, Entity, NotApplicable, Problem
from tqnet.paraphrase.spans import rewrite, with_article
from tqnet.paraphrase.units import REPLACEABLE, Form, Unit, abbreviation, in_words, money_name, similar_units
from tqnet.text.formulas import Span
from tqnet.text.numbers import Kind, Number

#: Texts -> their vectors, [n, width].
Encode = Callable[[Sequence[str]], np.ndarray]

#: Reason why no phrase of a text can be deleted.
NO_PHRASES = "there are no key phrases that leave something when deleted"
#: Number of phrases taken from TopicRank.
_PHRASES = 10
#: Number of questions whose candidates for f5 are encoded at once, some eight texts each.
_ENCODED = 256
#: Number of tokens cut from a text of one sentence.
_LAST = 3


def delete_last_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """Delete the last sentence, or the last three tokens if there is only one sentence (f6)."""
    text, spans = problem.text, problem.sentences
    if len(spans) > 1:
        return text[: spans[-2][1]]
    if len(problem.tokens) <= _LAST:
        raise NotApplicable(f"it is one sentence of {len(problem.tokens)} tokens")
    return text[: problem.tokens[-_LAST][0]].rstrip()


def without_phrases(problem: Problem) -> list[str]:
    """Return the text without each of its key phrases in turn, the highest ranked topic first (TopicRank).

    Raises:
        NotApplicable: The text has no phrases, or nothing but a phrase.
    """
    topics = _topic_rank()(problem.doc).calc_textrank()[:_PHRASES]
    changes = (
        {(chunk.start_char, chunk.end_char): "" for chunk in topic.chunks if chunk.text.lower() == topic.text.lower()}
        for topic in topics
    )
    texts = dict.fromkeys(rewrite(problem.text, phrases) for phrases in changes)
    left = [text for text in texts if any(map(str.isalnum, text)) and text != problem.text]
    if not left:
        raise NotApplicable(NO_PHRASES)
    return left


def without_important_phrases(
    problems: Sequence[Problem], encode: Encode, shows_progress: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Yield each text with a list of one: the text without the phrase whose removal lowers the cosine most (f5).

    The list is empty if the text has no phrases.

    Args:
        encode: Called with the candidates of many texts at once.
    """
    with tqdm(total=len(problems), unit=" questions", desc="phrases", disable=not shows_progress) as progress:
        for start in range(0, len(problems), _ENCODED):
            part = problems[start : start + _ENCODED]
            candidates: list[list[str]] = [[] for _ in part]
            for at, problem in enumerate(part):
                with suppress(NotApplicable):
                    candidates[at] = without_phrases(problem)
            chosen = _farthest([problem.text for problem in part], candidates, encode)
            yield from ((problem.text, texts) for problem, texts in zip(part, chosen, strict=True))
            progress.update(len(part))


def _farthest(texts: Sequence[str], candidates: Sequence[Sequence[str]], encode: Encode) -> list[list[str]]:
    """Return for each text a list of the candidate with the lowest cosine to it; empty without candidates."""
    rows = [[text, *others] if others else [] for text, others in zip(texts, candidates, strict=True)]
    if not any(rows):
        return [[] for _ in texts]
    vectors = np.asarray(encode([text for row in rows for text in row]), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    blocks = np.split(vectors, np.cumsum([len(row) for row in rows])[:-1])
    return [
        [row[1 + int(np.argmin(block[1:] @ block[0]))]] if row else [] for row, block in zip(rows, blocks, strict=True)
    ]


@cache
def _topic_rank() -> Callable[[Doc], Any]:
    """Return a factory parse -> TopicRank with pytextrank's settings; its pipe would keep a graph for every parse."""
    with redirect_stdout(io.StringIO()):  # outside of a git checkout, pytextrank prints where it is installed
        from pytextrank import TopicRankFactory
        from pytextrank.topicrank import TopicRank
    factory = TopicRankFactory()
    names = ("edge_weight", "pos_kept", "token_lookback", "scrubber", "stopwords", "threshold", "method")
    return partial(TopicRank, **{name: getattr(factory, name) for name in names})


#: Maximum number of names or units to replace.
_MAX_REPLACED = 3
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\b\.?\s*$")
_POSSESSIVE = re.compile(r"\s?['’]\s?s?\b|['’](?=\s)")
_THE = re.compile(r"\bthe\s+$", re.IGNORECASE)


def replace_entities(problem: Problem, rng: np.random.Generator) -> str:
    """Delete one to three names or replace them with others of the same category (f7).

    A name that occurs only once is deleted: replacing a name everywhere would not change what is asked.
    """
    if not problem.entities:
        raise NotApplicable("there are no named entities")
    count = int(rng.integers(1, min(_MAX_REPLACED, len(problem.entities)) + 1))
    changes: dict[Span, str] = {}
    taken = problem.text
    for at in sorted(rng.choice(len(problem.entities), count, replace=False)):
        entity = problem.entities[at]
        names = [name for name in _others(problem.text, entity) if name not in taken]
        if entity.count > 1 and names and rng.random() < 0.5:
            name = names[rng.integers(len(names))]
            taken += f" {name}"
            span, new = with_article(problem.text, entity.start, entity.end, name)
            changes[span] = new
        else:
            title = _TITLE.search(problem.text, 0, entity.start)
            possessive = _POSSESSIVE.match(problem.text, entity.end)
            start = title.start() if title else entity.start
            changes[start, possessive.end() if possessive else entity.end] = ""
    return rewrite(problem.text, changes)


def _others(text: str, entity: Entity) -> Sequence[str]:
    if entity.label == "PERSON" and _TITLE.search(text, 0, entity.start):
        return NAMES["SURNAME"]
    has_article = _THE.search(text, 0, entity.start) is not None
    return [name.removeprefix("the ") if has_article else name for name in NAMES[entity.label]]


def replace_units(problem: Problem, rng: np.random.Generator) -> str:
    """Replace one to three units with others of the same dimension: "hours" with "days" (f10)."""
    units = [unit for unit in problem.units if unit.dimension in REPLACEABLE and unit.form is not Form.AMOUNT]
    if not units:
        dimensions = ", ".join(REPLACEABLE)
        raise NotApplicable(f"there are no units of {dimensions}" if problem.units else "there are no units")
    count = int(rng.integers(1, min(_MAX_REPLACED, len(units)) + 1))
    drawn: dict[str, str] = {}
    changes: dict[Span, str] = {}
    for at in sorted(rng.choice(len(units), count, replace=False)):
        unit = units[at]
        if unit.name not in drawn:
            others = similar_units(unit.name, unit.dimension)
            drawn[unit.name] = others[rng.integers(len(others))]
        span, new = _replaced(problem, unit, drawn[unit.name])
        changes[span] = new
    return rewrite(problem.text, changes)


def _replaced(problem: Problem, unit: Unit, name: str) -> tuple[Span, str]:
    """Return the span to replace (the unit, or a sign with the number after it) and ``name`` in the same form if it
    has one.
    """
    text, sign, american = problem.text, abbreviation(name), is_american(problem.text)
    if unit.form is Form.WORD:
        return with_article(text, unit.start, unit.end, in_words(name, unit.plural, american))
    words = in_words(name, is_plural(problem, unit), american)
    span = unit.start, unit.end
    if unit.form is Form.SIGN and unit.number and unit.start < unit.number.start:
        if sign and sign != "¢":
            return span, sign
        return (unit.start, unit.number.end), f"{written(text, unit.number)} {words}"
    if unit.form is Form.SIGN or not sign:
        glued = text[unit.start - 1 : unit.start].isdigit()
        return span, f" {words}" if glued else words
    return span, sign


_PLENTY = "a lot of"
_VAGUE = ("some", "a few", "many", _PLENTY, "")
#: Maximum number of numbers to make vague.
_MAX_VAGUE = 2
#: These count nothing: they are only deleted.
_NO_COUNT = (Kind.ORDINAL, Kind.MULTIPLE)
_DETERMINER = re.compile(
    r"(?:\b(?:the|his|her|its|their|our|your|my|these|those|all|only|other|first|last|next|past|another|every)|['’]s)\s+$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_OF = re.compile(r"\s+of\b")
_AS = re.compile(r"\s+(?:as|an?|the|that|this|of\s+(?:that|this|it)\b)\b")
_HYPHEN = re.compile(r"\s?-\s?(?=[A-Za-z]{2})")
_NEXT_WORD = re.compile(r"\s*[-\s]\s*(?P<word>\w+)")
#: After a determiner: "his few days"; nobody says "his some days".
_DETERMINED = {"some": "few", "a few": "few", "many": "many", _PLENTY: "many"}


def make_numbers_vague(problem: Problem, rng: np.random.Generator) -> str:
    """Replace one or two numbers with a vague word, or delete them: "5 apples" to "some apples" (f8)."""
    numbers = [number for number in problem.numbers if _counts(problem.text, number)]
    if not numbers:
        raise NotApplicable("all numbers are dates or times" if problem.numbers else "there are no numbers")
    vague = _VAGUE[rng.integers(len(_VAGUE))]
    count = int(rng.integers(1, min(_MAX_VAGUE, len(numbers)) + 1))
    chosen = rng.choice(len(numbers), count, replace=False)
    return rewrite(problem.text, dict(_without(problem, numbers[at], vague) for at in chosen))


def _counts(text: str, number: Number) -> bool:
    """Return True for a number that can be deleted: not a date, a time, or "the first of ..."."""
    is_name = number.kind is Kind.ORDINAL and _OF.match(text, number.end) is not None
    return number.kind not in (Kind.DATE, Kind.CLOCK) and not is_name


def _without(problem: Problem, number: Number, vague: str) -> tuple[Span, str]:
    """Return a span and its replacement without the number; money and percent keep their names: "some dollars"."""
    text, (start, end) = problem.text, number.outer
    article = _ARTICLE.search(text, max(0, start - 4), start)
    vague, noun = _fitting(problem, number, vague), _noun(number, plural=not article)
    if not noun and (preposition := _OF.match(text, end)) and vague in ("", _PLENTY):
        end = preposition.end()  # "48 of her friends" to "a lot of her friends"
    new = " ".join(filter(None, (vague, noun)))
    if new:
        begin = article.start() if article and vague else start
        space = " " if text[end : end + 1].isalpha() else ""  # 5km
        return (begin, end), capital_of(problem, begin, new) + space
    if article and (word := _NEXT_WORD.match(text, end)):  # "an 8 foot ladder" to "a foot ladder"
        return with_article(text, start, word.end(), word["word"])
    hyphen = _HYPHEN.match(text, end)
    return (start, hyphen.end() if hyphen else end), ""


def _fitting(problem: Problem, number: Number, vague: str) -> str:
    """Return ``vague``, or what fits its neighbours instead: "his few days", "gave many", "a page book"."""
    text, (start, end) = problem.text, number.outer
    uncounted = number.kind in _NO_COUNT or (number.kind is Kind.FRACTION and _AS.match(text, end))
    single = abs(number.value) == 1 and vague != "some"
    if not vague or uncounted or single or _HYPHEN.match(text, end) or is_calculated(text, number):
        return ""
    if _ARTICLE.search(text, max(0, start - 4), start):
        return "some"
    if _DETERMINER.search(text, max(0, start - 10), start):
        return _DETERMINED[vague]
    if vague == _PLENTY and number.sign == "%":
        return "many"
    is_followed = number.sign or _OF.match(text, end) or _counts_something(problem, end)
    return vague if vague != _PLENTY or is_followed else "a lot"


def _noun(number: Number, plural: bool) -> str:
    if not number.sign:
        return ""
    return "percent" if number.sign == "%" else in_words(money_name(number.sign), plural)


def _counts_something(problem: Problem, place: int) -> bool:
    """Return True if a noun follows, or an adjective that leads to one."""
    span = problem.doc.char_span(place, place + 2, alignment_mode="expand")
    after = next((t for t in problem.doc[span.start :] if t.idx >= place and not t.is_space), None) if span else None
    return after is not None and after.pos_ in ("NOUN", "PROPN", "ADJ", "SYM")
