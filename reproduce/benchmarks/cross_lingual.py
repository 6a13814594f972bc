"""Whether a question finds those like it in another language.

    python -m reproduce.benchmarks.cross_lingual --bank assets/sample --split test tfidf runs/demo-me5/scl/model

The queries are the questions of a split in one language, the corpus those in the other; similar ones are of the same
group. P@5 is of queries with at least five similar questions in the corpus, MRR of those with one.
"""

from __future__ import annotations

import json

import numpy as np

from reproduce.benchmarks.harness import make_parser
from tqnet.evaluation.metrics import precision_at_k, reciprocal_rank
from tqnet.evaluation.ranking import Ranker, TfidfRanker, VectorRanker
from tqnet.evaluation.sources import Encoding, source_vectors
from tqnet.libraries import quiet
from tqnet.questions import QuestionBank, Similarity, load_bank


def ranker_of(source: str, bank: QuestionBank) -> Ranker:
    """Rank by words (``tfidf``), or by a model's vectors."""
    if source == "tfidf":
        return TfidfRanker([question.content for question in bank], bank.ids)
    return VectorRanker(source_vectors(source, bank, Encoding()), bank.ids)


def across(ranker: Ranker, bank: QuestionBank, asked: np.ndarray, language: str) -> dict[str, float | int]:
    """Search for those of the questions ``asked``, bool [n], that are in ``language`` among all in another."""
    similarity, languages = Similarity.from_groups(bank), np.array(bank.column("language"))
    corpus, queries = np.flatnonzero(languages != language), np.flatnonzero(asked & (languages == language))
    similar = {row: np.intersect1d(similarity.neighbours(row), corpus) for row in queries}
    queries = np.array([row for row, found in similar.items() if len(found)])
    nearest = ranker.top(queries, corpus, len(corpus))
    hits = np.stack([np.isin(rows, similar[query]) for query, rows in zip(queries, nearest, strict=True)])
    precision, counts = precision_at_k(hits, np.array([len(similar[query]) for query in queries]), 5)
    measured: dict[str, float | int] = {
        "queries": len(queries),
        "MRR": round(float(reciprocal_rank(hits).mean()), 3),
        "queries for P@5": int(counts.sum()),
    }
    return measured | ({"P@5": round(float(precision.mean()), 3)} if counts.any() else {})


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="tfidf, a trained folder, or encoder:NAME")
    parser.add_argument("--bank", required=True, help="with the languages en and zh, and groups that have both")
    parser.add_argument("--split", help="of the queries: test, for a model trained on the bank; all by default")
    args = parser.parse_args()
    quiet()
    bank = load_bank(args.bank)
    asked = np.array([args.split in (None, split) for split in bank.column("split")])
    if not asked.any():
        parser.error(f"--split {args.split}: no question of {args.bank}")
    rankers = {source: ranker_of(source, bank) for source in args.sources}
    directions = {"Chinese finds English": "zh", "English finds Chinese": "en"}
    report = {
        source: {name: across(ranker, bank, asked, language) for name, language in directions.items()}
        for source, ranker in rankers.items()
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
