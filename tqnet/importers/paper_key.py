"""Keys of papers: titles such as ``Answers`` or ``参考答案与试题解析``, and lists as ``1. B 2. C``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from tqnet.importers.paper_lines import masked
from tqnet.text.lists import narrow

_BEFORE = (
    "the|all|correct|right|model|sample|suggested|selected|worked|full|detailed|official|test|exam|quiz|exercises?"
)
_AFTER = (
    "and|to|for|of|with|the|all|answers?|keys?|solutions?|explanations?|notes|hints|exercises?|questions?|problems?"
    r"|test|exam|quiz|worksheet|homework|(?:part|section|chapter|unit|paper|exercise|test)s?(?: (?:[ivx]+|[a-h]|\d+))?"
)
#: The words of a title in lower case, with single spaces. "Answer the questions" is none.
_TITLE = re.compile(
    rf"(?:(?:{_BEFORE}) )*(?:answers|answer (?:keys?|sheets?|guide|scheme)|solutions|mark(?:ing)? (?:schemes?|guide)"
    rf"|ans|answer|key|solution)(?: (?:{_AFTER}))*"
    r"|lösungen|lösungsschlüssel|antworten|réponses|corrigés|respuestas|soluciones|respostas|soluções|gabarito"
    r"|ответы|решения"
    r"|(?:附|参考|參考|标准|標準|正确|正確|试题|試題|试卷|試卷|习题|習題|练习|練習|详细|詳細)*(?:答案|解析|详解|詳解|解答)"
    r"(?:与|與|及|和|试题|試題|习题|習題|参考|參考|答案|解析|详解|詳解|解答|评分|評分|标准|標準|说明|說明)*"
)
#: These stand above the answer of a single question as well. More words make a title of the plural alone.
_ALONE = re.compile(
    r"(?:(?:correct|right) )?(?:ans|answer|key|solution)|gabarito|(?:正确|正確)?答案|解析|详解|詳解|解答"
)
_SINGULAR = re.compile(rf"(?:(?:{_BEFORE}) )*(?:ans|answer|key|solution)(?! (?:key|sheet|guide|scheme))\b")
_REMARK = re.compile(r"[(（][^()（）]*[)）]")
_WORD = re.compile(r"[a-zà-ÿа-яё]+|\d+|[\u4e00-\u9fff]+")
_LONGEST_TITLE = 60

#: Before an answer: "1." or, before several letters, "1-5".
_HEAD = re.compile(
    r"(?<![\d.．])(?P<first>\d{1,4})"
    r"(?:\s*[-–—~～]\s*(?P<last>\d{1,4})(?!\d)\s*[.:：、)）]?|\s*[.．](?P<weak>(?=\d))|\s*[.．)）、:：-])\s*"
)
#: Answers that a number may follow without a space, and those that a number such as "4.12" may follow.
TIGHT = re.compile(r"[A-H]{1,8}|[√×✓✗对错TF]")
_SHORT = re.compile(r"[A-Z]{1,8}|[√×✓✗对错]|[-−]?\d[\d./%°:]*|\$[^$]*\$|\\\(.*\\\)")
_OPEN = tuple("=<>≤≥≈+-−*/×÷(（:：")
#: Numbers to look back for the entry before, so that time is linear.
_BACK = 50


def title(text: str) -> str:
    """Return the words of a key's title; "" for any other line."""
    if len(text) > _LONGEST_TITLE:
        return ""
    separator = "" if re.search("[\u4e00-\u9fff]", text) else " "
    words = separator.join(_WORD.findall(_REMARK.sub(" ", text).lower().replace("'s", "")))
    # Nothing but words and the signs between them.
    is_plain = not re.search(r"[^\w\s【】\[\]()（）:：.,，、&/|'’–—-]|_", text)
    is_title = is_plain and _TITLE.fullmatch(words) and (not _SINGULAR.match(words) or _ALONE.fullmatch(words))
    return words if is_title else ""


def is_of_one_question(title: str) -> bool:
    """Return True if the title may stand above the answer of a single question."""
    return _ALONE.fullmatch(title) is not None


def cut(text: str) -> tuple[str, str]:
    """Return a key's title and the entries after it in its line; both "" if the line begins with no title."""
    before = re.match(r"\D*", text)
    rest = text[before.end() :] if before else ""
    if rest and before and _HEAD.match(rest) and (words := title(before[0])):
        return words, rest
    return title(text), ""


def begins_with_entry(text: str) -> int:
    """Return the number of the entry that a line begins with; 0 without one."""
    head = _HEAD.match(text)
    return int(head["first"]) if head else 0


