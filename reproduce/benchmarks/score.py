"""What scoring a paraphrase costs on top of encoding its texts, without an explanation and with one.

    python -m reproduce.benchmarks.score --pairs FILE

All encode the same distinct texts in batches of the same size and precision. A new scorer has parsed nothing yet, so
that the explanation's time is whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from reproduce.benchmarks.harness import make_parser, take_turns
from tqnet.libraries import precision, quiet
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase import ParaphraseScorer
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs

ENCODING, SCORING, EXPLAINING = "encoding alone", "scoring", "scoring and explaining"


def compare(
    model: QuestionEncoder, pairs: Sequence[ParaphrasePair], *, batch_size: int, precision: str, rounds: int
) -> dict[str, dict[str, float]]:
    """Measure pairs per second of each, and ratios to encoding alone."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.original, pair.paraphrase)))
    options = {"batch_size": batch_size, "precision": precision}
    plain = ParaphraseScorer(model, explain=False, **options)
    explaining = iter([ParaphraseScorer(model, **options) for _ in range(rounds + 1)])
    contestants = {
        ENCODING: lambda: model.encode(texts, **options),
        SCORING: lambda: plain.score(pairs),
        EXPLAINING: lambda: next(explaining).score(pairs),
    }
    seconds = take_turns(contestants, rounds)
    return {
        "pairs_per_second": {name: round(len(pairs) / taken, 1) for name, taken in seconds.items()},
        "ratios": {
            f"{name} / {ENCODING}": round(seconds[ENCODING] / seconds[name], 2) for name in (SCORING, EXPLAINING)
        },
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", required=True, help="a file as tqnet score reads it")
    parser.add_argument("--count", type=int, default=400, help="number of pairs (400)")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    quiet()
    model, pairs = ParaphraseScorer(args.model, explain=False).model, read_paraphrase_pairs(args.pairs)[: args.count]
    options = {"batch_size": args.batch_size, "precision": precision(args.precision), "rounds": args.rounds}
    print(json.dumps(compare(model, pairs, **options), indent=2))


if __name__ == "__main__":
    main()
