"""A suite from its first training to its table."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tqnet.bench.plan import trainings
from tqnet.bench.results import RowResult
from tqnet.bench.runner import Runner, TrainingError
from tqnet.bench.scores import RowScores
from tqnet.bench.suite import Row, Suite, typed
from tqnet.evaluation.similar import has_figures
from tqnet.evaluation.sources import Encoding, source_notes, source_vectors, vectors_key
from tqnet.evaluation.stages import LEXICAL, Tasks
from tqnet.files import content_digest
from tqnet.libraries import machine
from tqnet.questions import KnowledgeHierarchy, QuestionBank, find_contamination
from tqnet.questions.modalities import show
from tqnet.training.config import DataConfig
from tqnet.training.validation import similar_questions

#: Raised when the same vectors are to be measured anew, by a better probe or for further scores.
_MEASURE = 2


class Bench:
    """Trains and measures the rows of a suite on one bank.

    Args:
        bank: Folder or file of the bank.
        out: Gets the trainings, the vectors, and what is measured.
        recipes: The folder that ``pretrain/`` and ``finetune/`` lie in.
        encoding: How vectors are computed.
    """

    def __init__(self, suite: Suite, bank: str, out: Path, recipes: Path, encoding: Encoding):
        self.suite, self.out, self.encoding = suite, out, encoding
        data = {"bank": bank, "similar_level": suite.similar_level}
        self.data = typed(DataConfig, suite.data | data, f"{suite.name}: data")
        self.bank = self.data.load()
        self.runner = Runner(out / "trainings", recipes)
        for stage in suite.stages.values():
            if not (recipes / stage.recipe).is_file():
                raise FileNotFoundError(f"{recipes / stage.recipe}: no such recipe (stage {stage.name}); see --recipes")
        doubles = find_contamination(self.bank)
        self._clean, self._left_out = doubles.clean, len(doubles.doubles)
        clean = self.bank.select(self._clean)
        self._pictured = has_figures(clean)
        self._tasks(clean).check()
        for row in suite.rows:  # the length of a training, and files that it goes on from: told before the first one
            trainings(suite, row, 0, bank, self._fingerprint)

    @property
    def facts(self) -> dict[str, str]:
        """How the numbers came about, in words, for the head of a table."""
        whole = f"{self.bank.name}, {len(self.bank):,} questions, fingerprint {self._fingerprint}"
        return {
            "bank": f"{whole}; measured without {self._left_out:,} questions of valid and test with a double in train",
            "machine": "; ".join(sorted({cost.machine for cost in self.runner.costs.values()})) or machine(),
            "training": f"{self.runner.seconds / 60:,.0f} minutes of steps, each stage counted once",
        }

    def run(self, seeds: int) -> Iterator[list[RowResult]]:
        """What there is after each row, all rows with one seed before the next seed."""
        results = [RowResult(row) for row in self.suite.rows]
        for seed in range(seeds):
            for result in results:
                self._add(result, seed)
                yield results

    def _add(self, result: RowResult, seed: int) -> None:
        """Train and measure a row with a seed; baselines have no seed and are measured once."""
        row = result.row
        if row.source and seed:
            return
        chain = trainings(self.suite, row, seed, self.data.bank, self._fingerprint)
        try:
            costs = [self.runner.run(training) for training in chain]
        except TrainingError as error:
            self._fail(result, error)
            return
        source = row.source or str(self.runner.model(chain[-1]))
        try:
            scores = self._scores(row, source)
        except (OSError, ValueError) as error:
            self._fail(result, error)
            return
        result.notes = source_notes(source)
        result.scores.append(scores)
        result.costs.append(costs)

    @staticmethod
    def _fail(result: RowResult, error: Exception) -> None:
        print(f"{result.row.name}: {error}", file=sys.stderr)
        result.errors += [str(error)] if str(error) not in result.errors else []

    def _scores(self, row: Row, source: str) -> RowScores:
        encoding = replace(self.encoding, max_length=self.suite.model.get("max_length"))
        shown = show(self.bank, row.measure or row.show).select(self._clean)
        measured = [_MEASURE, vectors_key(source, shown, encoding), self.suite.similar_level]
        measured += [content_digest(Path(self.data.pairs))] if self.data.pairs else []
        digest = hashlib.blake2b(json.dumps(measured).encode(), digest_size=6).hexdigest()
        kept = self.out / "scores" / f"{digest}.json"
        if kept.is_file():
            return RowScores.load(kept)
        tasks = self._tasks(shown)
        if source in LEXICAL:
            scores = RowScores.of(tasks.measure_lexical(source))
        else:
            vectors = source_vectors(source, shown, encoding, self.out / "vectors")
            scores = RowScores.of(tasks.measure_vectors(vectors))
        kept.parent.mkdir(parents=True, exist_ok=True)
        scores.save(kept)
        return scores

    def _tasks(self, bank: QuestionBank) -> Tasks:
        hierarchy = KnowledgeHierarchy.from_bank(bank)
        similarity = similar_questions(bank, self.data)
        return Tasks(bank, similarity, hierarchy if hierarchy.depth else None, pictured=self._pictured)

    @cached_property
    def _fingerprint(self) -> str:
        return self.bank.fingerprint
