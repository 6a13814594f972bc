"""Shuffle parallel clauses of a question and repeat conditions (QuesCo, "Structure Augmentation").

A text is split into sentences, lines with blanks and labelled parts, and each sentence into clauses. A clause is a
condition, a demand, a field to fill in, or none of these. Neighbours of one kind are parallel if each stands alone:
none starts by referring back ("he", "which", "其") or leads on to the next ("在三角形中"). Labels, conjunctions and
openings ("Given that") stay in place when their clause moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tqnet.augment.formulas import edit
from tqnet.questions import Question
from tqnet.text.formulas import Span, segments
from tqnet.text.latex import prose
from tqnet.text.numbers import CARDINALS
from tqnet.text.sentences import CLAUSE_ENDS, SENTENCE_ENDS, cuts

#: Before each part of a question: (a), 2., ③.
_LABEL = re.compile(
    r"(?:(?:^|\n|(?<=[.?!;。；])\s)[^\S\n]*(?:\(?\d{1,2}[.)]|\(?[a-e]\))\s|[①-⑨]|[（(][1-9][)）])\s*", re.IGNORECASE
)
#: The end of a line with a blank, unless the next line continues it.
_FIELD_END = re.compile(r"(?<!_)_{2,}+[^\n_]*+(?P<line>\n)(?!\s*(?:[a-z]|$))")
#: Before a further clause of a sentence: "Find $x$ if $y=1$ and $z=2$".
_JOINT = re.compile(r"(?<![,;\s])\s+(?:and|if|when|where|(?:given|knowing|such)\s+that)\s|且")
_CLAUSE_ENDS = re.compile(rf"{CLAUSE_ENDS.pattern}|{_JOINT.pattern}")
#: A full stop may stand in a formula: $x=3.$
_SENTENCE_ENDS = re.compile(rf"{SENTENCE_ENDS.pattern}|(?<=\.\$)\s+(?=[A-Z])")
#: May join phrases instead of clauses.
_AND = frozenset(("and", "且"))
#: Before a clause.
_OPENING = re.compile(
    r"(?:and\s+)?(?:(?:given|suppose|assume|know|knowing)(?:\s+that)?|if|let|consider|as shown in the figure,?)\s+"
    r"|and\s+|[且又]?(?:已知[:：]?|如图[,，]?|如果|假设|若|设)|[且又]",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u3400-\u9fff，；。！？．]")
_QUESTION_MARKS = ("?", "？")
#: After a labelled part.
_MARKS = (*_QUESTION_MARKS, *".;。；")

_BLANK = re.compile(r"_{2,}|\\uline|\\underline|（[\s~]*）|\(\s*\)")
#: Anywhere in a clause.
_ASKS = re.compile(
    r"\b(?:find|what|how(?! to)|determine|calculate|compute|evaluate|solve|prove|estimate|simplify|is it|are there)\b"
    r"|求|问|多少|几|则|那么|证明|计算|是否|为什么|哪|什么|怎样|如何|是（|等于[(（]|的值|判断|化简|解答",
    re.IGNORECASE,
)
#: At the start of a clause.
_DEMANDS = re.compile(
    r"(?:which|who|whose|why|show|sketch|graph|draw|write|state|explain|identify|choose|select|list|verify|answers?|then|"
    r"complete|round|use|describe|convert|does|do|can|are|is|your|for each|suppose you|look|please|translate|indicate|"
    r"differentiate|integrate|rewrite|give|construct|expand|match|make|test|conduct|create|fill|decide|tell|enter|note|"
    r"recall|hint|name|locate|plot|label|order|arrange|check|apply|reduce|multiply|divide|add|subtract|approximate|"
    r"compare|assess|classify|justify|type|report|provide|discuss|interpret|predict|express|factor)\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    rf"\d|\b(?:{'|'.join(CARDINALS[2:])}|half|twice)\b"
    r"|(?<![二两三四五六七八九十百半])[二两三四五六七八九十百半]++(?=[个只支本元人天年月日周时米千克吨辆张块棵条箱袋筐件套次层排倍])",
    re.IGNORECASE,
)
_RELATION = re.compile(
    r"[=<>]|\\(?:leq?|geq?|leqslant|geqslant|lt|gt|neq?|in|perp|parallel|cong|sim|subset\w*)(?![A-Za-z])"
)
#: Statements about quantities, and in Chinese about points and lines: $AB$是圆的直径.
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|equals?|contains?|costs?|weighs?|measures?)\b"
    r"|是|为|在|平分|垂直|平行|相切|等于|经过",
    re.IGNORECASE,
)

_DEPENDS = re.compile(
    r"(?:he|she|they|it|its|his|her|their|this|that|these|those|then|so|but|after|afterwards|later|next|when|where|which|"
    r"who|whose|or|with|because|since|while|as|such|each|both|also|however|finally|thus|hence|therefore|of|"
    r"define|for|in|at|on|from|by|during|\w+ of (?:them|these|those)|"
    r"the (?:other|rest|remaining|same|second|third|last|latter|former))\b"
    r"|他|她|它|其|然|后|再|这|那|此|该|于是|因|所以|则|但|而|并|也|还|各|同时|另|照|按|平均|结果|比|当|到|交|分别|剩|余|共"
    r"|在|从|使|把|将|对|为|以|由|过|经|等|现|原|先|一共|其余|中午",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"[中时后前里内间]$")
_POINTS_BACK = re.compile(
    r"\b(?:he|she|him|her|his|them|they|their|it|its|hence|the results?|answers? to)\b", re.IGNORECASE
)
_POINTS_TO_ANSWER = re.compile(r"\b(?:your|rounded|round)\b", re.IGNORECASE)
_POINTS_TO_PART = re.compile(
    r"\b(?:parts?|previous|above|earlier|preceding)\b|[（(][1-9a-e][)）]|上述|上题", re.IGNORECASE
)
#: Minimum share of common characters for two Chinese clauses to look alike.
_ALIKE = 0.35


class Kind(Enum):
    """Role of a clause in its question."""

    CONDITION = auto()
    DEMAND = auto()
    FIELD = auto()
    """Has a blank."""


class Level(Enum):
    """How much of the text a clause is."""

    CLAUSE = auto()
    SENTENCE = auto()
    PART = auto()
    """All after a label."""


@dataclass(frozen=True, slots=True)
class Clause:
    """``text[start:end]``, without its opening, the mark after it, and the separator before its repetition."""

    start: int
    end: int
    kind: Kind | None
    mark: str = ""
    separator: str = ""
    level: Level = Level.CLAUSE


def shuffle_clauses(question: Question, rng: np.random.Generator) -> Question:
    """Shuffle one group of parallel clauses."""
    stem = question.stem
    movable = map(_movable, parallel_clauses(stem))
    groups = [spans for spans in movable if len({stem[start:end] for start, end in spans}) > 1]
    if not groups:
        return question
    spans = groups[rng.integers(len(groups))]
    order = rng.permutation(len(spans))
    if (order == np.arange(len(spans))).all():
        order = np.roll(order, 1)
    others = (stem[slice(*spans[other])] for other in order)
    return replace(question, stem=edit(stem, dict(zip(spans, others, strict=True))))


def _movable(group: Sequence[Clause]) -> list[Span]:
    """Return the spans of clauses that may change places; marks stay where they are, except next to question marks."""
    if not any(clause.mark in _QUESTION_MARKS for clause in group):
        return [_span(clause) for clause in group]
    return [(clause.start, clause.end + 1) for clause in group] if all(clause.mark for clause in group) else []


def repeat_clause(question: Question, rng: np.random.Generator) -> Question:
    """Repeat one condition after itself or a parallel one."""
    groups = conditions(question.stem)
    if not groups:
        return question
    group = groups[rng.integers(len(groups))]
    clause, after = group[rng.integers(len(group))], group[rng.integers(len(group))]
    again = after.separator + question.stem[clause.start : clause.end]
    return replace(question, stem=edit(question.stem, {(after.end, after.end): again}))


def separate_sentences(text: str) -> list[Clause]:
    """Return the sentences that stand alone, in order."""
    return [sentence for sentence in _sentences(text, len(text)) if not _depends(text, sentence)]


def conditions(text: str) -> list[list[Clause]]:
    """Return groups of parallel conditions: clauses within a sentence, and whole sentences."""
    return [group for group in parallel_clauses(text) if group[0].kind is Kind.CONDITION]


def parallel_clauses(text: str) -> list[list[Clause]]:
    """Return groups of parallel clauses, or of a single one: within a sentence, whole sentences, and labelled parts.

    If nothing asks recognisably, the last clause does.
    """
    labels = [label for span in prose(text) for label in _LABEL.finditer(text, *span)]
    if len(labels) < 2:
        labels = []
    starts = [label.start() for label in labels] + [len(text)]
    sentences = list(_sentences(text, starts[0]))
    levels = [*(_clauses(text, sentence) for sentence in sentences), sentences]
    if not labels and all(clause.kind in (Kind.CONDITION, None) for level in levels for clause in level):
        levels[-2:] = [_asking_last(level) for level in levels[-2:]]
    parts = list(_parts(text, [(label.end(), end) for label, end in zip(labels, starts[1:], strict=True)]))
    return [group for level in (*levels, parts) for group in _side_by_side(text, level)]


def _asking_last(clauses: Sequence[Clause]) -> list[Clause]:
    return [*clauses[:-1], *(replace(clause, kind=Kind.DEMAND) for clause in clauses[-1:])]


def _side_by_side(text: str, clauses: Iterable[Clause]) -> list[list[Clause]]:
    """Return runs of neighbours of one kind that stand alone, each looking like the one before it."""
    runs: list[list[Clause]] = [[]]
    for clause in clauses:
        if clause.kind is None or _depends(text, clause):
            runs.append([])
        elif runs[-1] and clause.kind is runs[-1][-1].kind and _look_alike(text, runs[-1][-1], clause):
            runs[-1].append(clause)
        else:
            runs.append([clause])
    return [run for run in runs if run]


def _look_alike(text: str, first: Clause, second: Clause) -> bool:
    """Compare Chinese conditions by characters, unless both state relations; other clauses of a kind are alike."""
    if first.kind is not Kind.CONDITION or not _CHINESE.search(text, first.start, second.end):
        return True
    if _relates(text, first.start, first.end) and _relates(text, second.start, second.end):
        return True
    left, right = ({*text[clause.start : clause.end]} - {*"0123456789$. "} for clause in (first, second))
    return len(left & right) >= _ALIKE * len(left | right)


def _depends(text: str, clause: Clause) -> bool:
    """Return whether a clause needs what is said before or after it."""
    span = _span(clause)
    if _DEPENDS.match(text, *span) or _LEADS_ON.search(text[clause.start : clause.end]):
        return True
    if clause.level is Level.CLAUSE:
        return False
    if clause.level is Level.PART:
        beyond = _POINTS_TO_PART.search(text, *span) is not None
    else:
        beyond = text[clause.start].islower() or _POINTS_TO_ANSWER.search(text, *span) is not None
    return beyond or _POINTS_BACK.search(text, *span) is not None


def _is_list(text: str, first: Clause, second: Clause) -> bool:
    """Return whether the mark between two clauses separates list items, "$A$, $B$": formulas without relations."""
    *_, before = segments(text[first.start : first.end])
    after, *_ = segments(text[second.start : second.end])
    sides = before, after
    return all(side.is_formula and not _RELATION.search(side.body) for side in sides)


def _span(clause: Clause) -> Span:
    return clause.start, clause.end


# Splitting and kinds.


def _sentences(text: str, end: int) -> Iterator[Clause]:
    """Split ``text[:end]`` into sentences and lines with blanks."""
    lines = [field.span("line") for field in _FIELD_END.finditer(text, 0, end)]
    for start, cut, mark in _between(text, 0, end, sorted({*cuts(text, 0, end, _SENTENCE_ENDS), *lines})):
        mark = text[cut - 1] if text[cut - 1] in _QUESTION_MARKS else mark
        cut -= mark in _QUESTION_MARKS
        if start == cut:  # a second question mark
            continue
        kind = Kind.DEMAND if mark in _QUESTION_MARKS else _kind(text, start, cut, Level.SENTENCE)
        separator = _separator(mark, "。" if _is_chinese(text) else ".")
        yield Clause(start, cut, kind, mark.strip(), separator, Level.SENTENCE)


def _clauses(text: str, sentence: Clause) -> list[Clause]:
    """Split a sentence at commas, before "if", and at each "and" between clauses of one kind, unless it is a list."""
    clauses = list(_joined(text, sentence))
    is_whole = len(clauses) < 2 or any(_is_list(text, *neighbours) for neighbours in pairwise(clauses))
    return [] if is_whole else clauses


def _parts(text: str, spans: Sequence[Span]) -> Iterator[Clause]:
    """Read labelled parts, the last of them with no more sentences than the longest of the others."""
    longest = 0
    for place, (start, end) in enumerate(spans):
        ends = [cut for cut, after in cuts(text, start, end, _SENTENCE_ENDS) if text[after:end].strip()]
        if place == len(spans) - 1 and len(ends) > longest:
            end = ends[longest] + 1
        longest = max(longest, len(ends))
        first, last = _trimmed(text, start, end)
        mark = text[last - 1 : last] if text[last - 1 : last] in _MARKS else ""
        last -= len(mark)
        kind = Kind.FIELD if _BLANK.search(text, first, last) else Kind.DEMAND
        yield Clause(first, last, kind, mark, level=Level.PART)


def _joined(text: str, sentence: Clause) -> Iterator[Clause]:
    comma = "，" if _is_chinese(text) else ","
    before, joint, phrase = None, "", None
    for start, cut, mark in _between(text, *_span(sentence), cuts(text, *_span(sentence), _CLAUSE_ENDS)):
        kind = _kind(text, start, cut)
        start, phrase = start if phrase is None else phrase, None
        if kind is None and mark.strip() in _AND:
            phrase = start  # "the sum of a and b": it continues
            continue
        is_subordinate = _JOINT.fullmatch(mark) and mark.strip() not in _AND
        clause = Clause(start, cut, kind, separator=_separator("" if is_subordinate else mark, comma))
        if before and joint in _AND and not _are_joined(text, before, clause):
            before = replace(clause, start=before.start, kind=before.kind or kind)
        else:
            if before:
                yield before
            before = clause
        joint = mark.strip()
    if before:
        yield before


def _are_joined(text: str, first: Clause, second: Clause) -> bool:
    """Return whether "and" stands between clauses of one kind and not between phrases."""
    demands = second.kind is not Kind.DEMAND or bool(
        _ASKS.match(text, second.start) or _DEMANDS.match(text, second.start)
    )
    return first.kind is second.kind is not None and demands


def _between(text: str, start: int, end: int, marks: Iterable[Span]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, mark after it) of what lies between marks, without white space and openings."""
    for cut, after in [*marks, (end, end)]:
        first, last = _trimmed(text, start, cut)
        opening = _OPENING.match(text, first, last)
        if opening and opening.end() < last:
            first = opening.end()
        if first < last:
            yield first, last, text[cut:after]
        start = after


