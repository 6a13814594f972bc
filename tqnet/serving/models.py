"""What is asked and what is answered, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

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
