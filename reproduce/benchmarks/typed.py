"""How much a query typed without LaTeX finds of what the same query in LaTeX finds.

    python -m reproduce.benchmarks.typed INDEX [INDEX ...]

For each pair of `assets/typed_formulas.jsonl`: the share of the LaTeX query's ten best results that the typed query has
among its own ten, by form of typing and language; and the same if the typed query were not read as formulas.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path

from reproduce.benchmarks.harness import make_parser
from tqnet.cli.index import IndexModelOptions, open_index
from tqnet.questions import Question
from tqnet.search.index import Index
from tqnet.search.ranking import Rank
from tqnet.search.searcher import Searcher, typed_question

PAIRS = Path(__file__).parents[2] / "assets" / "typed_formulas.jsonl"
_K = 10


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", nargs="+", help="folders of tqnet index")
    args = parser.parse_args()
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    indexes = map(open_index, args.index)
    print(json.dumps({index.manifest.bank: overlaps(index, pairs) for index in indexes}, indent=1))


def overlaps(index: Index, pairs: list[dict[str, str]]) -> dict[str, float]:
    """Return the mean share of common results, read and not read as formulas, and the former by form and language."""
    options = IndexModelOptions()
    encode = partial(options.open_model(index).encode, **options.settings)
    searcher = Searcher(index, encode, rank=Rank())
    shares: dict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        wanted = results(searcher, typed_question(pair["latex"]))
        typed = typed_question(pair["typed"])
        share = len(wanted & results(searcher, typed)) / max(1, len(wanted))
        as_typed = results(searcher, replace(typed, stem=pair["typed"]))
        shares["all"].append(share)
        shares[pair["form"]].append(share)
        shares[pair["language"]].append(share)
        shares["all, not read as formulas"].append(len(wanted & as_typed) / max(1, len(wanted)))
    return {f"{name} ({len(values)})": round(sum(values) / len(values), 3) for name, values in shares.items()}


def results(searcher: Searcher, question: Question) -> set[str]:
    """Return the ids of the ten best results."""
    query = next(searcher.queries([question]))
    return {candidate.question.id for candidate in searcher.answer(query, _K, fold=False, floor=-1).candidates}


if __name__ == "__main__":
    main()
