"""Questions already in an index: identical to a query, nearly so, or from the same template."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args

from tqnet.questions import Question
from tqnet.questions.traits import same_figures
from tqnet.search.engine import SearchEngine
from tqnet.search.records import Filter, content_key, form_key, record_question
from tqnet.text.typed import with_formulas

#: How a question of the index is related to the query, the nearest first:
#:
#: - ``identical``: the same text and figures, except for spaces.
#: - ``near``: the same except for the order of options, spelling and typing, or words that mean the same.
#: - ``variant``: the same with other numbers, or with other figures.
Relation = Literal["identical", "near", "variant"]
_RELATIONS: tuple[Relation, ...] = get_args(Relation)

#: Maximum number of questions per relation, and of questions read per key.
_MAX_KNOWN, _MAX_READ = 5, 20
#: Maximum number of differences listed per question.
_MAX_DIFFERENCES = 8

#: Maximum number of token pairs between common beginning and end; beyond it, texts are not aligned.
_MAX_ALIGNED = 250_000

_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:[.,]\d+)*|[A-Za-z]+|\S")
_COLUMNS = ("id", "question", "images", "content", "form")


@dataclass(frozen=True)
class Known:
    """A question of the index, its relation to a query, and the differences, as (in the query, in the question)."""

    question: Question
    relation: Relation
    differs: tuple[tuple[str, str], ...]


class Lookup:
    """Finds the questions of an index that repeat ``query``, other than the query itself.

    Args:
        variants: Also find variants.
    """

    def __init__(self, engine: SearchEngine, query: Question, *, variants: bool = False):
        self._engine, self._query, self._variants = engine, query, variants
        # Content separately: "Find x." stands below a thousand drawings, and only some of one form are read.
        self._keys = {"content": content_key(query), "form": form_key(query)}
        if variants:
            self._keys["template"] = form_key(query, numbers=False)
        tables = [
            engine.select(Filter(name, "=", (key,)), _COLUMNS, _MAX_READ) for name, key in self._keys.items() if key
        ]
        self._rows = [row for table in tables for row in table.to_pylist()]

    def known(self, near: Collection[str] = ()) -> list[Known]:
        """Return the questions that repeat the query, the nearest first.

        Args:
            near: Ids of near duplicates found by a search.
        """
        near_rows = self._engine.get(list(near), _COLUMNS).to_pylist() if near else []
        rows = {row["id"]: row for row in [*self._rows, *near_rows] if row["id"] != self._query.id}
        by_relation: dict[Relation, list[Known]] = {relation: [] for relation in _RELATIONS}
        for id, row in sorted(rows.items()):
            question = record_question(row)
            differs = tuple(differences(self._query, question))
            relation: Relation = "variant"
            if row["content"] == self._keys["content"] or (row["form"] == self._keys["form"] and not differs):
                relation = "identical"
            elif id in near or (row["form"] == self._keys["form"] and _may_show_the_same(self._query, question)):
                relation = "near"
            elif not self._variants:
                continue
            by_relation[relation].append(Known(question, relation, differs))
        return [known for relation in _RELATIONS for known in by_relation[relation][:_MAX_KNOWN]]


def _may_show_the_same(query: Question, question: Question) -> bool:
    """Return True for the same figures, and for a query typed without figures."""
    try:
        return not query.images or same_figures(query.images, question.images)
    except (OSError, ValueError):  # a figure is missing or unreadable
        return False


def differences(query: Question, question: Question) -> list[tuple[str, str]]:
    """Return the differences, as (in the query, in the question); differences in spaces do not count."""
    # A typed query has its formulas in dollars; the question may have them as typed.
    pairs = min((list(_differing(query.stem, stem)) for stem in (question.stem, with_formulas(question.stem))), key=len)
    if sorted(query.options) == sorted(question.options) and query.options != question.options:
        pairs.append((_lettered(query.options), _lettered(question.options)))
    else:
        pairs += _differing("\n".join(query.options), "\n".join(question.options))
    if len(query.images) != len(question.images):
        pairs.append((_counted(query.images), _counted(question.images)))
    elif query.images and not _may_show_the_same(query, question):
        pairs.append(("figures", "other figures"))
    return pairs[:_MAX_DIFFERENCES]


def _differing(first: str, second: str) -> Iterable[tuple[str, str]]:
    left, right = _TOKEN.findall(first), _TOKEN.findall(second)
    start = _shared_beginning(left, right)
    same_end = _shared_beginning(left[start:][::-1], right[start:][::-1])
    left, right = left[start : len(left) - same_end], right[start : len(right) - same_end]
    if len(left) * len(right) > _MAX_ALIGNED:  # too slow to align
        yield " ".join(left), " ".join(right)
        return
    for kind, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            yield " ".join(left[i:j]), " ".join(right[k:m])


def _shared_beginning(first: Sequence[str], second: Sequence[str]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


def _lettered(options: Sequence[str]) -> str:
    return " ".join(f"({option})" for option in options)


def _counted(images: Sequence[str]) -> str:
    return f"{len(images)} figure{'s' * (len(images) != 1)}"
