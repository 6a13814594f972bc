"""``tqnet evaluate retrieval`` and ``ranking``: what an index finds, and how rankers order it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import (
    INDEX,
    EncodingOptions,
    LeakageOptions,
    OptionalReportOptions,
    SeedOptions,
    SimilarityOptions,
    SplitOptions,
)
from tqnet.cli.index import open_index
from tqnet.cli.options import Command, argument, assignment, count, number, option
from tqnet.cli.search import load_ranker

if TYPE_CHECKING:
    from tqnet.evaluation.table import Table
    from tqnet.search.evaluation import RankingScores, RetrievalScores


@dataclass(frozen=True, kw_only=True)
class _IndexEvaluation(SplitOptions, SimilarityOptions, LeakageOptions, OptionalReportOptions):
    index: str = argument(f"{INDEX}; its questions are also the queries", metavar="INDEX")

    def show(self, key: str, numbers: dict[str, Any], table: Table, facts: dict[str, str]) -> int:
        self.report({key: numbers}, [table], facts)
        if self.json:
            print(json.dumps(numbers, indent=2))
        return 0


@dataclass(frozen=True, kw_only=True)
class Retrieval(Command, _IndexEvaluation, name="evaluate retrieval"):
    """Measure R@100 and P@1/3/5 of an index: by text, by vectors, and by both."""

    n: int = count("candidates to retrieve", "-n", default=100, least=5)
    text_weights: Sequence[float] = option(
        "also order what both find by the cosine + W times the text's score, whose best is 1",
        default=(),
        type=number(0),
        nargs="+",
        metavar="W",
    )

    def run(self) -> int:
        from tqnet.search.evaluation import (
            KNOWN,
            WAYS,
            evaluate_retrieval,
            index_bank,
            retrieval_table,
            similar_queries,
            weighted,
        )

        index = open_index(self.index)
        bank = index_bank(index.engine)
        weights = list(self.text_weights)
        ways = (*WAYS, *weighted(weights))
        if not self.similar_level:  # else what is similar by its concept would be found by the concept's name
            ways += (*KNOWN, *weighted(weights, KNOWN[-1]))
        without, similarity = self.rows_left_out(bank), self.similarity(bank)
        queries = similar_queries(bank, similarity, self.one_split, without)
        results = evaluate_retrieval(index.engine, bank, similarity, queries, ways, self.n)
        numbers = {name: _retrieved(scores, self.n) for name, scores in results.items()}
        return self.show("ways", numbers, retrieval_table(results, self.n), dict(index.facts))


def _retrieved(scores: RetrievalScores, n: int) -> dict[str, Any]:
    return {
        f"r@{n}": float(scores.recall.mean()),
        "interval": list(scores.interval),
        "queries": len(scores.recall),
        **{f"p@{k}": float(values.mean()) if len(values) else None for k, values in scores.order.precision.items()},
    }


@dataclass(frozen=True, kw_only=True)
class Ranking(Command, _IndexEvaluation, SeedOptions, EncodingOptions, name="evaluate ranking"):
    """Measure P@1/3/5 of the order that rankers give to what an index retrieves."""

    index: str = argument(f"{INDEX}; its questions are also the queries", metavar="INDEX")
    rankers: Sequence[tuple[str, str]] = argument(
        "folders made by finetune/ranker.py, in the order of comparison; by default the features alone",
        default=(),
        nargs="*",
        type=assignment("NAME=DIR"),
        metavar="NAME=DIR",
    )
    first: int = count("candidates that rankers read, chosen by features", default=20, least=5)
    concepts: bool = option("queries whose concepts are known, as with --id", default=False)
    queries: int | None = count("this many queries, at random; by default all", metavar="N")

    def run(self) -> int:
        from tqnet.files import content_digest
        from tqnet.libraries import quiet
        from tqnet.search.evaluation import (
            FIRST,
            Way,
            evaluate_ranking,
            index_bank,
            ranking_table,
            retrieve_candidates,
            similar_queries,
        )
        from tqnet.search.retrieval import CANDIDATES

        quiet()
        folders = dict(self.rankers)
        if len(folders) < len(self.rankers):
            raise ValueError(f"two rankers have the same name: {', '.join(name for name, _ in self.rankers)}")
        index = open_index(self.index)
        models = {name: load_ranker(folder, index, self.device) for name, folder in folders.items()}
        bank = index_bank(index.engine)
        similarity, without = self.similarity(bank), self.rows_left_out(bank)
        numbers = similar_queries(bank, similarity, self.one_split, without, max(FIRST), self.queries, self.seed)
        way = Way("retrieve", concepts=self.concepts, guess=True)
        queries = retrieve_candidates(index.engine, bank, similarity, numbers, way, CANDIDATES)
        settings: dict[str, Any] = {
            "batch_size": self.batch_size,
            "precision": self.chosen_precision,
            "show_progress": True,
        }
        rankers = {name: partial(model.probabilities, **settings) for name, model in models.items()}
        results = evaluate_ranking(queries, rankers, self.first)
        measures = {name: _ranked(scores) for name, scores in results.items()}
        digests = "; ".join(f"{name}: files {content_digest(Path(folder))}" for name, folder in folders.items())
        facts = {**index.facts, **({"rankers": digests} if digests else {})}
        return self.show("orders", measures, ranking_table(results, self.first), facts)


def _ranked(scores: RankingScores) -> dict[str, Any]:
    means = {f"p@{k}": float(values.mean()) for k, values in scores.precision.items()}
    return means | {"interval": list(scores.interval(5)), "queries": len(scores.groups)}