def _trimmed(text: str, start: int, end: int) -> Span:
    body = text[start:end]
    return start + len(body) - len(body.lstrip()), start + len(body.rstrip())


def _separator(mark: str, usual: str) -> str:
    """Return what separates a clause that ``mark`` ends from its repetition."""
    mark = mark or usual
    return mark if _CHINESE.search(mark) or mark[-1].isspace() else mark + " "


@lru_cache(maxsize=256)
def _is_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def _kind(text: str, start: int, end: int, level: Level = Level.CLAUSE) -> Kind | None:
    if _BLANK.search(text, start, end):
        return Kind.FIELD
    if _ASKS.search(text, start, end) or _DEMANDS.match(text, start, end):
        return Kind.DEMAND
    states = level is Level.SENTENCE or _CHINESE.search(text, start, end) or _STATES.search(text, start, end)
    if _relates(text, start, end) or (states and _has_quantity(text, start, end)):
        return Kind.CONDITION
    return None


def _relates(text: str, start: int, end: int) -> bool:
    """Return whether a formula has a relation, or words state one between named points and lines."""
    parts = list(segments(text[start:end]))
    if not any(part.is_formula for part in parts):
        return False
    words = "".join(part.body for part in parts if not part.is_formula)
    return any(_RELATION.search(part.body) for part in parts if part.is_formula) or _STATES.search(words) is not None


def _has_quantity(text: str, start: int, end: int) -> bool:
    body = text[start:end]
    return _QUANTITY.search(body) is not None or any(part.is_formula for part in segments(body))
