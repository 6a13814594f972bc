"""Answers as JSON models, and views of the questions in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, Field

from tqnet.questions import Question
from tqnet.questions.markup import text_html
from tqnet.search.index import Index
from tqnet.search.known import Known, Relation
from tqnet.search.records import Filter
from tqnet.search.retrieval import Candidate
from tqnet.search.searcher import Answer
from tqnet.text.formulas import segments
from tqnet.text.normal import normal_formula
from tqnet.text.sentences import readable, search_words

_NOTE = "With LaTeX as MathML; everything else is escaped."


class QuestionHtml(BaseModel):
    """Texts of a question as HTML."""

    stem: str = Field(description=_NOTE)
    options: list[str] = Field(description=_NOTE)
    answer: str | None = None
    analysis: str | None = None


class QuestionBody(BaseModel):
    """A question of the index."""

    id: str
    stem: str
    options: list[str]
    answer: str | None = None
    analysis: str | None = None
    knowledge: list[list[str]] = Field(description="Concepts, each a path from coarse to fine")
    difficulty: float | None
    type: str | None
    language: str | None
    source: str | None
    figures: int = Field(description="Number of figures; GET /questions/{id}/figures/{n}, from 1")
    html: QuestionHtml


class Result(BaseModel):
    """A result of a search."""

    score: float = Field(description="Score that orders the results: rank, else evidence, else the score of retrieval")
    cosine: float | None = Field(description="Cosine of the vectors; null if they were not searched")
    words: float | None = Field(description="BM25 of the common words; null if the question was not found by text")
    figure: float | None = Field(
        description="Best cosine of a figure of the query and one of the question, by their looks; null without figures"
    )
    evidence: float | None = Field(
        description="Likeness by vectors, characters, words, formulas and concepts: 0 for what unrelated texts find, 1 "
        "for the same question; only results above the floor are listed"
    )
    rank: float | None = Field(description="The ranker's probability that it is similar; null without a ranker")
    remarks: list[str] = Field(description="Remarks of re-ranking")
    shared: list[str] = Field(description="Words and formulas in common with the query")
    question: QuestionBody
    more: list[QuestionBody] = Field(description="At most 20 questions of lower rank that are like it (fold)")


class IdResult(BaseModel):
    """A result of a search with ``ids_only``."""

    id: str
    score: float


class Difference(BaseModel):
    """A difference between the query and a question that repeats it."""

    query: str
    question: str


class Repeat(BaseModel):
    """A question of the index that repeats the query."""

    relation: Relation = Field(
        description="identical: the same except for spaces; near: except for spelling, typing, the order of options or "
        "filler words; variant: with other numbers or figures"
    )
    differs: list[Difference]
    question: QuestionBody


class Dropped(BaseModel):
    """A result that re-ranking dropped."""

    id: str
    why: str


class SearchAnswer(BaseModel):
    """The answer to a search, best first."""

    query: QuestionHtml
    duplicates: list[Repeat] = Field(description="Questions that repeat the query, the nearest first")
    results: list[Result] | list[IdResult] = Field(description="With `ids_only`, only `id` and `score`")
    more: bool = Field(description="Whether more may follow, at the next offset")
    notes: list[str] = Field(description="Deviations from the request")
    dropped: list[Dropped] = Field(description="Results that re-ranking dropped")


class BatchItem(BaseModel):
    """The answer to one search of a batch, or in ``detail`` why there is none."""

    status: int = Field(description="Status that POST /search would have")
    answer: SearchAnswer | None = None
    detail: str | None = None


class BatchAnswer(BaseModel):
    """The answers to a batch, in order."""

    answers: list[BatchItem]


class Written(BaseModel):
    """Counts of the questions of a PUT; the next search finds them."""

    added: int
    changed: int
    unchanged: int
    encoded: int = Field(description="Number of questions with new text")


class CheckAnswer(BaseModel):
    """Whether the index already has a question."""

    relation: Relation | None = Field(description="Relation of the nearest question; null if nothing repeats the query")
    duplicates: list[Repeat] = Field(description="Questions that repeat the query, the nearest first")
    notes: list[str]


class Facet(BaseModel):
    """A value to filter by, and the number of questions with it."""

    value: str
    questions: int


class Suggestions(BaseModel):
    """Values to filter by, at most a minute old."""

    bank: str
    questions: int
    types: list[Facet]
    languages: list[Facet]
    concepts: list[Facet] = Field(description="Paths from coarse to fine, with /; the most frequent ones")
    more: list[str] = Field(description="Names of the lists that are cut")
    difficulty: list[float] = Field(description="Minimum and maximum; empty if no question has a difficulty")
    figures: bool = Field(description="Whether any question has a figure")
    judgements: bool = Field(default=False, description="Whether POST /pairs is available")


class Problem(BaseModel):
    """The reason of an error."""

    detail: str


class Health(BaseModel):
    """The server is running."""

    status: Literal["ok"] = "ok"


class Ready(Health):
    """The index can be read."""

    note: str | None = Field(default=None, description="Why an older version of the index is searched; usually missing")


#: Common words worth showing: not "x", not "\\frac".
_TELLING = re.compile(r"[^\W\d_]{2,}")

#: Minimum length of common formulas worth showing.
_FORMULA = 3

#: Maximum number of folded questions in the view of a result.
_FOLDED = 20

#: Maximum number of common words and formulas to show.
_SHARED = 8


def answer_view(answer: Answer, *, ids_only: bool = False) -> SearchAnswer:
    """Return the view of an answer and its query; with ``ids_only``, only id and score of results."""
    query = answer.query.question
    return SearchAnswer(
        query=html_view(query),
        duplicates=list(map(_repeat, answer.known)),
        more=answer.more,
        results=_id_results(answer.candidates) if ids_only else _results(answer.candidates, _parts(query)),
        notes=list(answer.notes),
        dropped=[Dropped(id=dropped.question.id, why=dropped.notes[-1]) for dropped in answer.dropped],
    )


def _repeat(known: Known) -> Repeat:
    differs = [Difference(query=ours, question=theirs) for ours, theirs in known.differs]
    return Repeat(relation=known.relation, differs=differs, question=question_view(known.question))


def question_view(question: Question, *, solution: bool = False) -> QuestionBody:
    """Return the view of a question, with answer and analysis if ``solution``."""
    if not solution:
        question = replace(question, answer=None, analysis=None)
    fields = {name: getattr(question, name) for name in QuestionBody.model_fields if hasattr(question, name)}
    return QuestionBody(**fields, figures=len(question.images), html=html_view(question))


def _id_results(candidates: Sequence[Candidate]) -> list[IdResult]:
    return [IdResult(id=candidate.question.id, score=round(candidate.relevance, 6)) for candidate in candidates]


def _results(candidates: Sequence[Candidate], query_parts: dict[str, str]) -> list[Result]:
    return [_result(candidate, query_parts) for candidate in candidates]


def _result(candidate: Candidate, query_parts: dict[str, str]) -> Result:
    parts = _parts(candidate.question)
    shared = [part for part in query_parts if part in parts]
    return Result(
        score=round(candidate.relevance, 6),
        cosine=candidate.cosine,
        words=candidate.bm25,
        figure=candidate.figure,
        evidence=candidate.likeness,
        rank=candidate.probability,
        remarks=list(candidate.notes),
        shared=[query_parts[part] for part in shared if not _is_within(part, shared)][:_SHARED],
        question=question_view(candidate.question),
        more=[question_view(other.question) for other in candidate.folded[:_FOLDED]],
    )


def _is_within(word: str, others: Sequence[str]) -> bool:
    """Return True for a Chinese word that is part of another."""
    return not word.isascii() and any(word in other for other in others if word != other)


def html_view(question: Question) -> QuestionHtml:
    """Return the texts of a question as HTML."""
    return QuestionHtml(
        stem=text_html(question.stem.strip()),
        options=list(map(text_html, question.options)),
        answer=text_html(question.answer) if question.answer else None,
        analysis=text_html(question.analysis) if question.analysis else None,
    )


def _parts(question: Question) -> dict[str, str]:
    """Map words and normalized formulas to their readable form."""
    formulas = [segment.body for segment in segments(question.content) if segment.is_formula]
    return {normal_formula(formula): readable(f"${formula}$") for formula in formulas if len(formula) >= _FORMULA} | {
        word: word for word in search_words(question.content) if _TELLING.fullmatch(word)
    }


#: Maximum number of values of a field to suggest, the most frequent ones.
_SUGGESTED = 500


def suggestions(index: Index) -> Suggestions:
    """Collect the values to filter by, in one pass over an index."""
    values: dict[str, Counter[str]] = {field: Counter() for field in ("type", "language", "concept")}
    questions = figures = 0
    ends: list[float] = []
    for table in index.engine.scan([*values, "difficulty", "figures"]):
        questions += len(table)
        figures += pc.sum(table["figures"]).as_py() or 0
        for field, counter in values.items():
            column = table[field]
            flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
            counts = pc.value_counts(flat.drop_null()).to_pylist()
            counter.update({entry["values"]: entry["counts"] for entry in counts})
        ends += [end for end in pc.min_max(table["difficulty"]).as_py().values() if end is not None]
    values["concept"] = _paths(values["concept"])
    return Suggestions(
        bank=index.manifest.bank,
        questions=questions,
        difficulty=[min(ends), max(ends)] if ends else [],
        figures=figures > 0,
        more=[f"{field}s" for field, counter in values.items() if len(counter) > _SUGGESTED],
        types=_facets(values["type"]),
        languages=_facets(values["language"]),
        concepts=_facets(values["concept"]),
    )


def _facets(counter: Counter[str]) -> list[Facet]:
    return [Facet(value=value, questions=count) for value, count in sorted(counter.most_common(_SUGGESTED))]


def _paths(concepts: Counter[str]) -> Counter[str]:
    """Leave out names that stand for paths: an index has ``Equations`` as well as ``Algebra/Equations``."""
    first = {path.partition("/")[0] for path in concepts if "/" in path}
    last = {path.rpartition("/")[2] for path in concepts if "/" in path}
    return Counter({path: count for path, count in concepts.items() if path in first or path not in last})


def unknown_concepts(index: Index, where: Sequence[Filter], suggested: Callable[[], Suggestions]) -> list[str]:
    """Return a note on each concept of a filter that no question has, with the most similar existing one."""
    named = (value for filter in where if filter.field == "concept" for value in map(str, filter.values))
    notes = []
    for concept in dict.fromkeys(named):
        if index.engine.count([Filter("concept", "=", (concept,))]):
            continue
        paths = [facet.value for facet in suggested().concepts]
        by_name = {name.casefold(): path for path in reversed(paths) for name in (path.rpartition("/")[2], path)}
        meant = get_close_matches(concept.casefold(), by_name, 1)
        notes.append(f"no concept {concept!r}" + (f"; did you mean {by_name[meant[0]]!r}?" if meant else ""))
    return notes
