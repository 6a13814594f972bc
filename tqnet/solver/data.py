"""Training data of a solver: texts with gold trees, single or in contrastive triples (mwp-cl, Section 4.1)."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch

from tqnet.config import ConfigError
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import QuestionBank
from tqnet.solver.augmentation import ProblemAugmentation
from tqnet.solver.decoder import TreeBatch
from tqnet.solver.evaluation import GoldProblem, score_solutions
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import EQUATION, Alphabet, WordProblem, gold_equations, gold_problem
from tqnet.text.equations import OPERATORS, EquationError, Prefix, ends, pattern
from tqnet.training.data import Batch, Item, QuestionViews

log = logging.getLogger(__name__)

#: A problem's text, as it is or augmented, and its equation in the numbers of that text.
TextProblem = tuple[str, WordProblem]

#: Maximum number of problems of ``valid`` to score.
_SCORED = 500
#: Faults to log one by one.
_LOGGED = 5


class Triple(NamedTuple):
    """Row numbers of three problems, and the nodes at which ``positive`` and ``problem`` have the same pattern.

    Attributes:
        node, anchor_node: Nodes of ``positive`` and ``problem``; at least one is a root.
    """

    problem: int
    positive: int
    node: int
    negative: int
    anchor_node: int = 0


class Triples:
    """Draws contrastive triples: a problem, one with a similar pattern, one that is easily confused.

    Indexes the patterns of all subtrees, in time linear in the number of nodes.

    A positive has the problem's whole pattern, in which all leaves are equal, as its tree or a subtree; a negative has
    equally many nodes but other operators.

    Args:
        equations: Equations of all problems, in prefix order.
        languages: Languages of all problems; if given, positives come from another language and negatives from the
            problem's (mwp-cl, Section 5.1, multilingual).
        positives: ``subtree``, the paper's; ``either`` also takes problems whose whole tree is a subtree of the
            problem's; ``same`` only those with the same whole tree (Table 4, "Same").
        negatives: ``hard``, the paper's; ``random``, any problem with another pattern (Table 4, "Rand").
    """

    def __init__(
        self,
        equations: Sequence[Prefix],
        languages: Sequence[str | None] | None = None,
        positives: str = "subtree",
        negatives: str = "hard",
    ):
        count = len(equations)
        self.multilingual, self.positives, self.negatives = languages is not None, positives, negatives
        self._languages: list[str | None] = [None] * count if languages is None else list(languages)
        self._patterns = [pattern(equation) for equation in equations]
        self._operators = [_operators(equation) for equation in equations]
        self._sizes = [len(equation) for equation in equations]
        self._subtrees = [_subtrees(equation) for equation in equations]
        # Pattern -> language -> (problem, node) of all subtrees; node 0 is the whole tree.
        self._with_pattern: dict[str, dict[str | None, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
        # (Number of nodes, language) -> operators -> problems.
        self._sized: dict[tuple[int, str | None], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        members: dict[str | None, list[int]] = defaultdict(list)
        for place, language in enumerate(self._languages):
            members[language].append(place)
            for subtree, node in self._subtrees[place]:
                self._with_pattern[subtree][language].append((place, node))
            self._sized[self._sizes[place], language][self._operators[place]].append(place)
        self._members = {language: np.array(places) for language, places in members.items()}
        self._pattern_counts = {
            language: len({self._patterns[place] for place in places}) for language, places in members.items()
        }

    @property
    def problems(self) -> list[int]:
        """Problems with both a positive and a negative; equations of a single number have none."""
        return [place for place in range(len(self._patterns)) if self._has_triple(place)]

    def draw(self, problem: int, rng: np.random.Generator) -> Triple:
        """Draw a triple for one of `problems`, uniformly among positives and among negatives."""
        anchor_node, positive, node = self._draw_positive(problem, rng)
        return Triple(problem, positive, node, self._draw_negative(problem, rng), anchor_node)

    def _has_triple(self, place: int) -> bool:
        if not self._operators[place]:
            return False
        candidates = sum(len(pool) for _, pool in self._positive_pools(place))
        itself = 0 if self.multilingual else 1  # it matches its own pattern once
        if self.negatives == "random":
            has_negative = self._pattern_counts[self._languages[place]] > 1
        else:
            has_negative = bool(self._negative_pools(place))
        return candidates > itself and has_negative

    def _positive_pools(self, place: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Return nodes of the problem with the (problem, node) pairs that share their pattern, without empty ones."""
        others = [language for language in self._members if language != self._languages[place]]
        languages = others if self.multilingual else [None]
        anchors = [(self._patterns[place], 0)]
        if self.positives == "either":
            anchors += [(subtree, node) for subtree, node in self._subtrees[place] if node]
        pools = []
        for language in languages:
            for anchor, anchor_node in anchors:
                pool = self._with_pattern[anchor].get(language, [])
                if self.positives == "same" or anchor_node:  # a subtree must match the other's whole tree
                    pool = [(other, node) for other, node in pool if node == 0]
                if pool:
                    pools.append((anchor_node, pool))
        return pools

    def _draw_positive(self, problem: int, rng: np.random.Generator) -> tuple[int, int, int]:
        pools = self._positive_pools(problem)
        shares = np.array([len(pool) for _, pool in pools], dtype=float)
        while True:
            anchor_node, pool = pools[int(rng.choice(len(pools), p=shares / shares.sum()))]
            positive, node = pool[int(rng.integers(len(pool)))]
            if positive != problem:
                return anchor_node, positive, node

    def _negative_pools(self, place: int) -> list[list[int]]:
        """Return problems with as many nodes but other operators, grouped by operators."""
        sized = self._sized[self._sizes[place], self._languages[place]]
        return [places for operators, places in sized.items() if operators != self._operators[place]]

    def _draw_negative(self, problem: int, rng: np.random.Generator) -> int:
        if self.negatives == "random":
            candidates = self._members[self._languages[problem]]
            while self._patterns[drawn := int(rng.choice(candidates))] == self._patterns[problem]:
                pass
            return drawn
        pools = self._negative_pools(problem)
        place = int(rng.integers(sum(map(len, pools))))
        for pool in pools:
            if place < len(pool):
                return pool[place]
            place -= len(pool)
        raise IndexError(f"problem {problem} has no negative")


