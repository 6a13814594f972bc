"""What a question cannot do without, left out: its last sentence, its most important phrase (ParaQD, f5 and f6)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import get_package_version

from tqnet.paraphrase.names import NAMES, SURNAMES, Entity
from tqnet.paraphrase.positives import capital_of, is_american, is_calculated, is_plural, written
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import rewrite, with_article
from tqnet.paraphrase.units import REPLACEABLE, Form, Unit, abbreviation, in_words, money_name, similar_units
from tqnet.text.formulas import Span
from tqnet.text.numbers import Kind, Number

#: Texts -> their vectors, [n, width].
Encode = Callable[[Sequence[str]], np.ndarray]

#: Why a text has none to lose.
NO_PHRASES = "there are no phrases besides what they are part of"

#: Tokens that a text of one sentence loses.
_LAST = 3
#: Phrases that TopicRank offers.
PHRASES = 10


def delete_last_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """The last sentence is left out; of a single one, its last three tokens (f6)."""
    text, spans = problem.text, problem.sentences
    if len(spans) > 1:
        return text[: spans[-2][1]]
    if len(problem.tokens) <= _LAST:
        raise NotApplicable(f"it is one sentence of {len(problem.tokens)} tokens")
    return text[: problem.tokens[-_LAST][0]].rstrip()


def without_phrases(problem: Problem, most: int = PHRASES) -> list[str]:
    """The text without each of its key phrases in turn, the highest ranked topic first (TopicRank).

    Raises:
        NotApplicable: There are no phrases, or nothing else.
    """
    texts = [rewrite(problem.text, dict.fromkeys(spans, "")) for spans in _phrases(problem.doc)[:most]]
    left = [text for text in dict.fromkeys(texts) if any(map(str.isalnum, text)) and text != problem.text]
    if not left:
        raise NotApplicable(NO_PHRASES)
    return left


def delete_important_phrases(problems: Sequence[Problem], encode: Encode, most: int = PHRASES) -> list[str | None]:
    """Each text without the phrase whose removal lowers the cosine to it most (f5); None where it has no phrases.

    Args:
        encode: Is called once, with all texts and candidates.
    """
    candidates = [_candidates(problem, most) for problem in problems]
    texts = [text for problem, own in zip(problems, candidates, strict=True) if own for text in (problem.text, *own)]
    if not texts:
        return [None] * len(problems)
    vectors = np.asarray(encode(texts), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    chosen: list[str | None] = []
    place = 0
    for own in candidates:
        if not own:
            chosen.append(None)
            continue
        anchor, others = vectors[place], vectors[place + 1 : place + 1 + len(own)]
        chosen.append(own[int(np.argmin(others @ anchor))])
        place += 1 + len(own)
    return chosen


def phrases_by(model: str) -> str:
    """What decides which key phrases a text has, in words: the packages and spaCy's model, with their versions."""
    packages = [f"{name} {version(name)}" for name in ("spacy", "pytextrank")]
    return ", ".join([*packages, f"{model} {get_package_version(model)}"])


def _candidates(problem: Problem, most: int) -> list[str]:
    try:
        return without_phrases(problem, most)
    except NotApplicable:
        return []


def _phrases(doc: Doc) -> list[list[Span]]:
    """Where each topic's first phrase stands, by rank."""
    topics = _topic_rank()(doc).calc_textrank()
    return [
        [(chunk.start_char, chunk.end_char) for chunk in topic.chunks if chunk.text.lower() == topic.text.lower()]
        for topic in topics
    ]


@cache
def _topic_rank() -> Callable[[Doc], Any]:
    """A parsed text -> its TopicRank, with pytextrank's settings; its pipe would keep a graph with every parse."""
    with redirect_stdout(io.StringIO()):  # outside of a git checkout, pytextrank prints where it is installed
        from pytextrank import TopicRankFactory
        from pytextrank.topicrank import TopicRank
    own = TopicRankFactory()
    names = ("edge_weight", "pos_kept", "token_lookback", "scrubber", "stopwords", "threshold", "method")
    return partial(TopicRank, **{name: getattr(own, name) for name in names})


# Names and units that give way to others of their kind (ParaQD, f7 and f10).


#: How many names or units at most.
_MOST = 3
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\b\.?\s*$")
_POSSESSIVE = re.compile(r"\s?['’]\s?s?\b|['’](?=\s)")
_THE = re.compile(r"\bthe\s+$", re.IGNORECASE)


def replace_entities(problem: Problem, rng: np.random.Generator) -> str:
    """One to three names are left out or replaced by others of their category (f7).

    A name that stands but once is left out: with another name in its place everywhere, a question asks the same.
    """
    if not problem.entities:
        raise NotApplicable("there are no named entities")
    count = int(rng.integers(1, min(_MOST, len(problem.entities)) + 1))
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
            changes[_whole(problem.text, entity)] = ""
    return rewrite(problem.text, changes)


def _others(text: str, entity: Entity) -> list[str]:
    if entity.label == "PERSON" and _TITLE.search(text, 0, entity.start):
        return list(SURNAMES)
    has_article = _THE.search(text, 0, entity.start) is not None
    return [name.removeprefix("the ") if has_article else name for name in NAMES[entity.label]]


