"""Questions as answers show them: without the paths of their figures, texts also as safe HTML."""

from __future__ import annotations

import re

from tqnet.questions import Question
from tqnet.search.recall import Candidate
from tqnet.search.searcher import Answer
from tqnet.serving.models import Dropped, QuestionBody, QuestionHtml, Result, SearchAnswer
from tqnet.text.formulas import segments
from tqnet.text.markup import text_html
from tqnet.text.normal import normal_formula
from tqnet.text.readable import readable
from tqnet.text.words import search_words

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
        evidence=candidate.evidence,
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
