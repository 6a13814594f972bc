"""Tables, pictures and the report: complete, self-contained, and safe to open."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tqnet.evaluation.agreement import draw_ranked_pairs, evaluate_agreement
from tqnet.evaluation.plots import (
    DARK,
    PALETTE,
    knowledge_maps,
    read_series,
    running_mean,
    similarity_by_rank,
    stage_bars,
    training_curves,
    tsne,
)
from tqnet.evaluation.probe import evaluate_probe
from tqnet.evaluation.ranking import TfidfRanker
from tqnet.evaluation.report import draw_case, write_report
from tqnet.evaluation.similar import evaluate_similar
from tqnet.evaluation.stages import provenance
from tqnet.evaluation.table import StageResult, render, stage_table, to_dict
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.questions.markup import _mathml, formula_html

ATTACK = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def results(vectors, bank, similarity, hierarchy) -> dict[str, StageResult]:
    texts = [question.content for question in bank]
    return {
        "TF-IDF": StageResult(evaluate_similar(TfidfRanker(texts, bank.ids), bank, similarity)),
        "对比学习": StageResult(
            evaluate_similar(vectors, bank, similarity),
            evaluate_probe(vectors, bank, hierarchy),
            agreement=evaluate_agreement(vectors, draw_ranked_pairs(bank, similarity)),
        ),
    }


@pytest.fixture
def metrics_file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    records = [{"step": step, "loss": 1 / step, "valid/p@5": 0.1 * step, "note": "x"} for step in (1, 2, 2, 3)]
    records.append({"step": 4, "loss": float("nan")})
    path.write_text("\n".join(map(json.dumps, records)) + '\n{"step": 5, "lo')
    return path


class References(HTMLParser):
    """Collects every tag, and every attribute that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]


def test_report_is_self_contained_and_complete(results, bank, vectors, metrics_file, tmp_path: Path) -> None:
    path = write_report(
        tmp_path / "new" / "report.html",
        results,
        bank,
        title=f"Title {ATTACK}",
        vectors={"对比学习": vectors},
        metrics_files={"moco": metrics_file},
        facts={"command": "tqnet evaluate"},
    )
    page = path.read_text(encoding="utf-8")
    references = References()
    references.feed(page)
    assert all(reference.startswith("data:image/") for reference in references.loaded)
    assert not re.search(r"url\(|@import", page)
    assert references.tags.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    parts = ["Stages", "By pair structure", "Similarity by rank", "A case", "Maps", "Training", "Nearest neighbours"]
    for part in (*parts, "How it was made"):
        assert f"<h2>{part}</h2>" in page
    assert page.count("t-SNE map of each stage") == page.count("the same within Area ") == 1
    assert bank.fingerprint in page
    assert "<math" in page
    assert "✓ similar" in page


def test_a_case_has_one_question_of_each_rank(bank) -> None:
    case = draw_case(bank, seed=0)
    assert case is not None
    assert list(case[1]) == [0, 3]  # the groups of test are of three areas
    assert {bank[i].split for i in (case[0], *case[1].values())} == {"test"}
    unsplit = QuestionBank.from_questions(replace(question, split=None) for question in bank)
    anchor, others = draw_case(unsplit, seed=0)
    assert list(others) == [0, 1, 2, 3]
    (area, topic), *_ = unsplit[anchor].knowledge
    assert unsplit[others[0]].group == unsplit[anchor].group != unsplit[others[1]].group
    assert unsplit[others[1]].knowledge == ((area, topic),)
    assert unsplit[others[2]].knowledge[0][0] == area != unsplit[others[3]].knowledge[0][0]
    assert draw_case(QuestionBank.from_questions([Question(id="lone", stem="?")]), seed=0) is None


