"""What the rows of a suite are measured by: the bank's own questions, labelled paraphrases, or word problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.bench.paraphrases import ParaphraseTerms
from tqnet.bench.scores import RowScores
from tqnet.bench.solved import SolvedTerms
from tqnet.bench.suite import Row, Suite, SuiteError, beside
from tqnet.evaluation.metrics import BoolArray
from tqnet.evaluation.similar import has_figures
from tqnet.evaluation.sources import Encoding, open_source, source_vectors
from tqnet.evaluation.stages import LEXICAL, Tasks
from tqnet.files import content_digest
from tqnet.modeling.encode import accelerator
from tqnet.paraphrase.evaluation import scored_pairs
from tqnet.paraphrase.vectors import PairTexts
from tqnet.questions import KnowledgeHierarchy, QuestionBank, find_contamination
from tqnet.questions.leakage import rows_held_out
from tqnet.questions.paraphrase_pairs import read_labelled_sets
from tqnet.questions.splits import show
from tqnet.solver.evaluation import gold_problems, score_solutions
from tqnet.solver.model import BEAMS, load_solver
from tqnet.solver.representations import calinski_harabasz, common_prototypes, representations
from tqnet.training.config import DataConfig
from tqnet.training.validation import similar_questions


class Measure(ABC):
    """Scores a row's model.

    Attributes:
        left_out: Questions that have no part in it.
        left_out_are: Which these are, in words behind their number.
        facts: How the scores come about, in words, for the head of a table.
    """

    left_out: int
    left_out_are: str
    facts: dict[str, str]

    @abstractmethod
    def decides(self, row: Row) -> list[Any]:
        """All that a row's scores depend on beside its model, wherever files lie."""

    @abstractmethod
    def __call__(self, row: Row, source: str) -> RowScores:
        """The scores of a model, which are kept: a folder, or what `tqnet evaluate stages` takes for one."""

    def counted(self, row: Row, scores: RowScores) -> RowScores:
        """Scores that were kept, as the row has them: what follows from them without the model is made anew."""
        return scores


class BankTasks(Measure):
    """Similar questions, concepts and what else a suite asks for, on the bank's own ``test``.

    Args:
        vectors: Folder in which the vectors of the bank are kept.
        fold: Which part of a cross-validation is ``test``; None where the bank's own splits say it.

    Raises:
        ValueError: There is nothing to measure.
    """

    left_out_are = "questions of it with a double in train"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding, vectors: Path, fold: int | None = None):
        self.suite, self.data, self.encoding, self.vectors, self.fold = suite, data, encoding, vectors, fold
        self.bank = data.load()
        doubles = find_contamination(self.bank)
        self._clean, self.left_out = doubles.clean, len(doubles.doubles)
        clean = self.bank.select(self._clean)
        self._pictured = has_figures(clean)
        self._tasks(clean).check()
        without = f"measured without {self.left_out:,} questions of valid and test with a double in train"
        self.facts = {"bank": f"{described(self.bank)}; {without}"}

    def decides(self, row: Row) -> list[Any]:
        of: list[Any] = [self.bank.fingerprint, row.measure or row.show, self.suite.similar_level]
        of += [name for name in ("difficulty", "agreement") if getattr(self.suite, name)]
        of += [f"recall {self.suite.recall}"] if self.suite.recall else []
        return of + ([content_digest(Path(self.data.pairs))] if self.data.pairs else [])

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
    """How well the cosine tells valid paraphrases from invalid ones (ParaQD, Section 4.4).

    Raises:
        SuiteError: A row has no vectors, or trainings see questions of the pairs.
        ValueError, OSError: A file of pairs cannot be read, or lacks a label.
    """

    left_out_are = "questions that the pairs have too"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding):
        if lexical := [row.name for row in suite.rows if row.source in LEXICAL]:
            raise SuiteError(f"row {lexical[0]}: source: has no vectors that pairs could be scored by")
        self.encoding = encoding
        files = [beside(data.bank, file) for file in suite.paraphrases]
        self._sets = read_labelled_sets(files)
        self._digests = {name: content_digest(Path(file)) for name, file in zip(self._sets, files, strict=True)}
        bank = data.load()
        trained_on = bank.split("train") if any(bank.column("split")) else bank
        held_out = rows_held_out(trained_on, suite.held_out(data.bank))
        if seen := len(np.setdiff1d(rows_held_out(trained_on, files), held_out)):
            raise SuiteError(f"data.held_out: {seen} questions that the pairs have are trained on; name {files} there")
        self.left_out = len(held_out)
        without = f"trained without {self.left_out:,} that the pairs have too, but for spacing, numbers or few words"
        sets = (f"{name}, {len(pairs):,}, digest {self._digests[name]}" for name, pairs in self._sets.items())
        self.facts = {"bank": f"{described(bank)}; {without}", "pairs": "; ".join(sets)}

    def decides(self, row: Row) -> list[Any]:
        return ["paraphrases", *self._digests.items()]

    def __call__(self, row: Row, source: str) -> RowScores:
        model, how = open_source(source, self.encoding.max_length), self.encoding
        texts = PairTexts.read(
            text for pairs in self._sets.values() for pair in pairs for text in (pair.original, pair.paraphrase)
        )
        vectors = texts.encode(
            model, batch_size=how.batch_size, device=how.device, precision=how.precision, show_progress=True
        )
        found = {name: ParaphraseTerms.of(scored_pairs(pairs, vectors)) for name, pairs in self._sets.items()}
        return RowScores(similar={}, probe=[], paraphrases=found)

    def counted(self, row: Row, scores: RowScores) -> RowScores:
        if not row.checked:
            return scores
        checked = {name: terms.checked(self._otherwise[name]) for name, terms in scores.paraphrases.items()}
        return replace(scores, paraphrases=checked)

    @cached_property
    def _otherwise(self) -> dict[str, BoolArray]:
        """The same for every row: which pairs certainly ask otherwise. It needs the extra ``paraphrase``."""
        from tqnet.paraphrase.check.checks import asks_otherwise

        return {name: asks_otherwise(pairs) for name, pairs in self._sets.items()}


