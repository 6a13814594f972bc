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


def similar_across(bank: QuestionBank, asked: np.ndarray, language: str) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return the corpus, all rows in another language, and the similar ones there of rows ``asked`` in ``language``."""
    similarity, languages = Similarity.from_groups(bank), np.array(bank.column("language"))
    corpus = np.flatnonzero(languages != language)
    queries = asked[languages[asked] == language]
    similar = {int(row): np.intersect1d(similarity.neighbours(row), corpus) for row in queries}
    return corpus, {row: rows for row, rows in similar.items() if len(rows)}


def across(ranker: Ranker, corpus: np.ndarray, similar: dict[int, np.ndarray]) -> dict[str, float | int]:
    """Search for every row of ``similar`` in the corpus."""
    queries = np.array(list(similar))
    nearest = ranker.top(queries, corpus, len(corpus))
    hits = np.stack([np.isin(rows, similar[query]) for query, rows in zip(queries, nearest, strict=True)])
    precision, counts = precision_at_k(hits, np.array([len(similar[query]) for query in queries]), 5)
    measured = {"queries": len(queries), "MRR": round(float(reciprocal_rank(hits).mean()), 3)}
    if counts.any():
        measured |= {"queries for P@5": int(counts.sum()), "P@5": round(float(precision.mean()), 3)}
    return measured


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="tfidf, a trained folder, or encoder:NAME")
    parser.add_argument("--bank", required=True, help="bank with the languages en and zh, and groups that have both")
    parser.add_argument("--split", help="split of the queries: test, for a model trained on the bank; all by default")
    args = parser.parse_args()
    quiet()
    bank = load_bank(args.bank)
    asked = np.flatnonzero([args.split in (None, split) for split in bank.column("split")])
    directions = {"Chinese finds English": "zh", "English finds Chinese": "en"}
    searches = {name: similar_across(bank, asked, language) for name, language in directions.items()}
    for name, (_, similar) in searches.items():
        if not similar:
            parser.error(f"{args.bank}: no question with one like it in the other language ({name})")
    report = {}
    for source in args.sources:
        ranker = ranker_of(source, bank)
        report[source] = {name: across(ranker, *search) for name, search in searches.items()}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
