"""Measures of a suite: tasks on the bank's own questions, labelled paraphrases, or word problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.bench.suite import Row, Suite, SuiteError, beside
from reproduce.bench.terms import ParaphraseTerms, RowScores, SolvedTerms
from tqnet.evaluation.metrics import BoolArray
from tqnet.evaluation.similar import has_figures
from tqnet.evaluation.sources import Encoding, open_source, source_vectors
from tqnet.evaluation.stages import LEXICAL, Tasks
from tqnet.files import content_digest
from tqnet.modeling.encode import accelerator
from tqnet.paraphrase.evaluation import scored_pairs
from tqnet.paraphrase.scorer import PairTexts
from tqnet.questions import KnowledgeHierarchy, QuestionBank, find_contamination
from tqnet.questions.leakage import rows_held_out
from tqnet.questions.paraphrase_pairs import read_labelled_sets
from tqnet.questions.splits import show
from tqnet.solver.evaluation import gold_problems, score_solutions
from tqnet.solver.model import BEAMS, load_solver
from tqnet.solver.representations import calinski_harabasz, common_prototypes, representations
from tqnet.training.config import DataConfig
from tqnet.training.session import similar_questions


class Measure(ABC):
    """Scores a row's model.

    Attributes:
        left_out: Number of questions that are not measured, or not trained on.
        left_out_are: Their description, to follow the number.
        facts: How the scores are made, for the head of a table.
    """

    left_out: int
    left_out_are: str
    facts: dict[str, str]

    @abstractmethod
    def decides(self, row: Row) -> list[Any]:
        """Return all that a row's scores depend on besides its model, except where files lie."""

    @abstractmethod
    def __call__(self, row: Row, source: str) -> RowScores:
        """Measure a model: its folder, or another source that `tqnet evaluate stages` takes."""

    def counted(self, row: Row, scores: RowScores) -> RowScores:
        """Return saved scores as the row counts them, recomputed without the model."""
        return scores


class BankTasks(Measure):
    """Measures similar questions, concepts and the other tasks of a suite on the bank's ``test``.

    Args:
        vectors: Folder for the vectors of the bank.
        fold: Number of the test fold; None with the bank's own splits.

    Raises:
        ValueError: There is nothing to measure.
    """

    left_out_are = "test questions with a near-duplicate in train"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding, vectors: Path, fold: int | None = None):
        self.suite, self.data, self.encoding, self.vectors, self.fold = suite, data, encoding, vectors, fold
        self.bank = data.load()
        leakage = find_contamination(self.bank)
        self._clean, self.left_out = leakage.clean, len(leakage.doubles)
        clean = self.bank.select(self._clean)
        self._pictured = has_figures(clean)
        self._tasks(clean).check()
        without = f"measured without {self.left_out:,} questions of valid and test with a near-duplicate in train"
        self.facts = {"bank": f"{described(self.bank)}; {without}"}

    def decides(self, row: Row) -> list[Any]:
        parts: list[Any] = [self.bank.fingerprint, row.measure or row.show, self.suite.similar_level]
        parts += [name for name in ("difficulty", "agreement") if getattr(self.suite, name)]
        parts += [f"recall {self.suite.recall}"] if self.suite.recall else []
        return parts + ([content_digest(Path(self.data.pairs))] if self.data.pairs else [])

    def __call__(self, row: Row, source: str) -> RowScores:
        shown = show(self.bank, row.measure or row.show).select(self._clean)
        tasks = self._tasks(shown)
        if source in LEXICAL:
            return RowScores.of(tasks.measure_lexical(source), self.fold)
        vectors = source_vectors(source, shown, self.encoding, self.vectors)
        return RowScores.of(tasks.measure_vectors(vectors), self.fold)

    def _tasks(self, bank: QuestionBank) -> Tasks:
        hierarchy = KnowledgeHierarchy.from_bank(bank)
        similarity = similar_questions(bank, self.data)
        return Tasks(
            bank,
            similarity,
            hierarchy if hierarchy.depth else None,
            difficulty=self.suite.difficulty,
            recall=self.suite.recall,
            agreement=self.suite.agreement,
            pictured=self._pictured,
        )


