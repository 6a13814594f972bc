"""``tqnet evaluate predict``: accuracy and calibration of heads, beside TF-IDF and logistic regression."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import number
from tqnet.commands.results import command, write_results
from tqnet.commands.similarity import add_doubles_argument, rows_left_out

if TYPE_CHECKING:
    import numpy as np

    from tqnet.prediction.difficulty import DifficultyHead
    from tqnet.prediction.fit import HeadData
    from tqnet.prediction.knowledge import KnowledgeHead
    from tqnet.questions import QuestionBank

_BASELINE = "TF-IDF + logistic regression"


def add(tasks: Any) -> None:
    parser = tasks.add_parser("predict", help="accuracy and calibration of what tqnet predict says")
    parser.add_argument(
        "stages", nargs="+", metavar="NAME=DIR", help="a trained model with heads beside it, or a folder of heads"
    )
    parser.add_argument("--bank", required=True, help="labelled questions: a folder with questions.*, or such a file")
    parser.add_argument("--split", default="test", help="whose questions are predicted (test)")
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md and reliability.png")
    parser.add_argument(
        "--coverage", type=number(0, 0.999, above=True), default=0.9, help="asked of intervals of difficulty (0.9)"
    )
    parser.add_argument(
        "--no-baselines", action="store_true", help=f"leave out {_BASELINE}, fitted to the bank's train"
    )
    add_doubles_argument(parser, "do not ask")
    parser.add_argument("--vectors", metavar="DIR", help="keep vectors here, and take those that are here")
    add_error_arguments(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.evaluation.sources import Encoding, source_vectors
    from tqnet.evaluation.stages import parse_stages
    from tqnet.files import atomic
    from tqnet.libraries import precision, quiet
    from tqnet.prediction.evaluation import difficulty_table, knowledge_table, reliability_plot
    from tqnet.prediction.fit import HeadData
    from tqnet.prediction.heads import heads_of

    quiet()
    stages, out = parse_stages(args.stages, lexical=False), Path(args.out)
    heads = {name: heads_of(source) for name, source in stages.items()}
    bank = read_bank(args)
    of_split, asked = _asked(args, bank)
    rows = of_split[asked]
    out.mkdir(parents=True, exist_ok=True)  # where it cannot be, before anything is encoded
    left_out = ""
    found: dict[str, tuple[KnowledgeHead | None, DifficultyHead | None, np.ndarray]] = {}
    if not args.no_baselines:
        try:
            data = HeadData.of(bank)
        except ValueError as error:
            left_out = f"{_BASELINE} is left out: {error}"
            print(f"tqnet: {left_out}", file=sys.stderr)
        else:
            found[_BASELINE] = (*_baseline(data), _no_vectors(len(rows)))
    encoding = Encoding(args.batch_size, args.device, precision(args.precision, args.device))
    for name, (source, own) in heads.items():
        vectors = source_vectors(source, bank, encoding, Path(args.vectors) if args.vectors else None, of_split)
        found[name] = (own.knowledge, own.difficulty, vectors[asked])
    knowledge, difficulty = _scores(found, bank, rows, args.coverage)
    tables = [knowledge_table(knowledge)] if knowledge else []
    tables += [difficulty_table(difficulty)] if difficulty else []
    if not tables:
        raise ValueError(f"{args.bank}: split {args.split!r} has no labels for what the heads predict")
    without = ", doubles left out" if args.without_doubles else ""
    facts = {
        "command": command(args),
        "bank": f"{bank.name}, {len(rows):,} questions of {args.split}{without}, fingerprint {bank.fingerprint}",
        "heads": "; ".join(
            f"{name}: fitted to {own.facts['bank']} {own.facts['bank_fingerprint']}, model {own.fingerprint}"
            for name, (_, own) in heads.items()
        ),
        "precision": encoding.precision,
    } | ({"baseline": left_out} if left_out else {})
    document = {
        "knowledge": {name: {level: one.to_dict() for level, one in own.items()} for name, own in knowledge.items()},
        "difficulty": {name: own.to_dict() for name, own in difficulty.items()},
    }
    write_results(out, facts, document, "\n\n".join(f"### {one.title}\n\n{one.markdown()}" for one in tables) + "\n")
    print("\n\n".join(f"{one.title}\n\n{one.text()}" for one in tables))
    if knowledge:
        with atomic(out / "reliability.png") as temporary:
            temporary.write_bytes(reliability_plot(knowledge))
        print(f"picture: {out / 'reliability.png'}")
    return 0


def _asked(args: argparse.Namespace, bank: QuestionBank) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the questions of ``--split``, int64 [n], and whether they are asked, bool [n].

    Raises:
        ValueError: There are none.
    """
    import numpy as np

    rows = np.flatnonzero(np.asarray(bank.column("split"), dtype=object) == args.split)
    if not len(rows):
        raise ValueError(f"{bank.path}: no question of split {args.split!r}")
    asked = ~np.isin(rows, list(rows_left_out(args, bank)))
    if not asked.any():
        raise ValueError(f"--without-doubles: {bank.path}: all questions of split {args.split!r} have a double")
    return rows, asked


def _baseline(data: HeadData) -> tuple[KnowledgeHead | None, DifficultyHead | None]:
    """Regressions on TF-IDF alone, tuned and calibrated on ``valid`` like the heads."""
    from tqnet.prediction.fit import fit_heads

    return fit_heads(data, _no_vectors(len(data.bank)), show_progress=True, use_vectors=False, neighbours=False)


def _no_vectors(count: int) -> np.ndarray:
    import numpy as np

    return np.zeros((count, 1), dtype=np.float32)


def _scores(found: Any, bank: QuestionBank, rows: np.ndarray, coverage: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of each model the scores of every level, and those of difficulty, as far as bank and heads have them.

    Args:
        found: Name -> its heads, and the vectors ``[rows, width]``.
    """
    import numpy as np

    from tqnet.prediction.evaluation import score_difficulty, score_knowledge
    from tqnet.questions.splits import question_units

    own = bank.select(rows)
    texts, paths, rated = [one.content for one in own], own.column("knowledge"), own.column("difficulty")
    every = question_units(bank)
    units = [every[i] for i in rows]
    known = [i for i, value in enumerate(rated) if value is not None]
    truth = np.array([rated[i] for i in known], dtype=np.float64)
    knowledge, difficulty = {}, {}
    for name, (concepts, regression, vectors) in found.items():
        if concepts is not None and any(paths):
            knowledge[name] = score_knowledge(concepts, concepts.predict(vectors, texts), paths, units)
        if regression is not None and known:
            estimates = regression.predict(vectors[known], [texts[i] for i in known], coverage)
            difficulty[name] = score_difficulty(estimates, truth, [units[i] for i in known], coverage)
    return knowledge, difficulty
