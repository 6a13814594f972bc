"""Training data of a solver: texts with their gold trees, alone or as contrastive triples."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import torch

from tqnet.config import ConfigError
from tqnet.questions import QuestionBank
from tqnet.solver.decoder import TreeBatch
from tqnet.solver.evaluation import GoldProblem, score_solutions
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import EQUATION, Alphabet, WordProblem, gold_equations, gold_problem
from tqnet.solver.triples import Triple, Triples
from tqnet.text.equations import EquationError
from tqnet.training.data import Batch, Item, QuestionViews

log = logging.getLogger(__name__)

#: Problems of ``valid`` on which a state is scored.
_SCORED = 500
#: Faults that are logged one by one.
_LOGGED = 5


def learn_alphabet(bank: QuestionBank, min_count: int) -> Alphabet:
    """The tokens of the equations of a bank.

    Raises:
        ConfigError: No question has an equation.
    """
    equations = list(gold_equations(bank))
    if not equations:
        raise ConfigError(f"data.bank: no question of {bank.name} has a field {EQUATION!r}")
    return Alphabet.learn(equations, min_count)


def solvable(bank: QuestionBank, solver: WordProblemSolver, most_tokens: int) -> tuple[list[int], list[WordProblem]]:
    """Places in the bank and problems of the questions whose equation can be learnt; others are logged.

    Raises:
        ConfigError: There is none.
    """
    rows, problems, faults = [], list[WordProblem](), list[str]()
    processor, number_ids = solver.encoder.processor, set(solver.number_ids.tolist())
    for place, question in enumerate(bank):
        try:
            problem = gold_problem(question, solver.alphabet)
            if len(problem.equation) > most_tokens:
                raise EquationError(f"{len(problem.equation)} tokens, more than {most_tokens}")
        except EquationError as error:
            faults.append(f"{question.id}: {error}")
            continue
        read = sum(token in number_ids for token in processor.tokenize([question.content])[0])
        if read < max((int(token[1:]) for token in problem.equation if token.startswith("n")), default=0):
            faults.append(f"{question.id}: a number of its equation stands behind {processor.max_length} tokens")
            continue
        rows.append(place)
        problems.append(problem)
    processor.forget_cuts()
    for fault in faults[:_LOGGED]:
        log.warning("left out: %s", fault)
    if faults:
        log.warning("%d of %d problems are left out; tqnet prototypes lists all", len(faults), len(bank))
    if not rows:
        raise ConfigError(f"data.bank: {bank.name} has no problem whose equation can be read")
    return rows, problems


class WordProblems(QuestionViews):
    """Problems, or triples of them, with their trees.

    ``Batch.inputs`` has a row for each text, those of a triple side by side: p, p+, p-. ``extras`` hold ``equal``
    [b, k] (`WordProblemSolver.equal_numbers`), the tensors of a `TreeBatch`, and with triples ``nodes`` [z, 3], the
    nodes whose embeddings are contrasted.

    Args:
        bank: Of the problems, in their order.
        triples: Draws p+ and p- anew in each epoch; None for problems alone.
        anchors: With triples, the problem p of each item.
    """

    def __init__(
        self,
        bank: QuestionBank,
        solver: WordProblemSolver,
        problems: Sequence[WordProblem],
        seed: int,
        triples: Triples | None = None,
        anchors: Sequence[int] = (),
        workers: int = 0,
    ):
        super().__init__(bank, solver.encoder.processor, seed, workers=workers, read_images=False)
        self.solver, self.problems, self.triples = solver, problems, triples
        self.anchors = list(anchors) if triples else list(range(len(problems)))
        self._texts = [question.content for question in bank]

    def __len__(self) -> int:
        return len(self.anchors)

    def lengths(self) -> np.ndarray:
        """Tokens of each item's problem p, [n]."""
        ids = self.processor.tokenize(self._texts)
        self.processor.forget_cuts()
        return np.array([len(ids[anchor]) for anchor in self.anchors])

    def __getitem__(self, item: Item) -> tuple[Item, Triple | None]:  # type: ignore[override]
        epoch, index, _ = item
        if self.triples is None:
            return item, None
        return item, self.triples.draw(self.anchors[index], np.random.default_rng([self.seed, epoch, index]))

    def collate(self, rows: list[tuple[Item, Triple | None]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`."""
        texts: list[int] = []
        for (_, index, _), triple in rows:
            texts += [triple.problem, triple.positive, triple.negative] if triple else [self.anchors[index]]
        problems, place = [self.problems[row] for row in texts], self.solver.alphabet.place
        trees = TreeBatch.from_equations(
            [problem.equation for problem in problems],
            [[place(token) for token in problem.equation] for problem in problems],
        )
        extras = {"equal": self.solver.equal_numbers([problem.values for problem in problems]), **trees.tensors()}
        if self.triples is not None:
            nodes = [[triple.anchor_node, triple.node, 0] for _, triple in rows if triple is not None]
            extras["nodes"] = trees.root.view(-1, 3) + torch.tensor(nodes)
        inputs = self.processor.pack_text(self.processor.tokenize([self._texts[row] for row in texts]))
        inputs["image_counts"] = torch.zeros(len(texts), dtype=torch.long)
        return Batch(torch.tensor([self.anchors[index] for (_, index, _), _ in rows]), [inputs], extras)


class ValidationAnswers:
    """The score that chooses a run's best state: the share of correct answers on ``valid``."""

    def __init__(self, solver: WordProblemSolver, bank: QuestionBank, beams: int, precision: str, seed: int):
        problems: list[GoldProblem] = []
        for row in np.random.default_rng(seed).permutation(len(bank)).tolist():
            question = bank[row]
            with suppress(EquationError):
                problems.append(GoldProblem(row, question, gold_problem(question, solver.alphabet)))
            if len(problems) == _SCORED:
                break
        self.solver, self.problems, self.beams, self.precision = solver, problems, beams, precision

    def __call__(self) -> dict[str, float]:
        questions = [problem.question for problem in self.problems]
        solutions = self.solver.solve(questions, self.beams, precision=self.precision)
        scores = score_solutions(self.problems, solutions)
        return {f"valid/{name}": float(getattr(scores, name).mean()) for name in ("answers", "equations")}
