"""The share of the first five results that a reader judges to be similar to the query.

    python -m reproduce.benchmarks.reading INDEX [INDEX ...] [--split valid] [--sheet FILE]

The queries of `assets/reading_queries.jsonl` are typed into the index of their bank, and the results looked up among
the judgements of `assets/reading_judgements.jsonl`. The reader has seen neither scores nor order: `--sheet` writes what
is not judged yet, results by words, by vectors and by both mixed, for somebody to set each `similar` to true or false.
Each query of `test` asks for a skill that at least ten questions of its bank practise.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.benchmarks.harness import make_parser
from tqnet.cli.index import open_index
from tqnet.cli.search import SearcherOptions
from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.search.ranking import Rank
from tqnet.search.searcher import Searcher, typed_question

ASSETS = Path(__file__).parents[2] / "assets"
QUERIES, JUDGEMENTS = ASSETS / "reading_queries.jsonl", ASSETS / "reading_judgements.jsonl"

WAYS = {"both": ("text", "vector"), "words": ("text",), "vectors": ("vector",)}
_K, _FLOORS = 5, (0.0, 0.1, 0.2, 0.3)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", nargs="+", help="folders of tqnet index, of the banks that the queries name")
    parser.add_argument("--split", choices=("valid", "test"), default="test", help="which queries; default: test")
    parser.add_argument("--sheet", type=Path, metavar="FILE", help="write results that are not judged yet")
    args = parser.parse_args()
    judged = {(row["text"], row["result"]): row["similar"] for row in read(JUDGEMENTS)}
    shares: dict[str, list[float]] = defaultdict(list)
    above: dict[str, list[bool]] = defaultdict(list)
    sheet: dict[tuple[str, str], dict[str, Any]] = {}
    for index in map(open_index, args.index):
        searcher = SearcherOptions().searcher(index, Rank())
        for query in read(QUERIES):
            if (query["bank"], query["split"]) != (index.manifest.bank, args.split):
                continue
            for way, by in WAYS.items():
                results = first_results(searcher, query["text"], by)
                labels = [judged.get((query["text"], result.id)) for result, _ in results]
                for (result, likeness), label in zip(results, labels, strict=True):
                    if label is None:
                        sheet[query["text"], result.id] = line(query, result)
                    elif way == "both":
                        for floor in _FLOORS:
                            if likeness > floor:
                                above[f"{query['bank']}: above {floor:.1f}"].append(label)
                # Fewer than five results are better than others that are not similar.
                for part in (query["bank"], query["language"]):
                    shares[f"{part}: {way}"].append(labels.count(True) / max(1, len(labels)))
                    shares[f"{part}: {way}, results"].append(len(labels))
    if args.sheet:
        lines = [sheet[key] for key in sorted(sheet)]
        order = np.random.default_rng(0).permutation(len(lines))
        with atomic(args.sheet) as temporary:
            temporary.write_text("".join(json.dumps(lines[at], ensure_ascii=False) + "\n" for at in order))
    measured = {name: round(float(np.mean(values)), 3) for name, values in sorted(shares.items())}
    measured |= {f"{name} ({len(labels)})": round(float(np.mean(labels)), 3) for name, labels in sorted(above.items())}
    print(json.dumps(measured | {"results without a judgement": len(sheet)}, indent=1))


def first_results(searcher: Searcher, text: str, by: Sequence[str]) -> list[tuple[Question, float]]:
    """Return the questions that a page would show first, with likeness; those that repeat the query have 1."""
    query = next(searcher.queries([typed_question(text)], by, correct=True))
    answer = searcher.answer(query, _K, by=by)
    known = [(repeat.question, 1.0) for repeat in answer.known]
    return [*known, *((candidate.question, candidate.likeness or 0.0) for candidate in answer.candidates)][:_K]


def line(query: dict[str, Any], result: Question) -> dict[str, Any]:
    """Return a result as a line of the sheet."""
    shown = {"stem": result.stem, "options": list(result.options), "figures": len(result.images)}
    return {"text": query["text"], "skill": query.get("skill"), "result": result.id, "similar": None, **shown}


def read(file: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON lines; none if it is missing."""
    return [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


if __name__ == "__main__":
    main()
