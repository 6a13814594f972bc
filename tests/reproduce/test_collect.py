"""The pages of results are written from the results, and every claim is judged by its interval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reproduce import claims, collect, curves, publish
from tqnet.evaluation.table import Table

TABLE = Table("Two ways", ("row", "P@5"), (("a | b", "0.100"), ("c", "0.250")), ("The paper: c.", "One seed."))


def test_the_pages_are_those_of_the_results() -> None:
    """After a change below reproduce/results: python -m reproduce.collect."""
    for file, text in collect.documents().items():
        assert file.read_text(encoding="utf-8") == text, file
    assert len(collect.summary().splitlines()) <= 150


def test_published_results_are_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "results.md").write_text(f"- command: `tqnet x`\n- bank: `b`\n\n### Two ways\n\n{TABLE.markdown()}\n")
    differences = [{"row": "c", "over": "a | b", "paper": None}]
    (tmp_path / "results.json").write_text(json.dumps({"paper_metric": "P@5", "differences": differences, "rows": {}}))
    document = publish.published(tmp_path)
    assert document["made_by"] == {"command": "tqnet x", "bank": "b"}
    assert (document["paper_metric"], document["differences"]) == ("P@5", differences)
    shown = collect.section_text(document)
    assert shown == f"- command: `tqnet x`\n- bank: `b`\n\n**Two ways**\n\n{TABLE.markdown()}"


def test_what_a_benchmark_prints_becomes_a_table(tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    file.write_text(json.dumps({"ours": {"p50": 1.5, "p95": 2}, "ratios": {"a": {"b": [1, 2]}}, "machine": "this"}))
    (table,) = publish.published(file, "python -m x")["tables"]
    assert table["rows"] == [["ours", "p50 1.5, p95 2"], ["ratios: a", "b 1, 2"], ["machine", "this"]]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    gains = {
        "up": (0.2, [0.1, 0.3]),
        "chance": (0.0, [-0.05, 0.05]),
        "chance of the paper's": (0.1, [-0.1, 0.3]),
        "down": (-0.2, [-0.3, -0.1]),
        "without an interval": (0.2, [None, None]),
    }
    differences = [
        {"row": row, "over": "base", "paper": 0.1, "F1 L1": {}, "F1 L2": {"difference": by, "interval": interval}}
        for row, (by, interval) in gains.items()
    ]
    differences.append(differences[0] | {"row": "beyond the paper", "paper": None})
    tables = [{"title": "T", "header": ["row", "F1 L2"], "rows": [["up", "0.900"]], "notes": []}]
    document = {"made_by": {}, "paper_metric": "F1", "differences": differences, "tables": tables}
    (tmp_path / "tqnet").mkdir()
    (tmp_path / "tqnet" / "table9.json").write_text(json.dumps(document))
    (tmp_path / "reasons.yaml").write_text("- {table: table9, row: 'ch*', cause: budget, because: too few steps}\n")
    (tmp_path / "tqnet.md").write_text(
        "{{claims}}\n\n{{table9}}\n\n{table9 | up | F1 L2}, {table9 | up > base | F1 L2}"
    )
    return tmp_path


def test_claims_are_judged_by_their_intervals(results: Path) -> None:
    loaded = claims.load_claims(results, "tqnet")
    assert {claim.row: claim.verdict for claim in loaded} == {
        "up": claims.AGREES,
        "chance": claims.CHANCE,
        "chance of the paper's": claims.CHANCE,
        "down": claims.CONTRADICTS,
        "without an interval": claims.CHANCE,
    }
    rows = claims.claim_table(loaded).rows
    assert ("up, over base", "table9: F1 L2", "+0.100", "+0.200 [+0.100, +0.300]", claims.AGREES, "–") in rows
    few = "data: the interval holds the paper's difference too"
    assert [row[-1] for row in rows] == ["–", "budget: too few steps", few, "not known", "not known"]
    assert claims.count_table(loaded).rows[-1] == ("all", "", "1", "1", "3", "1", "1", "0", "0", "0", "2")


def test_placeholders_are_filled(results: Path) -> None:
    assert collect.page("tqnet", results).endswith("0.900, +0.200 [+0.100, +0.300]")
    assert collect.inline("tqnet/table9 | without an interval > base | F1 L2", results) == "+0.200"
    with pytest.raises(ValueError, match="no such number"):
        collect.inline("tqnet/table9 | down | F1 L2", results)
    (results / "tqnet" / "table8.json").write_text("{}")
    with pytest.raises(ValueError, match="no section for table8"):
        collect.page("tqnet", results)


def test_every_reason_explains_a_claim() -> None:
    all_claims = [claim for page in collect.PAGES for claim in claims.load_claims(collect.RESULTS, page)]
    for reason in claims.load_reasons(collect.RESULTS):
        assert any((claim.cause, claim.because) == (reason.cause, reason.because) for claim in all_claims), reason


def test_rows_of_shares_become_curves() -> None:
    rows = [
        ["none, 10 %", "0.2 ± 0.01"],
        ["none, 3 %", "0.1"],
        ["MLM, 3 %", "0.3"],
        ["start", "0.4"],
        ["MLM, 100 %", "–"],
    ]
    document = {"tables": [{"title": "", "header": ["row", "P@5"], "rows": rows, "notes": []}]}
    assert curves.points(document, "P@5") == {"none": [(3, 0.1, 0), (10, 0.2, 0.01)], "MLM": [(3, 0.3, 0)]}
    assert curves.draw(document, "P@5", "labels").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no rows"):
        curves.points(document, "MRR")