def test_report_escapes_questions_and_needs_no_extras(tmp_path: Path) -> None:
    stem = rf"{ATTACK} and $\text{{{ATTACK}}}$ and $\href{{https://x.y}}{{z}}$"
    questions = [
        Question(id=f"q{i}", stem=stem, group=ATTACK, split="test", images=("no/such.png",), knowledge=((ATTACK,),))
        for i in range(7)
    ]
    bank = QuestionBank.from_questions(questions)
    similar = evaluate_similar(np.ones((7, 2)), bank, Similarity.from_groups(bank))
    page = write_report(tmp_path / "r.html", {ATTACK: StageResult(similar)}, bank).read_text(encoding="utf-8")
    references = References()
    references.feed(page)
    assert "script" not in references.tags
    assert not references.loaded or all(reference.startswith("data:") for reference in references.loaded)
    assert "&lt;script&gt;" in page
    assert "figure not readable" in page
    assert write_report(tmp_path / "empty.html", {}, bank).is_file()


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x<3", "<mo>&lt;</mo>"),
        (r"\frac{1}{2}", "<mfrac>"),
        (r"\frac{1}{", r"<code>\frac{1}{</code>"),
        (r"\text{<b>}", "&lt;b&gt;"),
        ("x" * 2000, "<code>"),
    ],
)
def test_formulas(formula: str, expected: str) -> None:
    assert expected in formula_html(formula)


@pytest.mark.parametrize(
    ("formula", "classes"),
    [
        (r"\begin{array}{c|c} a & b \\ \hline c & d \end{array}", ["", "before", "above", "above before"]),
        (r"\begin{array}{|c|}\hline a \\ b \\ \hline\end{array}", ["above before after", "below before after"]),
        (r"\begin{array}[t]{@{}p{3cm}|*{2}{r}} a & b \end{array}", ["", "before"]),
        (r"\begin{array}{r} 12 \\ +34 \\ \hline 46 \end{array}", ["", "", "above"]),
        (r"\begin{aligned} a &= b \\ &= c \end{aligned}", ["close"] * 4),
        (r"\begin{gathered} a \\ b \end{gathered}", ["", ""]),
        (r"\begin{array}{c} \begin{array}{c|c} a & b \end{array} \\ \hline c \end{array}", ["", "", "before", "above"]),
    ],
)
def test_the_rules_of_arrays(formula: str, classes: list[str]) -> None:
    root = ElementTree.fromstring(formula_html(formula))
    assert [cell.get("class", "") for cell in root.iter("{http://www.w3.org/1998/Math/MathML}mtd")] == classes
    assert "&amp;" not in formula_html(formula)


def test_long_formulas_are_not_kept() -> None:
    formula_html("x < 1")
    kept = _mathml.cache_info().currsize
    assert formula_html(f"{'x' * 1500} < 1", "$x..$") == "<code>$x..$</code>"
    assert _mathml.cache_info().currsize == kept > 0


def test_formula_attributes_that_load_or_run_are_dropped() -> None:
    for command in (r"\href{javascript:x}{y}", r"\style{background:url(x)}{y}", r"\class{card}{y}"):
        assert not re.search(r"href|style=|class=", formula_html(command))


def test_tables(results) -> None:
    lines = stage_table(results).text().splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("TF-IDF    ")  # as wide as four Chinese characters
    assert "F1 L2" in lines[0]
    markdown = render(results, markdown=True)
    assert "| 对比学习 | " in markdown
    assert "L1 majority" in markdown
    plain = json.loads(json.dumps(to_dict(results), allow_nan=False))
    assert plain["对比学习"]["probe"]["levels"][0]["level"] == 1
    assert plain["TF-IDF"]["probe"] is None


def test_series_survive_a_killed_and_resumed_run(metrics_file: Path) -> None:
    series = read_series(metrics_file)
    assert sorted(series) == ["loss", "valid/p@5"]
    assert series["loss"][0].tolist() == [1, 2, 3]
    assert running_mean(np.arange(10.0), share=0.4).tolist() == list(range(10))


