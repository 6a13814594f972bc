"""What ParaQD's rule operators cost: parsing a question, extraction, operators and triplets.

    python -m reproduce.benchmarks.paraphrase --bank BANK

All on one core. Parsing and extraction run once per question, so they are clocked separately; so is TopicRank, which
offers the phrases that the encoder of f5 chooses from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.benchmarks.harness import make_parser
from tqnet.paraphrase import TRAINING
from tqnet.paraphrase.negatives import without_phrases
from tqnet.paraphrase.operators import Operator, first_that_applies, operators, select
from tqnet.paraphrase.problem import NotApplicable, Parser, Problem
from tqnet.paraphrase.tokens import WordWeights, replace_heavy_words
from tqnet.questions import QuestionBank

#: Questions, and triplets of each: one for every epoch of the paper's.
QUESTIONS, EPOCHS = 1000, 9


def measure(texts: Sequence[str], epochs: int = EPOCHS, seed: int = 0) -> dict[str, Any]:
    """Milliseconds a question of every part, and triplets a second."""
    parser = Parser()
    parser(texts[0])
    parsing, problems = _clocked(lambda: parser.parse(texts))
    extracting, _ = _clocked(lambda: [extract(problem) for problem in problems])
    phrases, _ = _clocked(lambda: [attempt(without_phrases, problem) for problem in problems])
    rules = operators(TRAINING)
    kinds = select(rules, "positive"), select(rules, "negative")
    rng = np.random.default_rng(seed)

    def triplet(problem: Problem) -> list[tuple[str, str]]:
        return [first_that_applies(problem, kind, rng) for kind in kinds]

    drawing, drawn = _clocked(lambda: [attempt(triplet, problem) for _ in range(epochs) for problem in problems])
    made = sum(row is not None for row in drawn)
    every = operators(given={"f_c": partial(replace_heavy_words, weights=WordWeights.fit(texts))})
    return {
        "questions": len(texts),
        "milliseconds_a_question": {
            "parsing": _each(parsing, texts),
            "extracting": _each(extracting, texts),
            "phrases": _each(phrases, texts),
        },
        "operators": {operator.symbol: one_operator(operator, problems, seed) for operator in every},
        "triplets": made,
        "triplets_per_second": round(made / drawing),
    }


def one_operator(operator: Operator, problems: Sequence[Problem], seed: int) -> dict[str, float]:
    """Milliseconds a question, and the share of questions to which an operator applies."""
    rng = np.random.default_rng(seed)
    taken, texts = _clocked(lambda: [attempt(operator, problem, rng) for problem in problems])
    applied = sum(text is not None for text in texts)
    return {"milliseconds": _each(taken, problems), "applies": round(applied / len(problems), 3)}


def extract(problem: Problem) -> None:
    """Run all extractors."""
    for name in ("sentences", "question", "numbers", "units", "entities", "tokens"):
        getattr(problem, name)


def attempt(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of ``work``; None if it does not apply."""
    with suppress(NotApplicable):
        return work(*arguments)


def _clocked(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def _each(seconds: float, items: Sequence[Any]) -> float:
    return round(1e3 * seconds / len(items), 3)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", type=Path, required=True, help="a bank in English")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help=f"questions drawn from it ({QUESTIONS:,})")
    args = parser.parse_args()
    bank = QuestionBank.load(args.bank)
    drawn = np.random.default_rng(0).permutation(len(bank))[: args.questions]
    print(json.dumps({"bank": bank.name} | measure([bank[int(at)].stem for at in drawn]), indent=2))


if __name__ == "__main__":
    main()