class LabelledParaphrases(Measure):
    """Measures how well the cosine tells valid paraphrases from invalid ones (ParaQD, Section 4.4).

    Raises:
        SuiteError: A row has no vectors, or questions of the pairs are trained on.
        ValueError, OSError: A file of pairs cannot be read, or lacks a label.
    """

    left_out_are = "questions that are in the labelled pairs too"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding):
        if lexical := [row.name for row in suite.rows if row.source in LEXICAL]:
            raise SuiteError(f"row {lexical[0]}: source: has no vectors to score pairs by")
        self.encoding = encoding
        files = [beside(data.bank, file) for file in suite.paraphrases]
        self._sets = read_labelled_sets(files)
        self._digests = {name: content_digest(Path(file)) for name, file in zip(self._sets, files, strict=True)}
        bank = data.load()
        trained_on = (bank.split("train") if any(bank.column("split")) else bank).column("stem")
        held_out = rows_held_out(trained_on, suite.held_out(data.bank))
        if seen := len(np.setdiff1d(rows_held_out(trained_on, files), held_out)):
            raise SuiteError(f"data.held_out: {seen} questions of the pairs are trained on; name {files} there")
        self.left_out = len(held_out)
        without = f"trained without {self.left_out:,} near-duplicates of questions in the pairs"
        sets = (f"{name}, {len(pairs):,}, digest {self._digests[name]}" for name, pairs in self._sets.items())
        self.facts = {"bank": f"{described(bank)}; {without}", "pairs": "; ".join(sets)}

    def decides(self, row: Row) -> list[Any]:
        return ["paraphrases", *self._digests.items()]

    def __call__(self, row: Row, source: str) -> RowScores:
        model, encoding = open_source(source, self.encoding.max_length), self.encoding
        texts = PairTexts.read(
            text for pairs in self._sets.values() for pair in pairs for text in (pair.original, pair.paraphrase)
        )
        vectors = texts.encode(
            model,
            batch_size=encoding.batch_size,
            device=encoding.device,
            precision=encoding.precision,
            show_progress=True,
        )
        scores = {name: ParaphraseTerms.of(scored_pairs(pairs, vectors)) for name, pairs in self._sets.items()}
        return RowScores(similar={}, probe=[], paraphrases=scores)

    def counted(self, row: Row, scores: RowScores) -> RowScores:
        if not row.checked:
            return scores
        checked = {name: terms.checked(self._different[name]) for name, terms in scores.paraphrases.items()}
        return replace(scores, paraphrases=checked)

    @cached_property
    def _different(self) -> dict[str, BoolArray]:
        """Which pairs the check rejects, the same for every row. It needs the extra ``paraphrase``."""
        from tqnet.paraphrase.check.compare import asks_otherwise

        return {name: asks_otherwise(pairs) for name, pairs in self._sets.items()}


class SolvedProblems(Measure):
    """Measures how many problems of ``test`` a solver solves, and its representations (mwp-cl, Section 5).

    Raises:
        SuiteError: A row is not a solver trained by the suite.
        ValueError: No problem of ``test`` has an equation that can be read.
    """

    left_out_are = "test problems whose equations cannot be read"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding, fold: int | None = None):
        if others := [row.name for row in suite.rows if row.source]:
            raise SuiteError(f"row {others[0]}: source: is not a solver")
        self.encoding, self.fold = encoding, fold
        bank = data.load()
        rows = np.array([row for row, split in enumerate(bank.column("split")) if split == "test"], dtype=np.int64)
        self._problems, faults = gold_problems(bank.select(rows))
        if not self._problems:
            raise ValueError(f"{bank.name}: no problem of split 'test' has an equation that can be read")
        self.left_out = len(faults)
        doubles = [double.row for double in find_contamination(bank).doubles]
        self._leaked = np.isin(rows[[problem.place for problem in self._problems]], doubles)
        self._fingerprint = bank.fingerprint
        without = f", {self.left_out:,} whose equations cannot be read left out" if faults else ""
        measured = f"solved are {len(self._problems):,} of test{without}; {BEAMS} beams"
        self.facts = {"bank": f"{described(bank)}; {measured}"}

    def decides(self, row: Row) -> list[Any]:
        return ["solved", self._fingerprint, BEAMS]

    def __call__(self, row: Row, source: str) -> RowScores:
        encoding = self.encoding
        solver = load_solver(Path(source)).to(encoding.device or accelerator() or "cpu")
        questions = [problem.question for problem in self._problems]
        solutions = solver.solve(
            questions, BEAMS, encoding.batch_size, precision=encoding.precision, show_progress=True
        )
        is_common = common_prototypes(self._problems)
        common = [problem for problem, kept in zip(self._problems, is_common, strict=True) if kept]
        index = None
        if common:
            goals = representations(solver, [problem.question.content for problem in common]).goals
            index = calinski_harabasz(goals, [problem.prototype for problem in common])
        solved = SolvedTerms.of(score_solutions(self._problems, solutions), self._problems, self._leaked, index)
        return RowScores(similar={}, probe=[], fold=self.fold, solved=solved)


def described(bank: QuestionBank) -> str:
    """Describe a bank by name, size and fingerprint."""
    return f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}"
