"""``tqnet solve``: the equation of a word problem, its tree and its value."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments
from tqnet.commands.options import whole_number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.solver.model import Solution


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "solve",
        help="find the equation and the answer of word problems",
        description="Finds the equation of a word problem, its tree and its value, by a model of finetune/solver.py. "
        "n1 is the first number of the text. A problem without a number, or whose equation has no value, says so.",
    )
    parser.add_argument("text", nargs="?", metavar="PROBLEM", help="its text")
    parser.add_argument("--model", required=True, metavar="DIR", help="a folder that finetune/solver.py has made")
    parser.add_argument("--bank", metavar="BANK", help="solve all questions of a bank: a file, or a folder with one")
    parser.add_argument("--out", metavar="FILE", help="with --bank: write one JSON object for each question here")
    parser.add_argument("--json", action="store_true", help="print JSON, one object on a line")
    parser.add_argument("--beams", type=whole_number(1), default=3, help="hypotheses of a problem (3)")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import json

    from tqnet.files import atomic
    from tqnet.libraries import precision, quiet
    from tqnet.modeling.encode import accelerator
    from tqnet.questions import load_bank
    from tqnet.solver.model import load_solver

    quiet()
    if (args.text is None) == (args.bank is None):
        raise ValueError("one problem, or --bank with many")
    if args.text is not None and not args.text.strip():
        raise ValueError("the problem is empty")
    out = output_file(args.out) if args.out else None
    bank = load_bank(args.bank) if args.bank else None
    ids = bank.ids if bank is not None else None
    device = args.device or accelerator() or "cpu"
    solver = load_solver(Path(args.model)).to(device)
    solutions = solver.solve(
        list(bank) if bank is not None else [args.text],
        args.beams,
        args.batch_size,
        precision=precision(args.precision, device),
        show_progress=bank is not None,
    )
    lines = [
        json.dumps(({"id": ids[place]} if ids else {}) | _record(solution), ensure_ascii=False)
        for place, solution in enumerate(solutions)
    ]
    if out is not None:
        with atomic(out) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if args.json or (bank is not None and out is None):
        print("\n".join(lines))
    elif bank is None:
        print(_told(solutions[0]))
    if bank is not None:
        solved = sum(solution.value is not None for solution in solutions)
        print(f"{len(solutions):,} problems, {solved:,} with a value" + (f": {args.out}" if args.out else ""))
    return 0 if all(solution.value is not None for solution in solutions) or bank is not None else 1


def _record(solution: Solution) -> dict[str, Any]:
    from tqnet.text.equations import infix, written

    return {
        "numbers": [written(value) for value in solution.numbers],
        "equation": infix(solution.equation) if solution.equation else None,
        "value": None if solution.value is None else float(solution.value),
        "probability": round(solution.probability, 4),
        **({"fault": solution.fault} if solution.fault else {}),
    }


def _told(solution: Solution) -> str:
    from tqnet.text.equations import drawn, infix, written

    if not solution.equation:
        return f"no answer: {solution.fault}"
    named = {f"n{place}": written(value) for place, value in enumerate(solution.numbers, start=1)}
    filled = infix(tuple(named.get(token, token).partition(" = ")[0] for token in solution.equation))
    value = f"no answer: {solution.fault}" if solution.value is None else f"x = {written(solution.value)}"
    where = ", ".join(f"{name} = {number}" for name, number in named.items())
    equation = f"x = {infix(solution.equation)}\n  = {filled}\n{value}"
    return f"{equation}\n\n{where}; probability {solution.probability:.2f}\n\n{drawn(solution.equation)}"
