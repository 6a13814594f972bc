"""``tqnet evaluate solver``: how many word problems are solved, and how problems of one prototype lie together."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_pictures, write_results

if TYPE_CHECKING:
    from tqnet.evaluation.metrics import BoolArray
    from tqnet.evaluation.table import Table
    from tqnet.questions import QuestionBank
    from tqnet.solver.evaluation import GoldProblem, SolverScores
    from tqnet.solver.representations import Analysis, Representations

#: Problems that a map shows at most.
_DRAWN = 1000


def add(tasks: Any) -> None:
    parser = tasks.add_parser(
        "solver",
        help="answers and equations of word problems, and how their representations lie (mwp-cl)",
        description="Solves the problems of a split whose field 'equation' is known, and compares answers and "
        "equations with it, by the size of the tree too. Pictures: right equations by the distance to the centre of "
        "the prototype, similarity by layer, and a t-SNE map by prototype.",
    )
    parser.add_argument("stages", nargs="+", metavar="NAME=DIR", help="folders that finetune/solver.py has made")
    parser.add_argument("--bank", required=True, help="a folder with questions.*, or such a file")
    parser.add_argument("--split", default="test", help="whose problems are solved (test); all: of every split")
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md and the pictures")
    parser.add_argument("--beams", type=whole_number(1), default=3, help="hypotheses of a problem (3)")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of the maps")
    add_error_arguments(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.evaluation.sources import source_digest
    from tqnet.evaluation.stages import parse_stages
    from tqnet.libraries import precision, quiet
    from tqnet.modeling.encode import accelerator
    from tqnet.solver.evaluation import gold_problems, score_solutions
    from tqnet.solver.model import load_solver
    from tqnet.solver.representations import analyse, draw_layer_pairs, example_table, representations

    quiet()
    stages, out = parse_stages(args.stages, lexical=False), Path(args.out)
    device = args.device or accelerator() or "cpu"
    solvers = {name: load_solver(Path(folder)).to(device) for name, folder in stages.items()}
    whole = read_bank(args)
    bank, doubles = _asked(whole, args.split)
    told, faults = gold_problems(bank)
    if not told:
        raise ValueError(f"{args.bank}: split {args.split!r} has no problem with an equation that can be read")
    out.mkdir(parents=True, exist_ok=True)  # where it cannot be, before anything is solved
    how = precision(args.precision, device)
    questions = [one.question for one in told]
    solutions = {
        name: solver.solve(questions, args.beams, args.batch_size, precision=how, show_progress=True)
        for name, solver in solvers.items()
    }
    scores = {name: score_solutions(told, of) for name, of in solutions.items()}
    texts = [question.content for question in questions]
    found = {name: representations(solver, texts) for name, solver in solvers.items()}
    pairs = draw_layer_pairs(told)
    analyses = {name: analyse(own, told, scores[name].equations, pairs) for name, own in found.items()}

    tables = _tables(told, doubles[[one.place for one in told]], faults, scores, analyses)
    by_text, by_id = (example_table(told, solutions, scores, shows_text) for shows_text in (True, False))
    digests = {name: source_digest(folder) for name, folder in stages.items()}
    facts = {
        "command": command(args),
        "bank": f"{whole.name}, {len(whole):,} questions, fingerprint {whole.fingerprint}; split {args.split}",
        "models": "; ".join(f"{name}: files {digest}" for name, digest in digests.items()),
        "precision": f"{how}, {args.beams} beams",
    }
    numbers = {name: own.to_dict() | analyses[name].to_dict() for name, own in scores.items()}
    counts = {"problems": len(told), "left_out": len(faults)}
    written = [table for table in (*tables, by_id) if table.rows]
    markdown = "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in written) + "\n"
    write_results(out, facts, {**counts, "solver": numbers}, markdown)
    pictures = _draw(out, told, found, analyses, args.seed)
    shown = [table for table in (*tables, by_text) if table.rows]
    print("\n\n".join(f"{table.title}\n\n{table.text()}" for table in shown))
    print("\n".join(f"picture: {file}" for file in pictures))
    return 0


def _asked(whole: QuestionBank, split: str) -> tuple[QuestionBank, BoolArray]:
    """The questions of a split, and which of them have a double in train.

    Raises:
        ValueError: It has none.
    """
    import numpy as np

    from tqnet.questions import find_contamination

    rows = np.array([row for row, of in enumerate(whole.column("split")) if split in ("all", of)], dtype=np.int64)
    if not len(rows):
        raise ValueError(f"--split: {whole.name} has no question of split {split!r}")
    splits = set(whole.column("split"))
    doubled = find_contamination(whole).doubles if "train" in splits and splits & {"valid", "test"} else ()
    return whole.select(rows), np.isin(rows, [double.row for double in doubled])


def _tables(
    told: Sequence[GoldProblem],
    doubles: BoolArray,
    faults: Mapping[int, str],
    scores: Mapping[str, SolverScores],
    analyses: Mapping[str, Analysis],
) -> list[Table]:
    from tqnet.solver.evaluation import depth_table, language_table, size_table, solver_table
    from tqnet.solver.representations import distance_table, prototype_table

    notes = []
    if faults:
        shown = "; ".join(list(faults.values())[:3])
        notes.append(
            f"Not measured, as their equations cannot be read: {len(faults):,} ({shown}{', ..' * (len(faults) > 3)})."
        )
    tables = [solver_table(scores, doubles, notes), size_table(scores, told), depth_table(scores, told)]
    if len({one.question.language for one in told}) > 1:
        tables.append(language_table(scores, told))
    return [*tables, prototype_table(analyses, told), distance_table(analyses)]


def _draw(
    out: Path,
    told: Sequence[GoldProblem],
    found: Mapping[str, Representations],
    analyses: Mapping[str, Analysis],
    seed: int,
) -> list[Path]:
    import numpy as np

    from tqnet.evaluation.plots import knowledge_maps, sample, tsne
    from tqnet.solver.representations import common_prototypes, plot_accuracy_by_distance, plot_similarity_by_layer

    pictures = {}
    common = np.flatnonzero(common_prototypes(told))
    if len(common) > 1:
        pictures["distance"] = plot_accuracy_by_distance(analyses)
        drawn = common[sample(len(common), _DRAWN, seed)]
        maps = {name: tsne(own.goals[drawn], seed=seed) for name, own in found.items()}
        pictures["prototypes"] = knowledge_maps(maps, [told[row].prototype for row in drawn])
    if any(found.by_layer is not None for found in analyses.values()):
        pictures["layers"] = plot_similarity_by_layer(analyses)
    return write_pictures(out, pictures)
