"""A suite by cross-validation: every fold of a bank is the test once, and what is trained sees the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tqnet.bench.measures import described
from tqnet.bench.results import RowResult
from tqnet.bench.run import Bench
from tqnet.questions import QuestionBank
from tqnet.questions.splits import draw_fold


def save_folds(bank: QuestionBank, folds: int, folder: Path) -> list[Path]:
    """The bank once for each fold, as files of ``folder`` that recipes can read; the splits it has are left out.

    Raises:
        ValueError: There are fewer groups than folds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{bank.fingerprint}-{fold}-of-{folds}.jsonl" for fold in range(1, folds + 1)]
    for fold, file in enumerate(files, 1):
        draw_fold(bank, fold, folds).save(file)
    return files


def cross_validate(benches: Sequence[Bench]) -> Iterator[list[RowResult]]:
    """What there is after each row, all rows on one fold before the next; a bench for each fold."""
    results = [RowResult(row) for row in benches[0].suite.rows]
    for bench in benches:
        for result in results:
            bench.add(result, seed=0)
            yield results


def fold_facts(bank: QuestionBank, benches: Sequence[Bench], results: Sequence[RowResult]) -> dict[str, str]:
    """How the numbers came about (:meth:`Bench.facts`), for all folds of ``bank``."""
    counts = ", ".join(str(bench.measure.left_out) for bench in benches)
    left_out = f"{counts} {benches[0].measure.left_out_are}"
    folds = f"each of {len(benches)} folds in turn the test, without {left_out}"
    return benches[0].facts(results) | {"bank": f"{described(bank)}; {folds}"}
