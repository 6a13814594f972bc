"""Views of a text in English or Chinese: its sentences and clauses, its search terms, a form for terminals."""

from __future__ import annotations

import logging
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from operator import itemgetter

import rjieba
from pylatexenc.latex2text import LatexNodes2Text

from tqnet.text.formulas import Span, formula_tokens, segments
from tqnet.text.latex import prose
from tqnet.text.normal import normal_formula

CLAUSE_ENDS = re.compile(r"[,;](?=\s|$)|[，；]")
SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)|[。！？．]|\n\s*\n")  # a single newline may just wrap a long line
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|fig|no|st|mr|mrs|ms|dr|(?-i:[A-Z]))$", re.IGNORECASE)
_MARKS = " \t\r\n.,;。，；．"


def cuts(text: str, start: int, end: int, ends: re.Pattern[str]) -> list[Span]:
    """Return (start, end) of each mark that ``ends`` matches in the prose of ``text[start:end]``, outside brackets.

    A question mark belongs to the sentence that it ends, so its cut is after it.
    """
    depth, marks = 0, []
    pattern = re.compile(rf"(?P<open>[(（\[])|(?P<close>[)）\]])|{ends.pattern}")
    spans = prose(text)
    for place in range(bisect_right(spans, start, key=itemgetter(1)), bisect_left(spans, end, key=itemgetter(0))):
        first, last = spans[place]
        for match in pattern.finditer(text, max(first, start), min(last, end)):
            if match["open"] or match["close"]:
                depth = max(0, depth + (1 if match["open"] else -1))
            # A dot may belong to an abbreviation or an initial.
            elif not depth and not (
                match[0] == "." and _ABBREVIATED.search(text[max(0, match.start() - 8) : match.start()])
            ):
                marks.append((match.start() + (match[0] in "?？"), match.end()))
    return marks


def halves(text: str) -> list[Span]:
    """Return every cut of a text into two segments: between sentences, or between clauses of a single sentence.

    A segment must say something: a blank to be filled in or an empty bracket does not count.
    """
    marks = [place for place, sign in enumerate(text) if sign.isalnum()]
    for ends in (SENTENCE_ENDS, CLAUSE_ENDS):
        if kept := [
            cut for cut in cuts(text, 0, len(text), ends) if marks and marks[0] < cut[0] and cut[1] <= marks[-1]
        ]:
            return kept
    return []


def halved(text: str, cut: Span) -> tuple[str, str]:
    """Return both segments without the marks at their ends, except question marks.

    A comma or a full stop would reveal which of the two comes first.
    """
    return text[: cut[0]].strip(_MARKS), text[cut[1] :].strip(_MARKS)


# Search terms: exact text matching in FSE, "Recall Module". Full-text engines see only these words, separated by white
# space.

_STOPS = """
    a an the of to in on at by for from with as and or but if then than that this these those there it its is are was
    were be been being has have had do does did will would shall should can could may might must so such which who whom
    whose what when where how we you your they their he his she her i our us let s t
    的 了 和 与 或 是 在 为 有 则 若 如 把 被 从 到 这 那 其 该 各 个 中 一个 我们 他们 下列 如图
"""
#: Words of nearly every question.
STOP_WORDS = frozenset(_STOPS.split())

_CHINESE = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PROSE = re.compile(
    rf"(?P<command>\\[A-Za-z]+)|(?P<number>\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+(?:\.\d+)?)|(?P<chinese>[{_CHINESE}]+)|(?P<word>[^\W\d_{_CHINESE}]+)"
)
#: Signs that do not distinguish formulas.
_SIGNS = frozenset("{}()[].,;:'\"|") | {r"\{", r"\}", r"\\", r"\|"}
#: Shorter formulas are found by their tokens.
_WHOLE_FORMULA = 4


def search_words(text: str) -> list[str]:
    """Return the search terms of a text in order, each once: how often a question says x or 2 means little.

    Prose: lower case, Chinese by words and the words within them (rjieba), without stop words. Formulas: normalized
    tokens (`tqnet.text.normal`), and each longer formula also as a whole.
    """
    words: list[str] = []
    for segment in segments(text):
        words += _of_formula(segment.body) if segment.is_formula else _of_prose(segment.body)
    return list(dict.fromkeys(words))


def _of_prose(text: str) -> Iterator[str]:
    for match in _PROSE.finditer(unicodedata.normalize("NFKC", text)):
        if match["chinese"]:
            yield from (word for word in rjieba.cut_for_search(match["chinese"], False) if word not in STOP_WORDS)
        elif match["number"]:
            yield match["number"].replace(",", "")
        elif (word := match["command"] or match["word"].lower()) not in STOP_WORDS:
            yield word


def _of_formula(body: str) -> list[str]:
    formula = normal_formula(body)
    tokens = [token for token in formula_tokens(formula) if token not in _SIGNS]
    return [*tokens, "".join(("$", *formula.split(), "$"))] if len(tokens) >= _WHOLE_FORMULA else tokens


# Formulas in Unicode.

_GROUP = r"\{([^{}]*)\}"
#: Patterns of commands whose groups contain no other group, and their readable form.
_INNERMOST: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"\\frac{_GROUP}{_GROUP}"), lambda m: f"{_operand(m[1])}/{_operand(m[2])}"),
    (re.compile(rf"\\binom{_GROUP}{_GROUP}"), lambda m: f"C({m[1]},{m[2]})"),
    (re.compile(rf"\\sqrt\[([^\]{{}}]*)\]{_GROUP}"), lambda m: f"root[{m[1]}]({m[2]})"),
    (re.compile(rf"\\sqrt{_GROUP}"), lambda m: f"√{_operand(m[1])}"),
    (re.compile(r"\^\{(\\circ|\*)\}"), lambda m: "°" if m[1] == r"\circ" else "*"),
    (re.compile(rf"([_^]){_GROUP}"), lambda m: f"{m[1]}{_operand(m[2])}"),
)
_SIMPLE = re.compile(r"\w+(?:\.\d+)?|\\[A-Za-z]+|")


def readable(text: str) -> str:
    r"""Return ``text`` with its formulas in Unicode: ``$\frac{1}{2} \leq x^{n+1}$`` is ``1/2≤x^(n+1)``."""
    return "".join(_formula(segment.body) if segment.is_formula else segment.body for segment in segments(text))


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a readable text in one line of at most ``most`` characters."""
    line = " ".join(readable(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _formula(body: str) -> str:
    plain = normal_formula(body)
    before = ""
    while before != plain:
        before = plain
        for pattern, replaced in _INNERMOST:
            plain = pattern.sub(replaced, plain)
    try:
        # Tolerant parsing rereads what is never closed: exponential time for repeated `\documentclass[`.
        return _reader().latex_to_text(plain.replace("%", r"\%"), tolerant_parsing=False).strip()
    except Exception:  # many kinds, for an incomplete formula or a macro without its argument
        return body


def _operand(text: str) -> str:
    """Put anything but a number or name in brackets."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"


@cache
def _reader() -> LatexNodes2Text:
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # a line for every macro without its argument
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)
