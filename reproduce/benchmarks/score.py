"""What scoring a paraphrase costs beside encoding its texts, without an explanation and with one.

    python -m reproduce.benchmarks.score --pairs FILE

All encode the same distinct texts in batches of the same size and precision; they take turns, so that whatever else the
machine does falls on all of them alike. A new scorer has parsed nothing yet, so that the explanation's time is whole.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from statistics import median

from tqnet.libraries import precision, quiet
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase import ParaphraseScorer
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_pairs

ENCODING, SCORING, EXPLAINING = "encoding alone", "scoring", "scoring and explaining"


def speeds(
    model: QuestionEncoder, pairs: Sequence[ParaphrasePair], *, batch_size: int, precision: str, rounds: int
) -> dict[str, float]:
    """Pairs per second of each contestant, the median of ``rounds`` in turn after one that warms up."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.original, pair.paraphrase)))
    options = {"batch_size": batch_size, "precision": precision}
    plain = ParaphraseScorer(model, explain=False, **options)

    def clocked(work: Callable[[], object]) -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    seconds: dict[str, list[float]] = {ENCODING: [], SCORING: [], EXPLAINING: []}
    for number in range(rounds + 1):
        explaining = ParaphraseScorer(model, **options)
        taken = {
            ENCODING: clocked(lambda: model.encode(texts, **options)),
            SCORING: clocked(lambda: plain.score(pairs)),
            EXPLAINING: clocked(lambda scorer=explaining: scorer.score(pairs)),
        }
        for name, of in taken.items():
            if number:
                seconds[name].append(of)
    return {name: len(pairs) / median(of) for name, of in seconds.items()}


def report(per_second: dict[str, float]) -> dict[str, dict[str, float]]:
    """Speeds, and ratios to encoding alone."""
    return {
        "pairs_per_second": {name: round(value, 1) for name, value in per_second.items()},
        "ratios": {
            f"{name} / {ENCODING}": round(per_second[name] / per_second[ENCODING], 2) for name in (SCORING, EXPLAINING)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m reproduce.benchmarks.score",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", required=True, help="a file as tqnet score reads it")
    parser.add_argument("--count", type=int, default=400, help="pairs of it (400)")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    quiet()
    found = speeds(
        ParaphraseScorer(args.model, explain=False).model,
        read_pairs(args.pairs)[: args.count],
        batch_size=args.batch_size,
        precision=precision(args.precision),
        rounds=args.rounds,
    )
    print(json.dumps(report(found), indent=2))


if __name__ == "__main__":
    main()
