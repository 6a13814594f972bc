"""How results came about: what a report says of the trainings behind it."""

from __future__ import annotations

import json
from pathlib import Path

from tqnet.evaluation.stages import provenance
from tqnet.questions import QuestionBank


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
