"""``tqnet evaluate retrieval`` and ``evaluate ranking``: quality of the stages of a search in an index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import INDEX, EncodingOptions, LeakageOptions, SeedOptions, SimilarityOptions, SplitOptions
from tqnet.cli.index import open_index
from tqnet.cli.options import Command, argument, assignment, count, number, option, switch
from tqnet.cli.search import load_ranker

if TYPE_CHECKING:
    from tqnet.evaluation.table import Table
    from tqnet.search.index import Index


@dataclass(frozen=True, kw_only=True)
class _IndexEvaluation(SplitOptions, SimilarityOptions, LeakageOptions):
    index: str = argument(f"{INDEX}; its questions are also the queries", metavar="INDEX")
    out: str | None = option("folder for results.json and results.md", metavar="DIR")
    json: bool = switch("print JSON")
    command: str = ""

    def opened(self) -> Index:
        """Open the index and make the folder of the report, so that an unwritable one fails before all searches."""
        index = open_index(self.index)
        if self.out:
            Path(self.out).mkdir(parents=True, exist_ok=True)
        return index

    def report(self, key: str, numbers: dict[str, Any], table: Table, facts: Mapping[str, str]) -> None:
        from tqnet.evaluation.table import render_tables, write_results

        if self.out:
            markdown = render_tables([table], markdown=True)
            write_results(Path(self.out), {"command": self.command, **facts}, {key: numbers}, markdown)
        print(json.dumps(numbers, indent=2) if self.json else render_tables([table]).rstrip("\n"))


@dataclass(frozen=True, kw_only=True)
class Retrieval(Command, _IndexEvaluation, name="evaluate retrieval"):
    """Measure R@100 and P@1/3/5 of an index: by text, by vectors, and by both."""

    n: int = count("number of candidates to retrieve", "-n", default=100, minimum=5)
    text_weights: Sequence[float] = option(
        "also order by cosine + W times the text score, scaled to a maximum of 1",
        default=(),
        type=number(0),
        metavar="W",
    )

    def run(self) -> None:
        from tqnet.search import evaluation as measure

        index = self.opened()
        bank = measure.index_bank(index.engine)
        ways = (*measure.WAYS, *measure.weighted(self.text_weights))
        if not self.similar_level:  # with levels, the name of the concept would give the answer away
            ways += (*measure.KNOWN, *measure.weighted(self.text_weights, measure.KNOWN[-1]))
        without, similarity = self.rows_left_out(bank), self.similarity(bank)
        queries = measure.similar_queries(bank, similarity, self.one_split, without)
        results = measure.evaluate_retrieval(index.engine, bank, similarity, queries, ways, self.n)
        numbers = {
            name: {
                f"r@{self.n}": float(scores.recall.mean()),
                "interval": scores.interval.to_json(),
                "queries": len(scores.recall),
                **{
                    f"p@{k}": float(values.mean()) if len(values) else None
                    for k, values in scores.order.precision.items()
                },
            }
            for name, scores in results.items()
        }
        self.report("ways", numbers, measure.retrieval_table(results, self.n), index.facts)


@dataclass(frozen=True, kw_only=True)
class Ranking(Command, _IndexEvaluation, SeedOptions, EncodingOptions, name="evaluate ranking"):
    """Measure P@1/3/5 of rankers on the candidates that an index retrieves."""

    index: str = argument(f"{INDEX}; its questions are also the queries", metavar="INDEX")
    rankers: Sequence[tuple[str, str]] = argument(
        "models of finetune/ranker.py; by default the features alone",
        default=(),
        nargs="*",
        type=assignment("NAME=DIR"),
        metavar="NAME=DIR",
    )
    first: int = count("number of candidates that rankers read, chosen by features", default=20, minimum=5)
    concepts: bool = switch("use the concepts of queries, as tqnet search --id does")
    queries: int | None = count("number of queries, drawn at random; by default all", metavar="N")

    def run(self) -> None:
        from tqnet.files import content_digest
        from tqnet.search import evaluation as measure
        from tqnet.search.retrieval import CANDIDATES

        folders = dict(self.rankers)
        if len(folders) < len(self.rankers):
            raise ValueError(f"two rankers have the same name: {', '.join(name for name, _ in self.rankers)}")
        index = self.opened()
        models = {name: load_ranker(folder, index, self.device) for name, folder in folders.items()}
        bank = measure.index_bank(index.engine)
        similarity, without, least = self.similarity(bank), self.rows_left_out(bank), max(measure.FIRST)
        rows = measure.similar_queries(bank, similarity, self.one_split, without, least, self.queries, self.seed)
        way = measure.Way("retrieve", concepts=self.concepts, guess=True)
        queries = measure.retrieve_candidates(index.engine, bank, similarity, rows, way, CANDIDATES)
        how: dict[str, Any] = {"batch_size": self.batch_size, "precision": self.chosen_precision, "show_progress": True}
        rankers = {name: partial(model.probabilities, **how) for name, model in models.items()}
        results = measure.evaluate_ranking(queries, rankers, self.first, index.background.words)
        numbers = {
            name: {
                **{f"p@{k}": float(values.mean()) for k, values in scores.precision.items()},
                "interval": scores.interval(5).to_json(),
                "queries": len(scores.groups),
            }
            for name, scores in results.items()
        }
        digests = "; ".join(f"{name}: files {content_digest(Path(folder))}" for name, folder in folders.items())
        facts = {**index.facts, "rankers": digests} if digests else index.facts
        self.report("orders", numbers, measure.ranking_table(results, self.first), facts)
