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
    return [Candidate(question, 1 - at / 10) for at, question in enumerate(questions)]


def ids(candidates: list[Candidate]) -> list[str]:
    return [candidate.question.id for candidate in candidates]


@pytest.mark.parametrize(
    ("student", "left", "reason"),
    [
        ("strong", ["same", "hard", "?"], "dropped: easier than the query (1 < 3)"),
        ("weak", ["easy", "same", "?"], "dropped: harder than the query (4.5 > 3)"),
    ],
)
def test_difficulty_by_student(student: str, left: list[str], reason: str) -> None:
    given = candidates(question("easy", 1), question("same", 3), question("hard", 4.5), question("?"))
    kept, dropped = Rerank(student=student)(question("query", 3), given)
    assert ids(kept) == left
    assert kept[-1].notes == ("difficulty unknown",)
    assert [candidate.notes for candidate in dropped] == [(reason,)]
    assert reason in dropped[0].why
    assert not Rerank(student=student, tolerance=2)(question("query", 3), given).dropped
    unknown = Rerank(student=student)(question("query"), given)
    assert not any(candidate.notes for candidate in unknown.candidates)
    assert not unknown.dropped


@pytest.mark.parametrize(
    ("stage", "section", "left"),
    [
        ("practice", None, ["number", "equation", "part", "music", "none"]),
        ("review", None, ["number", "equation", "part", "inequality", "music", "none"]),
        ("review", "Numbers", ["number", "music", "none"]),
    ],
)
def test_learning_stage(curriculum: Curriculum, stage: str, section: str | None, left: list[str]) -> None:
    given = candidates(
        question("number", None, "Numbers/Primes"),
        question("equation", None, "Algebra/Equations", "Numbers"),
        question("part", None, "Algebra/Equations/Linear"),
        question("inequality", None, "Algebra/Inequalities"),
        question("triangle", None, "Numbers", "Geometry/Triangles"),
        question("music", None, "Music"),
        question("none"),
    )
    rerank = Rerank(stage=stage, curriculum=curriculum, section=section)
    kept, dropped = rerank(question("query", None, "Algebra/Equations"), given)
    assert ids(kept) == left
    assert kept[-1].notes == ("not in the curriculum",)
    beyond = "section" if stage == "practice" else "semester (Grade 8, spring)"
    notes = {candidate.question.id: candidate.notes for candidate in dropped}
    assert notes["triangle"] == (f"dropped: beyond the current {beyond}",)
    if section is None:
        outside, _ = rerank(question("query", None, "Music"), given)
        assert outside[0].notes == ("current section unknown",)


def test_variants_first_and_duplicates_out() -> None:
    chances = {
        "double": [0.7, 0.1, 0.1, 0.1],
        "similar": [0.1, 0.6, 0.2, 0.1],
        "variant": [0.1, 0.2, 0.6, 0.1],
        "other": [0.0, 0.01, 0.04, 0.95],
        "variant2": [0.0, 0.1, 0.9, 0.0],
    }
    rerank = Rerank(prefer="variant", classify=lambda _, questions: np.array([chances[item.id] for item in questions]))
    given = candidates(*map(question, chances))
    kept, dropped = rerank(question("query"), given)
    assert ids(kept) == ["variant", "variant2", "similar", "other"]
    assert ids(dropped) == ["double"]
    assert dropped[0].notes == ("dropped: duplicate of the query",)
    assert kept[0].notes == ("variant 0.60",)
    similar_first = Rerank(classify=rerank.classify, prefer="similar")(question("query"), given)
    assert ids(similar_first.candidates) == ["similar", "variant", "variant2", "other"]


def test_diversity_puts_repetitions_back() -> None:
    stems = ["Find the area of the red circle", "Find the area of the blue circle", "Solve the equation for x"]
    given = candidates(*(question(str(at), stem=stem) for at, stem in enumerate(stems)))
    assert Rerank()(question("query"), given) == (given, [])
    kept, _ = Rerank(diversity=0.5)(question("query"), given)
    assert ids(kept) == ["0", "2", "1"]
    assert [candidate.notes for candidate in kept] == [(), (), ("moved back for variety",)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"student": "lazy"}, "student: 'lazy' is not one of strong, weak"),
        ({"stage": "exam"}, "stage: 'exam' is not one of practice, review"),
        ({"stage": "review"}, "needs a curriculum"),
        ({"stage": "review", "section": "Geometry"}, "section: the curriculum has no 'Geometry'"),
        ({"prefer": "duplicate"}, "prefer: 'duplicate' is not one of"),
        ({"prefer": "variant"}, "needs a classifier of pairs"),
        ({"diversity": 2.0}, "diversity"),
        ({"tolerance": -1.0}, "tolerance"),
    ],
)
def test_settings_at_fault(settings: dict[str, object], message: str, curriculum: Curriculum) -> None:
    if "section" in settings:
        settings = settings | {"curriculum": curriculum}
    with pytest.raises(ValueError, match=message):
        Rerank(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b]", "expected semesters"),
        ("Grade 7: Numbers", "expected semesters"),
        ("Grade 7: [Numbers, 3]", "3 is not a concept"),
        ("Grade 7: [Numbers]\nGrade 8: [Numbers]", "Grade 8: Numbers occurs twice"),
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
