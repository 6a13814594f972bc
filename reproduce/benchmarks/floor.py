"""How many searches find something above a floor of likeness: unrelated queries, and questions of the bank.

    python -m reproduce.benchmarks.floor INDEX [INDEX ...]

Unrelated queries are those of `assets/unrelated_queries.jsonl`, which should find nothing; a hundred questions of the
index, typed, should find others that are like them. For both, the share of queries with a result at each floor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reproduce.benchmarks.harness import make_parser
from tqnet.cli.index import open_index
from tqnet.cli.search import SearcherOptions
from tqnet.search.index import Index
from tqnet.search.ranking import FLOOR, Rank
from tqnet.search.records import record_question
from tqnet.search.searcher import Searcher, typed_question

UNRELATED = Path(__file__).parents[2] / "assets" / "unrelated_queries.jsonl"
_FLOORS = (FLOOR - 0.05, FLOOR, FLOOR + 0.05, FLOOR + 0.1)
_QUESTIONS = 100


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", nargs="+", help="folders of tqnet index")
    args = parser.parse_args()
    unrelated = [json.loads(line)["text"] for line in UNRELATED.read_text(encoding="utf-8").splitlines()]
    indexes = map(open_index, args.index)
    print(json.dumps({index.manifest.bank: shares(index, unrelated) for index in indexes}, indent=1))


def shares(index: Index, unrelated: Sequence[str], seed: int = 0) -> dict[str, float]:
    """Return the share of queries with a result by kind of query and floor."""
    searcher = SearcherOptions().searcher(index, Rank())
    rows = [row for table in index.engine.scan(["question", "images"]) for row in table.to_pylist()]
    chosen = np.random.default_rng(seed).permutation(len(rows))
    stems = [stem for number in chosen if (stem := record_question(rows[number]).stem.strip())][:_QUESTIONS]
    best = {
        "unrelated": np.array([best_likeness(searcher, text) for text in unrelated]),
        "of the bank": np.array([best_likeness(searcher, text) for text in stems]),
    }
    return {
        f"{kind}, floor {floor:.2f}": round(float((scores > floor).mean()), 3)
        for floor in _FLOORS
        for kind, scores in best.items()
    }


def best_likeness(searcher: Searcher, text: str) -> float:
    """Return the highest likeness of a result that does not repeat the query."""
    results = searcher.answer(next(searcher.queries([typed_question(text)])), 1, floor=-1).candidates
    return max((result.likeness or 0.0 for result in results), default=-1.0)


if __name__ == "__main__":
    main()