@pytest.mark.parametrize("fmt", ["png", "svg"])
def test_pictures_are_reproducible(fmt, results, vectors, metrics_file) -> None:
    points = tsne(vectors)
    labels = [f"Area {i % 9}" if i % 10 else None for i in range(len(vectors))]
    scores = {name: stage.similar.overall for name, stage in results.items()}
    ranks = {name: stage.agreement for name, stage in results.items() if stage.agreement}
    for draw in (
        lambda: knowledge_maps({"one": points, "two": points}, labels, fmt=fmt),
        lambda: stage_bars(scores, fmt=fmt),
        lambda: similarity_by_rank(ranks, fmt=fmt),
        lambda: training_curves({"moco": metrics_file}, fmt=fmt),
    ):
        picture = draw()
        assert picture == draw()
        assert picture.startswith(b"\x89PNG") if fmt == "png" else b"<svg" in picture


def test_similarity_by_rank_of_many_stages_and_of_none(results) -> None:
    (agreement,) = (stage.agreement for stage in results.values() if stage.agreement)
    picture = similarity_by_rank({f"stage {i}": agreement for i in range(20)}, theme=DARK)
    assert picture.count(DARK.accent.lower().encode()) < picture.count(
        PALETTE[1].lower().encode()
    )  # the last one alone
    with pytest.raises(ValueError, match="no similarity by rank to draw"):
        similarity_by_rank({})
    with pytest.raises(ValueError, match="no pair whose rank is known"):
        similarity_by_rank({"stage": replace(agreement, ranks=())})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fmt", ["png", "svg"])
def test_characters_that_no_font_has(fmt, caplog: pytest.LogCaptureFixture) -> None:
    """One line for a picture; SVG leaves them to the fonts of whoever reads it."""
    points = np.random.default_rng(0).random((30, 2))
    picture = knowledge_maps({"map": points}, ["\U0001f9ff\U00013000"] * 30, fmt=fmt)
    assert caplog.text.count("no font here has") == (fmt == "png")
    assert fmt == "png" or "\U0001f9ff\U00013000".encode() in picture


def test_importing_the_report_loads_no_heavy_library() -> None:
    code = "import sys, tqnet.evaluation.report; print({'torch', 'sklearn', 'matplotlib'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_drawn_splits_and_notes_are_said_below_the_table(vectors, bank, hierarchy) -> None:
    unsplit = QuestionBank.from_questions(replace(question, split=None) for question in bank)
    drawn = {"model": StageResult(probe=evaluate_probe(vectors, unsplit, hierarchy, seed=3))}
    assert "drawn by group with seed 3. A model that was fine-tuned on this bank has seen" in render(drawn)
    given = {"model": StageResult(probe=evaluate_probe(vectors, bank, hierarchy), notes=("a note",))}
    assert "drawn" not in render(given)
    assert render(given, markdown=True).endswith("\n\nmodel: a note.\n")


def test_vectors_of_tfidf(bank) -> None:
    ranker = TfidfRanker([question.content for question in bank], bank.ids)
    vectors = ranker.vectors(8, seed=1)
    assert vectors.shape == (96, 8)
    assert np.array_equal(vectors, ranker.vectors(8, seed=1))
    assert ranker.vectors(384).shape[1] <= 95
    deviations = ranker.vectors(40).std(axis=0)
    assert deviations.max() < 4 * deviations.min()  # a probe standardises; without the rotation it is 10 and more


def test_what_each_training_saw_and_took(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    records = [{"step": 0, "valid/p@5": 0.3}]  # before the first step
    records += [
        {"step": step, "questions": 100 * step, "questions_per_second": pace, "padding": padding}
        for step, pace, padding in [(10, 10.0, 1.0), (20, 1.0, 1.1), (30, 10.0, 1.2)]
    ]
    (tmp_path / "whole").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    for record in records:
        record.pop("padding", None)
    (tmp_path / "figures").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (tmp_path / "nothing").write_text(json.dumps(records[0]), encoding="utf-8")
    logs = {name: tmp_path / name for name in ("whole", "figures", "nothing")}
    assert provenance("tqnet", tiny_bank, logs)["training"] == (
        "whole: 3,000 questions, 5 min of steps, 1.10 tokens computed for each real one; "
        "figures: 3,000 questions, 5 min of steps; nothing: no step logged"
    )