class _Head(NamedTuple):
    """A number that may begin an entry: of questions ``first`` to ``last``.

    Attributes:
        is_weak: It may be part of a decimal, "4.12".
        is_glued: It stands right after an answer, "1.B2.A".
    """

    first: int
    last: int
    start: int
    end: int
    is_weak: bool
    is_glued: bool


class _Chain(NamedTuple):
    """Entries up to a head: steps by one, entries, and sure heads among them, more of which are better."""

    score: tuple[int, int, int]
    before: int
    is_certain: bool


def entries(text: str, after_title: bool = False) -> list[tuple[int, str]]:
    """Return the answers of a key's paragraph; [] unless all of them can be read.

    Numbers that rise by one decide where entries begin; others begin an entry only if they are clear ("7. B").

    Args:
        after_title: Words may stand before the first.
    """
    text = text.strip()
    heads = _heads(masked(text))
    if after_title and heads:
        text = text[heads[0].start :]
        heads = _heads(masked(text))
    if not heads or heads[0].start > 0:
        return []
    is_spaced = text[heads[0].end - 1].isspace()
    weak = [head for head in heads if head.is_weak]
    if is_spaced:  # "1. x is 2.5"
        heads = [head for head in heads if not head.is_weak or head.start == 0]
    chain = _best_chain(text, heads)
    skipped = ((a, b) for a, b in pairwise(chain) if b.first > a.last + 1)
    if is_spaced and any(h.first == a.last + 1 and a.end < h.start < b.start for a, b in skipped for h in weak):
        return []
    out: list[tuple[int, str]] = []
    for head, end in zip(chain, [*(head.start for head in chain[1:]), len(text)], strict=False):
        answer = text[head.end : end].strip().strip(";；,，、").strip()
        count = head.last - head.first + 1
        answers = answer.split() if count > 1 else [answer]
        if len(answers) != count:  # "ABCD", not "A B C D"
            answers = list("".join(answers))
        if len(answers) != count or not all(answers):
            return []
        out += enumerate(answers, head.first)
    return out


def _heads(text: str) -> list[_Head]:
    heads = []
    text = narrow(text)
    for match in _HEAD.finditer(text):
        start = match.start()
        before, earlier = text[start - 1 : start] or " ", text[max(start - 2, 0) : start - 1]
        is_apart = before.isspace() or before in ";；,，】]"
        is_apart = is_apart or (before in ":：、" and bool(earlier) and not earlier.isdigit() and not earlier.isspace())
        is_glued = not is_apart and bool(TIGHT.fullmatch(before))
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if (is_apart or is_glued) and (last > first or not match["last"]):
            heads.append(_Head(first, last, start, match.end(), match["weak"] is not None, is_glued))
    return heads


def _best_chain(text: str, heads: list[_Head]) -> list[_Head]:
    """Return the heads that are read; [] if it is uncertain which."""
    chains: list[_Chain | None] = [_Chain((0, 1, 1), -1, True)]
    for place, head in enumerate(heads[1:], 1):
        chosen: _Chain | None = None
        for back in range(max(place - _BACK, 0), place):
            chain, before = chains[back], heads[back]
            if chain is None or before.end >= head.start:  # an answer is never empty
                continue
            is_next, is_clear = head.first == before.last + 1, not (head.is_weak or head.is_glued)
            answer = text[before.end : head.start].strip().strip(";；,，、").strip()
            if not (is_next or (is_clear and head.first > before.last)):
                continue
            if (head.is_glued and not TIGHT.fullmatch(narrow(answer))) or (head.is_weak and answer.endswith(_OPEN)):
                continue
            is_certain = chain.is_certain and not (head.is_weak and not _SHORT.fullmatch(answer))
            steps, count, clear = chain.score
            score = (steps + is_next, count + 1, clear + is_clear)
            if chosen is None or score > chosen.score:
                chosen = _Chain(score, back, is_certain)
            elif score == chosen.score:
                chosen = chosen._replace(is_certain=False)
        chains.append(chosen)
    whole = [(chain.score, place) for place, chain in enumerate(chains) if chain and heads[place].end < len(text)]
    score, place = max(whole, default=((0, 0, 0), -1))
    is_tie = sum(other == score for other, _ in whole) > 1
    last = chains[place] if place >= 0 else None
    if last is None or is_tie or not last.is_certain:
        return []
    read = []
    while place >= 0:
        read.append(heads[place])
        place = chain.before if (chain := chains[place]) else -1
    return read[::-1]
