"""Shuffle and repeat the conditions of a question (QuesCo, "Structure Augmentation").

Questions are split into sentences, sentences into clauses. Conditions are the clauses before the first one that asks.
Neighbours are parallel if each stands alone: it states a relation in a formula, or a quantity in a clause that looks
like its neighbour. None starts by referring back ("he", "then", "which") or supposing ("if"), or leads on to the next
clause ("在三角形中"). An opening ("Given that") stays in place when its clause moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tqnet.augment.formulas import edit
from tqnet.questions import Question
from tqnet.text.formulas import segments
from tqnet.text.numbers import CARDINALS
from tqnet.text.sentences import CLAUSE_ENDS, SENTENCE_ENDS, cuts

_LABEL = re.compile(r"(?:^|\n|[.?!]\s)[^\S\n]*(?:\(?\d{1,2}[.)]|\(?[a-e]\))\s|[①-⑨]|[（(][1-9][)）]")
_CHINESE = re.compile(r"[\u3400-\u9fff，；。！？．]")

_ASKS = re.compile(
    r"\b(?:find|what|which|how|who|whose|why|determine|calculate|compute|evaluate|solve|prove|show|express|estimate|"
    r"simplify|factor|sketch|graph|draw|write|state|explain|identify|choose|select|list|verify|answers?|complete|round|"
    r"use|describe|convert|then|is it|are there|does|do|can)\b|_{2,}|\\uline|\\underline|\?|\(\s*\)"
    r"|求|问|多少|几|则|那么|证明|计算|是否|为什么|哪|什么|怎样|如何|？|（[\s~]*）|是（|等于[(（]|的值|判断|化简|解答",
    re.IGNORECASE,
)
#: Verbs that start an instruction.
_DEMANDS = re.compile(
    r"(?:differentiate|integrate|rewrite|give|construct|expand|match|make|test|conduct|create|fill|decide|tell|enter|note|"
    r"recall|hint|name|locate|plot|label|order|arrange|check|apply|reduce|multiply|divide|add|subtract|approximate|"
    r"compare|assess|classify|justify|are|is|your|for each|suppose you)\b",
    re.IGNORECASE,
)
#: May precede any condition.
_JOINS = re.compile(r"(?:and)\s+|且|又", re.IGNORECASE)
#: May precede the first condition of a sentence.
_OPENS = re.compile(
    r"(?:(?:given|suppose|assume|know|knowing)(?:\s+that)?|if|let|as shown in the figure,?)\s+"
    r"|已知[:：]?|如图[,，]?|如果|假设|若|设",
    re.IGNORECASE,
)
_BEGINS_OTHERWISE = re.compile(
    r"(?:he|she|they|it|its|his|her|their|this|that|these|those|then|so|but|after|afterwards|later|next|when|where|which|"
    r"who|whose|or|with|because|since|while|as|such|each|both|also|however|finally|thus|hence|therefore|of|if|let|"
    r"consider|define|suppose|assume|for|in|at|on|from|by|during|\w+ of (?:them|these|those)|"
    r"the (?:other|rest|remaining|same|second|third|last|latter|former))\b"
    r"|他|她|它|其|然|后|再|这|那|此|该|于是|因|所以|则|但|而|并|也|还|各|同时|另|照|按|平均|结果|比|当|到|交|分别|剩|余|共"
    r"|如果|若|假设|在|从|使|把|将|对|为|以|由|过|经|等|现|原|先|一共|其余|中午",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"[中时后前里内间]$")
_POINTS_BACK = re.compile(r"\b(?:he|she|him|her|his|them|they|their|it|its)\b", re.IGNORECASE)
_QUANTITY = re.compile(
    rf"\d|\b(?:{'|'.join(CARDINALS[2:])}|half|twice)\b"
    r"|[二两三四五六七八九十百半]+(?=[个只支本元人天年月日周时米千克吨辆张块棵条箱袋筐件套次层排倍])",
    re.IGNORECASE,
)
_RELATION = re.compile(
    r"[=<>]|\\(?:leq?|geq?|leqslant|geqslant|lt|gt|neq?|in|perp|parallel|cong|sim|subset\w*)(?![A-Za-z])"
)
#: Chinese statements about points and lines: $AB$是圆的直径.
_STATES = re.compile(r"是|为|在|平分|垂直|平行|相切|等于|经过")
#: Least share of common characters for two clauses to look alike.
_ALIKE = 0.35


@dataclass(frozen=True, slots=True)
class Clause:
    """``text[start:end]``, without its opening, and the separator after it."""

    start: int
    end: int
    separator: str


def shuffle_clauses(question: Question, rng: np.random.Generator) -> Question:
    """Shuffle parallel conditions; the clause that asks stays last."""
    groups = [group for group in conditions(question.stem) if len(group) > 1]
    if not groups:
        return question
    group = groups[rng.integers(len(groups))]
    order = rng.permutation(len(group))
    if (order == np.arange(len(group))).all():
        order = np.roll(order, 1)
    stem = question.stem
    changes = {
        (slot.start, slot.end): stem[group[other].start : group[other].end]
        for slot, other in zip(group, order, strict=True)
    }
    return replace(question, stem=edit(stem, changes))


def repeat_clause(question: Question, rng: np.random.Generator) -> Question:
    """Repeat one condition after itself or a parallel one."""
    groups = conditions(question.stem)
    if not groups:
        return question
    group = groups[rng.integers(len(groups))]
    clause, after = group[rng.integers(len(group))], group[rng.integers(len(group))]
    again = after.separator + question.stem[clause.start : clause.end]
    return replace(question, stem=edit(question.stem, {(after.end, after.end): again}))


def conditions(text: str) -> list[list[Clause]]:
    """Return groups of parallel conditions: clauses within a sentence, and whole sentences.

    If no clause asks recognisably, the last one does. A text with numbered parts has no conditions.
    """
    if _LABEL.search(text):
        return []
    groups: list[list[Clause]] = []
    statements: list[Clause] = []
    sentences = _parts(text, 0, len(text), SENTENCE_ENDS)
    for sentence in sentences:
        clauses = _parts(text, sentence.start, sentence.end, CLAUSE_ENDS)
        last = len(clauses) - 1 if sentence is sentences[-1] else None
        asking = next((at for at, clause in enumerate(clauses) if _asks(text, clause)), last)
        if not any(_is_list(text, *both) for both in pairwise(clauses)):
            opened = [_without_opening(text, clause, at == 0) for at, clause in enumerate(clauses[:asking])]
            groups += _side_by_side(text, opened, _is_condition)
        if asking is not None:
            break
        statements.append(sentence)
    return groups + _side_by_side(text, statements, _is_statement)


def _side_by_side(text: str, clauses: Sequence[Clause], fits: Callable[[str, Clause], bool]) -> list[list[Clause]]:
    """Return runs of neighbours that fit, each looking like the one before it."""
    runs: list[list[Clause]] = [[]]
    for clause in clauses:
        if not fits(text, clause):
            runs.append([])
        elif not runs[-1] or _look_alike(text, runs[-1][-1], clause):
            runs[-1].append(clause)
        else:
            runs.append([clause])
    return [run for run in runs if run]


def _look_alike(text: str, first: Clause, second: Clause) -> bool:
    """Return whether two conditions are of one kind; Chinese ones without relations are compared by characters."""
    if not _CHINESE.search(text, first.start, second.end) or (_relates(text, first) and _relates(text, second)):
        return True
    left, right = ({*text[clause.start : clause.end]} - {*"0123456789$. "} for clause in (first, second))
    return len(left & right) >= _ALIKE * len(left | right)


def _parts(text: str, start: int, end: int, ends: re.Pattern[str]) -> list[Clause]:
    """Split ``text[start:end]`` at matches of ``ends`` in prose, outside brackets."""
    parts, place, is_chinese = [], start, _is_chinese(text)
    for cut, after in [*cuts(text, start, end, ends), (end, end)]:
        body = text[place:cut]
        first, last = place + len(body) - len(body.lstrip()), place + len(body.rstrip())
        if first < last:
            parts.append(Clause(first, last, _separator(text[cut:after], ends, is_chinese)))
        place = after
    return parts


@lru_cache(maxsize=256)
def _is_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def _separator(mark: str, ends: re.Pattern[str], is_chinese: bool) -> str:
    """Return the separator between this part, which ``mark`` ends, and its repetition."""
    if not mark:
        mark = ("，" if is_chinese else ",") if ends is CLAUSE_ENDS else ("。" if is_chinese else ".")
    return mark if _CHINESE.search(mark) or mark.isspace() else mark + " "


def _asks(text: str, clause: Clause) -> bool:
    return bool(_ASKS.search(text, clause.start, clause.end) or _DEMANDS.match(text, clause.start, clause.end))


def _without_opening(text: str, clause: Clause, first: bool) -> Clause:
    opening = _JOINS.match(text, clause.start, clause.end)
    if first and not opening:
        opening = _OPENS.match(text, clause.start, clause.end)
    return replace(clause, start=opening.end()) if opening and opening.end() < clause.end else clause


def _is_list(text: str, first: Clause, second: Clause) -> bool:
    """Return whether the comma between two clauses separates list items, "$A$, $B$": formulas without relations."""
    *_, before = segments(text[first.start : first.end])
    after, *_ = segments(text[second.start : second.end])
    sides = before, after
    return all(side.is_formula and not _RELATION.search(side.body) for side in sides)


def _is_condition(text: str, clause: Clause) -> bool:
    if _BEGINS_OTHERWISE.match(text, clause.start, clause.end) or _LEADS_ON.search(text[clause.start : clause.end]):
        return False
    return _relates(text, clause) or (
        _CHINESE.search(text, clause.start, clause.end) is not None and _has_quantity(text, clause)
    )


def _is_statement(text: str, sentence: Clause) -> bool:
    begins_otherwise = _BEGINS_OTHERWISE.match(text, sentence.start, sentence.end)
    points_back = _POINTS_BACK.search(text, sentence.start, sentence.end)
    return not begins_otherwise and not points_back and _has_quantity(text, sentence)


def _relates(text: str, clause: Clause) -> bool:
    """Return whether a formula of the clause has a relation, or its words state one between named points and lines."""
    parts = list(segments(text[clause.start : clause.end]))
    if not any(part.is_formula for part in parts):
        return False
    words = "".join(part.body for part in parts if not part.is_formula)
    return any(_RELATION.search(part.body) for part in parts if part.is_formula) or _STATES.search(words) is not None


def _has_quantity(text: str, clause: Clause) -> bool:
    body = text[clause.start : clause.end]
    return _QUANTITY.search(body) is not None or any(part.is_formula for part in segments(body))
