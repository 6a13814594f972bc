r"""The words by which a text is found again: exact text matching in FSE, "Recall Module".

Engines of full text see these words and nothing else, separated by white space, so that all of them count the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import rjieba

from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.normal import normal_formula

_STOPS = """
    a an the of to in on at by for from with as and or but if then than that this these those there it its is are was
    were be been being has have had do does did will would shall should can could may might must so such which who whom
    whose what when where how we you your they their he his she her i our us let s t
    的 了 和 与 或 是 在 为 有 则 若 如 把 被 从 到 这 那 其 该 各 个 中 一个 我们 他们 下列 如图
"""
#: Words that nearly every question has.
STOP_WORDS = frozenset(_STOPS.split())

_CHINESE = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PROSE = re.compile(
    rf"(?P<command>\\[A-Za-z]+)|(?P<number>\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+(?:\.\d+)?)|(?P<chinese>[{_CHINESE}]+)|(?P<word>[^\W\d_{_CHINESE}]+)"
)
#: Signs that say nothing about what a formula is about.
_SIGNS = frozenset("{}()[].,;:'\"|") | {r"\{", r"\}", r"\\", r"\|"}
#: Shorter formulas are as well found by their tokens.
_WHOLE = 4


def search_words(text: str) -> list[str]:
    """The words of a text in order, each once: how often a question says x or 2 tells little about it.

    Prose: lower case, Chinese by words (rjieba), without stop words. Formulas: their tokens in one form
    (`tqnet.text.normal`), and each formula of some length once more as a whole.
    """
    words: list[str] = []
    for segment in segments(text):
        words += _of_formula(segment.body) if segment.is_formula else _of_prose(segment.body)
    return list(dict.fromkeys(words))


def _of_prose(text: str) -> Iterator[str]:
    for match in _PROSE.finditer(unicodedata.normalize("NFKC", text)):
        if match["chinese"]:
            yield from (word for word in rjieba.cut(match["chinese"], False) if word not in STOP_WORDS)
        elif match["number"]:
            yield match["number"].replace(",", "")
        elif (word := match["command"] or match["word"].lower()) not in STOP_WORDS:
            yield word


def _of_formula(body: str) -> list[str]:
    formula = normal_formula(body)
    tokens = [token for token in formula_tokens(formula) if token not in _SIGNS]
    return [*tokens, "".join(("$", *formula.split(), "$"))] if len(tokens) >= _WHOLE else tokens