def _operators(equation: Prefix) -> str:
    """Return the multiset of operators as a string: the paper's "operator types"."""
    counts = Counter(token for token in equation if token in OPERATORS)
    return "".join(operator * counts[operator] for operator in OPERATORS)


def _subtrees(equation: Prefix) -> list[tuple[str, int]]:
    """Return the patterns of subtrees with an operator, and their roots."""
    after = ends(equation)
    return [(pattern(equation[root : after[root]]), root) for root, token in enumerate(equation) if token in OPERATORS]


def learn_alphabet(bank: QuestionBank, min_count: int) -> Alphabet:
    """Learn the tokens of a bank's equations.

    Raises:
        ConfigError: No question has an equation.
    """
    equations = list(gold_equations(bank))
    if not equations:
        raise ConfigError(f"data.bank: no question of {bank.name} has a field {EQUATION!r}")
    return Alphabet.learn(equations, min_count)


def solvable(bank: QuestionBank, solver: WordProblemSolver, most_tokens: int) -> tuple[list[int], list[WordProblem]]:
    """Return row numbers and problems of questions whose equation can be learnt, and log the others.

    Raises:
        ConfigError: There is no such question.
    """
    rows, problems, faults = [], list[WordProblem](), list[str]()
    processor, number_ids = solver.encoder.processor, frozenset(solver.number_ids.tolist())
    for place, question in enumerate(bank):
        try:
            problem = gold_problem(question, solver.alphabet)
            if len(problem.equation) > most_tokens:
                raise EquationError(f"{len(problem.equation)} tokens, more than {most_tokens}")
        except EquationError as error:
            faults.append(f"{question.id}: {error}")
            continue
        if not _reads_numbers(processor, number_ids, question.content, problem.equation):
            faults.append(f"{question.id}: a number of its equation comes after {processor.max_length} tokens")
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


