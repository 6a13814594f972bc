"""``tqnet solve``, ``prototypes`` and ``evaluate solver``: word problems (mwp-cl)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import (
    BANK,
    EncodingOptions,
    LineOptions,
    ReadingOptions,
    ReportOptions,
    SeedOptions,
    SplitOptions,
    StageOptions,
    bank_fact,
    model_fact,
)
from tqnet.cli.options import Command, argument, count, option, output_file

if TYPE_CHECKING:
    from tqnet.evaluation.metrics import BoolArray
    from tqnet.evaluation.table import Table
    from tqnet.questions import QuestionBank
    from tqnet.solver.evaluation import GoldProblem, SolverScores
    from tqnet.solver.model import Solution, WordProblemSolver
    from tqnet.solver.representations import Analysis, Representations

SOLVER = "a folder made by finetune/solver.py"


@dataclass(frozen=True, kw_only=True)
class _SolvingOptions(EncodingOptions):
    beams: int = count("number of hypotheses per problem", default=3)

    def load_solver(self, folder: str) -> WordProblemSolver:
        from tqnet.solver.model import load_solver

        return load_solver(Path(folder)).to(self.chosen_device)

    @property
    def solving_precision(self) -> str:
        """Precision for the solver's device."""
        from tqnet.libraries import precision

        return precision(self.precision, self.chosen_device)

    def solve(self, solver: WordProblemSolver, problems: Sequence[Any], show_progress: bool) -> list[Solution]:
        settings: dict[str, Any] = {"precision": self.solving_precision, "show_progress": show_progress}
        return solver.solve(problems, self.beams, self.batch_size, **settings)


@dataclass(frozen=True, kw_only=True)
class Solve(Command, LineOptions, _SolvingOptions, name="solve"):
    """Find the equation of a word problem, its tree and its value, with a model of finetune/solver.py.

    n1 is the first number of the text. Problems without a number, or whose equation has no value, are reported.
    """

    text: str | None = argument("text of the problem", default=None, nargs="?", metavar="PROBLEM")
    model: str = option(SOLVER, required=True, metavar="DIR")
    bank: str | None = option("solve all questions of a bank: " + BANK, metavar="BANK")

    def run(self) -> int:
        from tqnet.questions import load_bank

        if (self.text is None) == (self.bank is None):
            raise ValueError("give one problem, or --bank with many")
        if self.text is not None and not self.text.strip():
            raise ValueError("the problem is empty")
        out = self.out_file
        bank = load_bank(self.bank) if self.bank else None
        solver = self.load_solver(self.model)
        solutions = self.solve(solver, [self.text] if bank is None else list(bank), show_progress=bank is not None)
        records = [_record(solution) for solution in solutions]
        if bank is not None:
            records = [{"id": id} | record for id, record in zip(bank.ids, records, strict=True)]
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        self.write(out, lines)
        solved = sum(solution.value is not None for solution in solutions)
        if bank is None:
            if not self.json:
                print(_explained(solutions[0]))
            return 0 if solved else 1
        if out is None and not self.json:
            print("\n".join(lines))
        print(f"{len(solutions):,} problems, {solved:,} with a value" + (f": {self.out}" if self.out else ""))
        return 0


def _record(solution: Solution) -> dict[str, Any]:
    from tqnet.text.equations import infix, written

    return {
        "numbers": [written(value) for value in solution.numbers],
        "equation": infix(solution.equation) if solution.equation else None,
        "value": None if solution.value is None else float(solution.value),
        "probability": round(solution.probability, 4),
        **({"fault": solution.fault} if solution.fault else {}),
    }


def _explained(solution: Solution) -> str:
    from tqnet.text.equations import drawn, infix, written

    if not solution.equation:
        return f"no answer: {solution.fault}"
    named = {f"n{place}": written(value) for place, value in enumerate(solution.numbers, start=1)}
    filled = infix(tuple(named.get(token, token).partition(" = ")[0] for token in solution.equation))
    value = f"no answer: {solution.fault}" if solution.value is None else f"x = {written(solution.value)}"
    where = ", ".join(f"{name} = {number}" for name, number in named.items())
    equation = f"x = {infix(solution.equation)}\n  = {filled}\n{value}"
    return f"{equation}\n\n{where}; probability {solution.probability:.2f}\n\n{drawn(solution.equation)}"


@dataclass(frozen=True, kw_only=True)
class Prototypes(Command, ReadingOptions, name="prototypes"):
    """Group word problems by their equations.

    Writes a bank whose groups are the prototypes of the questions' field 'equation' (n1 * n2, whatever the numbers),
    for tqnet evaluate similar and finetune/similar.py. Lists equations that cannot be parsed; such questions have no
    group.
    """

    bank: str = argument(BANK, metavar="BANK")
    out: str = option(".jsonl or .parquet", required=True, metavar="FILE")
    min_count: int = count(
        "minimum number of equations with a number that is not in their texts, for it to be a constant", default=5
    )

    def run(self) -> None:
        from tqnet.questions import QuestionBank
        from tqnet.solver.problems import Alphabet, gold_equations, grouped_by_prototype

        out = output_file(self.out)
        bank = self.load(self.bank)
        equations = list(gold_equations(bank))
        if not equations:
            raise ValueError(f"{self.bank}: no question has a field 'equation'")
        alphabet = Alphabet.learn(equations, self.min_count)
        questions, faults = grouped_by_prototype(bank, alphabet)
        lines = bank.column("line")
        for place, fault in faults.items():
            print(f"line {lines[place]}: {questions[place].id}: equation: {fault}")
        QuestionBank.from_questions(questions).save(out)
        sizes = Counter(question.group for question in questions if question.group)
        common = ", ".join(f"{group} ({count:,})" for group, count in sizes.most_common(3))
        print(
            f"{out}: {len(questions):,} questions, {len(sizes):,} prototypes, most often {common or 'none'}; "
            f"{len(faults):,} equations not read; constants {', '.join(alphabet.constants) or 'none'}"
        )