class SolvedProblems(Measure):
    """How many problems of ``test`` a solver solves, and how its representations lie (mwp-cl, Section 5).

    Raises:
        SuiteError: A row is no solver of the suite's own.
        ValueError: No problem of ``test`` has an equation that can be read.
    """

    left_out_are = "problems of it whose equations cannot be read"

    def __init__(self, suite: Suite, data: DataConfig, encoding: Encoding, fold: int | None = None):
        if strangers := [row.name for row in suite.rows if row.source]:
            raise SuiteError(f"row {strangers[0]}: source: is no solver")
        self.encoding, self.fold = encoding, fold
        bank = data.load()
        rows = np.array([row for row, split in enumerate(bank.column("split")) if split == "test"], dtype=np.int64)
        self._told, faults = gold_problems(bank.select(rows))
        if not self._told:
            raise ValueError(f"{bank.name}: no problem of split 'test' has an equation that can be read")
        self.left_out = len(faults)
        doubles = [double.row for double in find_contamination(bank).doubles]
        self._doubles = np.isin(rows[[one.place for one in self._told]], doubles)
        self._fingerprint = bank.fingerprint
        without = f", {self.left_out:,} whose equations cannot be read left out" if faults else ""
        measured = f"solved are {len(self._told):,} of test{without}; {BEAMS} beams"
        self.facts = {"bank": f"{described(bank)}; {measured}"}

    def decides(self, row: Row) -> list[Any]:
        return ["solved", self._fingerprint, BEAMS]

    def __call__(self, row: Row, source: str) -> RowScores:
        how = self.encoding
        solver = load_solver(Path(source)).to(how.device or accelerator() or "cpu")
        questions = [one.question for one in self._told]
        solutions = solver.solve(questions, BEAMS, how.batch_size, precision=how.precision, show_progress=True)
        common = common_prototypes(self._told)
        shown = [one for one, of in zip(self._told, common, strict=True) if of]
        index = None
        if shown:
            goals = representations(solver, [one.question.content for one in shown]).goals
            index = calinski_harabasz(goals, [one.prototype for one in shown])
        solved = SolvedTerms.of(score_solutions(self._told, solutions), self._told, self._doubles, index)
        return RowScores(similar={}, probe=[], fold=self.fold, solved=solved)


def described(bank: QuestionBank) -> str:
    """A bank in words: its name, size and content."""
    return f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}"
