"""Results that a teacher would see as one."""

from __future__ import annotations

from tqnet.questions import Question
from tqnet.search.folding import folded
from tqnet.search.records import form_key
from tqnet.search.retrieval import Candidate

STORY = (
    "A farmer has 120 hens and 80 geese on two fields beside the river; every morning he counts them all twice before "
    "he opens the gate to the larger field. "
)


def candidates(*stems: str, images: tuple[str, ...] = ()) -> list[Candidate]:
    questions = [Question(id=str(i), stem=stem, images=images[i : i + 1]) for i, stem in enumerate(stems)]
    return [Candidate(question, 1.0, template=form_key(question, numbers=False)) for question in questions]


def ids(results: list[Candidate]) -> list[tuple[str, ...]]:
    return [tuple(each.question.id for each in (result, *result.folded)) for result in results]


def test_numbers_figures_and_stories() -> None:
    stems = [
        "Find 2 + 3.",
        "Find x.",
        f"{STORY}How many birds?",
        "Find 7 + 12.",
        f"{STORY}How many hens?",
        "Find x.",
        "Why?",
    ]
    assert ids(folded(candidates(*stems)))[:3] == [("0", "3"), ("1", "5"), ("2", "4")]
    assert ids(folded(candidates(*stems)))[-1] == ("6",)


def test_an_instruction_is_no_story() -> None:
    stems = [
        f"For the following exercises, find the slope of {line}." for line in ("the line", "the curve", "the road")
    ]
    assert len(folded(candidates(*stems))) == 3