#: Maximum number of problems on a map.
_DRAWN = 1000


@dataclass(frozen=True, kw_only=True)
class EvaluateSolver(
    Command, SplitOptions, SeedOptions, StageOptions, ReportOptions, _SolvingOptions, ReadingOptions,
    name="evaluate solver",
):  # fmt: skip
    """Measure answers and equations of word problems, and the geometry of their representations (mwp-cl).

    Solves the problems of a split that have a field 'equation' and compares answers and equations, also by tree size.
    Pictures: correct equations by distance to the centre of the prototype, similarity by layer, and a t-SNE map by
    prototype.
    """

    stages: Sequence[str] = argument(SOLVER, nargs="+", metavar="NAME=DIR")
    bank: str = option(BANK, required=True)

    def run(self) -> None:
        from tqnet.solver.evaluation import gold_problems, score_solutions
        from tqnet.solver.representations import analyse, draw_layer_pairs, example_table, representations

        stages = self.sources()
        solvers = {name: self.load_solver(folder) for name, folder in stages.items()}
        corpus = self.load(self.bank)
        bank, duplicates = _split(corpus, self.split)
        problems, faults = gold_problems(bank)
        if not problems:
            raise ValueError(f"{self.bank}: split {self.split!r} has no problem with an equation that can be read")
        self.make_folder()
        questions = [problem.question for problem in problems]
        solutions = {name: self.solve(solver, questions, show_progress=True) for name, solver in solvers.items()}
        scores = {name: score_solutions(problems, solved) for name, solved in solutions.items()}
        texts = [question.content for question in questions]
        vectors = {name: representations(solver, texts) for name, solver in solvers.items()}
        pairs = draw_layer_pairs(problems)
        analyses = {name: analyse(v, problems, scores[name].equations, pairs) for name, v in vectors.items()}

        tables = _tables(problems, duplicates[[problem.place for problem in problems]], faults, scores, analyses)
        by_text, by_id = (example_table(problems, solutions, scores, shows_text) for shows_text in (True, False))
        facts = {
            "bank": bank_fact(corpus, f"; split {self.split}"),
            "models": model_fact(stages),
            "precision": f"{self.solving_precision}, {self.beams} beams",
        }
        numbers = {name: score.to_dict() | analyses[name].to_dict() for name, score in scores.items()}
        self.report(
            {"problems": len(problems), "left_out": len(faults), "solver": numbers},
            [table for table in (*tables, by_id) if table.rows],
            facts,
            _draw(problems, vectors, analyses, self.seed),
            [table for table in (*tables, by_text) if table.rows],
        )


def _split(bank: QuestionBank, split: str) -> tuple[QuestionBank, BoolArray]:
    """Return the questions of a split, and a mask of those that have a duplicate in train."""
    import numpy as np

    from tqnet.questions import find_contamination

    splits = bank.column("split")
    rows = np.array([row for row, name in enumerate(splits) if split in ("all", name)], dtype=np.int64)
    if not len(rows):
        raise ValueError(f"--split: {bank.name} has no question of split {split!r}")
    comparable = "train" in splits and {"valid", "test"} & set(splits)
    duplicates = find_contamination(bank).doubles if comparable else ()
    return bank.select(rows), np.isin(rows, [double.row for double in duplicates])


def _tables(
    problems: Sequence[GoldProblem],
    duplicates: BoolArray,
    faults: Mapping[int, str],
    scores: Mapping[str, SolverScores],
    analyses: Mapping[str, Analysis],
) -> list[Table]:
    from tqnet.solver.evaluation import solver_table, tables_by_kind
    from tqnet.solver.representations import distance_table, prototype_table

    notes = []
    if faults:
        shown = "; ".join(list(faults.values())[:3]) + ", .." * (len(faults) > 3)
        notes.append(f"Not measured because their equations cannot be read: {len(faults):,} ({shown}).")
    tables = [solver_table(scores, duplicates, notes), *tables_by_kind(scores, problems)]
    return [*tables, prototype_table(analyses, problems), distance_table(analyses)]


def _draw(
    problems: Sequence[GoldProblem], vectors: Mapping[str, Representations], analyses: Mapping[str, Analysis], seed: int
) -> dict[str, bytes]:
    import numpy as np

    from tqnet.evaluation.plots import knowledge_maps, sample, tsne
    from tqnet.solver.representations import common_prototypes, plot_accuracy_by_distance, plot_similarity_by_layer

    pictures = {}
    common = np.flatnonzero(common_prototypes(problems))
    if len(common) > 1:
        pictures["distance"] = plot_accuracy_by_distance(analyses)
        drawn = common[sample(len(common), _DRAWN, seed)]
        maps = {name: tsne(encoded.goals[drawn], seed=seed) for name, encoded in vectors.items()}
        pictures["prototypes"] = knowledge_maps(maps, [problems[row].prototype for row in drawn])
    if any(analysis.by_layer is not None for analysis in analyses.values()):
        pictures["layers"] = plot_similarity_by_layer(analyses)
    return pictures