def _reads_numbers(processor: TQNetProcessor, number_ids: frozenset[int], text: str, equation: Prefix) -> bool:
    """Return whether the numbers of ``equation`` come before the place where ``text`` is cut."""
    count = sum(token in number_ids for token in processor.tokenize([text])[0])
    return count >= max((int(token[1:]) for token in equation if token.startswith("n")), default=0)


class WordProblems(QuestionViews):
    """Problems, or triples of them, with their trees.

    ``Batch.inputs`` has a row per text, triples in the order p, p+, p-. ``extras`` hold ``equal`` [b, k]
    (`WordProblemSolver.equal_numbers`), the tensors of a `TreeBatch`, and with triples ``nodes`` [z, 3], the nodes to
    contrast.

    Args:
        bank: Questions of the problems, in order.
        triples: Draws p+ and p- anew every epoch; None for single problems.
        anchors: With triples, the problem p of each item.
        augmentation: Draws each problem's text anew every epoch, if the solver reads the numbers of its equation.
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
        augmentation: ProblemAugmentation | None = None,
    ):
        super().__init__(bank, solver.encoder.processor, seed, workers=workers, read_images=False)
        self.solver, self.problems, self.triples = solver, problems, triples
        self.anchors = list(anchors) if triples else list(range(len(problems)))
        self.augmentation, self._texts = augmentation, [question.content for question in bank]
        self._number_ids = frozenset(solver.number_ids.tolist())

    def __len__(self) -> int:
        return len(self.anchors)

    def lengths(self) -> np.ndarray:
        """Count the tokens of each item's problem p, [n]."""
        ids = self.processor.tokenize(self._texts)
        self.processor.forget_cuts()
        return np.array([len(ids[anchor]) for anchor in self.anchors])

    def __getitem__(self, item: Item) -> tuple[Item, Triple | None, list[TextProblem]]:  # type: ignore[override]
        epoch, index, _ = item
        rng = np.random.default_rng([self.seed, epoch, index])
        if self.triples is None:
            return item, None, [self._draw_text(self.anchors[index], rng)]
        triple = self.triples.draw(self.anchors[index], rng)
        places = triple.problem, triple.positive, triple.negative
        return item, triple, [self._draw_text(place, rng) for place in places]

    def _draw_text(self, place: int, rng: np.random.Generator) -> TextProblem:
        if self.augmentation is not None:
            text, problem = self.augmentation(place, rng)
            if text != self._texts[place] and _reads_numbers(self.processor, self._number_ids, text, problem.equation):
                return text, problem
        return self._texts[place], self.problems[place]

    def collate(self, rows: list[tuple[Item, Triple | None, list[TextProblem]]]) -> Batch:  # type: ignore[override]
        """Pack rows of :meth:`__getitem__` into a :class:`Batch`."""
        texts, problems = zip(*(drawn for _, _, items in rows for drawn in items), strict=True)
        place = self.solver.alphabet.place
        trees = TreeBatch.from_equations(
            [problem.equation for problem in problems],
            [[place(token) for token in problem.equation] for problem in problems],
        )
        extras = {"equal": self.solver.equal_numbers([problem.values for problem in problems]), **trees.tensors()}
        if self.triples is not None:
            nodes = [[triple.anchor_node, triple.node, 0] for _, triple, _ in rows if triple is not None]
            extras["nodes"] = trees.root.view(-1, 3) + torch.tensor(nodes)
        inputs = self.processor.pack_text(self.processor.tokenize(texts))
        inputs["image_counts"] = torch.zeros(len(texts), dtype=torch.long)
        return Batch(torch.tensor([self.anchors[index] for (_, index, _), *_ in rows]), [inputs], extras)


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
