"""Word problems as a solver's recipe sees them: texts with their trees, alone or as contrastive triples."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch

from tqnet.config import ConfigError
from tqnet.questions import Question, QuestionBank
from tqnet.solver.decoder import TreeBatch
from tqnet.solver.evaluation import same_equation
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import EQUATION, Alphabet, WordProblem, equation_of, read_problem, told_equations
from tqnet.solver.triples import Triple, Triples
from tqnet.text.equations import EquationError, same_value
from tqnet.training.data import Batch, Item, QuestionViews

log = logging.getLogger(__name__)

#: Problems of ``valid`` on which a state is judged.
_JUDGED = 500
#: Faults that are told one by one.
_TOLD = 5


def learn_alphabet(bank: QuestionBank, min_count: int) -> Alphabet:
    """What the equations of a bank are made of.

    Raises:
        ConfigError: No question has an equation.
    """
    told = list(told_equations(bank))
    if not told:
        raise ConfigError(f"data.bank: no question of {bank.name} has a field {EQUATION!r}")
    return Alphabet.learn(told, min_count)


def solvable(bank: QuestionBank, solver: WordProblemSolver, most_tokens: int) -> tuple[list[int], list[WordProblem]]:
    """Questions whose equation can be learnt, by place in the bank, and their problems; says which are left out.

    Raises:
        ConfigError: There is none.
    """
    rows, problems, faults = [], list[WordProblem](), list[str]()
    processor = solver.encoder.processor
    for place, question in enumerate(bank):
        try:
            problem = _read(question, solver.alphabet, most_tokens)
        except EquationError as error:
            faults.append(f"{question.id}: {error}")
            continue
        if _numbers_read(processor.tokenize([question.content])[0], solver) < _last_number(problem):
            faults.append(f"{question.id}: a number of its equation stands behind {processor.max_length} tokens")
            continue
        rows.append(place)
        problems.append(problem)
    processor.forget_cuts()
    for fault in faults[:_TOLD]:
        log.warning("left out: %s", fault)
    if faults:
        log.warning("%d of %d problems are left out; tqnet prototypes lists all", len(faults), len(bank))
    if not rows:
        raise ConfigError(f"data.bank: {bank.name} has no problem whose equation can be read")
    return rows, problems


def _read(question: Question, alphabet: Alphabet, most_tokens: int) -> WordProblem:
    if (equation := equation_of(question)) is None:
        raise EquationError("no equation")
    problem = read_problem(question.content, equation, alphabet)
    if len(problem.equation) > most_tokens:
        raise EquationError(f"{len(problem.equation)} tokens, more than {most_tokens}")
    return problem


def _numbers_read(ids: Sequence[int], solver: WordProblemSolver) -> int:
    known = set(solver.number_ids.tolist())
    return sum(token in known for token in ids)


def _last_number(problem: WordProblem) -> int:
    return max((int(token[1:]) for token in problem.equation if token.startswith("n")), default=0)


class WordProblems(QuestionViews):
    """Problems, or triples of them, with their trees.

    ``Batch.inputs`` has a row for each text: of triples those of p, p+ and p- one behind the other. ``extras`` hold
    ``equal`` [b, k] (`WordProblemSolver.equal_numbers`), the tensors of a `TreeBatch`, and of triples ``nodes`` [z, 3],
    where the three embeddings that are contrasted stand among the nodes.

    Args:
        bank: Of the problems, in their order.
        triples: Draws p+ and p- anew in each epoch; None for problems alone.
        anchors: Of each item, the problem p; with triples.
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
        """[n], tokens of each item's own problem."""
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
        shown: list[int] = []
        for (_, index, _), triple in rows:
            shown += [triple.problem, triple.positive, triple.negative] if triple else [self.anchors[index]]
        problems, place = [self.problems[row] for row in shown], self.solver.alphabet.place
        trees = TreeBatch.of(
            [problem.equation for problem in problems],
            [[place(token) for token in problem.equation] for problem in problems],
        )
        extras = {"equal": self.solver.equal_numbers([problem.values for problem in problems]), **trees.tensors()}
        if self.triples is not None:
            nodes = [[triple.own_node, triple.node, 0] for _, triple in rows if triple is not None]
            extras["nodes"] = trees.root.view(-1, 3) + torch.tensor(nodes)
        inputs = self.processor.pack_text(self.processor.tokenize([self._texts[row] for row in shown]))
        inputs["image_counts"] = torch.zeros(len(shown), dtype=torch.long)
        return Batch(torch.tensor([self.anchors[index] for (_, index, _), _ in rows]), [inputs], extras)


class ValidationAnswers:
    """The score by which a run's best state is chosen: the share of right answers on ``valid``."""

    def __init__(self, solver: WordProblemSolver, bank: QuestionBank, beams: int, precision: str, seed: int):
        told: list[tuple[Question, WordProblem]] = []
        order = np.random.default_rng(seed).permutation(len(bank))
        for row in order.tolist():
            question = bank[row]
            try:
                told.append((question, _read(question, solver.alphabet, most_tokens=10**6)))
            except EquationError:
                continue
            if len(told) == _JUDGED:
                break
        self.solver, self.told, self.beams, self.precision = solver, told, beams, precision

    def __call__(self) -> dict[str, float]:
        solutions = self.solver.solve([question for question, _ in self.told], self.beams, precision=self.precision)
        right = Counter[str]()
        for (_, problem), solution in zip(self.told, solutions, strict=True):
            right["answers"] += solution.value is not None and same_value(solution.value, problem.answer)
            right["equations"] += same_equation(solution.equation, solution.numbers, problem)[0]
        return {f"valid/{name}": right[name] / max(1, len(self.told)) for name in ("answers", "equations")}
