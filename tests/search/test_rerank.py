from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tqnet.questions import Question
from tqnet.search.rerank import Curriculum, Rerank
from tqnet.search.retrieval import Candidate

CURRICULUM = """\
Grade 7: [Numbers, Algebra/Terms]
Grade 8, autumn: [Algebra/Equations, Algebra/Inequalities]
Grade 8, spring: [Geometry/Triangles]
"""


@pytest.fixture
def curriculum(tmp_path: Path) -> Curriculum:
    path = tmp_path / "curriculum.yaml"
    path.write_text(CURRICULUM)
    return Curriculum.load(path)


def question(id: str, difficulty: float | None = None, *concepts: str, stem: str = "") -> Question:
    knowledge = tuple(tuple(concept.split("/")) for concept in concepts)
    return Question(id=id, stem=stem or f"Question {id}", difficulty=difficulty, knowledge=knowledge)


def candidates(*questions: Question) -> list[Candidate]:
    return [Candidate(one, 1 - at / 10) for at, one in enumerate(questions)]


def ids(found: list[Candidate]) -> list[str]:
    return [one.question.id for one in found]


def test_nothing_is_switched_on() -> None:
    given = candidates(question("a", 1), question("b", 5))
    assert Rerank()(question("query", 3), given).candidates == given


@pytest.mark.parametrize(("student", "left"), [("strong", ["same", "hard", "?"]), ("weak", ["easy", "same", "?"])])
def test_difficulty_by_student(student: str, left: list[str]) -> None:
    given = candidates(question("easy", 1), question("same", 3), question("hard", 4.5), question("?"))
    found = Rerank(student=student)(question("query", 3), given)
    assert ids(found.candidates) == left
    assert found.candidates[-1].notes == ("difficulty unknown",)
    (out,) = found.dropped
    reason = "easier than the query (1 < 3)" if student == "strong" else "harder than the query (4.5 > 3)"
    assert out.notes == (f"dropped: {reason}",)
    assert out.notes[0] in out.why
    assert not Rerank(student=student, tolerance=2)(question("query", 3), given).dropped
    unknown = Rerank(student=student)(question("query"), given)
    assert all("difficulty of the query unknown" in one.notes for one in unknown.candidates)
    assert not unknown.dropped


@pytest.mark.parametrize(
    ("stage", "section", "left"),
    [
        ("practice", None, ["number", "equation", "part", "music", "none"]),
        ("review", None, ["number", "equation", "part", "inequality", "music", "none"]),
        ("review", "Numbers", ["number", "music", "none"]),
        ("practice", "Geometry", None),
    ],
)
def test_learning_stage(curriculum: Curriculum, stage: str, section: str | None, left: list[str] | None) -> None:
    given = candidates(
        question("number", None, "Numbers/Primes"),
        question("equation", None, "Algebra/Equations", "Numbers"),
        question("part", None, "Algebra/Equations/Linear"),
        question("inequality", None, "Algebra/Inequalities"),
        question("triangle", None, "Numbers", "Geometry/Triangles"),
        question("music", None, "Music"),
        question("none"),
    )
    if left is None:
        with pytest.raises(ValueError, match="section: the curriculum has no 'Geometry'"):
            Rerank(stage=stage, curriculum=curriculum, section=section)
        return
    found = Rerank(stage=stage, curriculum=curriculum, section=section)(
        question("query", None, "Algebra/Equations"), given
    )
    assert ids(found.candidates) == left
    assert found.candidates[-1].notes == ("not in the curriculum",)
    assert all("beyond the current s" in one.notes[0] for one in found.dropped)
    if stage == "review" and section is None:
        assert found.dropped[0].notes == ("dropped: beyond the current semester (Grade 8, spring)",)


def test_a_query_outside_the_curriculum(curriculum: Curriculum) -> None:
    given = candidates(question("triangle", None, "Geometry/Triangles"))
    found = Rerank(stage="practice", curriculum=curriculum)(question("query", None, "Music"), given)
    assert found.candidates[0].notes == ("current section unknown",)


def test_variants_first_and_duplicates_out() -> None:
    given = candidates(*(question(name) for name in ("double", "similar", "variant", "other", "variant2")))
    chances = {
        "double": [0.7, 0.1, 0.1, 0.1],
        "similar": [0.1, 0.6, 0.2, 0.1],
        "variant": [0.1, 0.2, 0.6, 0.1],
        "other": [0.0, 0.01, 0.04, 0.95],
        "variant2": [0.0, 0.1, 0.9, 0.0],
    }
    step = Rerank(prefer="variant", classify=lambda query, questions: np.array([chances[one.id] for one in questions]))
    found = step(question("query"), given)
    assert ids(found.candidates) == ["variant", "variant2", "similar", "other"]
    assert ids(found.dropped) == ["double"]
    assert found.dropped[0].notes == ("dropped: duplicate of the query",)
    assert found.candidates[0].notes == ("variant 0.60",)
    similar_first = Rerank(classify=step.classify, prefer="similar")(question("query"), given)
    assert ids(similar_first.candidates) == ["similar", "variant", "variant2", "other"]


def test_diversity_puts_repetitions_back() -> None:
    stems = ["Find the area of the red circle", "Find the area of the blue circle", "Solve the equation for x"]
    given = candidates(*(question(str(at), stem=stem) for at, stem in enumerate(stems)))
    assert ids(Rerank()(question("query"), given).candidates) == ["0", "1", "2"]
    found = Rerank(diversity=0.5)(question("query"), given).candidates
    assert ids(found) == ["0", "2", "1"]
    assert found[2].notes == ("moved back for variety",)
    assert found[0].notes == found[1].notes == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"student": "lazy"}, "student: 'lazy' is none of strong, weak"),
        ({"stage": "exam"}, "stage: 'exam' is none of practice, review"),
        ({"stage": "review"}, "needs a curriculum"),
        ({"prefer": "duplicate"}, "prefer: 'duplicate' is none of"),
        ({"prefer": "variant"}, "needs a classifier of pairs"),
        ({"diversity": 2.0}, "diversity"),
        ({"tolerance": -1.0}, "tolerance"),
    ],
)
def test_settings_at_fault(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rerank(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b]", "expected semesters"),
        ("Grade 7: Numbers", "expected semesters"),
        ("Grade 7: [Numbers, 3]", "3 is not a concept"),
        ("Grade 7: [Numbers]\nGrade 8: [Numbers]", "Grade 8: Numbers is there twice"),
        ("Grade 7: [Numbers", "not YAML"),
    ],
)
def test_a_faulty_curriculum(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "curriculum.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Curriculum.load(path)
    with pytest.raises(FileNotFoundError, match="no such curriculum"):
        Curriculum.load(tmp_path / "missing.yaml")