def _whole(text: str, entity: Entity) -> Span:
    """A name with its title and its 's."""
    title, possessive = _TITLE.search(text, 0, entity.start), _POSSESSIVE.match(text, entity.end)
    return title.start() if title else entity.start, possessive.end() if possessive else entity.end


def replace_units(problem: Problem, rng: np.random.Generator) -> str:
    """One to three units give way to others of their dimension, one for each unit: "hours" to "days" (f10)."""
    units = [unit for unit in problem.units if unit.dimension in REPLACEABLE and unit.form is not Form.AMOUNT]
    if not units:
        dimensions = ", ".join(REPLACEABLE)
        raise NotApplicable(f"there are no units of {dimensions}" if problem.units else "there are no units")
    count = int(rng.integers(1, min(_MOST, len(units)) + 1))
    drawn: dict[str, str] = {}
    changes: dict[Span, str] = {}
    for at in sorted(rng.choice(len(units), count, replace=False)):
        unit = units[at]
        if unit.name not in drawn:
            others = similar_units(unit.name, unit.dimension)
            drawn[unit.name] = others[rng.integers(len(others))]
        changes |= _replaced(problem, unit, drawn[unit.name])
    return rewrite(problem.text, changes)


def _replaced(problem: Problem, unit: Unit, name: str) -> dict[Span, str]:
    """A unit's place, or that of a sign and behind its number, with ``name`` written in the same form if it has one."""
    text, sign = problem.text, abbreviation(name)
    american = is_american(text)
    if unit.form is Form.WORD:
        span, new = with_article(text, unit.start, unit.end, in_words(name, unit.plural, american))
        return {span: new}
    words = in_words(name, is_plural(problem, unit), american)
    if unit.form is Form.SIGN and unit.number and unit.start < unit.number.start:
        if sign and sign != "¢":
            return {(unit.start, unit.end): sign}
        return {(unit.start, unit.number.end): f"{written(text, unit.number)} {words}"}
    glued = text[unit.start - 1 : unit.start].isdigit()
    if unit.form is Form.SIGN or not sign:
        return {(unit.start, unit.end): f" {words}" if glued else words}
    return {(unit.start, unit.end): sign}


# Numbers that give way to "some", "a few", "many", "a lot of", or nothing (ParaQD, f8).


_PLENTY = "a lot of"
_VAGUE = ("some", "a few", "many", _PLENTY, "")
#: How many numbers at most.
_VAGUENESS_MOST = 2
#: These count nothing: they are only left out.
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
#: Behind a determiner: "his few days"; "his some days" says nobody.
_DETERMINED = {"some": "few", "a few": "few", "many": "many", _PLENTY: "many"}


def make_numbers_vague(problem: Problem, rng: np.random.Generator) -> str:
    """One or two numbers become one vague word, or are left out: "5 apples" to "some apples" (f8)."""
    numbers = [number for number in problem.numbers if _counts(problem.text, number)]
    if not numbers:
        raise NotApplicable("there are no numbers but dates and times" if problem.numbers else "there are no numbers")
    vague = _VAGUE[rng.integers(len(_VAGUE))]
    count = int(rng.integers(1, min(_VAGUENESS_MOST, len(numbers)) + 1))
    changes: dict[Span, str] = {}
    for at in rng.choice(len(numbers), count, replace=False):
        changes |= _without(problem, numbers[at], vague)
    return rewrite(problem.text, changes)


def _counts(text: str, number: Number) -> bool:
    """Whether a text can do without it: not dates and times, nor "the first of ..."."""
    is_name = number.kind is Kind.ORDINAL and _OF.match(text, number.end) is not None
    return number.kind not in (Kind.DATE, Kind.CLOCK) and not is_name


def _without(problem: Problem, number: Number, vague: str) -> dict[Span, str]:
    """What becomes of a number; money and percent stay by name: "some dollars"."""
    text, (start, end) = problem.text, number.outer
    article = _ARTICLE.search(text, max(0, start - 4), start)
    vague, noun = _fitting(problem, number, vague), _noun(number, plural=not article)
    if not noun and (of := _OF.match(text, end)) and vague in ("", _PLENTY):
        end = of.end()  # "48 of her friends" to "a lot of her friends"
    new = " ".join(filter(None, (vague, noun)))
    if new:
        begin = article.start() if article and vague else start
        space = " " if text[end : end + 1].isalpha() else ""  # 5km
        return {(begin, end): capital_of(problem, begin, new) + space}
    if article and (word := _NEXT_WORD.match(text, end)):  # "an 8 foot ladder" to "a foot ladder"
        span, new = with_article(text, start, word.end(), word["word"])
        return {span: new}
    hyphen = _HYPHEN.match(text, end)
    return {(start, hyphen.end() if hyphen else end): ""}


def _fitting(problem: Problem, number: Number, vague: str) -> str:
    """``vague``, or what its neighbours allow instead: "his few days", "gave many", "a page book"."""
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
    """Whether a noun, or what leads to one, follows."""
    token = problem.doc.char_span(place, place + 2, alignment_mode="expand")
    after = next((t for t in problem.doc[token.start :] if t.idx >= place and not t.is_space), None) if token else None
    return after is not None and after.pos_ in ("NOUN", "PROPN", "ADJ", "SYM")
