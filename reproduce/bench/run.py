"""A suite from its first training to its table, with seeds or by cross-validation."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from reproduce.bench.measures import BankTasks, LabelledParaphrases, Measure, SolvedProblems, described
from reproduce.bench.results import Finished, RowResult, clock
from reproduce.bench.suite import Row, Suite, typed
from reproduce.bench.trainings import Runner, Training, TrainingError, trainings
from tqnet.evaluation.sources import Encoding, source_digest, source_notes
from tqnet.libraries import machine
from tqnet.questions import QuestionBank
from tqnet.questions.splits import draw_fold
from tqnet.training.config import DataConfig
from tqnet.version import __version__

#: Bumped when the same vectors are to be measured again, by a better probe or for further scores.
_MEASURE = 2


class Bench:
    """Trains and measures the rows of a suite on one bank.

    Args:
        bank: Folder or file of the bank.
        out: Folder for trainings, vectors and scores.
        measured: Folders of earlier scores, besides ``out/scores``: such a row is not trained.
        recipes: The folder of ``pretrain/`` and ``finetune/``.
        encoding: How vectors are computed.
        precision: As requested; ``encoding`` has what ``auto`` resolves to.
        fold: Number of the test fold; None with the bank's own splits.
        processes: Number of processes of a training; by default one for each GPU.
    """

    def __init__(
        self,
        suite: Suite,
        bank: str,
        out: Path,
        recipes: Path,
        encoding: Encoding,
        measured: Sequence[Path] = (),
        precision: str = "auto",
        fold: int | None = None,
        processes: int | None = None,
    ):
        self.suite, self.out, self.precision = suite, out, precision
        self.data = data_config(suite, bank)
        self.bank = self.data.load()
        self.runner = Runner(out / "trainings", recipes, processes)
        self._scores = out / "scores"
        self._measured = (self._scores, *measured)
        for folder in measured:
            if not folder.is_dir():
                raise FileNotFoundError(f"--scores {folder}: no such folder")
        for stage in suite.stages.values():
            if not (recipes / stage.recipe).is_file():
                raise FileNotFoundError(f"{recipes / stage.recipe}: no such recipe (stage {stage.name}); see --recipes")
        encoding = replace(encoding, max_length=self._max_length)
        self.measure: Measure
        if suite.paraphrases:
            self.measure = LabelledParaphrases(suite, self.data, encoding)
        elif suite.solved:
            self.measure = SolvedProblems(suite, self.data, encoding, fold)
        else:
            self.measure = BankTasks(suite, self.data, encoding, out / "vectors", fold)
        for row in suite.rows:  # wrong settings and missing files are reported before the first training
            try:
                self._trainings(row, 0)
            except FileNotFoundError as error:  # which leaves the other rows alone
                print(f"{row.name}: cannot be trained: {error}", file=sys.stderr)

    def facts(self, results: Sequence[RowResult]) -> dict[str, str]:
        """Return how the numbers were made, for the head of a table."""
        costs = {cost.training: cost for result in results for costs in result.costs for cost in costs}.values()
        return {
            **self.measure.facts,
            "machine": "; ".join(sorted({cost.machine for cost in costs})) or machine(),
            "time": clock(costs, [finished.measure_seconds for result in results for finished in result.finished]),
        }

    def run(self, seeds: int) -> Iterator[list[RowResult]]:
        """Yield the results after each row, all rows with one seed before the next seed."""
        results = [RowResult(row) for row in self.suite.rows]
        for seed in range(seeds):
            for result in results:
                self.add(result, seed)
                yield results

    def add(self, result: RowResult, seed: int) -> None:
        """Train and measure a row with a seed; baselines have no seed and are measured once."""
        row = result.row
        if row.source and seed:
            return
        try:
            result.finished.append(self._finish(row, self._trainings(row, seed)))
        except (TrainingError, OSError, ValueError) as error:
            print(f"{row.name}: {error}", file=sys.stderr)
            result.errors += [str(error)] if str(error) not in result.errors else []

    def _trainings(self, row: Row, seed: int) -> list[Training]:
        return trainings(self.suite, row, seed, self.data.bank, self._fingerprint, self._others)

    def _finish(self, row: Row, chain: Sequence[Training]) -> Finished:
        """Train and measure, or read earlier scores."""
        key = self._key(row, chain)
        if finished := Finished.find(key, self._measured):
            print(f"{row.name}: measured before ({key}.json)", file=sys.stderr)
        else:
            costs = [self.runner.run(training) for training in chain]
            source = row.source or str(self.runner.model(chain[-1]))
            started = time.monotonic()
            scores = self.measure(row, source)
            finished = Finished(key, scores, costs, source_notes(source), round(time.monotonic() - started, 1))
        finished.save(self._scores)
        return replace(finished, scores=self.measure.counted(row, finished.scores))

    def _key(self, row: Row, chain: Sequence[Training]) -> str:
        """Digest of all that a row's scores depend on, but not of where the bank and trained models lie.

        A precision that the machine chooses is left out: scores measured with AMX or on a GPU are found without it.
        """
        model = chain[-1].key if chain else [row.source, source_digest(str(row.source)), self._max_length]
        measure = self.measure.decides(row) + ([self.precision] if self.precision != "auto" else [])
        parts = json.dumps([_MEASURE, __version__, model, measure])
        return hashlib.blake2b(parts.encode(), digest_size=6).hexdigest()

    @property
    def _max_length(self) -> int | None:
        return self.suite.model.get("max_length")

    @cached_property
    def _fingerprint(self) -> str:
        return self.bank.fingerprint

    @cached_property
    def _others(self) -> dict[str, str]:
        """Fingerprints of the banks that stages name."""
        named = {stage.bank for stage in self.suite.stages.values() if stage.bank}
        return {bank: replace(self.data, bank=bank, pairs=None).load().fingerprint for bank in sorted(named)}


def data_config(suite: Suite, bank: str) -> DataConfig:
    """Return how a suite reads the bank that it is measured on.

    Raises:
        SuiteError: ``data`` of the suite has a setting that recipes do not take.
    """
    data = {"bank": bank, "similar_level": suite.similar_level}
    return typed(DataConfig, suite.data | data, f"{suite.name}: data")


def save_folds(bank: QuestionBank, folds: int, folder: Path) -> list[Path]:
    """Write the bank once for each fold, as files that recipes can read; its own splits are ignored.

    Raises:
        ValueError: There are fewer groups than folds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{bank.fingerprint}-{fold}-of-{folds}.jsonl" for fold in range(1, folds + 1)]
    for fold, file in enumerate(files, 1):
        draw_fold(bank, fold, folds).save(file)
    return files


def cross_validate(benches: Sequence[Bench]) -> Iterator[list[RowResult]]:
    """Yield the results after each row, all rows on one fold before the next; ``benches`` has one for each fold."""
    results = [RowResult(row) for row in benches[0].suite.rows]
    for bench in benches:
        for result in results:
            bench.add(result, seed=0)
            yield results


def fold_facts(bank: QuestionBank, benches: Sequence[Bench], results: Sequence[RowResult]) -> dict[str, str]:
    """Return how the numbers were made (:meth:`Bench.facts`), for all folds of ``bank``."""
    counts = ", ".join(str(bench.measure.left_out) for bench in benches)
    folds = f"each of {len(benches)} folds in turn the test, without {counts} {benches[0].measure.left_out_are}"
    return benches[0].facts(results) | {"bank": f"{described(bank)}; {folds}"}
