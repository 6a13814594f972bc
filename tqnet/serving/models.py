"""What is asked and what is answered, as JSON."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from tqnet.questions import Question
from tqnet.questions.markup import text_html
from tqnet.search.index import Index
from tqnet.search.retrieval import Candidate
from tqnet.search.searcher import Answer
from tqnet.text.formulas import segments
from tqnet.text.normal import normal_formula
from tqnet.text.sentences import readable, search_words

_NOTE = "LaTeX in it became MathML; everything else is escaped."


class SearchBody(BaseModel):
    """A query: a text and figures, either, or the id of a question of the index."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, description="Stem of the query, with LaTeX formulas: $..$, $$..$$, \\(..\\)")
    id: str | None = Field(None, max_length=2000, description="What is similar to this question of the index?")
    k: int = Field(5, ge=1, le=100, description="How many are wanted")
    filters: list[Annotated[str, Field(max_length=2000)]] = Field(
        [],
        max_length=20,
        description="Conditions that hold together: difficulty<=3, type=choice|blank, concept=Algebra/Equations. "
        "Fields: id, concept, difficulty, type, language, source, figures",
    )
    by: Literal["both", "text", "vector"] = Field("both", description="What finds candidates")
    difficulty: float | None = Field(None, allow_inf_nan=False, description="Of the query, if it is a text or figures")
    student: Literal["strong", "weak"] | None = Field(
        None, description="Nothing easier than the query for a strong one, nothing harder for a weak one"
    )
    tolerance: float = Field(0.0, ge=0, allow_inf_nan=False, description="Difficulties so near count as the same")
    stage: Literal["practice", "review"] | None = Field(
        None, description="Nothing beyond the current section, or semester, of the server's curriculum"
    )
    prefer: Literal["variant", "similar"] | None = Field(
        None, description="Which kind comes first, by the server's classifier of pairs; duplicates are left out"
    )
    section: str | None = Field(None, max_length=2000, description="The current one; by default the query's latest")
    diversity: float = Field(0.0, ge=0, le=1, description="How much repetitions are put back")


class QuestionHtml(BaseModel):
    """Texts of a question for a page."""

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
    figures: int = Field(description="How many; GET /questions/{id}/figures/{n}, from 1")
    html: QuestionHtml


class Result(BaseModel):
    """A question that was found."""

    score: float = Field(description="Of recall, whose order may be another one; more is better")
    cosine: float | None = Field(description="Of the vectors; null where they were not asked")
    words: float | None = Field(description="BM25 of the words in common; null where the text has not found it")
    evidence: float | None = Field(description="By vectors, characters and concepts; the order without a ranker")
    rank: float | None = Field(description="How similar the ranker finds it, 0 to 1; null without one")
    remarks: list[str] = Field(description="What re-ranking says of it")
    shared: list[str] = Field(description="Words and formulas that it shares with the query")
    question: QuestionBody


class Dropped(BaseModel):
    """A question that was found and left out."""

    id: str
    why: str


class SearchAnswer(BaseModel):
    """What was found, best first."""

    query: QuestionHtml
    results: list[Result]
    notes: list[str] = Field(description="What was done otherwise than asked")
    dropped: list[Dropped] = Field(description="What re-ranking has left out")


class Suggestions(BaseModel):
    """Values to filter by; at most a minute old."""

    bank: str
    questions: int
    types: list[str]
    languages: list[str]
    concepts: list[str]
    difficulty: list[float] = Field(description="The least and the greatest; empty if no question has one")
    figures: bool = Field(description="Whether any question has one")


class Problem(BaseModel):
    """Why there is no answer."""

    detail: str


class Health(BaseModel):
    """The server answers, and its index can be read."""

    status: Literal["ok"] = "ok"


# Questions as answers show them: without the paths of their figures, texts also as safe HTML.


#: Of the words in common, those that tell a reader something: not "x", not "\\frac".
_TELLING = re.compile(r"[^\W\d_]{2,}")

#: Of the formulas, those of so many characters.
_FORMULA = 3

#: Words and formulas in common that are named.
_SHARED = 8


def answer_view(answer: Answer) -> SearchAnswer:
    """An answer with its query."""
    query = answer.query.question
    own = _parts(query)
    return SearchAnswer(
        query=_html(query),
        results=[_result(candidate, own) for candidate in answer.candidates],
        notes=list(answer.notes),
        dropped=[Dropped(id=one.question.id, why=one.notes[-1]) for one in answer.dropped],
    )


def question_view(question: Question, *, solution: bool = False) -> QuestionBody:
    """A question; with ``solution``, also its answer and analysis."""
    return QuestionBody(
        id=question.id,
        stem=question.stem,
        options=list(question.options),
        answer=question.answer if solution else None,
        analysis=question.analysis if solution else None,
        knowledge=[list(path) for path in question.knowledge],
        difficulty=question.difficulty,
        type=question.type,
        language=question.language,
        source=question.source,
        figures=len(question.images),
        html=_html(question, solution=solution),
    )


def _result(candidate: Candidate, own: dict[str, str]) -> Result:
    parts = _parts(candidate.question)
    return Result(
        score=round(candidate.score, 6),
        cosine=candidate.cosine,
        words=candidate.words,
        evidence=candidate.likeness,
        rank=candidate.rank,
        remarks=list(candidate.notes),
        shared=[shown for part, shown in own.items() if part in parts][:_SHARED],
        question=question_view(candidate.question),
    )


def _html(question: Question, *, solution: bool = False) -> QuestionHtml:
    return QuestionHtml(
        stem=text_html(question.stem.strip()),
        options=[text_html(option) for option in question.options],
        answer=text_html(question.answer) if solution and question.answer else None,
        analysis=text_html(question.analysis) if solution and question.analysis else None,
    )


def _parts(question: Question) -> dict[str, str]:
    """Telling words and formulas in one form -> as a reader knows them."""
    formulas = [segment.body for segment in segments(question.content) if segment.is_formula]
    return {normal_formula(formula): readable(f"${formula}$") for formula in formulas if len(formula) >= _FORMULA} | {
        word: word for word in search_words(question.content) if _TELLING.fullmatch(word)
    }


# Which values there are to filter by.


#: Values of a field that are named, the most frequent ones.
_NAMED = 500

_FIELDS = ("type", "language", "concept")


def suggestions(index: Index) -> Suggestions:
    """Those of an index, in one pass over it."""
    values: dict[str, Counter[str]] = {field: Counter() for field in _FIELDS}
    questions = figures = 0
    ends: list[float] = []
    for table in index.engine.scan([*_FIELDS, "difficulty", "figures"]):
        questions += len(table)
        figures += pc.sum(table["figures"]).as_py() or 0
        for field, counter in values.items():
            counter.update(_counted(table[field]))
        ends += [end for end in pc.min_max(table["difficulty"]).as_py().values() if end is not None]
    named = {field: sorted(value for value, _ in counter.most_common(_NAMED)) for field, counter in values.items()}
    return Suggestions(
        bank=index.manifest.bank,
        questions=questions,
        types=named["type"],
        languages=named["language"],
        concepts=named["concept"],
        difficulty=[min(ends), max(ends)] if ends else [],
        figures=figures > 0,
    )


def _counted(column: pa.ChunkedArray) -> dict[str, int]:
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(flat.drop_null()).to_pylist()}
